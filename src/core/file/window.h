/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WINDOW_H
#define MPIIO_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Shared mappings of the file, in aligned windows of one size. A few are kept, the ones
 * used last, so that memory for page tables, and what counts as resident, stay bounded however
 * long the file is. A window may reach behind the end of the file: its pages there raise SIGBUS
 * when touched (guard.h) and become valid once the file grows.
 */
#define MPIIO_WINDOW_SIZE  ((int64_t)32 << 20)
#define MPIIO_WINDOW_COUNT 64
#define MPIIO_WINDOW_FEW   16 /* where the process's address space is limited */

/* Bytes of the file below which a read is short: one of many, it is taken, at random. */
#define MPIIO_WINDOW_SHORT (64 << 10)

/* A part of a window, of which it is known whether the page cache has it. */
#define MPIIO_WINDOW_PART  (128 << 10)
#define MPIIO_WINDOW_WORDS (MPIIO_WINDOW_SIZE / MPIIO_WINDOW_PART / 64)

/* The least unit of the page cache, in bytes: x86-64's. Elsewhere less is gained. */
#define MPIIO_SMALL_PAGE 4096

struct mpiio_window {
    int64_t start;      /* displacement of its first byte, a multiple of MPIIO_WINDOW_SIZE */
    char *base;         /* where it is mapped */
    int users;          /* guarded by the set's lock; one is the set's own while it is kept */
    uint64_t used;      /* when it was last asked for; guarded by the set's lock */
    bool probes;        /* its first reads count page faults */
    atomic_long faults; /* that they had */
    atomic_int_fast64_t passed; /* bytes of the file that reads went over, gathered or not */
    atomic_bool stored;         /* set by those who store to it */
    atomic_bool large;          /* its new pages are made in large units */
    _Atomic uint64_t asked[MPIIO_WINDOW_WORDS];  /* a bit a part: the page cache was asked for it */
    _Atomic uint64_t cached[MPIIO_WINDOW_WORDS]; /* and had all of it */
};

struct mpiio_windows {
    int fd;
    bool writable;        /* windows are mapped for writing too */
    bool told;            /* the kernel tells this user what the page cache has */
    int count;            /* of windows that are kept at most */
    atomic_bool refused;  /* the filesystem does not map files: no need to try again */
    atomic_bool stays;    /* the file is short enough for all of its windows to be kept */
    atomic_bool few;      /* and these are so few that all of them are mapped, at any cost */
    atomic_bool again;    /* windows are read more than once while they are kept */
    atomic_bool dear;     /* reading a new window has many page faults, where it was counted */
    pthread_mutex_t lock; /* held to look up and to count, never during a system call */
    uint64_t clock;       /* guarded by lock */
    struct mpiio_window *kept[MPIIO_WINDOW_COUNT]; /* guarded by lock; NULL: free */
};

/* Whether short reads may be gathered from windows: once mapped, these are found again. */
static inline bool mpiio_windows_suit_short(const struct mpiio_windows *windows)
{
    return windows->told && atomic_load_explicit(&windows->stays, memory_order_relaxed);
}

/*
 * Starts an empty set over fd, which is borrowed and open for reading, and for writing too where
 * writable says so. 0 or a negative errno.
 */
int mpiio_windows_init(struct mpiio_windows *windows, int fd, bool writable);

/* Unmaps all. No window may be in use, and no other thread may use the set any more. */
void mpiio_windows_destroy(struct mpiio_windows *windows);

/*
 * The window that holds displacement (>= 0), for the caller to release; NULL where it cannot be
 * mapped, whatever the reason: the file can still be read by system calls. Thread-safe.
 */
struct mpiio_window *mpiio_windows_acquire(struct mpiio_windows *windows, int64_t displacement);

/* A read of the file that goes over length bytes in a window. */
struct mpiio_window_read {
    struct mpiio_windows *windows;
    struct mpiio_window *window; /* in use by the caller */
    int64_t length;
    int64_t passed; /* by reads before it */
    bool counts;    /* page faults: the thread had so many before */
    long faults;
};

/*
 * Whether a read is to be gathered from its window, or from the file by calls. A new window has a
 * page fault for each 64 KiB where the page cache has the file in small pages, and costs as much
 * again when it is taken away: it pays if it is read once more while it is kept, and where the
 * pages are large. After a true the caller gathers, and then ends the read. Thread-safe.
 */
bool mpiio_window_begin_read(struct mpiio_window_read *read);
void mpiio_window_end_read(const struct mpiio_window_read *read);

/*
 * Makes pages for [start, end) of the file, which lie in the window and in the file, in large units
 * where the kernel can and they are not there yet: a dense stream of stores then has a page fault
 * for each of those, and not for each 4 KiB. A sparse one would have more read and written back
 * than it needs. Nothing in the file changes. The window is in use by the caller. Thread-safe.
 */
void mpiio_window_make_pages(struct mpiio_window *window, int64_t start, int64_t end);

/*
 * The same for a short read of [start, end), which lies in the window, where windows suit short
 * reads: whether the page cache had the parts around it when they were first asked for. A page
 * fault on storage would read much around it, and by single pages in the end. Thread-safe.
 */
bool mpiio_window_is_cached(struct mpiio_window *window, int64_t start, int64_t end);

/* Whether the page that holds displacement is in the page cache, by what is known. Thread-safe. */
bool mpiio_window_has_page(const struct mpiio_window *window, int64_t displacement);

/*
 * Before [start, end) of the file is written back: takes its pages out of the page tables of the
 * kept windows that were stored to since, at once. The kernel has to see the next store to each,
 * and would else take them out one by one and tell every processor of each. Thread-safe.
 */
void mpiio_windows_detach_pages(struct mpiio_windows *windows, int64_t start, int64_t end);

/* Ends the use of a window. NULL is allowed. Thread-safe. */
void mpiio_windows_release(struct mpiio_windows *windows, struct mpiio_window *window);

#endif
