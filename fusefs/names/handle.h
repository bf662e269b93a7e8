/* SPDX-License-Identifier: MIT */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "slices.h"
#include "version.h"

struct mpiio_share;
struct fs_handle_ops;
struct fs_prefetch;

#define FS_SHARED_CUT (-1)

/* An open file: a slice, or a text of .mpiio as it was when it was opened. */
struct fs_handle {
    const struct fs_handle_ops *ops; /* what it does (fusefs/requests/handle_ops.h) */
    struct fs_slice *slice;          /* a reference, or NULL */

    /*
     * The file's version before this open. If the open had the kernel drop the slice's pages, then
     * those that it holds afterwards are of this version or later; that it has dropped them is
     * sure when the first read comes through this handle, which ends pending.
     */
    struct fs_version version;
    atomic_bool pending;

    atomic_bool
        unsynced; /* something was written through it since its last good fsync, or may be */
    atomic_uint failed_syncs; /* of the mount's, those that were told here or were before that */

    bool reads;                /* opened for reading */
    bool writes;               /* opened for writing */
    bool drops_first;          /* the kernel sends the slice's dirty pages, and drops all, before
                                  the open is answered */
    bool direct;               /* past the slice's pages */
    bool holds;                /* the kernel may hold what was written, or stored through a mapping;
                                  set by fs_handle_holds */
    bool fills;                /* it writes through pages, and counts in its slice's refills */
    int backing;               /* the number of a file that the kernel uses itself; 0: none */
    bool asks;                 /* passthrough.h counts it as a handle that asks the daemon */
    bool past_daemon;          /* the kernel may write through it without a request */
    uint64_t taker;            /* the contribution that takes etypes, or MPIIO_POINTERS_ANYBODY */
    struct mpiio_share *share; /* of "ordered" */
    unsigned rights;           /* granted through it (fusefs/kernel/grants.h); lock: the slices' */
    uint32_t grant;            /* the grant's word at that time; lock: the slices' */
    uint64_t nonce;            /* of the request for a grant that waits for drop */
    unsigned drop;             /* of the slice's pages, which it waits for; lock: the slices' */
    bool joined;               /* it counts in its slice; lock: the slices' */
    bool flushed;              /* it was closed at least once; lock: the slices' */
    struct fs_cut_part part;   /* in its slice's cuts */

    /* The thread that opened the handle and has not looked up its slice since: its number + 1,
       because threads outside the daemon's PID namespace have the number 0; or 0 for none. And the
       next such handle in its bucket. Lock: the slices'. */
    pid_t opener;
    struct fs_handle *next_opened;

    /* Of a shared one: where its last write ended, or FS_SHARED_CUT: it was as large as can be. */
    _Atomic int64_t last_write;

    struct fs_prefetch *prefetch; /* NULL: nothing is read ahead */

    char *text;
    size_t length;
};

static inline struct fs_handle *fs_handle_of(const struct fuse_file_info *info)
{
    return (struct fs_handle *)(uintptr_t)info->fh;
}

/*
 * Removes a handle, with its slice set, from the slice's open ones, if it has joined them. Returns
 * true if it was the only one open for writing. Thread-safe.
 */
bool fs_handle_leave(struct fs_slices *slices, struct fs_handle *handle);

/* Frees a handle, which has left, with all that it holds. Thread-safe. */
void fs_handle_free(struct fs_slices *slices, struct fs_handle *handle);

/*
 * Joins a handle, with its slice, reads and writes set, to the slice's open ones. inode is the
 * number that the kernel opened. Returns -ESTALE if the slice is open by another number; the kernel
 * then looks the name up again. Thread-safe.
 */
int fs_handle_join(struct fs_slices *slices, struct fs_handle *handle, fuse_ino_t inode,
                   pid_t opener);

/* Notes that the kernel may hold bytes written through a handle that has joined. Thread-safe. */
void fs_handle_holds(struct fs_slices *slices, struct fs_handle *handle);

/* Notes that one who has the handle open has closed it: perhaps the last one. Thread-safe. */
void fs_handle_flushed(struct fs_slices *slices, struct fs_handle *handle);

/* True where the slice is open for reading, so that its pages may be filled. Thread-safe. */
bool fs_handle_is_read(struct fs_slices *slices, struct fs_slice *slice);

/*
 * Returns true if the slice is open for both reading and writing by one handle, so that a shared
 * mapping may store to the kernel's pages. Thread-safe.
 */
bool fs_handle_may_store(struct fs_slices *slices, const struct fs_slice *slice);

/*
 * True where the slice is open for writing through the kernel's pages, so that bytes which were
 * stored through a mapping may be there alone. Thread-safe.
 */
bool fs_handle_may_hold(struct fs_slices *slices, struct fs_slice *slice);

/* Returns true if the slice is open by one handle. Thread-safe. */
bool fs_handle_is_sole(struct fs_slices *slices, const struct fs_slice *slice);

/* Returns true if another slice of the same view is open for reading. Thread-safe. */
bool fs_handle_reads_beside(struct fs_slices *slices, const struct fs_slice *slice);

/*
 * Lists the slices open for reading, the given one among them, that may show its bytes, as
 * fs_slices_related finds them. Sets *list to a new array with a reference to each; the caller
 * frees it by free(). Returns their number; NULL and 0 if there is none (or no memory).
 * Thread-safe.
 */
size_t fs_handle_readers(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                         struct fs_slice ***list);

/*
 * The kernel does not wait for a release, so that one may still be under way, in another thread,
 * when a close(2) has returned and the next request comes. Waits a moment if a slice is open by
 * handles only that may have been closed for good; for about a second if it is cut. Calls
 * waits(data, true) before a wait, and waits(data, false) after it. Thread-safe.
 */
void fs_handle_await_release(struct fs_slices *slices, struct fs_slice *slice,
                             void (*waits)(void *data, bool waits), void *data);

/*
 * O_TRUNC reaches us as an open, and next, from the same thread, a truncation by name to 0. What
 * truncate(2) sends is the same, but it looks up the name before that.
 *
 * fs_handle_looked_up notes that a thread looked up a slice. fs_handle_truncates returns the handle
 * that the thread has just opened with O_TRUNC, which stays open until the truncation is answered;
 * NULL if the truncation does not belong to an open. Both are thread-safe.
 */
void fs_handle_looked_up(struct fs_slices *slices, struct fs_slice *slice, pid_t thread);
struct fs_handle *fs_handle_truncates(struct fs_slices *slices, struct fs_slice *slice,
                                      pid_t thread);

#endif
