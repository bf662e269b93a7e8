/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WINDOW_H
#define MPIIO_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Shared mappings of the file, in aligned windows of one size. A few are kept, the most recently
 * used ones, so that page tables and resident memory stay bounded however long the file is. A
 * window may reach behind the end of the file: its pages there raise SIGBUS when touched (guard.h)
 * and become valid once the file grows.
 */
#define MPIIO_WINDOW_SIZE  ((int64_t)32 << 20)
#define MPIIO_WINDOW_COUNT 64
#define MPIIO_WINDOW_FEW   16 /* where the process's address space is limited */

/* Reads of fewer bytes are short: they are assumed to be one of many at random places. */
#define MPIIO_WINDOW_SHORT (64 << 10)

/* The part of a window for which the state of the page cache is recorded, in bytes. */
#define MPIIO_WINDOW_PART  (128 << 10)
#define MPIIO_WINDOW_WORDS (MPIIO_WINDOW_SIZE / MPIIO_WINDOW_PART / 64)

/* The smallest page of the page cache in bytes, on x86-64. Elsewhere the gain is smaller. */
#define MPIIO_SMALL_PAGE 4096

struct mpiio_window {
    int64_t start;      /* displacement of its first byte, a multiple of MPIIO_WINDOW_SIZE */
    char *base;         /* where it is mapped */
    int users;          /* guarded by the set's lock; one is the set's own while it is kept */
    uint64_t used;      /* when it was last asked for; guarded by the set's lock */
    bool probes;        /* its first reads count page faults */
    atomic_long faults; /* page faults of these reads */
    atomic_int_fast64_t passed; /* bytes of the file that reads went over, gathered or not */
    atomic_bool stored;         /* set by those who store to it */
    atomic_bool large;          /* its new pages are made in large units */
    _Atomic uint64_t asked[MPIIO_WINDOW_WORDS];  /* a bit a part: the page cache was asked for it */
    _Atomic uint64_t cached[MPIIO_WINDOW_WORDS]; /* and had all of it */
};

struct mpiio_windows {
    int fd;
    bool writable;        /* windows are mapped for writing too */
    bool told;            /* the kernel reports to this user what the page cache has */
    int count;            /* the most windows that are kept */
    atomic_bool refused;  /* the filesystem does not map files: no need to try again */
    atomic_bool stays;    /* the file is short enough for all of its windows to be kept */
    atomic_bool few;      /* the file is so short that all windows are mapped, at any cost */
    atomic_bool again;    /* windows are read more than once while they are kept */
    atomic_bool dear;     /* reading a new window has many page faults, where it was counted */
    pthread_mutex_t lock; /* held to look up and to count, never during a system call */
    uint64_t clock;       /* guarded by lock */
    struct mpiio_window *kept[MPIIO_WINDOW_COUNT]; /* guarded by lock; NULL: free */
};

/* Returns true if short reads may be gathered from windows, because these are found again. */
static inline bool mpiio_windows_suit_short(const struct mpiio_windows *windows)
{
    return windows->told && atomic_load_explicit(&windows->stays, memory_order_relaxed);
}

/*
 * Starts an empty set over fd, which is borrowed and open for reading; with writable, also for
 * writing.
 */
void mpiio_windows_init(struct mpiio_windows *windows, int fd, bool writable);

/* Unmaps all windows. None may be in use, and no other thread may use the set. */
void mpiio_windows_destroy(struct mpiio_windows *windows);

/*
 * Returns the window that holds displacement (>= 0), for the caller to release. NULL if it cannot
 * be mapped, for any reason: the file can still be read by system calls. Thread-safe.
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
 * Returns true if a read should be gathered from its window, false if it should use calls. A new
 * window has a page fault for each 64 KiB if the page cache has the file in small pages, and
 * unmapping it costs the same again. It pays if it is read again while it is kept, or if the pages
 * are large. After true, the caller gathers and then ends the read. Thread-safe.
 */
bool mpiio_window_begin_read(struct mpiio_window_read *read);
void mpiio_window_end_read(const struct mpiio_window_read *read);

/*
 * Makes pages for [start, end), which lies in the window and in the file, in large units if the
 * kernel can and they do not exist yet. A dense stream of stores then has a page fault for each
 * large unit instead of each 4 KiB. A sparse stream would read and write back more than it needs.
 * Nothing in the file changes. The window is in use by the caller. Thread-safe.
 */
void mpiio_window_make_pages(struct mpiio_window *window, int64_t start, int64_t end);

/*
 * Returns true if a short read of [start, end), which lies in the window, should be gathered: the
 * page cache had the parts around it when they were first queried. A page fault on storage would
 * read much around it, and single pages in the end. For windows that suit short reads. Thread-safe.
 */
bool mpiio_window_is_cached(struct mpiio_window *window, int64_t start, int64_t end);

/* Returns true if the page that holds displacement is known to be in the page cache. Thread-safe.
 */
bool mpiio_window_has_page(const struct mpiio_window *window, int64_t displacement);

/*
 * To be called before [start, end) of the file is written back: removes its pages from the page
 * tables of the kept windows that were stored to, all at once. The kernel has to detect the next
 * store to each page; otherwise it would unmap them one by one and notify every processor each
 * time. Thread-safe.
 */
void mpiio_windows_detach_pages(struct mpiio_windows *windows, int64_t start, int64_t end);

/* Ends the use of a window. NULL is allowed. Thread-safe. */
void mpiio_windows_release(struct mpiio_windows *windows, struct mpiio_window *window);

#endif
