/* SPDX-License-Identifier: MIT */
/* Tests that written members are synced concurrently, and that a sync covers every write that
   returned before it began. */
#include "folder_fixture.h"
#include "slice_fixture.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "core/store_layers.h"
#include "viewspec/members/members.h"

#define MEMBERS 100
#define BYTES   4096 /* of each member */
#define AT_ONCE 16

/* System calls that the test delays, and their counts. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int hold_syncs;  /* fsync calls wait until this many run at once, or for let_go */
    bool hold_write; /* the next write waits for let_go before it writes */
    bool let_go;
    int inside, most, syncs; /* fsync calls running now, at most at once, and in all */
    int error;               /* that the next fsync fails with */
    bool writing;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct vs_spec *spec;
static struct mpiio_store *store;
static struct mpiio_slice *slice;

/* Waits for a change, at most a minute. Lock held. After a timeout it releases all calls. */
static bool await(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (pthread_cond_timedwait(&calls.changed, &calls.lock, &until) == 0)
        return true;
    calls.let_go = true; /* a timeout: nobody needs to wait again */
    return false;
}

WRAP(int, fsync, int fd)
{
    int error;

    pthread_mutex_lock(&calls.lock);
    calls.syncs++;
    if (++calls.inside > calls.most)
        calls.most = calls.inside;
    pthread_cond_broadcast(&calls.changed);
    while (calls.most < calls.hold_syncs && !calls.let_go && await())
        continue;
    calls.inside--;
    error = calls.error;
    calls.error = 0;
    pthread_mutex_unlock(&calls.lock);
    errno = error;
    return error != 0 ? -1 : 0;
}

WRAP(int, fdatasync, int fd)
{
    return __wrap_fsync(fd);
}

WRAP(ssize_t, pwrite64, int fd, const void *buffer, size_t length, off_t displacement)
{
    pthread_mutex_lock(&calls.lock);
    calls.writing = true;
    pthread_cond_broadcast(&calls.changed);
    while (calls.hold_write && !calls.let_go && await())
        continue;
    calls.writing = false;
    pthread_mutex_unlock(&calls.lock);
    return __real_pwrite64(fd, buffer, length, displacement);
}

static void let_go(void)
{
    pthread_mutex_lock(&calls.lock);
    calls.let_go = true;
    pthread_cond_broadcast(&calls.changed);
    pthread_mutex_unlock(&calls.lock);
}

static void make_members(void)
{
    static const char bytes[BYTES];
    char path[512];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(path, sizeof(path), "%s/T.%d", folder, i);
        make_named_file(path, bytes, BYTES);
    }
}

static int setup(void **state)
{
    struct vs_error error = {0};

    assert_int_equal(make_folder(state), 0);
    make_members();
    spec = spec_from("{'viewspec': 1, 'members': {'count': 100, 'file': '%s/T.{member}', "
                     "'view': {'disp': '4096 * rank'}}}",
                     folder);
    if (mpiio_store_open_spec(spec, O_RDWR, &store, &error) != 0)
        fail_msg("%s", error.reason);
    slice = make_slice(store, vs_members_whole(vs_spec_members(spec)));
    calls.hold_syncs = calls.inside = calls.most = calls.syncs = calls.error = 0;
    calls.hold_write = calls.let_go = calls.writing = false;
    return 0;
}

static int teardown(void **state)
{
    char path[512];

    mpiio_slice_free(slice);
    mpiio_store_close(store);
    vs_spec_free(spec);
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(path, sizeof(path), "%s/T.%d", folder, i);
        unlink(path);
    }
    return remove_folder(state);
}

static void write_member(int member)
{
    write_bytes(slice, "written", 7, (int64_t)member * BYTES + 100);
}

/* A call of mpiio_store_sync in a thread of its own. It records whether it returned before
   let_go. */
struct syncer {
    pthread_t thread;
    int error;
    bool early;
};

static void *sync_all(void *data)
{
    struct syncer *syncer = data;

    syncer->error = mpiio_store_sync(store, false);
    pthread_mutex_lock(&calls.lock);
    syncer->early = !calls.let_go;
    pthread_mutex_unlock(&calls.lock);
    return NULL;
}

static void *write_first(void *data)
{
    write_member(0);
    return NULL;
}

TEST(test_side_by_side, setup, teardown)
{
    for (int i = 0; i < MEMBERS; i++)
        write_member(i);
    calls.hold_syncs = AT_ONCE;
    assert_int_equal(mpiio_store_sync(store, false), 0);
    assert_int_equal(calls.most, AT_ONCE);
    assert_int_equal(calls.syncs, MEMBERS);
    assert_int_equal(mpiio_store_sync(store, false), 0);
    assert_int_equal(calls.syncs, MEMBERS); /* no member was written since */
}

/* The second call comes while the first one is still storing the data that it took over. */
TEST(test_second_waits_for_first, setup, teardown)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    struct syncer first, second;

    write_member(7);
    calls.hold_syncs = 2;
    assert_int_equal(pthread_create(&first.thread, NULL, sync_all, &first), 0);
    pthread_mutex_lock(&calls.lock);
    while (calls.inside == 0 && await())
        continue;
    pthread_mutex_unlock(&calls.lock);
    assert_int_equal(pthread_create(&second.thread, NULL, sync_all, &second), 0);
    nanosleep(&moment, NULL); /* gives a call that wrongly does not wait the time to return */
    let_go();
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_false(second.early);
    assert_int_equal(first.error, 0);
    assert_int_equal(second.error, 0);
    assert_int_equal(calls.syncs, 1);
}

/* A sync does not count as covering a write that is still in progress. */
TEST(test_write_under_way_is_not_missed, setup, teardown)
{
    pthread_t writer;
    int before;

    calls.hold_write = true;
    assert_int_equal(pthread_create(&writer, NULL, write_first, NULL), 0);
    pthread_mutex_lock(&calls.lock);
    while (!calls.writing && await())
        continue;
    pthread_mutex_unlock(&calls.lock);
    assert_int_equal(mpiio_store_sync(store, false), 0);
    before = calls.syncs;
    let_go();
    pthread_join(writer, NULL);
    assert_int_equal(mpiio_store_sync(store, false), 0);
    assert_int_equal(calls.syncs, before + 1);
}

TEST(test_failed_is_tried_again, setup, teardown)
{
    for (int i = 0; i < 3; i++)
        write_member(30 * i);
    calls.error = EIO;
    assert_int_equal(mpiio_store_sync(store, true), -EIO);
    assert_int_equal(calls.syncs, 3);
    assert_int_equal(mpiio_store_sync(store, true), 0);
    assert_int_equal(calls.syncs, 4);
}
