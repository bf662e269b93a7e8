/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WINDOW_H
#define MPIIO_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Shared mappings of the file, in aligned windows of one size. The most recently used ones are
 * kept. So page tables and resident memory stay bounded for a file of any length. A window may
 * reach beyond the end of the file: its pages there raise SIGBUS when touched (guard.h) and become
 * valid once the file grows.
 */
#define MPIIO_WINDOW_SIZE  ((int64_t)32 << 20)
#define MPIIO_WINDOW_COUNT 64
#define MPIIO_WINDOW_FEW   16 /* if the process's address space is limited */

/* Reads of fewer bytes are short. They are assumed to be some of many at random positions. */
#define MPIIO_WINDOW_SHORT (64 << 10)

/* The part of a window for which the state of the page cache is recorded, in bytes. */
#define MPIIO_WINDOW_PART  (128 << 10)
#define MPIIO_WINDOW_WORDS (MPIIO_WINDOW_SIZE / MPIIO_WINDOW_PART / 64)

/* The smallest page of the page cache in bytes, on x86-64. Elsewhere the gain is smaller. */
#define MPIIO_SMALL_PAGE 4096

struct mpiio_window {
    int64_t start; /* displacement of its first byte, a multiple of MPIIO_WINDOW_SIZE */
    char *base;    /* address of the mapping */
    /* guarded by the set's lock; includes one for the set while it keeps the window */
    int users;
    uint64_t used;              /* time of last use; guarded by the set's lock */
    atomic_long faults;         /* page faults of the first reads, if they are counted */
    atomic_int_fast64_t passed; /* bytes of the file that reads spanned, gathered or not */
    atomic_bool stored;         /* set by writers through the mapping */
    atomic_bool large;          /* new pages are large */
    _Atomic uint64_t asked[MPIIO_WINDOW_WORDS];  /* one bit per part: its state was queried */
    _Atomic uint64_t cached[MPIIO_WINDOW_WORDS]; /* and the whole part was in the page cache */
};

struct mpiio_windows {
    int fd;
    bool writable;        /* windows are also mapped for writing */
    bool reported;        /* the kernel reports the state of the page cache to this user */
    int count;            /* maximum number of windows kept */
    atomic_bool refused;  /* the filesystem cannot map files: do not try again */
    atomic_bool stays;    /* the file is short enough to keep all its windows */
    atomic_bool few;      /* the file is so short that windows are always used */
    atomic_bool again;    /* windows are read more than once while they are kept */
    atomic_bool dear;     /* reading a new window caused many page faults in a probe */
    pthread_mutex_t lock; /* held for lookups and counts, never during a system call */
    uint64_t clock;       /* guarded by lock */
    struct mpiio_window *kept[MPIIO_WINDOW_COUNT]; /* guarded by lock; NULL: free */
};

/* Returns true if short reads may be gathered from windows, because the windows will be reused. */
static inline bool mpiio_windows_suit_short(const struct mpiio_windows *windows)
{
    return windows->reported && atomic_load_explicit(&windows->stays, memory_order_relaxed);
}

/*
 * Starts an empty set over fd, which is borrowed and open for reading; with writable, also for
 * writing.
 */
void mpiio_windows_init(struct mpiio_windows *windows, int fd, bool writable);

/* Unmaps all windows. None may be in use, and no other thread may use the set. */
void mpiio_windows_destroy(struct mpiio_windows *windows);

/*
 * Returns the window that contains displacement (>= 0). The caller must release it. Returns NULL if
 * the file cannot be mapped, for any reason; system calls can still read it. Thread-safe.
 */
struct mpiio_window *mpiio_windows_acquire(struct mpiio_windows *windows, int64_t displacement);

/* A read of the file that spans length bytes in a window. */
struct mpiio_window_read {
    struct mpiio_windows *windows;
    struct mpiio_window *window; /* in use by the caller */
    int64_t length;
    bool sparse;    /* if the file is in the page cache, calls would skip gaps of its runs */
    int64_t passed; /* value of the window's passed before this read */
    bool counts;    /* count page faults */
    long faults;
};

/*
 * Returns true if a read should be gathered from its window, false if it should use calls. If the
 * page cache has the file in small pages, a new window has a page fault for each 64 KiB, and
 * unmapping it costs the same again. Calls that also read the gaps between runs cost more than
 * that, and calls that skip them cost less. So a window pays for dense runs. For sparse runs it
 * pays if it is read again while it is kept, or if the pages are large. If the result is true, the
 * caller gathers and then calls mpiio_window_end_read. Thread-safe.
 */
bool mpiio_window_begin_read(struct mpiio_window_read *read);
void mpiio_window_end_read(const struct mpiio_window_read *read);

/*
 * Makes pages for [start, end), which lies in the window and in the file: large pages if the kernel
 * can, and if they do not exist yet. A dense stream of stores then has one page fault per large
 * page instead of one per 4 KiB. A sparse stream would read and write back more than it needs. Does
 * not change the file. The caller must have a reference to the window. Thread-safe.
 */
void mpiio_window_make_pages(struct mpiio_window *window, int64_t start, int64_t end);

/*
 * Returns true if a short read of [start, end), which lies in the window, should be gathered: the
 * parts around it were in the page cache when they were first queried. A page fault from storage
 * would read much data around it, and later ones would read single pages. For windows that suit
 * short reads. Thread-safe.
 */
bool mpiio_window_is_cached(struct mpiio_window *window, int64_t start, int64_t end);

/* Returns true if the page that contains displacement is known to be in the page cache.
   Thread-safe. */
bool mpiio_window_has_page(const struct mpiio_window *window, int64_t displacement);

/*
 * Call before [start, end) of the file is written back. Removes its pages from the page tables of
 * the kept windows that were stored to, all at once. The kernel must detect the next store to each
 * page. Otherwise it would unmap them one by one and notify every processor each time. Thread-safe.
 */
void mpiio_windows_detach_pages(struct mpiio_windows *windows, int64_t start, int64_t end);

/* Ends the use of a window. NULL is allowed. Thread-safe. */
void mpiio_windows_release(struct mpiio_windows *windows, struct mpiio_window *window);

#endif
