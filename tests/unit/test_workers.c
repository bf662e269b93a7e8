/* SPDX-License-Identifier: MIT */
/* Tests that threads which take requests end when they must, whichever thread started them. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "unit.h"
#include "core/base/thread.h"
#include "fusefs/base/workers.h"

#include <linux/fuse.h>

#define PATIENCE 60 /* seconds */

/* A session whose kernel is the other end of a socket pair. */
static struct fixture {
    struct fuse_session *fuse;
    struct fs_workers workers;
    pthread_t runner;
    int kernel, daemon;
    sem_t taken, let_go; /* a worker has a request; it may continue */
    /* while it has the request, the worker waits for others, with signals blocked */
    bool waits;
} fixture;

static void wait_without_signals(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    fs_workers_pause(&fixture.workers);
    fs_workers_resume(&fixture.workers);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    if (fixture.waits)
        wait_without_signals();
    sem_post(&fixture.taken);
    sem_wait(&fixture.let_go);
}

static ssize_t read_request(int fd, void *buffer, size_t length, void *userdata)
{
    return read(fd, buffer, length);
}

static ssize_t write_answer(int fd, struct iovec *parts, int count, void *userdata)
{
    return writev(fd, parts, count);
}

static void *run(void *data)
{
    return (void *)(intptr_t)fs_workers_run(&fixture.workers, NULL, NULL);
}

static int setup(void **state)
{
    const struct fuse_lowlevel_ops operations = {.init = on_init};
    const struct fuse_custom_io io = {.read = read_request, .writev = write_answer};
    char name[] = "workers", *words[] = {name, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, words);
    int ends[2];

    fixture.waits = false;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    fixture.kernel = ends[0];
    fixture.daemon = ends[1];
    fixture.fuse = fuse_session_new(&args, &operations, sizeof(operations), NULL);
    assert_non_null(fixture.fuse);
    fuse_opt_free_args(&args);
    assert_int_equal(fuse_session_custom_io(fixture.fuse, &io, fixture.daemon), 0);
    sem_init(&fixture.taken, 0, 0);
    sem_init(&fixture.let_go, 0, 0);
    fs_workers_init(&fixture.workers, fixture.fuse, 1);
    assert_int_equal(pthread_create(&fixture.runner, NULL, run, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    fs_workers_free(&fixture.workers);
    fuse_session_destroy(fixture.fuse);
    close(fixture.kernel);
    sem_destroy(&fixture.taken);
    sem_destroy(&fixture.let_go);
    return 0;
}

/* Gives a request to a worker, which holds it until let_go. */
static void occupy(void)
{
    struct {
        struct fuse_in_header header;
        struct fuse_init_in init;
    } request = {
        .header = {.len = sizeof(request), .opcode = FUSE_INIT, .unique = 1},
        .init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION},
    };

    assert_int_equal(send(fixture.kernel, &request, sizeof(request), 0), sizeof(request));
    sem_wait(&fixture.taken);
}

static void must_end(void)
{
    struct timespec until;
    void *error;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    fs_workers_end(&fixture.workers);
    assert_int_equal(pthread_timedjoin_np(fixture.runner, &error, &until), 0);
    assert_ptr_equal(error, NULL);
}

TEST(those_that_wait_end, setup, teardown)
{
    must_end();
}

TEST(those_that_work_end_behind_their_request, setup, teardown)
{
    occupy();
    fs_workers_end(&fixture.workers);
    assert_int_equal(pthread_tryjoin_np(fixture.runner, NULL), EBUSY);
    sem_post(&fixture.let_go);
    must_end();
}

static unsigned count_workers(void)
{
    return MPIIO_LOCKED(&fixture.workers.lock, fixture.workers.count);
}

/* While a worker waits, another one is started, with the signal mask of workers. */
TEST(those_end_that_a_thread_without_signals_has_started, setup, teardown)
{
    fixture.waits = true;
    occupy();
    assert_int_equal(count_workers(), 2);
    sem_post(&fixture.let_go);
    must_end();
}

/* Waits of other threads are not counted: those of the pool, and the session's when all is
   unmounted. No worker is missing then. */
TEST(a_wait_of_others_does_not_count, setup, teardown)
{
    occupy();
    fs_workers_pause(&fixture.workers);
    assert_int_equal(count_workers(), 1);
    fs_workers_resume(&fixture.workers);
    sem_post(&fixture.let_go);
    must_end();
    fs_workers_pause(&fixture.workers);
    assert_int_equal(count_workers(), 0);
    assert_int_equal(fixture.workers.paused, 0);
    fs_workers_resume(&fixture.workers);
}
