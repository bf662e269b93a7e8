/* SPDX-License-Identifier: MIT */
/*
 * Slices that are converted: random views in every representation, read and written at random
 * places, against a model.
 */
#include "core/cache/cache.h"
#include "convert_model.h"
#include "core/cache/cache_flush.h"

static void random_reads(void **state)
{
    int fd = make_file();
    struct mpiio_store *store = open_store(fd);

    (void)state;
    srand(11);
    for (int number = 0; number < 90; number++) {
        struct sample sample;

        make_sample(&sample, number, fd, store);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int i = 0; i < 40; i++) {
            int64_t offset;
            size_t length;

            random_range(&sample, &offset, &length);
            check_read(&sample, offset, length);
        }
        free_sample(&sample);
    }
    mpiio_store_close(store);
    close(fd);
}

/* Parts of other values come over the present ones; what cannot be stored yet is kept. */
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
    assert_int_equal(mpiio_slice_write(sample->slice, other + offset, length, offset), length);
    memcpy(sample->native + offset, other + offset, length);
    check_read(sample, offset, length);
    free(other);
}

/* Through the store, or held back first. */
static void write_samples(bool held_back)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);
    struct mpiio_cache *cache = NULL;

    srand(12);
    if (held_back)
        assert_int_equal(mpiio_store_add_cache(store, 64 << 20, &cache), 0);
    for (int number = 0; number < 90; number++) {
        struct sample sample;
        int64_t offset, length;

        make_sample(&sample, number, fd, store);
        for (int i = 0; i < 15; i++)
            random_write(&sample);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int64_t i = 0; i < sample.elements; i++) {
            unsigned char *native = sample.native + sample.element[i].offset;

            random_element(&sample, &sample.element[i], native);
            element_to_file(&sample, &sample.element[i], native);
        }
        assert_int_equal(
            mpiio_slice_write(sample.slice, sample.native, (size_t)sample.native_bytes, 0),
            sample.native_bytes);
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        if (held_back)
            assert_int_equal(mpiio_cache_store_all(cache), 0);
        check_file(&sample, fd);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        free_sample(&sample);
    }
    mpiio_store_drop_cache(store, cache);
    mpiio_store_close(store);
    close(fd);
}

static void random_writes(void **state)
{
    (void)state;
    write_samples(false);
}

static void random_writes_held_back(void **state)
{
    (void)state;
    write_samples(true);
}

/* The same bytes one after the other, in steps that do not fit the elements. */
static void steps_of_any_size(void **state)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);

    (void)state;
    srand(13);
    for (int number = 0; number < 60; number++) {
        struct sample sample;
        int64_t offset, length;
        size_t step = 1 + (size_t)below(20);

        make_sample(&sample, number, fd, store);
        if (sample.native_bytes > 3000)
            sample.elements = 3000 / 32;
        sample.native_bytes = sample.element[sample.elements].offset;
        for (int64_t i = 0; i < sample.elements; i++) {
            unsigned char *native = sample.native + sample.element[i].offset;

            random_element(&sample, &sample.element[i], native);
            element_to_file(&sample, &sample.element[i], native);
            sample.native_bytes = sample.element[i].offset + sample.element[i].basic->native;
        }
        for (int64_t at = 0; at < sample.native_bytes; at += (int64_t)step) {
            size_t part = sample.native_bytes - at < (int64_t)step
                              ? (size_t)(sample.native_bytes - at)
                              : step;

            assert_int_equal(mpiio_slice_write(sample.slice, sample.native + at, part, at), part);
        }
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_file(&sample, fd);
        free_sample(&sample);
    }
    mpiio_store_close(store);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_reads),
        cmocka_unit_test(random_writes),
        cmocka_unit_test(random_writes_held_back),
        cmocka_unit_test(steps_of_any_size),
    };

    return cmocka_run_group_tests_name("convert_slice", tests, NULL, NULL);
}
