/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICES_H
#define FS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../src/core/slice.h"
#include "tree.h"
#include "version.h"

/*
 * The slices in use. One is made when a request first needs it, kept while it is referenced, and
 * later until so many others were used since that it is dropped. All functions are thread-safe.
 */
struct fs_slice {
    uint64_t inode;
    struct mpiio_slice *slice;

    /* The size that the kernel was told last, or found by a short read. */
    _Atomic int64_t known_size;

    /* Every page of the slice that the kernel holds was read after the file had this version
       (unsettled: nothing is known). Lock: the table's. */
    struct fs_version filled;

    unsigned references;    /* lock: the table's */
    struct fs_slice *next;  /* in its bucket; lock: the table's */
    struct fs_slice *older; /* among those that are not referenced; lock: the table's */
    struct fs_slice *newer; /* the same */
};

#define FS_BUCKETS 4096

struct fs_slices {
    const struct fs_tree *tree; /* borrowed */
    struct mpiio_store *store;  /* borrowed */
    struct vs_view **common;    /* by view: the one view of all ranks, or NULL; borrowed */
    size_t idle_limit;          /* how many unreferenced slices are kept */

    pthread_mutex_t lock;
    struct fs_slice *buckets[FS_BUCKETS]; /* lock: lock */
    struct fs_slice *oldest, *newest;     /* the unreferenced ones; lock: lock */
    size_t idle;                          /* how many those are; lock: lock */
};

/*
 * Makes an empty table. common has an entry a view; text_length is the length of the spec, by
 * which the memory of a compiled view is judged. Returns 0 or a negative errno.
 */
int fs_slices_init(struct fs_slices *slices, const struct fs_tree *tree, struct mpiio_store *store,
                   struct vs_view **common, size_t text_length);

/* Frees all slices; none may be referenced any more. */
void fs_slices_free(struct fs_slices *slices);

/*
 * A reference to the slice of node (of kind FS_SLICE); fs_slices_put gives it back. error says
 * what is wrong with a view that does not compile (-EINVAL). No lock is held while compiling.
 */
int fs_slices_get(struct fs_slices *slices, struct fs_node node, struct fs_slice **slice,
                  struct vs_error *error);
struct fs_slice *fs_slices_ref(struct fs_slices *slices, struct fs_slice *slice);
void fs_slices_put(struct fs_slices *slices, struct fs_slice *slice);

/* Reads and sets slice->filled. */
struct fs_version fs_slices_filled(struct fs_slices *slices, const struct fs_slice *slice);
void fs_slices_set_filled(struct fs_slices *slices, struct fs_slice *slice,
                          const struct fs_version *version);

#endif
