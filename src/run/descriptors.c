/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sections of the library. */

_Thread_local int run_inside __attribute__((tls_model("initial-exec")));

static atomic_bool has_handlers; /* of signals that sections block */

/* All signals but those of faults. */
static void get_blocked(sigset_t *signals)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};

    sigfillset(signals);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(signals, faults[i]);
}

void run_see_action(int number, const struct sigaction *action)
{
    sigset_t signals;

    get_blocked(&signals);
    if (sigismember(&signals, number) == 1 && action->sa_handler != SIG_DFL &&
        action->sa_handler != SIG_IGN)
        atomic_store(&has_handlers, true);
}

void run_hold(struct run_held *held)
{
    sigset_t signals;

    held->error = errno;
    held->blocks = atomic_load_explicit(&has_handlers, memory_order_relaxed);
    if (held->blocks) {
        get_blocked(&signals);
        pthread_sigmask(SIG_BLOCK, &signals, &held->signals);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held->cancellation);
    run_inside++;
}

void run_unhold(const struct run_held *held)
{
    run_inside--;
    pthread_setcancelstate(held->cancellation, NULL);
    if (held->blocks)
        pthread_sigmask(SIG_SETMASK, &held->signals, NULL);
    errno = held->error;
}

/* The library's own descriptors. */

#define TABLE 65536 /* the number of descriptors that can be granted or reserved */
#define FEW   64    /* the minimum number of own descriptors, at the end of the permitted ones */
#define MANY  256   /* the maximum number of own descriptors */
#define FIRST 256   /* the lowest number of an own descriptor */

static _Atomic unsigned char own[TABLE];

/* Returns how many descriptors the process may have, at most TABLE. */
static int allowed_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return limit.rlim_cur < TABLE ? (int)limit.rlim_cur : TABLE;
}

static int most_of(int count)
{
    int most = count / 4 < MANY ? count / 4 : MANY;

    if (count < FIRST + FEW)
        return 0;
    return most < count - FIRST ? most : count - FIRST;
}

int run_own_most(void)
{
    return most_of(allowed_descriptors());
}

int run_raise(int fd)
{
    int error = errno;
    int count = allowed_descriptors(), high = -1;

    if (fd < 0)
        return -1;
    if (most_of(count) > 0)
        high = RUN_NEXT(fcntl)(fd, F_DUPFD_CLOEXEC, count - most_of(count));
    RUN_NEXT(close)(fd);
    if (high >= 0)
        atomic_store(&own[high], 1);
    errno = high >= 0 ? error : EMFILE;
    return high;
}

void run_reserve(void)
{
    int error = errno, fd;

    if (run_own_most() > 0) {
        fd = run_raise(RUN_NEXT(open)("/", O_PATH | O_CLOEXEC));
        run_lower(fd);
        RUN_NEXT(close)(fd);
    }
    errno = error;
}

void run_lower(int fd)
{
    if ((unsigned)fd < TABLE)
        atomic_store(&own[fd], 0);
}

int run_next_own(unsigned first)
{
    for (unsigned fd = first < FIRST ? FIRST : first; fd < TABLE; fd++)
        if (run_is_own((int)fd))
            return (int)fd;
    return -1;
}

bool run_is_own(int fd)
{
    return (unsigned)fd < TABLE && atomic_load_explicit(&own[fd], memory_order_relaxed) != 0;
}

/* Descriptors of granted slices. */

#define TAGS 30 /* signals from SIGRTMIN on that are tags */

/*
 * The table has pages of its own, which the kernel clears in any child that gets a copy of the
 * memory (MADV_WIPEONFORK). Otherwise a child of a clone(2) that is not caught would keep marks and
 * rights that its parent goes on to change. A child of vfork(2) shares the pages.
 */
static struct {
    struct run_open *_Atomic entries[TABLE];
    _Atomic pid_t process; /* the process that owns the table; 0: none, and nothing is granted */
} table __attribute__((aligned(65536)));

static atomic_int behind;  /* this entry and all later ones are empty */
static atomic_uint shares; /* number of calls of run_share */

static struct run_open *spare; /* lock: lock */
static unsigned made;          /* lock: lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct run_open *run_open_new(void (*drop)(struct run_open *open))
{
    struct run_open *open;

    pthread_mutex_lock(&lock); /* the caller has blocked signals */
    open = spare;
    if (open != NULL)
        spare = open->next;
    else
        open = calloc(1, sizeof(*open));
    if (open != NULL)
        open->tag = SIGRTMIN + (int)(made++ % TAGS);
    pthread_mutex_unlock(&lock);
    if (open != NULL) {
        open->drop = drop;
        open->born = atomic_load(&shares);
        atomic_store(&open->users, 1);
    }
    return open;
}

/* Keeps the memory for another struct run_open: another thread may still be looking at it. */
static void free_open(struct run_open *open)
{
    struct run_held held;

    run_hold(&held);
    open->drop(open);
    pthread_mutex_lock(&lock);
    open->next = spare;
    spare = open;
    pthread_mutex_unlock(&lock);
    run_unhold(&held);
}

void run_release(struct run_open *open)
{
    if (open != NULL && atomic_fetch_sub(&open->users, 1) == 1)
        free_open(open);
}

/* Adds a user, unless there is none left. */
static int join_open(struct run_open *open)
{
    int users = atomic_load(&open->users);

    while (users > 0 && !atomic_compare_exchange_weak(&open->users, &users, users + 1))
        continue;
    return users > 0;
}

/* Returns the entry of the table, with a reference for the caller. */
static struct run_open *look_at_descriptor(int fd)
{
    struct run_open *open;

    if ((unsigned)fd >= TABLE)
        return NULL;
    while ((open = atomic_load_explicit(&table.entries[fd], memory_order_acquire)) != NULL) {
        if (!join_open(open))
            continue;
        if (atomic_load(&table.entries[fd]) == open)
            return open;
        run_release(open);
    }
    return NULL;
}

bool run_may_be_granted(int fd)
{
    return (unsigned)fd < TABLE &&
           atomic_load_explicit(&table.entries[fd], memory_order_relaxed) != NULL;
}

struct run_open *run_acquire(int fd)
{
    struct run_open *open = look_at_descriptor(fd);
    int error = errno;

    if (open == NULL || RUN_NEXT(fcntl)(fd, F_GETSIG) == open->tag)
        return open;
    errno = error;
    run_release(open);
    return NULL;
}

bool run_is_granted(int fd)
{
    struct run_open *open = run_acquire(fd);

    run_release(open);
    return open != NULL;
}

bool run_is_seekable(int fd)
{
    struct run_open *open = run_acquire(fd);
    bool seekable = open != NULL && open->shared == NULL;

    run_release(open);
    return seekable;
}

int run_descriptors_end(void)
{
    return atomic_load(&behind);
}

bool run_is_home(void)
{
    return getpid() == atomic_load(&table.process);
}

static void set_entry(int fd, struct run_open *open)
{
    int end = atomic_load(&behind);

    if ((unsigned)fd >= TABLE) {
        run_release(open);
        return;
    }
    while (open != NULL && end <= fd && !atomic_compare_exchange_weak(&behind, &end, fd + 1))
        continue;
    run_release(atomic_exchange(&table.entries[fd], open));
}

void run_enter(int fd, struct run_open *open)
{
    if (RUN_NEXT(fcntl)(fd, F_SETSIG, open->tag) == 0)
        set_entry(fd, open);
    else
        run_release(open);
}

void run_leave(int fd)
{
    if (run_may_be_granted(fd) && run_is_home())
        set_entry(fd, NULL);
}

int run_duplicated(int fd, int made_fd)
{
    struct run_open *open;

    if (made_fd < 0 || made_fd == fd)
        return made_fd;
    open = look_at_descriptor(fd);
    if (open != NULL && run_is_home()) {
        set_entry(made_fd, open);
    } else {
        run_release(open);
        run_leave(made_fd);
    }
    return made_fd;
}

void run_withdraw(int fd, int flags)
{
    struct run_open *open;

    if ((flags & RUN_FOREIGN_FLAGS) == 0)
        return;
    open = look_at_descriptor(fd);
    if (open != NULL)
        atomic_store(&open->rights, 0);
    else
        run_share(); /* the caller has a duplicate that was made without a caught call */
    run_release(open);
}

void run_share(void)
{
    atomic_fetch_add(&shares, 1);
}

bool run_is_withdrawn(int fd, struct run_open *open)
{
    int flags, error = errno;

    if (atomic_load_explicit(&shares, memory_order_relaxed) == open->born)
        return false;
    flags = RUN_NEXT(fcntl)(fd, F_GETFL);
    errno = error;
    if ((flags & RUN_FOREIGN_FLAGS) == 0)
        return false;
    atomic_store(&open->rights, 0);
    return true;
}

void run_leave_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd < (unsigned)atomic_load(&behind) && fd <= last; fd++)
        run_leave((int)fd);
}

void run_begin(void)
{
    if (madvise(&table, sizeof(table), MADV_WIPEONFORK) == 0)
        atomic_store(&table.process, getpid());
    atomic_store(&behind, 0);
    spare = NULL;
    pthread_mutex_init(&lock, NULL);
}
