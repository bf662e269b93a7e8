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
 * Truncation of a slice, whose length is fixed (src/DESIGN.md, "Truncation of slices"). After
 * O_TRUNC the slice is cut: it has a mark, its length if it were a plain file. A write that begins
 * behind the mark first writes zeros up to its own beginning. Marks are offsets of the slice's
 * data, without a NumPy header.
 */
#define FS_UNCUT INT64_MAX

struct fs_cut {
    _Atomic int64_t mark; /* FS_UNCUT: the slice is not cut */
    /* Held while the gap before a write is filled and while a write moves the mark. Taken before
       the lock of the table of slices. */
    pthread_mutex_t lock;

    uint64_t number;          /* the number of cuts so far; lock: the table's, also below */
    unsigned keepers, closed; /* handles that keep the cut; those of them that were closed once */
    unsigned granted;         /* handles with a grant to write, which may be unseen */
    unsigned unseen;          /* handles that write past the daemon, in this cut */
};

/* A handle's part in the cuts of its slice. The table's lock protects it. */
struct fs_cut_part {
    uint64_t kept; /* the number of the cut that it keeps */
    bool granted;  /* it counts in granted */
    uint64_t seen; /* with granted: the number of the last cut in which it is seen */
};

/* Fills [start, end) of a slice with zeros. Returns 0 or a negative errno. */
typedef int fs_cut_fill(void *data, int64_t start, int64_t end);

void fs_cut_init(struct fs_cut *cut);
void fs_cut_free(struct fs_cut *cut);

/*
 * Cuts the slice of a handle, which was opened with O_TRUNC, to nothing. The handle keeps the cut.
 * Handles that have a grant to write are unseen: while there is one, nothing is filled. Does
 * nothing if the handle is not open for writing. Thread-safe.
 */
void fs_cut_start(struct fs_slices *slices, struct fs_handle *handle);

/*
 * Notes that a handle has joined its slice's open ones. It keeps the slice's cut if a handle that
 * keeps the cut is certainly still open. The table's lock is held.
 */
void fs_cut_joined(struct fs_handle *handle);

/* Notes that a handle was closed for the first time, perhaps for good. The table's lock is held. */
void fs_cut_closed(struct fs_handle *handle);

/* Notes that a handle has got a grant. The table's lock is held. */
void fs_cut_granted(struct fs_handle *handle);

/*
 * Notes that a handle leaves its slice's open ones. The last one that kept the cut ends it. An
 * unseen one ends it, too, because nobody knows what it wrote. The table's lock is held.
 */
void fs_cut_left(struct fs_handle *handle);

/*
 * Returns true if a gap before a write of the handle must be filled: the handle keeps the cut, or
 * another one does that is certainly still open, and every byte that is written to the slice is
 * seen here. Thread-safe.
 */
bool fs_cut_takes_part(struct fs_slices *slices, const struct fs_handle *handle);

/*
 * Announces a write of bytes [start, end): moves the mark to end at least, after calling fill for
 * the bytes between the mark and start (NULL: nothing is filled). Nobody else moves the mark
 * meanwhile, and no writer that called this before writes into what is filled. The mark stays where
 * it is if the write then fails: others may have written below it. Returns 0, or what fill
 * returned; then the mark is where it was. May wait while another thread fills a gap. Thread-safe.
 */
int fs_cut_reach(struct fs_cut *cut, int64_t start, int64_t end, fs_cut_fill *fill, void *data);

/*
 * Implements ftruncate(2): moves the mark to size, in either direction. Otherwise like
 * fs_cut_reach. Does nothing to a slice that is not cut. Thread-safe.
 */
int fs_cut_resize(struct fs_cut *cut, int64_t size, fs_cut_fill *fill, void *data);

/*
 * Makes the handle unseen from now on, because a program that has a grant of it is about to write
 * past the daemon. Returns the mark, from which the program goes on itself; FS_UNCUT if the slice
 * is not cut; -1 if it is cut and others write it, too: then the program writes through the daemon.
 * A write of an unseen handle that comes through the daemon moves the mark and fills nothing.
 * Thread-safe.
 */
int64_t fs_cut_hide(struct fs_slices *slices, struct fs_handle *handle);

/* Notes that the program has reached that mark and writes through the daemon again. Thread-safe. */
void fs_cut_show(struct fs_slices *slices, struct fs_handle *handle, int64_t mark);

static inline int64_t fs_cut_mark(const struct fs_cut *cut)
{
    return atomic_load_explicit(&cut->mark, memory_order_acquire);
}

#endif
