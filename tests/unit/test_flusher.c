/* SPDX-License-Identifier: MIT */
/*
 * Tests the flusher's thread without a mount: which epoch answers which waiter, and with what
 * error. The program is linked with --wrap for requests to other nodes. The rest of the daemon is
 * simulated here.
 */
#include "slice_fixture.h"

#include <pthread.h>

#include "core/base/thread.h"
#include "fusefs/session.h"
#include "fusefs/storing/flusher.h"
#include "cluster/peers.h"
#include "core/cache/cache.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* The calls that were made, and the results that they return; guarded by lock. */
static struct calls {
    uint64_t file_syncs, sync_errors, asked, answered;
    int sync_result;       /* of fs_sync_file */
    uint64_t begun;        /* the last epoch that the nodes know */
    uint64_t stored;       /* the last one that fs_cluster_store was called for */
    uint64_t done;         /* the last one that this node has finished its part of */
    struct fs_stored left; /* what fs_cluster_store leaves behind */
} calls;

/* Waits until *value, which lock guards, reaches count. */
static void await_calls(const uint64_t *value, uint64_t count)
{
    pthread_mutex_lock(&lock);
    while (*value < count)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int count(uint64_t *value)
{
    int result;

    pthread_mutex_lock(&lock);
    ++*value;
    result = calls.sync_result;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return result;
}

int fs_sync_file(struct fs_durable *durable, bool data_only)
{
    assert_false(data_only);
    return count(&calls.file_syncs);
}

void fs_sync_failed(struct fs_durable *durable, int error)
{
    assert_int_equal(error, -EIO);
    count(&calls.sync_errors);
}

int fs_cluster_engine(struct fs_cluster *cluster)
{
    return -1;
}

void fs_cluster_engine_lost(struct fs_session *session, const char *why)
{
    fail_msg("%s", why);
}

int fs_cluster_store(struct fs_session *session, uint64_t epoch, bool sync, bool may_wait,
                     struct fs_stored *stored)
{
    pthread_mutex_lock(&lock);
    calls.stored = epoch;
    *stored = calls.left;
    pthread_mutex_unlock(&lock);
    return 0;
}

WRAP(int, mpiio_peers_request_flush, struct mpiio_peers *peers, bool sync, uint64_t *after)
{
    *after = MPIIO_LOCKED(&lock, calls.begun);
    count(&calls.asked);
    return 0;
}

WRAP(int, mpiio_peers_epoch_done, struct mpiio_peers *peers, uint64_t epoch, int status)
{
    assert_int_equal(status, 0);
    pthread_mutex_lock(&lock);
    calls.done = epoch;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return 0;
}

static struct fs_options options;
static struct fs_session session;

/* Makes a session, with several nodes if clustered. Its flusher does not run yet. */
static void make_session(bool clustered)
{
    calls = (struct calls){0};
    options = (struct fs_options){.flush_interval = 0};
    session = (struct fs_session){.options = &options};
    if (clustered)
        session.cluster.channel = (void *)&calls; /* only compared with NULL here */
}

static void start_flusher(void)
{
    assert_int_equal(fs_flusher_init(&session.flusher, &session), 0);
    assert_int_equal(fs_flusher_start(&session.flusher), 0);
}

static void start(bool clustered)
{
    make_session(clustered);
    start_flusher();
}

static void stop(void)
{
    fs_flusher_finish(&session.flusher);
    fs_flusher_stop(&session.flusher);
    fs_flusher_free(&session.flusher);
}

/* A waiter, and its answer. */
struct told {
    struct fs_waiter waiter; /* must be the first member */
    struct fs_flushed flushed;
};

static void tell(struct fs_session *of, struct fs_waiter *waiter, const struct fs_flushed *flushed)
{
    assert_ptr_equal(of, &session);
    ((struct told *)waiter)->flushed = *flushed;
    count(&calls.answered);
}

static void hand_over(struct told *told, bool sync)
{
    *told = (struct told){.waiter = {.done = tell, .sync = sync}};
    assert_int_equal(fs_flusher_hand_over(&session.flusher, &told->waiter), 0);
}

/* Begins an epoch, and waits until this node has finished its part. */
static void begin_epoch(uint64_t epoch, bool sync)
{
    fs_flusher_on_epoch(&session, epoch, sync);
    await_calls(&calls.done, epoch);
}

TEST(by_itself)
{
    struct fs_waiter late = {.done = tell};

    start(false);
    fs_flusher_wrote(&session.flusher);
    assert_false(fs_flusher_is_clean(&session.flusher, false));
    assert_int_equal(fs_flusher_wait(&session.flusher, false), 0);
    assert_true(fs_flusher_is_clean(&session.flusher, false));
    assert_false(fs_flusher_is_clean(&session.flusher, true));
    assert_int_equal(calls.file_syncs, 0);
    assert_int_equal(fs_flusher_wait(&session.flusher, true), 0);
    assert_true(fs_flusher_is_clean(&session.flusher, true));
    assert_int_equal(calls.file_syncs, 1);
    fs_flusher_wrote(&session.flusher);
    assert_false(fs_flusher_is_clean(&session.flusher, false));
    fs_flusher_finish(&session.flusher);
    assert_int_equal(fs_flusher_hand_over(&session.flusher, &late), -ENOTCONN);
    stop();
}

/* If the device fails once, the waiter gets the error. The flusher does not count as clean until
   a sync has succeeded. */
TEST(failing_device)
{
    start(false);
    fs_flusher_wrote(&session.flusher);
    calls.sync_result = -EIO;
    assert_int_equal(fs_flusher_wait(&session.flusher, true), -EIO);
    await_calls(&calls.sync_errors, 1);
    assert_true(fs_flusher_is_clean(&session.flusher, false));
    assert_false(fs_flusher_is_clean(&session.flusher, true));
    calls.sync_result = 0;
    assert_int_equal(fs_flusher_wait(&session.flusher, true), 0);
    assert_true(fs_flusher_is_clean(&session.flusher, true));
    assert_int_equal(calls.sync_errors, 1);
    stop();
}

/* Checks that a byte in the write-back cache is in the file when act returns. */
static void check_dirty_data(int64_t interval, void (*act)(void))
{
    int fd = make_file();
    struct mpiio_slice *slice;
    char byte = 0;

    make_session(false);
    options.flush_interval = interval;
    session.store = open_store_for(fd, O_RDWR);
    assert_int_equal(mpiio_store_add_cache(session.store, 1 << 20, &session.cache), 0);
    slice = make_slice(session.store, make_vector(0, 8, 8));
    assert_int_equal(mpiio_slice_write(slice, "a", 1, 0), 1);
    assert_int_equal(pread(fd, &byte, 1, 0), 0);
    start_flusher();
    fs_flusher_wrote(&session.flusher);
    act();
    assert_true(fs_flusher_is_clean(&session.flusher, false));
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    assert_int_equal(byte, 'a');
    stop();
    mpiio_slice_free(slice);
    mpiio_cache_free(session.cache);
    mpiio_store_close(session.store);
    close(fd);
}

static void await_clean(void)
{
    while (!fs_flusher_is_clean(&session.flusher, false))
        sched_yield();
}

static void wait_for_flush(void)
{
    assert_int_equal(fs_flusher_wait(&session.flusher, false), 0);
}

static void have_no_room(void)
{
    fs_flusher_full(&session.flusher);
    await_clean();
}

/* Dirty data is stored for waiters, for writers that need room, and when it is old. */
TEST(dirty_data)
{
    check_dirty_data(0, wait_for_flush);
    check_dirty_data(0, have_no_room);
    check_dirty_data(1, await_clean);
}

/* An epoch answers the waiters that came before it began. One that asked for a sync needs an
   epoch with a sync. */
TEST(epochs)
{
    struct fs_flusher *flusher = &session.flusher;
    struct told early, syncing, late;
    uint64_t changes, number;

    start(true);
    fs_flusher_wrote(flusher);
    calls.begun = 5;
    hand_over(&early, false);
    hand_over(&syncing, true);
    begin_epoch(6, false);
    assert_int_equal(calls.stored, 6);
    calls.begun = 6;
    hand_over(&late, false);
    assert_int_equal(calls.answered, 0);
    /* This node has finished its part, but homes on other nodes may still be storing. */
    assert_false(fs_flusher_rests(flusher, &number));
    changes = atomic_load(&flusher->changes);
    fs_flusher_on_finished(&session, 6, false, 0);
    await_calls(&calls.answered, 1);
    assert_true(fs_flusher_rests(flusher, &number));
    assert_int_equal(number, 6);
    assert_int_equal(atomic_load(&flusher->changes), changes + 1);
    assert_int_equal(early.flushed.error, 0);
    assert_int_equal(fs_flusher_epochs(flusher), 6);
    assert_true(fs_flusher_is_clean(flusher, false));
    assert_false(fs_flusher_is_clean(flusher, true));

    begin_epoch(7, true);
    fs_flusher_on_finished(&session, 7, true, -EIO);
    await_calls(&calls.answered, 3);
    assert_int_equal(syncing.flushed.error, -EIO);
    assert_int_equal(late.flushed.error, -EIO);
    assert_int_equal(calls.sync_errors, 1);
    assert_false(fs_flusher_is_clean(flusher, true));
    stop();
}

/* The node stays dirty while blocks have failed or were left for later. */
TEST(blocks_that_stay)
{
    struct fs_flusher *flusher = &session.flusher;
    struct told told;

    start(true);
    fs_flusher_wrote(flusher);
    calls.left = (struct fs_stored){.blocks = -ENOSPC};
    hand_over(&told, false);
    begin_epoch(1, false);
    fs_flusher_on_finished(&session, 1, false, 0);
    await_calls(&calls.answered, 1);
    assert_int_equal(told.flushed.blocks, -ENOSPC);
    assert_int_equal(told.flushed.error, 0);
    assert_false(fs_flusher_is_clean(flusher, false));

    calls.left = (struct fs_stored){.left = true};
    calls.begun = 1;
    hand_over(&told, false);
    begin_epoch(2, false);
    fs_flusher_on_finished(&session, 2, false, 0);
    await_calls(&calls.answered, 2);
    assert_int_equal(told.flushed.blocks, 0);
    assert_false(fs_flusher_is_clean(flusher, false));
    stop();
}

/* A node that goes alone answers the waiters that were waiting for the other nodes. */
TEST(going_alone)
{
    struct told waiting[2];
    uint64_t number;

    start(true);
    calls.begun = 5;
    begin_epoch(6, false);
    assert_false(fs_flusher_rests(&session.flusher, &number));
    calls.begun = 6;
    hand_over(&waiting[0], false);
    hand_over(&waiting[1], true);
    assert_int_equal(calls.answered, 0);
    /* Without a write-back cache there is no data to store first. */
    fs_flusher_go_alone(&session.flusher);
    await_calls(&calls.answered, 2);
    assert_int_equal(calls.file_syncs, 1);
    assert_int_equal(calls.asked, 2);
    /* The epoch in progress is abandoned. */
    assert_true(fs_flusher_rests(&session.flusher, &number));
    /* No further request is sent. */
    assert_int_equal(fs_flusher_wait(&session.flusher, false), 0);
    assert_int_equal(calls.asked, 2);
    stop();
}
