/* SPDX-License-Identifier: MIT */
#ifndef RUN_DESCRIPTORS_H
#define RUN_DESCRIPTORS_H

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of the C library that the program calls, and this library defines instead. */
#define CATCH __attribute__((visibility("default")))

/*
 * The function that the program would have called without this library, in the C library or another
 * preloaded one. It is looked up at its first use, which may come before any constructor has run.
 */
#define RUN_NEXT(name) RUN_NEXT_NAMED(__typeof__(&(name)), #name)

#define RUN_NEXT_NAMED(type, name)                                                                 \
    __extension__({                                                                                \
        static void *_Atomic found;                                                                \
        void *function = atomic_load_explicit(&found, memory_order_relaxed);                       \
        if (function == NULL) {                                                                    \
            function = dlsym(RTLD_NEXT, name);                                                     \
            atomic_store_explicit(&found, function, memory_order_relaxed);                         \
        }                                                                                          \
        (type) function;                                                                           \
    })

/*
 * Sections of the library in a thread of the program. Two events could end one half-way, with a
 * lock held, a reference not released, or malloc(3) half-way: the cancellation of the thread, and a
 * signal handler that leaves by siglongjmp(3).
 *
 * - Sections disable cancellation. Calls that are cancellation points by POSIX test for it before
 *   they begin.
 * - Sections block signals once the program has set a handler (run_hold). Others save the two
 *   system calls.
 *
 * run_hold and run_unhold act on the calling thread (src/DESIGN.md, "A library inside a program").
 */

/*
 * Above zero while this thread is in a section. Calls from libmpiio are then passed on instead of
 * served, and descriptors that it opens get a high number.
 */
extern _Thread_local int run_inside __attribute__((tls_model("initial-exec")));

struct run_held {
    sigset_t signals;
    bool blocks; /* signals are blocked */
    int cancellation, error;
};

/* Blocks cancellation, and all signals that may have handlers except those of faults, until
   run_unhold, which restores errno. Nests. */
void run_hold(struct run_held *held);
void run_unhold(const struct run_held *held);

/* Has sections block signals if action, which the program sets for a signal, calls a handler. A
   signal of a fault does not count. Async-signal-safe. */
void run_see_action(int number, const struct sigaction *action);

struct mpiio_slice;
struct run_mount;
struct run_file;

/* Flags of open(2) that the mount honors, but the shared file's descriptor would not. */
#define RUN_FOREIGN_FLAGS (O_APPEND | O_DIRECT | O_ASYNC | O_PATH)

/* An open description of a granted slice. All descriptors that dup(2) makes of one share it. */
struct run_open {
    /* active calls, plus one for each descriptor; 0: not in use */
    atomic_int users;
    struct run_open *next; /* in the list of unused ones */
    int tag;               /* identifies its descriptors */
    unsigned born;         /* number of calls of run_share before it was opened */
    /* releases the resources below when the last user has gone */
    void (*drop)(struct run_open *open);
    struct mpiio_slice *slice;
    struct run_mount *mount;
    struct run_file *file;
    /* of "shared": the shared file pointer, at which all calls begin; NULL for other slices */
    _Atomic int64_t *shared;
    int64_t least;         /* minimum bytes of a read; the mount serves shorter ones */
    uint32_t word, value;  /* grant.h of core/base */
    _Atomic int64_t known; /* a lower bound of the slice's size that the kernel knows */
    _Atomic uint32_t rights;
    _Atomic int64_t mark; /* written up to here since O_TRUNC: grant.h */
};

/*
 * The descriptors of granted slices. A program may close a descriptor by a call that is not caught,
 * and the number may then refer to another file. So the open file description is tagged with a
 * signal that is never sent (F_SETSIG). dup(2) and fork(2) keep the tag, and each call checks it.
 *
 * All functions keep errno and are thread-safe. run_acquire is async-signal-safe; so is
 * run_release, except for the last reference.
 */

/* Returns a new one with one user, or NULL if memory is exhausted. */
struct run_open *run_open_new(void (*drop)(struct run_open *open));

/* Returns false if the descriptor is certainly not granted: costs no system call. */
bool run_may_be_granted(int fd);

/* Returns the granted slice of the descriptor, with a reference for a call; NULL: not granted. */
struct run_open *run_acquire(int fd);

/* Returns true if the descriptor is a granted slice. */
bool run_is_granted(int fd);

/* Returns true if the descriptor is a granted slice with positions: any but "shared". */
bool run_is_seekable(int fd);

/* Drops a reference; the last one frees it. NULL is allowed. */
void run_release(struct run_open *open);

/* Enters the slice for the descriptor, which takes over a reference. */
void run_enter(int fd, struct run_open *open);

/* Removes the descriptor's entry. */
void run_leave(int fd);

/* Records that made is now a duplicate of fd, whatever it was before. Returns made; -1 is
   allowed. */
int run_duplicated(int fd, int made);

/*
 * Handles F_SETFL of fd. If a grant does not permit the new flags, the mount serves all descriptors
 * of this description from then on.
 */
void run_withdraw(int fd, int flags);

/*
 * Records that from now on another process may share the open descriptions and set O_APPEND on
 * them: after fork(2), exec(3), or sending a descriptor. Each write to a slice that is already open
 * then costs one more system call. Async-signal-safe.
 */
void run_share(void);

/*
 * Returns true if the description may be shared and its flags now exclude the grant. The grant then
 * ends.
 */
bool run_is_withdrawn(int fd, struct run_open *open);

/* Returns a number such that no descriptor from there on is granted. */
int run_descriptors_end(void);

/* Returns true in the process that owns the table. A child of vfork(2) borrows its parent's
   table. */
bool run_is_home(void);

/* Ends the grants of the descriptors from first to last. */
void run_leave_range(unsigned first, unsigned last);

/* Resets the table in a new process, in which nothing is granted. */
void run_begin(void);

/* The library's own descriptors, among the program's. All functions are async-signal-safe. */

/* Returns the maximum number of own descriptors: at most a quarter of the process's limit, from 64
   to 256; 0 if the limit is below 320. */
int run_own_most(void);

/*
 * Moves fd, an own descriptor, to a number that programs do not use, or closes it and returns -1
 * with EMFILE. Returns the new number. -1 is allowed and keeps errno.
 */
int run_raise(int fd);

/*
 * Enlarges the kernel's table of descriptors for own ones: 8 bytes for each number, at most
 * 512 KiB. Call it at the start of the program. If a process has several threads, the kernel waits
 * for an RCU grace period, 10 to 25 ms, when it enlarges the table. That happens in the first open
 * of a slice if the program has raised its limit, or in a child by fork(2), whose table is small
 * again.
 */
void run_reserve(void);

/* Records that a raised descriptor is about to be closed. */
void run_lower(int fd);

/* Returns the lowest own descriptor from first on, or -1. */
int run_next_own(unsigned first);

/* Returns true if the descriptor is the library's own, which the program must not use. */
bool run_is_own(int fd);

#endif
