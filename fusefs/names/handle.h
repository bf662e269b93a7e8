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

struct mpiio_export;
struct mpiio_share;
struct fs_handle_ops;
struct fs_prefetch;

#define FS_SHARED_CUT (-1)

/* An open file: a slice, or a file of .mpiio with its text at the time of the open. */
struct fs_handle {
    const struct fs_handle_ops *ops; /* its operations (fusefs/requests/handle_ops.h) */
    struct fs_slice *slice;          /* a reference, or NULL */

    /*
     * The file's version before this open. If the open made the kernel invalidate the slice's
     * pages, all pages that it has afterwards are of this version or later. The first read through
     * this handle proves that the invalidation is complete, and clears pending.
     */
    struct fs_version version;
    atomic_bool pending;

    atomic_bool unsynced;     /* possibly written through since its last successful fsync */
    atomic_uint failed_syncs; /* the number of the mount's failed syncs that it has reported, or
                                 that precede it */

    bool reads;       /* opened for reading */
    bool writes;      /* opened for writing */
    bool drops_first; /* the kernel writes back and invalidates the slice's pages before the open is
                         answered */
    bool direct;      /* bypasses the slice's pages */
    bool holds;       /* the kernel may hold dirty pages of it, by writes or a mapping; set by
                         fs_handle_holds */
    bool fills;       /* writes through pages; counted in its slice's stale pages */
    int backing;      /* ID of the backing file that the kernel accesses directly; 0: none */
    bool asks;        /* passthrough.h counts it as a handle that sends requests to the daemon */
    uint64_t taker;   /* the contribution that takes etypes, or MPIIO_POINTERS_ANYBODY */
    struct mpiio_share *share; /* its contribution, if it is in "ordered" */
    unsigned rights; /* rights granted through it (fusefs/kernel/grants.h); lock: the slices' */
    uint32_t grant;  /* the word of the grant when it was given; lock: the slices' */
    bool joined;     /* it is counted in its slice; lock: the slices' */
    bool flushed;    /* it was closed at least once; lock: the slices' */
    struct fs_cut_part part; /* its part in its slice's cuts */

    /*
     * The thread that opened the handle and has not looked up its slice since, as its number + 1; 0
     * if none. The offset is needed because threads outside the daemon's PID namespace have the
     * number 0. next_opened is the next such handle in its bucket. Lock: the slices'.
     */
    pid_t opener;
    struct fs_handle *next_opened;

    /*
     * For "shared": the end of its last write, or FS_SHARED_CUT if that write had the largest size.
     */
    _Atomic int64_t last_write;

    struct fs_prefetch *prefetch; /* NULL: nothing is read ahead */

    char *text;
    size_t length;
    struct mpiio_export *export; /* an open file for other programs */
};

static inline struct fs_handle *fs_handle_of(const struct fuse_file_info *info)
{
    return (struct fs_handle *)(uintptr_t)info->fh;
}

/*
 * Removes a handle from the open handles of its slice, if it has joined them. Returns true if it
 * was the last one open for writing. Thread-safe.
 */
bool fs_handle_leave(struct fs_slices *slices, struct fs_handle *handle);

/* Frees a handle, which has left its slice, and everything that it owns. Thread-safe. */
void fs_handle_free(struct fs_slices *slices, struct fs_handle *handle);

/*
 * Adds a handle, with slice, reads and writes set, to the open handles of its slice. inode is the
 * number that the kernel opened. Returns 0, or -ESTALE if the slice is open by another number; the
 * kernel then looks the name up again. Thread-safe.
 */
int fs_handle_join(struct fs_slices *slices, struct fs_handle *handle, fuse_ino_t inode,
                   pid_t opener);

/* Records that the kernel may hold dirty pages of a handle that has joined. Thread-safe. */
void fs_handle_holds(struct fs_slices *slices, struct fs_handle *handle);

/* Records that a descriptor of the handle was closed, perhaps the last one. Thread-safe. */
void fs_handle_flushed(struct fs_slices *slices, struct fs_handle *handle);

/* Returns true if another slice of the same view is open for reading. Thread-safe. */
bool fs_handle_reads_beside(struct fs_slices *slices, const struct fs_slice *slice);

/*
 * Lists the slices open for reading that may show bytes of the given slice, including itself, as
 * fs_slices_related finds them. The list is incomplete if memory is short. Thread-safe.
 */
void fs_handle_readers(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                       struct fs_slice_list *list);

/*
 * Waits if a slice is open only by handles that may have been closed for good: about 10 ms, or
 * about a second if the slice is cut. The kernel does not wait for a release. So after close(2) has
 * returned, the next request may arrive while another thread still handles the release. Calls
 * waits(data, true) before a wait, and waits(data, false) after it. Thread-safe.
 */
void fs_handle_await_release(struct fs_slices *slices, struct fs_slice *slice,
                             void (*waits)(void *data, bool waits), void *data);

/*
 * Tells O_TRUNC from truncate(2). For O_TRUNC, the kernel sends an open and then, from the same
 * thread, a truncation by name to 0. For truncate(2) it sends the same truncation, but after a
 * lookup of the name. Call it for both, a lookup of the slice and such a truncation: returns the
 * handle of the slice that the thread has opened since it last did either, or NULL. For a
 * truncation, the handle stays open until the answer. Thread-safe.
 */
struct fs_handle *fs_handle_take_opened(struct fs_slices *slices, struct fs_slice *slice,
                                        pid_t thread);

#endif
