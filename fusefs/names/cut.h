/* SPDX-License-Identifier: MIT */
#ifndef FS_CUT_H
#define FS_CUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fs_handle;
struct fs_slice;
struct fs_slices;

/*
 * Truncation of a slice, whose length is fixed (src/DESIGN.md, "Truncation of slices"). O_TRUNC
 * cuts the slice: the slice then has a mark, which is the length that a plain file would have. A
 * write that begins beyond the mark first fills the gap with zeros. Marks are offsets of the
 * slice's data, without a NumPy header.
 */
#define FS_UNCUT INT64_MAX

struct fs_cut {
    _Atomic int64_t mark; /* FS_UNCUT: the slice is not cut */
    /*
     * Held while the gap before a write is filled and while a write moves the mark. Acquired before
     * the lock of the table of slices.
     */
    pthread_mutex_t lock;

    uint64_t number; /* the number of cuts so far; lock: the table's, as for the fields below */
    unsigned keepers, closed; /* handles that keep the cut, and how many of them were closed */
    unsigned granted;         /* handles with a grant to write, which may become unseen */
    unsigned unseen;          /* handles that write past the daemon in this cut */
};

/* A handle's part in the cuts of its slice. The table's lock protects it. */
struct fs_cut_part {
    uint64_t kept; /* the number of the last cut that it keeps */
    bool granted;  /* it is counted in granted */
    uint64_t seen; /* if granted: the last cut in which all its writes are seen */
};

/* Fills [start, end) of a slice with zeros. Returns 0 or a negative errno. */
typedef int fs_cut_fill(void *data, int64_t start, int64_t end);

void fs_cut_init(struct fs_cut *cut);
void fs_cut_free(struct fs_cut *cut);

/*
 * Cuts the slice of a handle, which was opened with O_TRUNC, to length 0. The handle keeps the cut.
 * Handles with a grant to write become unseen; no gap is filled while there is one. Does nothing if
 * the handle is not open for writing. Thread-safe.
 */
void fs_cut_start(struct fs_slices *slices, struct fs_handle *handle);

/*
 * Updates the cut when a handle joins the slice's open handles. The handle keeps the cut if another
 * handle that keeps it is certainly still open. The table's lock is held.
 */
void fs_cut_joined(struct fs_handle *handle);

/*
 * Updates the cut when a handle is closed for the first time, perhaps for good. The table's lock is
 * held.
 */
void fs_cut_closed(struct fs_handle *handle);

/* Updates the cut when a handle gets a grant. The table's lock is held. */
void fs_cut_granted(struct fs_handle *handle);

/*
 * Updates the cut when a handle leaves the slice's open handles. The last handle that keeps the cut
 * ends it. An unseen handle ends it, too, because the daemon does not know what it wrote. The
 * table's lock is held.
 */
void fs_cut_left(struct fs_handle *handle);

/*
 * Returns true if a gap before a write of the handle must be filled. This requires that the handle,
 * or another one that is certainly still open, keeps the cut, and that the daemon sees every write
 * to the slice. Thread-safe.
 */
bool fs_cut_takes_part(struct fs_slices *slices, const struct fs_handle *handle);

/*
 * Announces a write of bytes [start, end). Calls fill for the bytes between the mark and start,
 * unless fill is NULL, and then moves the mark to end or beyond. Other threads cannot move the mark
 * meanwhile, and no writer that called this earlier writes into the filled range. If the write then
 * fails, the mark stays, because other threads may have written below it. Returns 0, or the error
 * of fill with the mark unchanged. Waits while another thread fills a gap. Thread-safe.
 */
int fs_cut_reach(struct fs_cut *cut, int64_t start, int64_t end, fs_cut_fill *fill, void *data);

/*
 * Implements ftruncate(2): moves the mark to size, in either direction. Does nothing if the slice
 * is not cut. Otherwise like fs_cut_reach. Thread-safe.
 */
int fs_cut_resize(struct fs_cut *cut, int64_t size, fs_cut_fill *fill, void *data);

/*
 * Makes the handle unseen, because a program with a grant of it is about to write past the daemon.
 * Returns the mark, from which the program continues itself, or FS_UNCUT if the slice is not cut.
 * Returns -1 if the slice is cut and has other writers; the program must then write through the
 * daemon. A write of an unseen handle through the daemon moves the mark and fills nothing.
 * Thread-safe.
 */
int64_t fs_cut_hide(struct fs_slices *slices, struct fs_handle *handle);

/*
 * Ends the effect of fs_cut_hide: the program has reached that mark, and writes through the daemon
 * again. Thread-safe.
 */
void fs_cut_show(struct fs_slices *slices, struct fs_handle *handle, int64_t mark);

static inline int64_t fs_cut_mark(const struct fs_cut *cut)
{
    return atomic_load_explicit(&cut->mark, memory_order_acquire);
}

#endif
