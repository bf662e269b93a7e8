/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <time.h>

#include "unit.h"
#include "fusefs/names/unwritten.h"

#define SIZE   4096
#define INODE  7
#define ROUNDS 3000
#define MIB    ((size_t)1 << 20)
/* The most bytes that unwritten.c keeps, in MiB. */
#define KEPT 64

/* A slice that accepts only bytes below room, and its expected contents. */
static struct model {
    struct fs_unwritten unwritten;
    char file[SIZE], want[SIZE];
    bool lost[SIZE];
    int64_t room;
} model;

static struct fs_unwritten *const unwritten = &model.unwritten;

static int setup(void **state)
{
    memset(&model, 0, sizeof(model));
    fs_unwritten_init(unwritten);
    return 0;
}

static int teardown(void **state)
{
    fs_unwritten_free(unwritten);
    return 0;
}

static size_t store(void *data, uint64_t inode, const char *bytes, size_t length, int64_t offset,
                    int *error)
{
    int64_t room = model.room > offset ? model.room - offset : 0;
    size_t done = (int64_t)length < room ? length : (size_t)room;

    assert_int_equal(inode, INODE);
    memcpy(model.file + offset, bytes, done);
    if (done < length)
        *error = -ENOSPC;
    return done;
}

static void check(void)
{
    char seen[SIZE];
    uint64_t lost = 0;
    int error;

    memcpy(seen, model.file, SIZE);
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE, seen, SIZE, SIZE, 0, false), SIZE);
    assert_memory_equal(seen, model.want, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        lost += model.lost[i];
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), lost);
    assert_int_equal(fs_unwritten_error(unwritten, INODE), lost > 0 ? -EIO : 0);
    assert_int_equal(fs_unwritten_error(unwritten, INODE + 1), 0);
}

/* Adds two adjacent unwritten ranges of 100 bytes. */
static void lose_two(void)
{
    char bytes[100];

    memset(bytes, 'x', sizeof(bytes));
    fs_unwritten_add(unwritten, INODE, bytes, 100, 0, -EIO);
    fs_unwritten_add(unwritten, INODE, bytes, 100, 100, -EIO);
}

/* Makes room, and checks that a retry stores all of them. */
static void store_all(void)
{
    int error;

    model.room = SIZE;
    fs_unwritten_retry(unwritten, store, NULL);
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), 0);
}

/* Writes fail and succeed in any order. A read always returns the last write. */
TEST(test_random, setup, teardown)
{
    srand(1);
    for (int i = 0; i < ROUNDS; i++) {
        size_t start = (size_t)rand() % SIZE, length = (size_t)rand() % (SIZE - start) % 300 + 1;
        bool fails = rand() % 2;

        memset(model.want + start, i % 255 + 1, length);
        memset(model.lost + start, fails, length);
        if (fails) {
            fs_unwritten_add(unwritten, INODE, model.want + start, length, (int64_t)start, -EIO);
        } else {
            memcpy(model.file + start, model.want + start, length);
            fs_unwritten_remove(unwritten, INODE, (int64_t)start, (int64_t)(start + length));
        }
        check();
    }
    store_all();
    assert_memory_equal(model.file, model.want, SIZE);
}

TEST(test_retry_without_room, setup, teardown)
{
    int error;

    lose_two();
    model.room = 150;
    fs_unwritten_retry(unwritten, store, NULL);
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), 100);
    assert_int_equal(error, -ENOSPC);
    assert_int_equal(fs_unwritten_error(unwritten, INODE), -ENOSPC);
    store_all();
    assert_int_equal(model.file[199], 'x');
}

static void *ask(void *argument)
{
    char bytes[100];
    int error;

    assert_int_equal(fs_unwritten_error(unwritten, INODE), -EIO);
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), 200);
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE, bytes, 100, 100, 0, false), 100);
    assert_int_equal(bytes[0], 'x');
    return NULL;
}

/* Stores a part and waits for a reader of unwritten ranges. Meanwhile the first part is
 * overwritten. */
static size_t store_and_wait(void *data, uint64_t inode, const char *bytes, size_t length,
                             int64_t offset, int *error)
{
    struct timespec deadline;
    pthread_t thread;

    if (offset == 100) {
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += 30;
        assert_int_equal(pthread_create(&thread, NULL, ask, NULL), 0);
        assert_int_equal(pthread_timedjoin_np(thread, NULL, &deadline), 0);
        memset(model.file + 90, 'x', 20);
        fs_unwritten_remove(unwritten, INODE, 90, 110);
        fs_unwritten_add(unwritten, INODE, "y", 1, 300, -EIO);
    }
    return store(data, inode, bytes, length, offset, error);
}

TEST(test_others_while_storing, setup, teardown)
{
    int error;

    lose_two();
    model.room = SIZE;
    fs_unwritten_retry(unwritten, store_and_wait, NULL);
    /* The next attempt stores what has changed meanwhile. */
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), 90 + 90 + 1);
    store_all();
    for (int i = 0; i < 200; i++)
        assert_int_equal(model.file[i], 'x');
    assert_int_equal(model.file[300], 'y');
}

/* Reads past the file's end, where the kernel knows of later bytes. */
TEST(test_overlay_behind_the_end, setup, teardown)
{
    char buffer[50];

    memset(buffer, 'f', sizeof(buffer));
    fs_unwritten_add(unwritten, INODE, "lost", 4, 30, -EIO);
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE, buffer, 10, 50, 0, false), 10);
    assert_int_equal(buffer[20], 'f');
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE, buffer, 10, 50, 0, true), 34);
    assert_memory_equal(buffer, "ffffffffff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0lost", 34);
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE, buffer, 0, 2, 31, true), 2);
    assert_memory_equal(buffer, "os", 2);
    assert_int_equal(fs_unwritten_overlay(unwritten, INODE + 1, buffer, 3, 50, 0, true), 3);
}

static size_t count_bytes(void *data, uint64_t inode, const char *bytes, size_t length,
                          int64_t offset, int *error)
{
    *(size_t *)data += length;
    return length;
}

/* Bytes beyond the limit are not kept. They are reported as lost until they are written again. */
TEST(test_limit, setup, teardown)
{
    char *bytes = calloc(1, MIB);
    size_t stored = 0;
    int error;

    assert_non_null(bytes);
    for (size_t i = 0; i < KEPT + 2; i++)
        fs_unwritten_add(unwritten, INODE, bytes, MIB, (int64_t)(i * MIB), -EIO);
    free(bytes);
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), (KEPT + 2) * MIB);
    fs_unwritten_retry(unwritten, count_bytes, &stored);
    assert_int_equal(stored, KEPT * MIB);
    assert_int_equal(fs_unwritten_bytes(unwritten, &error), 2 * MIB);
    assert_int_equal(fs_unwritten_error(unwritten, INODE), -EIO);
    fs_unwritten_remove(unwritten, INODE, KEPT * (int64_t)MIB, (KEPT + 2) * (int64_t)MIB);
    assert_int_equal(fs_unwritten_error(unwritten, INODE), 0);
}
