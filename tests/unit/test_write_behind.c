/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"

#include <pthread.h>
#include <time.h>

#include "core/file/file.h"

/* Tests blocks that are written back behind the writers. The program is linked with --wrap for
   sync_file_range. */

#define BLOCK MPIIO_WRITE_BEHIND_BLOCK
#define RUNS  "{'type': 'resized', 'lb': 0, 'extent': 16, 'oldtype': 'double'}"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int calls[8];    /* by block; guarded by lock */
static sigset_t masked; /* signals that the writeback thread blocks; guarded by lock */

WRAP(int, sync_file_range, int fd, off_t displacement, off_t length, unsigned int flags)
{
    pthread_mutex_lock(&lock);
    pthread_sigmask(SIG_SETMASK, NULL, &masked);
    if (displacement % BLOCK == 0 && length == BLOCK && flags == SYNC_FILE_RANGE_WRITE)
        calls[displacement / BLOCK]++;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&lock);
    return 0;
}

static void await(int block)
{
    struct timespec end;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 200;
    pthread_mutex_lock(&lock);
    while (calls[block] == 0 && error == 0)
        error = pthread_cond_timedwait(&called, &lock, &end);
    pthread_mutex_unlock(&lock);
    assert_int_equal(error, 0);
}

/* Writes zeros to the slices at these offsets, a MiB at a time to each. */
static void write_zeros(struct mpiio_slice *const *slices, int count, int64_t start, int64_t end)
{
    static const char zeros[1 << 20];

    for (int64_t at = start; at < end; at += (int64_t)sizeof(zeros))
        for (int i = 0; i < count; i++)
            write_bytes(slices[i], zeros, sizeof(zeros), at);
}

/* Two slices have alternating runs. A block is full when both have written it. */
TEST(test_blocks_that_all_have_filled)
{
    struct opened file = open_slice(O_RDWR, make_view("'etype': 'double', 'filetype': " RUNS));
    struct mpiio_slice *slices[] = {
        file.slice,
        make_slice(file.store, make_view("'disp': 8, 'etype': 'double', 'filetype': " RUNS))};

    write_zeros(&slices[0], 1, 0, 2 * BLOCK);
    write_zeros(&slices[1], 1, BLOCK, BLOCK * 3 / 2);
    await(2);
    /* The program's signal handlers never run in a thread that the program did not start. */
    assert_true(sigismember(&masked, SIGINT) && sigismember(&masked, SIGALRM));
    assert_false(sigismember(&masked, SIGBUS));
    write_zeros(&slices[1], 1, 0, BLOCK / 2);
    await(0);
    /* A block is written back once until a sync, and then again. */
    write_zeros(slices, 2, 0, BLOCK / 2);
    for (int i = 0; i < 8; i++)
        assert_int_equal(calls[i], i == 0 || i == 2);
    assert_int_equal(mpiio_store_sync(file.store, true), 0);
    calls[0] = 0;
    write_zeros(slices, 2, 0, BLOCK / 2);
    await(0);
    mpiio_slice_free(slices[1]);
    close_opened(&file);
}

/* The slice stores to the first window of the file. */
TEST(test_a_sync_detaches_pages_that_were_stored_to)
{
    struct opened file = open_slice(O_RDWR, make_vector(0, 8, 16));
    struct mpiio_window *const *kept = file.store->file->windows.kept;
    static char bytes[1 << 20];
    int stored = 0;

    assert_int_equal(ftruncate(file.fd, 4 << 20), 0);
    write_bytes(file.slice, bytes, sizeof(bytes), 0);
    for (int i = 0; i < MPIIO_WINDOW_COUNT; i++)
        stored += kept[i] != NULL && atomic_load(&kept[i]->stored);
    assert_int_equal(stored, 1);
    assert_int_equal(mpiio_store_sync(file.store, false), 0);
    for (int i = 0; i < MPIIO_WINDOW_COUNT; i++)
        assert_false(kept[i] != NULL && atomic_load(&kept[i]->stored));
    close_opened(&file);
}

/* One write fills blocks 1 and 2 and half of block 3. write_ranges then fills the rest of block 3,
   except for small gaps. */
TEST(test_a_write_can_fill_several_blocks)
{
    enum { RANGES = 16, LENGTH = BLOCK / 2 / RANGES };
    struct opened opened = open_slice(O_RDWR, NULL);
    struct mpiio_file *file = opened.store->file;
    struct mpiio_range ranges[RANGES];
    struct mpiio_counters done = {0};
    struct mpiio_transfer transfer = {
        .position = 3 * BLOCK, .ranges = ranges, .count = RANGES, .done = &done};

    memset(calls, 0, sizeof(calls));
    mpiio_write_behind_wrote(file, BLOCK, BLOCK * 7 / 2, BLOCK * 5 / 2);
    await(1);
    await(2);
    transfer.buffer = calloc(1, BLOCK);
    for (int i = 0; i < RANGES; i++)
        ranges[i] = (struct mpiio_range){BLOCK / 2 + i * LENGTH, LENGTH - 8};
    file->ops->write_ranges(file, &transfer);
    assert_int_equal(transfer.error, 0);
    await(3);
    free(transfer.buffer);
    close_opened(&opened);
    for (int i = 0; i < 8; i++)
        assert_int_equal(calls[i], i >= 1 && i <= 3);
}

/* Few bytes far apart do not fill a block. A block that fills slowly is replaced by newer ones. */
TEST(test_blocks_that_are_not_full)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);
    struct mpiio_file *file = store->file;

    memset(calls, 0, sizeof(calls));
    mpiio_write_behind_wrote(file, 0, INT64_MAX, 1 << 20);
    mpiio_write_behind_wrote(file, 0, BLOCK, BLOCK / 2);
    for (int64_t i = 1; i <= MPIIO_WRITE_BEHIND_COUNT; i++)
        mpiio_write_behind_wrote(file, i * BLOCK, i * BLOCK + BLOCK / 2, BLOCK / 2);
    mpiio_write_behind_wrote(file, 0, BLOCK, BLOCK / 2);
    /* A write of no bytes replaces no block. */
    mpiio_write_behind_wrote(file, (4 + MPIIO_WRITE_BEHIND_COUNT) * BLOCK,
                             (4 + MPIIO_WRITE_BEHIND_COUNT) * BLOCK + 1, 0);
    mpiio_write_behind_wrote(file, 4 * BLOCK + BLOCK / 2, 5 * BLOCK, BLOCK / 2);
    await(4);
    mpiio_store_close(store);
    for (int i = 0; i < 8; i++)
        assert_int_equal(calls[i], i == 4);
    close(fd);
}
