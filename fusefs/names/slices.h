/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICES_H
#define FS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "core/base/lru.h"
#include "core/slice_access.h"
#include "viewspec/npy.h"
#include "stale.h"
#include "tree.h"
#include "version.h"

struct fs_handle;

/*
 * cut.c: truncation of a slice, whose length is fixed (src/DESIGN.md, "Truncation of slices").
 * O_TRUNC cuts the slice: the slice then has a mark, which is the length that a plain file would
 * have. A write that begins beyond the mark first fills the gap with zeros. Marks are offsets of
 * the slice's data, without a NumPy header.
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

/* Counts of a slice's open handles, kept up to date because a request must not walk over all of
   them. */
struct fs_counts {
    unsigned handles;   /* all of them */
    unsigned readers;   /* those open for reading, so that pages may be filled */
    unsigned writers;   /* those open for writing */
    unsigned updaters;  /* those open for both, so that a shared mapping may modify pages */
    unsigned holders;   /* those whose bytes may exist in the kernel's pages alone */
    unsigned flushed;   /* those closed at least once */
    unsigned ungranted; /* those without a grant */
};

/*
 * A slice in use. It is created when a request first needs it, and stays while it is referenced.
 * Unreferenced slices are evicted, the least recently used first. All functions are thread-safe.
 */
struct fs_slice {
    struct mpiio_lru_entry entry; /* users counts references; lock: the table's */
    uint64_t inode;
    struct mpiio_slice *slice;

    struct vs_npy *npy; /* the NumPy header before the data; NULL: none */
    int64_t header; /* length of the header: byte i of the slice is byte header + i of the file */
    uint64_t data;  /* inode number of the same file without the header; keys unwritten pages and
                       errors of  write-back */

    /* The size last reported to the kernel, or found by the kernel through a short read. */
    _Atomic int64_t known_size;

    /*
     * The kernel read all its pages of the slice after the file had this version. If the version is
     * unsettled, nothing is known. Lock: the table's.
     */
    struct fs_version filled;

    struct fs_counts counts; /* lock: the table's */

    /*
     * The inode number by which it is or was last open (fs_slices_number). While it is open: its
     * neighbors in the list of open slices of its view. Lock: the table's.
     */
    uint64_t inode_open;
    LIST_ENTRY(fs_slice) open;

    /* The kernel's reads while it is written (fusefs/kernel/drop.h). */
    struct fs_stale stale;

    /* The length of the slice since O_TRUNC cut it. */
    struct fs_cut cut;

    /*
     * For grants (fusefs/kernel/grants.h). paged tells whether the kernel may have pages that open
     * handles show: FS_UNPAGED, FS_PAGED, or the number of a drop. A drop makes the slice unpaged
     * unless a handle asks for pages before. granted is the number of handles with a grant, and
     * grant its word.
     */
    atomic_uint paged;
    unsigned granted; /* lock: the table's */
    uint16_t grant;   /* valid if granted > 0; lock: the table's */
};

#define FS_OPENERS 256

enum { FS_UNPAGED, FS_PAGED };

/* The open slices of a view, and the number of them that are open for reading. */
struct fs_open {
    LIST_HEAD(, fs_slice) slices;
    size_t read;
};

struct fs_slices {
    const struct fs_tree *tree; /* borrowed */
    struct mpiio_store *store;  /* borrowed */
    struct vs_view **common;    /* by view: the view of all ranks, or NULL; borrowed */
    enum mpiio_narrow narrow;   /* of all slices */
    size_t idle_limit;          /* the maximum number of unreferenced slices */

    pthread_mutex_t lock;
    pthread_cond_t opened;                 /* signals that a handle joined or left a slice */
    struct mpiio_lru table;                /* by inode number; lock: lock */
    struct fs_open *open;                  /* by view; the last entry is "whole"; lock: lock */
    struct fs_handle *openers[FS_OPENERS]; /* handles with an opener, hashed by it; lock: lock */

    uint64_t numbered; /* number of times that new inode numbers were begun; lock: lock */
    struct fs_version numbered_file; /* the file's version at that time; lock: lock */
};

/*
 * Initializes an empty table. common has an entry for each view. text_length is the length of the
 * spec, an estimate of the memory of a compiled view. Returns 0 or a negative errno.
 */
int fs_slices_init(struct fs_slices *slices, const struct fs_tree *tree, struct mpiio_store *store,
                   struct vs_view **common, enum mpiio_narrow narrow, size_t text_length);

/* Frees all slices. None may be referenced. */
void fs_slices_free(struct fs_slices *slices);

/*
 * Gets a reference to the slice of node (of kind FS_SLICE); fs_slices_put releases it. Returns 0 or
 * a negative errno. If the view does not compile, returns -EINVAL and fills why. No lock is held
 * while compiling.
 */
int fs_slices_get(struct fs_slices *slices, struct fs_node node, struct fs_slice **slice,
                  struct vs_error *why);
struct fs_slice *fs_slices_ref(struct fs_slices *slices, struct fs_slice *slice);
void fs_slices_put(struct fs_slices *slices, struct fs_slice *slice);

/*
 * Returns the inode number under which the kernel is to know a slice. An open slice keeps its
 * number. Otherwise each change of the file, whose version is given, leads to a new number. A
 * kernel that holds writes back trusts its own size and times of an inode, but for a new inode it
 * takes the daemon's.
 */
uint64_t fs_slices_number(struct fs_slices *slices, const struct fs_slice *slice,
                          const struct fs_version *version);

/* Begins new inode numbers for all slices, for each as soon as it is not open. */
void fs_slices_renumber(struct fs_slices *slices);

/* A list of open slices. It holds a reference to each; the user releases them (fs_slices_put) and
   frees the array. */
struct fs_slice_list {
    struct fs_slice **slices;
    size_t count, room;
};

/* Adds a slice. Returns false if out of memory. The table's lock is held. */
bool fs_slice_list_add(struct fs_slice_list *list, struct fs_slice *slice);

/*
 * Lists the slices that are open for writing. Returns 0, or -ENOMEM with an incomplete list, which
 * the caller also releases. Takes the lock.
 */
int fs_slices_written(struct fs_slices *slices, struct fs_slice_list *list);

/*
 * Iterates over the open slices that may show a byte of the given one, including itself. Returns
 * the slice after last, the first one if last is NULL, and NULL at the end. Set apart if no two
 * ranks of its view show the same byte; then only slices of its own rank are returned from its
 * view. The table's lock is held throughout.
 */
struct fs_slice *fs_slices_related(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                                   const struct fs_slice *last);

/* Returns the list of open slices of the slice's view. The table's lock is held. */
struct fs_open *fs_slices_open(struct fs_slices *slices, const struct fs_slice *slice);

/* Returns the counts of the slice's open handles. Takes the lock. */
struct fs_counts fs_slices_counts(struct fs_slices *slices, const struct fs_slice *slice);

/* Returns true if slice->filled equals *version. fs_slices_set_filled sets it. */
bool fs_slices_is_filled(struct fs_slices *slices, const struct fs_slice *slice,
                         const struct fs_version *version);
void fs_slices_set_filled(struct fs_slices *slices, struct fs_slice *slice,
                          const struct fs_version *version);

/* cut.c: cuts of slices. */

/*
 * Cuts the slice of a handle, which was opened for writing with O_TRUNC, to length 0. The handle
 * keeps the cut. Handles with a grant to write become unseen; no gap is filled while there is one.
 * Thread-safe.
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
