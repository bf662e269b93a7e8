/* SPDX-License-Identifier: MIT */
/*
 * Tests write-back of values that are written in parts, on two nodes: two stores of one file, each
 * with a write-back cache. The values are longs in external32. They have 4 bytes, and the long's
 * least significant byte is the last one.
 */
#include <endian.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "native.h"
#include "random_views.h"
#include "threads.h"

#define LONGS "'etype': 'long', 'datarep': 'external32'"

struct node {
    struct mpiio_store *store;
    struct mpiio_cache *cache;
    struct mpiio_slice *slice; /* shows longs */
    struct mpiio_slice *bytes; /* shows the file's bytes */
};

static int fd = -1;
static struct node one, other;
static bool is_waiting; /* a thread writes to node one */

/* Makes a node of the file. The file's longs begin at disp. */
static void join_file(struct node *node, int64_t disp, int64_t dirty_max)
{
    node->store = open_store_for(fd, O_RDWR);
    assert_int_equal(mpiio_store_add_cache(node->store, dirty_max, &node->cache), 0);
    node->slice = make_slice(node->store, make_view("'disp': %" PRId64 ", " LONGS, disp));
    node->bytes = make_slice(node->store, make_view("'disp': 0"));
    mpiio_slice_set_id(node->slice, 1);
    mpiio_slice_set_id(node->bytes, 2);
}

static void leave_file(struct node *node)
{
    mpiio_slice_free(node->slice);
    mpiio_slice_free(node->bytes);
    mpiio_store_drop_cache(node->store, node->cache);
    mpiio_store_close(node->store);
}

/* Closes the file of the nodes. If a test has failed, a thread may still wait: what it uses is
   never freed. */
static int stop_nodes(void **state)
{
    if (!is_waiting) {
        leave_file(&one);
        leave_file(&other);
        close(fd);
    }
    one = other = (struct node){0};
    fd = -1;
    is_waiting = false;
    return 0;
}

TEST_GROUP(NULL, stop_nodes)

/* Makes a file of two nodes in place of the previous one. */
static void start_nodes(int64_t disp, int64_t dirty_max)
{
    stop_nodes(NULL);
    restore_guard();
    fd = make_file();
    join_file(&one, disp, dirty_max);
    join_file(&other, disp, 64 << 20);
}

static void put(const struct node *node, const void *from, size_t length, int64_t offset)
{
    write_bytes(node->slice, from, length, offset);
}

static void put_long(const struct node *node, int64_t number, int64_t value)
{
    put(node, &value, 8, number * 8);
}

/* Writes bytes of a long, beginning with byte number first. Byte 0 is the least significant one. */
static void put_part(const struct node *node, int64_t number, int first, const char *bytes)
{
    unsigned char part[8];
    size_t length = 0;

    for (; length < 8 && (length == 0 || bytes[length] != 0); length++)
        part[length] = (unsigned char)bytes[length];
    if (NATIVE_IS_BIG)
        reverse_each(part, length, length);
    put(node, part, length, number * 8 + (NATIVE_IS_BIG ? 8 - first - (int)length : first));
}

static void expect_long(const struct node *node, int64_t number, int64_t value)
{
    int64_t found = -1;

    assert_int_equal(mpiio_slice_read(node->slice, &found, 8, number * 8), 8);
    assert_int_equal(found, value);
}

/* Checks that the file has value as the long with this number behind disp. */
static void expect_in_file(int64_t disp, int64_t number, int64_t value)
{
    unsigned char found[4];

    assert_int_equal(pread(fd, found, 4, disp + number * 4), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(found[i], value >> (24 - 8 * i) & 0xff);
}

static void store_node(struct node *node)
{
    assert_int_equal(mpiio_cache_store_all(node->cache), 0);
}

/* Partial and whole values. */

TEST(test_parts_go_to_the_file)
{
    struct mpiio_cache_stats stats;

    start_nodes(0, 64 << 20);
    put_part(&one, 1, 0, "\x11\x22");
    assert_int_equal(stat_of(fd).st_size, 8);
    expect_in_file(0, 1, 0x2211);
    assert_true(mpiio_cache_is_empty(one.cache));
    expect_long(&one, 1, 0x2211);
    expect_long(&other, 1, 0x2211);
    put_long(&one, 2, 0x01020304);
    assert_int_equal(stat_of(fd).st_size, 8);
    mpiio_cache_get_stats(one.cache, &stats);
    assert_int_equal(stats.dirty_bytes, 4);
    /* Both partial values are in the file. The whole one between them is not. */
    if (NATIVE_IS_BIG) {
        put(&one, "\0\0\0\0\0\0\0\0\0\0\0\0\x44", 13, 27);
        put_part(&one, 5, 0, "\x55");
    } else {
        put(&one, "\0\0\0\0\0\x44\0\0\0\0\0\0\0\x55", 14, 27);
    }
    expect_long(&one, 4, 0x44);
    expect_in_file(0, 4, 0);
    expect_in_file(0, 5, 0x55);
    mpiio_cache_get_stats(one.cache, &stats);
    assert_int_equal(stats.dirty_bytes, 8);
    store_node(&one);
    expect_in_file(0, 4, 0x44);
}

/* Each node writes its half of each value, between two flushes. */
TEST(test_parts_of_two_nodes)
{
    enum { COUNT = 500 };

    start_nodes(MPIIO_BLOCK_SIZE - 998, 64 << 20);
    for (int i = 0; i < COUNT; i++) {
        unsigned char low[2] = {(unsigned char)i, (unsigned char)(i >> 8)};
        unsigned char high[2] = {(unsigned char)(i * 7), (unsigned char)(i % 128)};

        if (NATIVE_IS_BIG) {
            reverse_each(low, 2, 2);
            reverse_each(high, 2, 2);
        }
        put(&one, low, 2, i * 8 + (NATIVE_IS_BIG ? 6 : 0));
        put(&other, high, 2, i * 8 + (NATIVE_IS_BIG ? 4 : 2));
    }
    store_node(&one);
    store_node(&other);
    for (int i = 0; i < COUNT; i++)
        expect_in_file(MPIIO_BLOCK_SIZE - 998, i,
                       i | (int64_t)(i * 7 & 0xff) << 16 | (int64_t)(i % 128) << 24);
}

/* A partial write shows in a dirty value that would otherwise overwrite it when it is stored. */
TEST(test_part_of_a_dirty_value)
{
    start_nodes(0, 64 << 20);
    put_long(&one, 0, 0x01020304);
    put_part(&one, 0, 1, "\x77");
    assert_int_equal(stat_of(fd).st_size, 0);
    expect_long(&one, 0, 0x01027704);
    store_node(&one);
    expect_in_file(0, 0, 0x01027704);
    put_part(&other, 0, 2, "\x55");
    put_part(&one, 0, 0, "\x66");
    expect_in_file(0, 0, 0x01557766);
}

/* Waiting for a flush. */

struct writer {
    pthread_t thread;
    const void *from;
    size_t length;
    int64_t offset;
    ssize_t result;
    atomic_bool done;
};

static sem_t waiting;

static void on_wait(void *argument, bool waits)
{
    if (waits)
        sem_post(&waiting);
}

static void *write_longs(void *argument)
{
    struct writer *writer = argument;

    writer->result = mpiio_slice_write(one.slice, writer->from, writer->length, writer->offset);
    writer->done = true;
    return NULL;
}

/* Starts a writer on node one. Returns when the writer waits. */
static void start_waiter(struct writer *writer)
{
    assert_int_equal(sem_init(&waiting, 0, 0), 0);
    one.store->file->wait = on_wait;
    assert_int_equal(pthread_create(&writer->thread, NULL, write_longs, writer), 0);
    is_waiting = true;
    while (sem_trywait(&waiting) != 0) {
        if (writer->done)
            fail_msg("it did not wait");
        usleep(1000);
    }
}

static void expect_done(const struct writer *writer, ssize_t result)
{
    assert_int_equal(pthread_join(writer->thread, NULL), 0);
    is_waiting = false;
    assert_int_equal(writer->result, result);
    sem_destroy(&waiting);
}

/* Fails if the file has any lock. */
static void expect_no_locks(void)
{
    struct mpiio_lock lock;

    assert_int_equal(mpiio_file_lock_try(&other.store->locks, 0, INT64_MAX, true, &lock), 0);
    mpiio_file_lock_release(&other.store->locks, &lock);
}

static size_t frozen_count;

static void freeze_node(struct node *node)
{
    assert_int_equal(mpiio_cache_freeze(node->cache, false, &frozen_count), 0);
}

/* Resolves a flush as engines do, with or without an error. */
static void resolve_node(struct node *node, int error)
{
    const struct mpiio_flush_block *frozen = mpiio_slots_blocks(mpiio_cache_slots(node->cache));
    int errors[8] = {error, error, error, error, error, error, error, error};

    assert_true(frozen_count <= 8);
    for (size_t i = 0; i < frozen_count && error == 0; i++) {
        struct mpiio_slot slot =
            mpiio_slots_get(mpiio_cache_slots(node->cache), (int)frozen[i].slot);
        struct mpiio_mask_run run = {0};

        while (mpiio_slot_next_run(&slot, run.end, MPIIO_BLOCK_SIZE, &run))
            write_file(fd, slot.data + run.start, run.end - run.start,
                       frozen[i].block * MPIIO_BLOCK_SIZE + (int64_t)run.start);
    }
    mpiio_cache_resolve(node->cache, errors);
}

/*
 * A partial write to a value that is being stored. Once the store is done, the other node may write
 * the rest. This node's later flushes do not overwrite that.
 */
TEST(test_part_of_a_frozen_value)
{
    static const int64_t disps[] = {0, MPIIO_BLOCK_SIZE - 1};

    for (int i = 0; i < 4; i++) {
        const int64_t disp = disps[i / 2];
        struct writer writer = {.from = "\x77", .length = 1, .offset = BYTE(1)};
        int error = i % 2 ? -EIO : 0;

        start_nodes(disp, 64 << 20);
        put_long(&one, 0, 0x01020304);
        freeze_node(&one);
        start_waiter(&writer);
        expect_no_locks();
        expect_long(&one, 0, 0x01020304);
        resolve_node(&one, error);
        expect_done(&writer, 1);
        expect_long(&one, 0, 0x01027704);
        if (error != 0)
            store_node(&one);
        expect_in_file(disp, 0, 0x01027704);
        put_part(&other, 0, 2, "\x55");
        store_node(&one);
        expect_in_file(disp, 0, 0x01557704);
    }
}

TEST(test_nobody_waits_after_stop)
{
    struct writer writer = {.from = "\x77", .length = 1, .offset = BYTE(1)};
    int64_t offset, length;

    start_nodes(0, 64 << 20);
    put_long(&one, 0, 1);
    /* Half of a negative number. Its other half is being stored. */
    put_part(&one, 1, 4, "\xff\xff\xff\xff");
    write_bytes(one.bytes, "\xff\xff\xff\xf9", 4, 4);
    freeze_node(&one);
    start_waiter(&writer);
    mpiio_cache_stop(one.cache);
    expect_done(&writer, -EIO);
    assert_int_equal(mpiio_slice_settle(one.slice, false, &offset, &length), -EIO);
    assert_true(mpiio_slice_is_torn(one.slice));
    assert_int_equal(mpiio_slice_settle(one.slice, true, &offset, &length), -EIO);
    assert_int_equal(offset, 8);
    assert_int_equal(mpiio_slice_settle(one.slice, true, &offset, &length), 0);
    resolve_node(&one, 0);
}

/* A writer that waits for room holds no lock, because storing dirty data may need it. A part of
   another value, of this node or of another one, does not block it. */
TEST(test_no_locks_while_waiting_for_room)
{
    enum { COUNT = (3 << 20) / 4 };
    static int64_t values[COUNT];
    static uint32_t image[COUNT];
    struct writer writer = {.from = values, .length = sizeof(values)};

    for (int i = 0; i < COUNT; i++)
        values[i] = i * 5;
    /* Longs lie across the borders of blocks, and the cache has no room for the next block. */
    start_nodes(1, 1 << 20);
    start_waiter(&writer);
    expect_no_locks();
    put_part(&one, COUNT, 0, "\x77");
    put_part(&other, COUNT, 1, "\x55");
    expect_in_file(1, COUNT, 0x5577);
    while (!writer.done)
        store_node(&one);
    expect_done(&writer, sizeof(values));
    store_node(&one);
    assert_int_equal(pread(fd, image, sizeof(image), 1), sizeof(image));
    for (int i = 0; i < COUNT; i++)
        if (be32toh(image[i]) != (uint32_t)values[i])
            fail_msg("value %d is %" PRIu32, i, be32toh(image[i]));
}

/* A write-through discards older bytes of the value in any generation. */
TEST(test_part_written_through)
{
    for (int is_frozen = 0; is_frozen < 2; is_frozen++) {
        start_nodes(MPIIO_BLOCK_SIZE - 2, 64 << 20);
        put_long(&one, 0, 0x01020304);
        if (is_frozen)
            freeze_node(&one);
        mpiio_cache_write_through(one.cache);
        put_part(&one, 0, 1, "\x77");
        expect_in_file(MPIIO_BLOCK_SIZE - 2, 0, 0x01027704);
        put_part(&other, 0, 2, "\x55");
        store_node(&one);
        expect_in_file(MPIIO_BLOCK_SIZE - 2, 0, 0x01557704);
    }
}

static int end_failed(void **state)
{
    limit_file(RLIM_INFINITY);
    return 0;
}

/* The writer gets the error immediately. Dirty data is not affected. */
TEST(test_errors_are_told, NULL, end_failed)
{
    start_nodes(0, 64 << 20);
    put_long(&one, 100, 0x01020304);
    limit_file(400);
    assert_int_equal(mpiio_slice_write(one.slice, "\1", 1, 816 + BYTE(0)), -EFBIG);
    write_bytes(one.slice, "\x77", 1, 800 + BYTE(1));
    limit_file(RLIM_INFINITY);
    assert_int_equal(mpiio_slice_size(one.slice), 808);
    expect_long(&one, 100, 0x01027704);
    store_node(&one);
    expect_in_file(0, 100, 0x01027704);
}

/* A torn value that is given up is laid over the bytes that other nodes have written meanwhile. */
TEST(test_torn_value_is_stored_at_once)
{
    int64_t offset, length;

    start_nodes(0, 64 << 20);
    put_part(&one, 0, 4, "\xff\xff\xff\xff");
    put_part(&one, 0, 0, "\x05");
    assert_int_equal(mpiio_slice_settle(one.slice, false, &offset, &length), -ERANGE);
    assert_true(mpiio_slice_is_torn(one.slice));
    put_long(&other, 0, -7);
    store_node(&other);
    assert_int_equal(mpiio_slice_settle(one.slice, true, &offset, &length), 0);
    assert_false(mpiio_slice_is_torn(one.slice));
    expect_in_file(0, 0, -251);
    put_long(&other, 0, -9);
    store_node(&other);
    store_node(&one);
    expect_in_file(0, 0, -9);
}

/* Two nodes at once, each with flushes of its own. */

#define VALUES 200
#define ROUNDS 12
#define STEPS  UNIT_ROUNDS(1500)

#define LOWER  NATIVE_IS_BIG
#define HIGHER (!NATIVE_IS_BIG)

struct worker {
    struct node *node;
    int number; /* 0: writes the lower two bytes of each value; 1: the next two */
    unsigned int seed;
    unsigned char wanted[VALUES][2]; /* in memory order */
};

static struct worker workers[2];
static atomic_bool written;

static void *write_parts(void *argument)
{
    struct worker *worker = argument;

    for (int i = 0; i < STEPS; i++) {
        int value = rand_r(&worker->seed) % VALUES, first = rand_r(&worker->seed) % 2;
        int length = 1 + rand_r(&worker->seed) % (2 - first);
        int64_t offset = value * 8 + (NATIVE_IS_BIG ? 6 - worker->number * 2 : worker->number * 2);
        unsigned char found[2];

        for (int j = first; j < first + length; j++)
            worker->wanted[value][j] = (unsigned char)rand_r(&worker->seed) & 0x7f;
        if (mpiio_slice_write(worker->node->slice, worker->wanted[value] + first, (size_t)length,
                              offset + first) != length ||
            mpiio_slice_read(worker->node->slice, found, 2, offset) != 2 ||
            memcmp(found, worker->wanted[value], 2) != 0)
            return worker;
    }
    return NULL;
}

static void *keep_flushing(void *argument)
{
    struct worker *worker = argument;

    while (!written)
        if (mpiio_cache_store_all(worker->node->cache) != 0)
            return worker;
    return NULL;
}

/* Writes some of the values as a whole from one node. If stored, they are stored before it
   returns. */
static void write_wholes(struct worker *worker, bool stored)
{
    for (int i = 0; i < VALUES; i++) {
        int64_t value = 0;

        if (below(2))
            continue;
        for (int j = 0; j < 4; j++) {
            unsigned char *byte = &workers[j / 2].wanted[i][j % 2 == 0 ? LOWER : HIGHER];

            *byte = (unsigned char)below(128);
            value |= (int64_t)*byte << 8 * j;
        }
        put_long(worker->node, i, value);
    }
    if (stored)
        store_node(worker->node);
}

static void run_round(int round)
{
    struct worker *first = &workers[round % 2], *second = &workers[1 - round % 2];
    pthread_t writers[2], flushers[2];
    void *wrong[2] = {NULL, NULL};

    write_wholes(first, round % 4 < 2);
    /* They are stored before the other node writes parts. This node's parts may come earlier. */
    start_threads(&writers[0], 1, write_parts, first, 0);
    store_node(first->node);
    written = false;
    start_threads(&writers[1], 1, write_parts, second, 0);
    start_threads(flushers, 2, keep_flushing, workers, sizeof(*workers));
    /* The flushers end only after this, so nothing is asserted before. */
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], &wrong[i]);
    written = true;
    join_threads(flushers, 2);
    assert_null(wrong[0]);
    assert_null(wrong[1]);
}

TEST(test_two_nodes_at_once)
{
    const int64_t disp = MPIIO_BLOCK_SIZE - 401;

    start_nodes(disp, 64 << 20);
    for (int i = 0; i < 2; i++)
        workers[i] =
            (struct worker){.node = i ? &other : &one, .number = i, .seed = (unsigned int)i + 1};
    for (int round = 0; round < ROUNDS; round++) {
        run_round(round);
        store_node(&one);
        store_node(&other);
        for (int i = 0; i < VALUES; i++)
            expect_in_file(disp, i,
                           workers[0].wanted[i][LOWER] | workers[0].wanted[i][HIGHER] << 8 |
                               workers[1].wanted[i][LOWER] << 16 |
                               workers[1].wanted[i][HIGHER] << 24);
    }
}

BEFORE_TESTS
{
    keep_guard();
}
