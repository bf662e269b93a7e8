/* SPDX-License-Identifier: MIT */
/*
 * Tests converted slices: random views in every representation, read and written at random places,
 * against a model.
 */
#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "convert_model.h"

/* Replaces parts of some values by parts of others. Elements that cannot be stored yet are kept. */
static void random_write(struct sample *sample)
{
    unsigned char *other = malloc((size_t)sample->native_bytes);
    int64_t offset;
    size_t length;

    assert_non_null(other);
    random_range(sample, &offset, &length);
    for (int64_t i = 0; i < sample->elements; i++) {
        const struct element *element = &sample->element[i];

        if (element->offset + element->basic->native > offset &&
            element->offset < offset + (int64_t)length)
            random_element(sample, element, other + element->offset);
    }
    write_bytes(sample->slice, other + offset, length, offset);
    memcpy(sample->native + offset, other + offset, length);
    check_read(sample, offset, length);
    free(other);
}

/* Writes samples through the store, or through write-back. */
static void write_samples(bool held_back)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);
    struct mpiio_cache *cache = NULL;

    srand(12);
    if (held_back)
        assert_int_equal(mpiio_store_add_cache(store, 64 << 20, &cache), 0);
    for (int number = 0; number < UNIT_ROUNDS(90); number++) {
        struct sample sample;
        int64_t offset, length;

        make_sample(&sample, number, fd, store);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int i = 0; i < 15; i++)
            random_write(&sample);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        random_values(&sample);
        write_bytes(sample.slice, sample.native, (size_t)sample.native_bytes, 0);
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        if (held_back)
            assert_int_equal(mpiio_cache_store_all(cache), 0);
        check_file(&sample, fd);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        free_sample(&sample);
    }
    mpiio_store_drop_cache(store, cache);
    close_all(NULL, store, fd);
}

TEST(random_writes)
{
    write_samples(false);
}

TEST(random_writes_held_back)
{
    write_samples(true);
}

/* Reads and writes the same bytes in order, in steps that are not multiples of the elements. */
TEST(steps_of_any_size)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);

    srand(13);
    for (int number = 0; number < UNIT_ROUNDS(60); number++) {
        struct sample sample;
        int64_t offset, length;
        size_t step = 1 + (size_t)below(20);

        make_sample(&sample, number, fd, store);
        if (sample.native_bytes > 3000) {
            sample.elements = 3000 / 32;
            sample.native_bytes = sample.element[sample.elements].offset;
        }
        random_values(&sample);
        for (int64_t at = 0; at < sample.native_bytes; at += (int64_t)step) {
            size_t part = sample.native_bytes - at < (int64_t)step
                              ? (size_t)(sample.native_bytes - at)
                              : step;

            write_bytes(sample.slice, sample.native + at, part, at);
        }
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_file(&sample, fd);
        free_sample(&sample);
    }
    close_all(NULL, store, fd);
}

/* A lock that another open file description holds, and the waits that the store has reported. */
static struct {
    int fd, begun, under_way;
} other;

static void lock_all(short kind)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET};

    assert_int_equal(fcntl(other.fd, F_OFD_SETLK, &range), 0);
}

static void on_wait(void *argument, bool waits)
{
    assert_ptr_equal(argument, &other);
    if (waits) {
        other.begun++;
        lock_all(F_UNLCK);
    }
    other.under_way += waits ? 1 : -1;
}

/* Waits are reported, because the program that holds the lock may need the mount before it
   unlocks the file. */
TEST(a_wait_for_a_lock_is_reported)
{
    struct opened file =
        open_slice(O_RDWR, make_view("'etype': 'long', 'datarep': 'external32', 'filetype': "
                                     "{'type': 'contiguous', 'count': 1}"));
    const long value = 1;

    other.fd = open_again(file.fd);
    mpiio_file_on_wait(mpiio_store_file(file.store), on_wait, &other);
    alarm(60);
    write_bytes(file.slice, &value, 8, 0);
    assert_int_equal(other.begun, 0);
    for (size_t length = 8; length >= 4; length -= 4) {
        other.begun = 0;
        lock_all(F_WRLCK);
        write_bytes(file.slice, &value, length, 0);
        assert_int_equal(other.begun, 1);
        assert_int_equal(other.under_way, 0);
    }
    alarm(0);
    close_opened(&file);
    close(other.fd);
}
