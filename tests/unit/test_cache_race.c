/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "core/base/clock.h"
#include "core/cache/cache.h"
#include "threads.h"

/* Write-back with writers, readers and a flusher at once. */

#define WRITERS 4
#define LENGTH  300000 /* bytes of each writer's slice */

struct writer {
    struct mpiio_slice *slice;
    unsigned int seed;
    int rounds;
    unsigned char wanted[LENGTH], seen[LENGTH];
};

static struct writer writers[WRITERS];
static struct opened file;
static struct mpiio_cache *cache;
static bool is_waiting; /* from the start of a writer that waits for room until it has ended */
static sem_t asked;
static atomic_bool all_done;

static void on_full(void *argument)
{
    sem_post(&asked);
}

/* Closes the file of the writers. If a test has failed, one of them may still wait for room: what
   it uses is never freed. */
static int finish(void **state)
{
    if (!is_waiting) {
        for (int i = 0; i < WRITERS; i++)
            mpiio_slice_free(writers[i].slice);
        mpiio_store_drop_cache(file.store, cache);
        close_opened(&file);
    }
    memset(writers, 0, sizeof(writers));
    cache = NULL;
    file = (struct opened){0};
    is_waiting = false;
    return 0;
}

TEST_GROUP(NULL, finish)

/* Opens a file for the writers. */
static void start(int64_t dirty_max, int64_t run)
{
    finish(NULL);
    restore_guard();
    file = open_slice(O_RDWR, NULL);
    assert_int_equal(mpiio_store_add_cache(file.store, dirty_max, &cache), 0);
    while (sem_trywait(&asked) == 0)
        continue;
    mpiio_cache_on_full(cache, on_full, NULL);
    all_done = false;
    for (int i = 0; i < WRITERS; i++) {
        writers[i].seed = (unsigned int)i;
        writers[i].slice = make_slice(file.store, make_vector(i * run, run, WRITERS * run));
        mpiio_slice_set_id(writers[i].slice, (uint64_t)i);
    }
}

/* A writer sees its own writes at any moment, whatever is flushed and whatever others write beside
   them. */
static void *write_and_look(void *argument)
{
    struct writer *writer = argument;

    for (int i = 0; i < writer->rounds; i++) {
        int offset = rand_r(&writer->seed) % LENGTH;
        int length = 1 + rand_r(&writer->seed) % (LENGTH - offset);

        if (rand_r(&writer->seed) % 2 == 0 && length > 5000)
            length %= 5000;
        for (int at = offset; at < offset + length; at++)
            writer->wanted[at] = (unsigned char)rand_r(&writer->seed);
        if (mpiio_slice_write(writer->slice, writer->wanted + offset, (size_t)length, offset) !=
            length)
            return writer;
        offset = rand_r(&writer->seed) % (offset + length);
        length = 1 + rand_r(&writer->seed) % (LENGTH - offset);
        length = (int)mpiio_slice_read(writer->slice, writer->seen, (size_t)length, offset);
        if (length < 1 || memcmp(writer->seen, writer->wanted + offset, (size_t)length) != 0)
            return writer;
    }
    return NULL;
}

static bool store_slot(int64_t block, const struct mpiio_slot *slot)
{
    struct mpiio_mask_run run = {0};
    bool stored = true;

    while (mpiio_slot_next_run(slot, run.end, MPIIO_BLOCK_SIZE, &run)) {
        ssize_t length = (ssize_t)(run.end - run.start);

        stored &= pwrite(file.fd, slot->data + run.start, (size_t)length,
                         block * MPIIO_BLOCK_SIZE + (int64_t)run.start) == length;
    }
    return stored;
}

/* Flushes as the engines do. Now and then a block fails. */
static bool flush(unsigned int *seed)
{
    const struct mpiio_flush_block *frozen = mpiio_slots_blocks(mpiio_cache_slots(cache));
    int errors[64] = {0};
    bool right = true;
    size_t count;

    if (mpiio_cache_freeze(cache, false, &count) != 0 || count > 64)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct mpiio_slot slot = mpiio_slots_get(mpiio_cache_slots(cache), (int)frozen[i].slot);

        if (rand_r(seed) % 4 == 0)
            errors[i] = -EIO;
        else
            right &= store_slot(frozen[i].block, &slot);
    }
    mpiio_cache_resolve(cache, errors);
    return right;
}

static void *keep_flushing(void *argument)
{
    unsigned int seed = 1;
    struct mpiio_cache_stats stats;
    bool *right = argument;

    while (!all_done && *right) {
        *right = rand_r(&seed) % 4 == 0 ? mpiio_cache_store_all(cache) == 0 : flush(&seed);
        mpiio_cache_get_stats(cache, &stats);
        /* It may be a thread's block too much. */
        *right &= stats.dirty_memory <= (WRITERS + 1) * MPIIO_SLOT_SIZE;
    }
    return NULL;
}

static pthread_t threads[WRITERS];

static void start_writers(int rounds)
{
    for (int i = 0; i < WRITERS; i++)
        writers[i].rounds = rounds;
    start_threads(threads, WRITERS, write_and_look, writers, sizeof(*writers));
}

/* Checks that the file has what each writer wrote. */
static void check_file(void)
{
    assert_int_equal(mpiio_cache_store_all(cache), 0);
    assert_true(mpiio_cache_is_empty(cache));
    for (int i = 0; i < WRITERS; i++) {
        ssize_t length = mpiio_slice_read(writers[i].slice, writers[i].seen, LENGTH, 0);

        assert_memory_equal(writers[i].seen, writers[i].wanted, (size_t)length);
        for (ssize_t at = length; at < LENGTH; at++)
            assert_int_equal(writers[i].wanted[at], 0);
    }
}

TEST(test_writers_and_flusher)
{
    static const int runs[] = {8, 500, 70000};

    for (int i = 0; i < 3; i++) {
        pthread_t flusher;
        bool right = true;

        start(MPIIO_BLOCK_SIZE, runs[i]);
        start_writers(UNIT_ROUNDS(60));
        assert_int_equal(pthread_create(&flusher, NULL, keep_flushing, &right), 0);
        join_threads(threads, WRITERS);
        all_done = true;
        assert_int_equal(pthread_join(flusher, NULL), 0);
        assert_true(right);
        check_file();
    }
}

/* The engine dies with a frozen generation in its hands. */
TEST(test_degrade)
{
    for (int i = 0; i < 5; i++) {
        size_t count;

        start(MPIIO_BLOCK_SIZE, 8);
        start_writers(UNIT_ROUNDS(40));
        sem_wait(&asked);
        assert_int_equal(mpiio_cache_freeze(cache, false, &count), 0);
        mpiio_cache_write_through(cache);
        assert_int_equal(mpiio_cache_store_all(cache), 0);
        assert_true(mpiio_cache_is_empty(cache));
        join_threads(threads, WRITERS);
        assert_true(mpiio_cache_is_empty(cache));
        check_file();
    }
}

/* Waiting for room. */

static unsigned char many[8 << 20];
static ssize_t written;

static void *write_much(void *argument)
{
    written = mpiio_slice_write(argument, many, sizeof(many), 0);
    return NULL;
}

static pthread_t start_writing(void)
{
    struct mpiio_cache_stats stats;
    pthread_t thread;

    start(2 << 20, 512);
    assert_int_equal(pthread_create(&thread, NULL, write_much, writers[0].slice), 0);
    is_waiting = true;
    do {
        mpiio_cache_get_stats(cache, &stats);
    } while (stats.waits == 0);
    mpiio_cache_get_stats(cache, &stats);
    assert_in_range(stats.dirty_memory, 2 << 20, (2 << 20) + MPIIO_SLOT_SIZE);
    assert_int_equal(sem_wait(&asked), 0);
    return thread;
}

/* Checks what the writer has written. The writer has ended. */
static void check_much(void)
{
    static unsigned char seen[sizeof(many)];

    is_waiting = false;
    assert_int_equal(mpiio_slice_read(writers[0].slice, seen, sizeof(many), 0), written);
    assert_memory_equal(seen, many, (size_t)written);
}

TEST(test_room)
{
    pthread_t thread = start_writing();

    while (pthread_tryjoin_np(thread, NULL) != 0)
        assert_int_equal(mpiio_cache_store_all(cache), 0);
    assert_int_equal(written, sizeof(many));
    check_much();
}

TEST(test_room_by_degrading)
{
    pthread_t thread = start_writing();

    mpiio_cache_write_through(cache);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(written, sizeof(many));
    check_much();
    assert_int_equal(mpiio_cache_store_all(cache), 0);
    check_much();
}

/* After write-back has stopped, a writer must not hang. */
TEST(test_room_after_stop)
{
    pthread_t thread = start_writing();

    mpiio_cache_stop(cache);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(written, 1, 1 << 20);
    check_much();
    assert_int_equal(mpiio_slice_write(writers[0].slice, many, 100, written), -EIO);
}

/* A flush that fails is asked for again, but not at once. */
TEST(test_room_after_failure)
{
    pthread_t thread = start_writing();
    struct mpiio_cache_stats stats;
    int64_t before;
    int errors[64];
    size_t count;

    for (int i = 0; i < 64; i++)
        errors[i] = -ENOSPC;
    assert_int_equal(mpiio_cache_freeze(cache, false, &count), 0);
    before = mpiio_clock();
    mpiio_cache_resolve(cache, errors);
    assert_int_equal(mpiio_cache_error(cache, 0), -ENOSPC);
    assert_int_equal(sem_wait(&asked), 0);
    assert_true(mpiio_clock() >= before + 1000);
    while (pthread_tryjoin_np(thread, NULL) != 0)
        assert_int_equal(mpiio_cache_store_all(cache), 0);
    assert_int_equal(written, sizeof(many));
    assert_int_equal(mpiio_cache_error(cache, 0), 0);
    mpiio_cache_get_stats(cache, &stats);
    assert_true(stats.failed >= 1);
    check_much();
}

BEFORE_TESTS
{
    sem_init(&asked, 0, 0);
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = (unsigned char)(1 + rand() % 255);
    keep_guard();
}
