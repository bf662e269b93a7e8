/* SPDX-License-Identifier: MIT */
#ifndef RUN_DESCRIPTORS_H
#define RUN_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mpiio_slice;
struct run_mount;
struct run_file;

/* Flags of open(2) that the mount honours, and the shared file's descriptor would not. */
#define RUN_FOREIGN_FLAGS (O_APPEND | O_DIRECT | O_ASYNC | O_PATH)

/* An open slice that is granted: what dup(2) makes of a descriptor of the mount is the same. */
struct run_open {
    atomic_int users;                    /* calls under way, and one a descriptor; 0: not in use */
    struct run_open *next;               /* of those that are not in use */
    int tag;                             /* by which its descriptors are known */
    unsigned born;                       /* number of calls of run_share before it was opened */
    void (*drop)(struct run_open *open); /* frees what follows, when it is not in use any more */
    struct mpiio_slice *slice;
    struct run_mount *mount;
    struct run_file *file;
    int64_t least;         /* the least bytes of a read; the mount serves shorter ones */
    uint32_t word, value;  /* grant.h of core/base */
    _Atomic int64_t known; /* the kernel knows at least this size of the slice */
    _Atomic uint32_t rights;
    _Atomic int64_t mark; /* up to here it is written since O_TRUNC: grant.h */
};

/*
 * The descriptors of granted slices. A program may close one by other ways than those that are
 * caught, and the number become another file's. So the description is tagged: it has a signal that
 * is never sent (F_SETSIG), which dup(2) and fork(2) keep, and each call looks at that.
 *
 * All functions keep errno, and are thread-safe; run_acquire and run_release but for the last
 * one are async-signal-safe.
 */

/* A new one, of one user; NULL without memory. */
struct run_open *run_open_new(void (*drop)(struct run_open *open));

/* Returns false if the descriptor is certainly not granted: costs no system call. */
bool run_may_be_granted(int fd);

/* What the descriptor is, for a call; NULL: the mount's, or anything else. */
struct run_open *run_acquire(int fd);

/* Returns true if the descriptor is a granted slice. */
bool run_is_granted(int fd);

/* The last one frees it. NULL is allowed. */
void run_release(struct run_open *open);

/* The descriptor is that slice, which takes over a user. */
void run_enter(int fd, struct run_open *open);

/* It is not any more. */
void run_leave(int fd);

/* made is a duplicate of fd now, whatever it was before. Returns made; -1 is allowed. */
int run_duplicated(int fd, int made);

/*
 * F_SETFL of fd gives it flags: where these are none for what is granted, all that is the same
 * description is the mount's from then on.
 */
void run_withdraw(int fd, int flags);

/*
 * Records that another process may share the open descriptions from now on, and set O_APPEND on
 * them: after fork(2), exec(3), or sending a descriptor. Each write to a slice that is open already
 * then costs one more system call. Async-signal-safe.
 */
void run_share(void);

/*
 * Returns true if the flags of a description that may be shared exclude the grant, which then ends.
 */
bool run_is_withdrawn(int fd, struct run_open *open);

/* Returns the number from which on no descriptor is granted. */
int run_descriptors_end(void);

/* True in the process whose table it is: a child of vfork(2) borrows its parent's. */
bool run_is_home(void);

/* Ends the grants of the descriptors from first to last. */
void run_leave_range(unsigned first, unsigned last);

/* Resets the table in a new process, in which nothing is granted. */
void run_begin(void);

/* The library's own descriptors, among the program's. All functions are async-signal-safe. */

/* How many there may be: a quarter of the process's descriptors at most. */
int run_own_most(void);

/*
 * Gives fd, an own descriptor, a number that programs do not expect to be theirs, or closes it and
 * returns -1 with EMFILE. -1 is allowed, and keeps errno.
 */
int run_raise(int fd);

/* A descriptor that was raised is about to be closed. */
void run_lower(int fd);

/* Returns the lowest own descriptor from first on, or -1. */
int run_next_own(unsigned first);

/* Whether the descriptor is the library's own: the program has no business with it. */
bool run_is_own(int fd);

#endif
