/* SPDX-License-Identifier: MIT */
/* Tests write-back in one thread. The program is linked with --wrap for pwrite64, which fails a
   limited number of times while refusal is set. */
#include "cache_model.h"
#include "faults.h"
#include "native.h"
#include "core/cache/cache.h"

static int refusal, refusals;

WRAP(ssize_t, pwrite64, int fd, const void *buffer, size_t length, off_t displacement)
{
    errno = refusal;
    return refusal != 0 && refusals-- > 0 ? -1 : __real_pwrite64(fd, buffer, length, displacement);
}

static void refuse(int error)
{
    refusal = error;
    refusals = 100;
}

static void random_step(void)
{
    int number = below(model.slices);
    int64_t room = room_of(number);
    int64_t etype = vs_view_facts(mpiio_slice_view(model.slice[number]))->etype_file_size;
    int64_t offset = below((int)room);
    int64_t length = 1 + below(below(3) ? 3000 : 400000);
    int kind = below(16);

    length = length < room - offset ? length : room - offset;
    /* A part of an etype would make the file grow. Another test covers that. */
    offset -= offset % etype;
    length -= length % etype;
    if (kind < 4)
        random_flush(kind);
    else if (kind < 6)
        check_errors();
    else if (below(2) && mpiio_slice_is_writable(model.slice[number]))
        write_slice(number, offset, (size_t)length);
    else
        read_slice(number, offset, (size_t)length);
}

/* Makes tiles that lie within each other. The view does not ascend in the file, so it is
   read-only. */
static struct vs_view *make_interleaved(void)
{
    return make_view("'filetype': {'type': 'resized', 'lb': 0, 'extent': 1000, 'oldtype': {'type': "
                     "'hindexed', 'blocklengths': [300, 500], 'displacements': [0, 90100]}}");
}

TEST(test_random)
{
    static const int lengths[] = {1, 2, 3, 4, 8, 16, 24, 100, 512, 5000, 65536, 1500000};

    for (int round = 0; round < 8; round++) {
        int length = lengths[round % 2 ? below(12) : 4 + below(8)];

        start(64 << 20);
        add_slice(make_vector(0, length, 3 * (int64_t)length));
        add_slice(make_vector(length, length, 3 * (int64_t)length));
        add_slice(make_view("'disp': 0"));
        add_slice(make_interleaved());
        while (model.slices < SLICES)
            add_slice(random_view(model.slices));
        for (int i = 0; i < UNIT_ROUNDS(150); i++)
            random_step();
        store_rest();
        for (int i = 0; i < model.slices; i++)
            read_slice(i, 0, (size_t)(room_of(i) < 700000 ? room_of(i) : 700000));
    }
}

/* Two slices show alternating runs of 8 bytes. Neither alone is stored as long writes, but both
   together are. */
TEST(test_merged_runs)
{
    struct mpiio_counters before, after;

    start(64 << 20);
    add_slice(make_vector(0, 8, 16));
    add_slice(make_vector(8, 8, 16));
    write_slice(0, 0, 1 << 20);
    write_slice(1, 0, 1 << 20);
    mpiio_store_counters(model.opened.store, &before);
    store_all();
    mpiio_store_counters(model.opened.store, &after);
    assert_int_equal(after.store_writes - before.store_writes, 2);
    assert_int_equal(after.store_write_bytes - before.store_write_bytes, 2 << 20);
    assert_int_equal(after.store_map_write_bytes, 0);
    assert_int_equal(after.store_reads, 0);
    write_slice(0, 0, 1 << 20);
    store_all();
    mpiio_store_counters(model.opened.store, &before);
    assert_int_equal(before.store_write_bytes + before.store_map_write_bytes, 3 << 20);
    check_file();
}

/* The end of the file as slices see it. Append, truncate and reserve depend on it. */
TEST(test_end)
{
    struct mpiio_slice *slice;
    int64_t offset;

    start(64 << 20);
    slice = add_slice(make_view("'etype': 'double', 'filetype': {'type': 'vector', 'count': 1, "
                                "'blocklength': 1, 'stride': 1}"));
    add_slice(make_view("'disp': 0"));
    write_slice(0, 0, 8);
    write_slice(0, 800, 8);
    assert_int_equal(stat_of(model.opened.fd).st_size, 0);
    assert_int_equal(mpiio_slice_size(slice), 808);
    read_slice(1, 0, 2000);
    assert_int_equal(mpiio_slice_append(slice, "12345678", 8, &offset), 8);
    assert_int_equal(offset, 808);
    assert_int_equal(mpiio_slice_resize(slice, 800), -EPERM);
    assert_int_equal(mpiio_slice_resize(slice, 816), 0);
    assert_int_equal(mpiio_slice_seek_data(slice, 16), 16);
    assert_int_equal(mpiio_slice_resize(slice, 900), 0);
    assert_int_equal(mpiio_slice_size(slice), 904);
    assert_int_equal(mpiio_slice_read(slice, seen, 2000, 808), 96);
    assert_memory_equal(seen, "12345678\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(mpiio_slice_reserve(slice, 0, 2000), 0);
    assert_int_equal(mpiio_slice_size(slice), 2000);
    expect_bytes(slice, "12345678", 8, 808);
    /* A part of an etype can be read back immediately. */
    write_bytes(slice, "abc", 3, 4000);
    assert_int_equal(mpiio_slice_size(slice), 4008);
    assert_int_equal(mpiio_cache_store_all(model.cache), 0);
    assert_int_equal(mpiio_slice_size(slice), 4008);
    expect_bytes(slice, "abc\0\0\0\0\0", 8, 4000);
}

/* Reads past the file's end, where later positions of the slice lie within the file again. */
TEST(test_behind_end)
{
    start(64 << 20);
    fill_randomly(model.file, 50000);
    write_file(model.opened.fd, model.file, 50000, 0);
    model.size = 50000;
    add_slice(make_interleaved());
    add_slice(make_view("'disp': 0"));
    read_slice(0, 0, 100000);
    write_slice(1, 200000, 100);
    read_slice(0, 0, 100000);
    write_slice(1, 90000, 7000);
    read_slice(0, 0, 100000);
    read_slice(0, 777, 70000);
}

static int start_bytes(void **state)
{
    start(64 << 20);
    add_slice(make_view("'disp': 0"));
    return 0;
}

/* Only one generation is frozen at a time. Errors last until the data is stored. mpiio_cache_stop
   ends the wait for a flush. */
TEST(test_generations, start_bytes)
{
    struct mpiio_source *source = (struct mpiio_source *)model.cache;

    write_slice(0, 0, 100);
    freeze();
    assert_int_equal(mpiio_cache_freeze(model.cache, true, &model.count), -EBUSY);
    write_slice(0, 50, 100);
    mpiio_cache_resolve(model.cache, (const int[]){-EIO});
    assert_int_equal(mpiio_cache_await(source, -EINPROGRESS), 0);
    /* The error is reported until the data is stored, also to those who ask later. */
    assert_int_equal(mpiio_cache_error(model.cache, 100), -EIO);
    assert_int_equal(mpiio_cache_error(model.cache, 100), -EIO);
    assert_int_equal(mpiio_cache_error(model.cache, 101), 0);
    store_all();
    assert_int_equal(mpiio_cache_error(model.cache, 100), 0);
    write_slice(0, 0, 100);
    freeze();
    mpiio_cache_stop(model.cache);
    assert_int_equal(mpiio_cache_await(source, -EINPROGRESS), -EIO);
    mpiio_cache_resolve(model.cache, (const int[]){-EIO});
    assert_int_equal(mpiio_cache_store_all(model.cache), 0);
}

static int64_t memory_in_use(void)
{
    return stat_of(mpiio_cache_slots(model.cache)->fd).st_blocks * 512;
}

/* Slots are reused. Their memory is bounded and can be released. */
TEST(test_memory)
{
    int64_t table;

    start(8 << 20);
    add_slice(make_view("'disp': 0"));
    for (int i = 0; i < UNIT_ROUNDS(30); i++) {
        write_slice(0, (int64_t)below(BYTES - (3 << 20)), 3 << 20);
        assert_int_equal(mpiio_cache_store_all(model.cache), 0);
        assert_in_range(memory_in_use(), MPIIO_SLOT_SIZE / 2, (4 << 20) + (64 << 10));
    }
    assert_int_equal(mpiio_slice_read(model.slice[0], seen, 3 << 20, 0), 3 << 20);
    mpiio_cache_trim(model.cache);
    table = memory_in_use();
    assert_in_range(table, 0, 64 << 10);
    write_slice(0, 0, 3 << 20);
    expect_bytes(model.slice[0], bytes, 3 << 20, 0);
}

static int end_failed(void **state)
{
    refuse(0);
    limit_file(RLIM_INFINITY);
    return 0;
}

/* If some blocks cannot be stored, the slices that have data in them get the error, nothing is
   lost, and a retry stores it. */
TEST(test_failure, NULL, end_failed)
{
    for (int run = 8; run <= 80000; run *= 100) {
        start(64 << 20);
        add_slice(make_vector(0, run, 2 * run));
        add_slice(make_vector(run, run, 2 * run));
        write_slice(0, 0, 2 << 20);
        write_slice(1, 0, 400000);
        limit_file((rlim_t)MPIIO_BLOCK_SIZE + 4096);
        assert_int_equal(mpiio_cache_store_all(model.cache), -EFBIG);
        limit_file(RLIM_INFINITY);
        assert_int_equal(mpiio_cache_error(model.cache, 100), -EFBIG);
        assert_int_equal(mpiio_cache_error(model.cache, 101), 0);
        read_slice(0, 0, 2 << 20);
        read_slice(1, 0, 2 << 20);
        assert_int_equal(mpiio_cache_store_all(model.cache), 0);
        assert_int_equal(mpiio_cache_error(model.cache, 100), 0);
        settle_all();
        check_file();
    }
}

/* A write-through replaces older dirty bytes of either generation. */
TEST(test_write_through)
{
    const int errors[BLOCKS] = {-EIO, -EIO, -EIO, -EIO, -EIO};

    for (int is_frozen = 0; is_frozen < 2; is_frozen++) {
        start(64 << 20);
        add_slice(make_vector(0, 8, 16));
        add_slice(make_view("'disp': 0"));
        write_slice(0, 0, 1 << 20);
        freeze();
        write_slice(0, 5000, 20000);
        if (!is_frozen) {
            mpiio_cache_resolve(model.cache, errors);
            settle(errors);
        }
        mpiio_cache_write_through(model.cache);
        write_slice(1, 1000, 70000);
        assert_int_equal(pread(model.opened.fd, seen, 70000, 1000), 70000);
        assert_memory_equal(seen, bytes, 70000);
        read_slice(0, 0, 1 << 20);
        read_slice(1, 0, 2 << 20);
        store_all();
        check_file();
        write_slice(0, 3 << 19, 1 << 19);
        assert_true(mpiio_cache_is_empty(model.cache));
        store_all();
        read_slice(1, 0, BYTES);
    }
}

/* If the kernel has no memory for a slot, the write fails and older data stays. */
TEST(test_no_memory, start_bytes)
{
    const struct mpiio_slots *slots;
    struct mpiio_cache_stats stats;

    FAULTS_OR_RETURN();
    write_slice(0, 0, 1000);
    slots = mpiio_cache_slots(model.cache);
    /* Leaves only the first slot backed by memory. */
    assert_int_equal(ftruncate(slots->fd, mpiio_slots_get(slots, 1).data - slots->base), 0);
    assert_int_equal(mpiio_slice_write(model.slice[0], bytes, 5000, MPIIO_BLOCK_SIZE - 2000), 2000);
    assert_int_equal(mpiio_slice_write(model.slice[0], bytes, 5000, MPIIO_BLOCK_SIZE), -ENOMEM);
    assert_int_equal(mpiio_slice_read(model.slice[0], seen, 1000, 0), 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(seen[i], model.active.value[i]);
    /* Statistics and stores do not touch the memory that the kernel refused. */
    mpiio_cache_get_stats(model.cache, &stats);
    assert_int_equal(stats.dirty_bytes, 3000);
    assert_int_equal(stats.dirty_memory, 4 * MPIIO_PAGE_SIZE);
    assert_int_equal(mpiio_cache_store_all(model.cache), 0);
}

/* A filesystem may return any error. That includes the error by which engines mark postponed
   blocks, which is not reported to writers. */
TEST(test_refused, start_bytes, end_failed)
{
    struct mpiio_cache_stats stats;

    write_slice(0, 0, 100);
    refuse(EAGAIN);
    assert_int_equal(mpiio_cache_store_all(model.cache), -EIO);
    assert_int_equal(mpiio_cache_error(model.cache, 100), -EIO);
    mpiio_cache_get_stats(model.cache, &stats);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.dirty_bytes, 100);
    refuse(0);
    store_all();
    assert_int_equal(mpiio_cache_error(model.cache, 100), 0);
    check_file();
}

/* A part of a value goes straight to the file. If the file refuses it, the write is not retried. */
TEST(test_part_refused, NULL, end_failed)
{
    static const int errors[] = {ENOBUFS, EINPROGRESS, ENOSPC};

    start(64 << 20);
    add_slice(make_view("'etype': 'long', 'datarep': 'external32'"));
    for (int i = 0; i < 3; i++) {
        refuse(errors[i]);
        assert_int_equal(mpiio_slice_write(model.slice[0], "\1", 1, 8 + BYTE(1)),
                         errors[i] == ENOSPC ? -ENOSPC : -EIO);
        assert_int_equal(refusals, 99);
    }
    refuse(0);
}

/* Questions about the cache have answers for a store without one. */
TEST(test_none)
{
    struct mpiio_cache_stats stats = {.dirty_bytes = 1};

    assert_true(mpiio_cache_is_empty(NULL));
    assert_int_equal(mpiio_cache_error(NULL, 1), 0);
    assert_int_equal(mpiio_cache_store_all(NULL), 0);
    mpiio_cache_write_through(NULL);
    mpiio_cache_stop(NULL);
    mpiio_cache_get_stats(NULL, &stats);
    assert_int_equal(stats.dirty_bytes, 0);
    mpiio_cache_free(NULL);
}

BEFORE_TESTS
{
    keep_guard();
}
