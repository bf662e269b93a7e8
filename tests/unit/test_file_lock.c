/* SPDX-License-Identifier: MIT */
/*
 * Tests locks of byte ranges. They exclude threads and other programs' fcntl locks, and end where
 * their range ends. The program is linked with --wrap=fcntl64, so that lock calls can be made to
 * fail.
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "core/file/exclusion.h"
#include "foreign_lock.h"
#include "threads.h"

static int fcntl_error; /* the error of the next lock calls; 0: none */
static int fcntl_fails; /* the number of those calls */

/* Makes the next lock calls fail. */
static void fail_locks(int calls, int error)
{
    fcntl_fails = calls;
    fcntl_error = error;
}

WRAP(int, fcntl64, int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_OFD_SETLKW && fcntl_fails > 0) {
        fcntl_fails--;
        errno = fcntl_error;
        return -1;
    }
    return __real_fcntl64(fd, command, argument);
}

static struct mpiio_file_locks locks;
static int file;

static int start(void **state)
{
    file = make_file();
    mpiio_file_locks_init(&locks, file, 0, true);
    return 0;
}

static int end(void **state)
{
    mpiio_file_locks_destroy(&locks);
    close(file);
    return 0;
}

TEST(other_processes_see_the_range, start, end)
{
    struct mpiio_lock lock, tail;

    assert_int_equal(mpiio_file_lock_acquire(&locks, 10, 20, true, &lock), 0);
    assert_int_equal(mpiio_file_lock_acquire(&locks, 1000, INT64_MAX, false, &tail), 0);
    assert_int_equal(foreign_finds(file, 0, 9), F_UNLCK);
    assert_int_equal(foreign_finds(file, 9, 10), F_WRLCK);
    assert_int_equal(foreign_finds(file, 19, 19), F_WRLCK);
    assert_int_equal(foreign_finds(file, 20, 999), F_UNLCK);
    assert_int_equal(foreign_finds(file, 1 << 30, 1 << 30), F_RDLCK);
    mpiio_file_lock_release(&locks, &lock);
    assert_int_equal(foreign_finds(file, 0, 999), F_UNLCK);
    mpiio_file_lock_release(&locks, &tail);
    assert_int_equal(foreign_finds(file, 0, 1 << 30), F_UNLCK);
}

/* Starts a process that holds a lock until it reads the end of go. The process writes to held once
   it has the lock. */
static pid_t foreign_holder(int64_t first, int64_t length, int held, int go)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct flock range = {.l_type = F_WRLCK, .l_start = first, .l_len = length};
        char byte;

        if (fcntl(file, F_SETLKW, &range) != 0 || write(held, "", 1) != 1 ||
            read(go, &byte, 1) != 1 || pwrite(file, "f", 1, first) != 1)
            _exit(1);
        _exit(0);
    }
    return child;
}

struct waiter {
    pthread_t thread;
    int64_t start, end;
    bool exclusive;
    atomic_bool has;
    char seen;
};

static void *wait_for_lock(void *argument)
{
    struct waiter *waiter = argument;
    struct mpiio_lock lock;

    if (mpiio_file_lock_acquire(&locks, waiter->start, waiter->end, waiter->exclusive, &lock) != 0)
        return NULL;
    atomic_store(&waiter->has, true);
    if (pread(file, &waiter->seen, 1, waiter->start) != 1)
        waiter->seen = '?';
    mpiio_file_lock_release(&locks, &lock);
    return NULL;
}

static void start_waiter(struct waiter *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_lock, waiter), 0);
}

static void nothing(int number)
{
}

TEST(a_foreign_lock_is_waited_for, start, end)
{
    struct waiter waiter = {.start = 5, .end = 6, .exclusive = true};
    struct sigaction action = {.sa_handler = nothing};
    struct timespec moment = {.tv_nsec = 20000000};
    struct mpiio_lock beside;
    int held[2], go[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(go), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    write_file(file, "..........", 10, 0);
    child = foreign_holder(4, 3, held[1], go[0]);
    assert_int_equal(read(held[0], &byte, 1), 1);
    assert_int_equal(mpiio_file_lock_acquire(&locks, 7, 100, true, &beside), 0);
    start_waiter(&waiter);
    for (int i = 0; i < 5; i++) {
        nanosleep(&moment, NULL);
        pthread_kill(waiter.thread, SIGUSR1); /* a signal does not end the wait */
    }
    nanosleep(&moment, NULL);
    assert_false(atomic_load(&waiter.has));
    assert_int_equal(write(go[1], "", 1), 1);
    pthread_join(waiter.thread, NULL);
    assert_true(atomic_load(&waiter.has));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    mpiio_file_lock_release(&locks, &beside);
    for (int i = 0; i < 2; i++) {
        close(held[i]);
        close(go[i]);
    }
}

TEST(shared_locks_share, start, end)
{
    struct waiter shared = {.start = 0, .end = 8}, exclusive = {.end = 1, .exclusive = true};
    struct timespec moment = {.tv_nsec = 50000000};
    struct mpiio_lock lock;

    write_file(file, "x", 1, 0);
    assert_int_equal(mpiio_file_lock_acquire(&locks, 0, 100, false, &lock), 0);
    start_waiter(&shared);
    pthread_join(shared.thread, NULL);
    assert_true(atomic_load(&shared.has));
    start_waiter(&exclusive);
    nanosleep(&moment, NULL);
    assert_false(atomic_load(&exclusive.has));
    mpiio_file_lock_release(&locks, &lock);
    pthread_join(exclusive.thread, NULL);
    assert_true(atomic_load(&exclusive.has));
}

/* Threads that increment a number in the file. There are more of them than the file descriptions
   that are kept open. */
#define THREADS 24
#define ROUNDS  50

static void *add_ones(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct mpiio_lock lock;
        int64_t number = 0;

        if (mpiio_file_lock_acquire(&locks, 64, 72, true, &lock) != 0 ||
            pread(file, &number, sizeof(number), 64) != sizeof(number))
            return argument;
        number++;
        if (pwrite(file, &number, sizeof(number), 64) != sizeof(number))
            return argument;
        mpiio_file_lock_release(&locks, &lock);
    }
    return NULL;
}

TEST(threads_exclude_each_other, start, end)
{
    int64_t number = 0;

    write_file(file, &number, sizeof(number), 64);
    run_threads(THREADS, add_ones, &locks, 0);
    assert_int_equal(pread(file, &number, sizeof(number), 64), sizeof(number));
    assert_int_equal(number, THREADS * ROUNDS);
    assert_in_range(locks.kept, 1, MPIIO_LOCKS_KEPT);
}

TEST(a_filesystem_without_locks_is_told_apart, start, end)
{
    static const int none[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    struct mpiio_lock lock;

    for (size_t i = 0; i < 3; i++) {
        fail_locks(1, none[i]);
        assert_int_equal(mpiio_file_lock_acquire(&locks, 0, 1, true, &lock), -EOPNOTSUPP);
    }
    fail_locks(1, EIO);
    assert_int_equal(mpiio_file_lock_acquire(&locks, 0, 1, true, &lock), -EIO);
    assert_int_equal(locks.kept, 1); /* all calls used the same file description */
    fail_locks(3, EINTR);
    assert_int_equal(mpiio_file_lock_acquire(&locks, 0, 1, true, &lock), 0);
    fail_locks(1, EIO); /* the unlock fails: closing the file description releases the lock */
    mpiio_file_lock_release(&locks, &lock);
    assert_int_equal(foreign_finds(file, 0, 1), F_UNLCK);
}

TEST(a_file_for_reading_has_shared_locks_only, start, end)
{
    struct mpiio_file_locks reading;
    struct mpiio_lock lock;

    mpiio_file_locks_init(&reading, file, 0, false);
    assert_int_equal(mpiio_file_lock_acquire(&reading, 0, 1, true, &lock), -EBADF);
    assert_int_equal(mpiio_file_lock_acquire(&reading, 0, 1, false, &lock), 0);
    mpiio_file_lock_release(&reading, &lock);
    mpiio_file_locks_destroy(&reading);
}

/* With a base, locks lie in [base, 2 * base). Bytes that would lie past that share the last one. */
TEST(locks_lie_above_the_base, start, end)
{
    const int64_t base = INT64_C(1) << 61;
    static const struct {
        int64_t start, end;  /* the range that is requested */
        int64_t first, last; /* the bytes that are locked, relative to the base */
    } ranges[] = {
        {0, 1, 0, 0},
        {10, 20, 10, 19},
        {1000, INT64_MAX, 1000, (INT64_C(1) << 61) - 1},
        {(INT64_C(1) << 61) + 5, (INT64_C(1) << 61) + 6, (INT64_C(1) << 61) - 1,
         (INT64_C(1) << 61) - 1},
    };
    struct mpiio_file_locks above;
    struct mpiio_lock lock;

    mpiio_file_locks_init(&above, file, base, true);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        int64_t first = base + ranges[i].first, last = base + ranges[i].last;

        assert_int_equal(
            mpiio_file_lock_acquire(&above, ranges[i].start, ranges[i].end, true, &lock), 0);
        assert_int_equal(foreign_finds(file, 0, first - 1), F_UNLCK);
        assert_int_equal(foreign_finds(file, first, first), F_WRLCK);
        assert_int_equal(foreign_finds(file, last, last), F_WRLCK);
        assert_int_equal(foreign_finds(file, last + 1, INT64_MAX - 1), F_UNLCK);
        mpiio_file_lock_release(&above, &lock);
    }
    assert_int_equal(mpiio_file_lock_acquire(&above, 10, 20, true, &lock), 0);
    assert_int_equal(mpiio_file_lock_extend(&lock, 20, 30, true), 0);
    assert_int_equal(foreign_finds(file, base + 29, base + 29), F_WRLCK);
    assert_int_equal(foreign_finds(file, base + 30, INT64_MAX - 1), F_UNLCK);
    assert_int_equal(mpiio_file_lock_extend(&lock, 30, INT64_MAX, true), 0);
    assert_int_equal(foreign_finds(file, base + (base - 1), base + (base - 1)), F_WRLCK);
    mpiio_file_lock_release(&above, &lock);
    mpiio_file_locks_destroy(&above);
}

/* If the daemon is started without standard input, the file may be descriptor 0. */
TEST(descriptor_0_can_be_locked, start, end)
{
    struct mpiio_file_locks none, first;
    struct mpiio_lock lock;
    int input = dup(STDIN_FILENO);

    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    mpiio_file_locks_init(&first, STDIN_FILENO, 0, true);
    assert_int_equal(mpiio_file_lock_acquire(&first, 0, 1, true, &lock), 0);
    mpiio_file_lock_release(&first, &lock);
    mpiio_file_locks_destroy(&first);
    mpiio_file_locks_init(&none, -1, 0, true);
    assert_true(mpiio_file_lock_acquire(&none, 0, 1, true, &lock) < 0);
    mpiio_file_locks_destroy(&none);
    if (input >= 0)
        dup2(input, STDIN_FILENO);
    close(input);
}
