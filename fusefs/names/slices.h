/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICES_H
#define FS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/lru.h"
#include "core/slice_access.h"
#include "viewspec/npy.h"
#include "cut.h"
#include "refills.h"
#include "tree.h"
#include "version.h"

struct fs_handle;
struct fs_session;

/*
 * The slices in use. One is made when a request first needs it, kept while it is referenced, and
 * later until so many others were used since that it is dropped. All functions are thread-safe.
 */
struct fs_slice {
    struct mpiio_lru_entry entry; /* its users are references; guarded by the table's lock */
    uint64_t inode;
    struct mpiio_slice *slice;

    struct vs_npy *npy; /* what stands before the data; NULL: nothing */
    int64_t header;     /* its length: byte i of the slice is byte header + i of the file */
    uint64_t data;      /* the inode number of the file without it: what is lost, and what is wrong
                           with write-back, goes by this one */

    /* The size that the kernel was told last, or found by a short read. */
    _Atomic int64_t known_size;

    /* Every page of the slice that the kernel holds was read after the file had this version
       (unsettled: nothing is known). Lock: the table's. */
    struct fs_version filled;

    /*
     * The numbers of its open handles, because there may be too many for a request to walk over:
     * all handles; those open for reading; for writing; for both; those whose bytes the kernel may
     * hold; those that were closed at least once; those without a grant. Lock: the table's.
     */
    unsigned handles, readers, writers, updaters, holders, flushed, ungranted;

    /*
     * While it is open: the inode number that it is open by (fs_slices_number), and its neighbours
     * among the open slices of its view. Lock: the table's.
     */
    uint64_t inode_open;
    struct fs_slice *next_open, *prev_open;

    /* What the kernel read of it while it was written (fusefs/kernel/drop.h). */
    struct fs_refills refills;

    /* The mark up to which the slice is written since O_TRUNC. */
    struct fs_cut cut;

    /* For grants (fusefs/kernel/grants.h): whether the kernel may have pages that who has it open
       sees: FS_UNPAGED, FS_PAGED, or the number of a drop that makes it so if nobody asks for one
       before; how many of those have a grant, and its word. */
    atomic_uint paged;
    unsigned granted; /* lock: the table's */
    uint16_t grant;   /* with granted; lock: the table's */
};

/* Reads bytes of the file that a slice is, header and all: how many, or a negative errno. */
typedef ssize_t fs_slice_read(struct fs_session *session, struct fs_slice *slice, char *buffer,
                              size_t size, off_t offset);

#define FS_OPENERS 256

enum { FS_UNPAGED, FS_PAGED };

/* The open slices of a view, and how many of them are open for reading. */
struct fs_open {
    struct fs_slice *first;
    size_t read;
};

struct fs_slices {
    const struct fs_tree *tree; /* borrowed */
    struct mpiio_store *store;  /* borrowed */
    struct vs_view **common;    /* by view: the one view of all ranks, or NULL; borrowed */
    enum mpiio_narrow narrow;   /* of all slices */
    size_t idle_limit;          /* how many unreferenced slices are kept */

    pthread_mutex_t lock;
    struct mpiio_lru table;                /* by inode number; lock: lock */
    struct fs_open *open;                  /* by view, "whole" behind the others; lock: lock */
    struct fs_handle *openers[FS_OPENERS]; /* handles with an opener, by its number; lock: lock */

    uint64_t numbered;               /* how often new numbers were begun; lock: lock */
    struct fs_version numbered_file; /* the file's version then; lock: lock */
};

/*
 * Makes an empty table. common has an entry a view; text_length is the length of the spec, by
 * which the memory of a compiled view is judged. Returns 0 or a negative errno.
 */
int fs_slices_init(struct fs_slices *slices, const struct fs_tree *tree, struct mpiio_store *store,
                   struct vs_view **common, enum mpiio_narrow narrow, size_t text_length);

/* Frees all slices; none may be referenced any more. */
void fs_slices_free(struct fs_slices *slices);

/*
 * A reference to the slice of node (of kind FS_SLICE); fs_slices_put gives it back. why says
 * what is wrong with a view that does not compile (-EINVAL). No lock is held while compiling.
 */
int fs_slices_get(struct fs_slices *slices, struct fs_node node, struct fs_slice **slice,
                  struct vs_error *why);
struct fs_slice *fs_slices_ref(struct fs_slices *slices, struct fs_slice *slice);
void fs_slices_put(struct fs_slices *slices, struct fs_slice *slice);

/*
 * An inode number by which the kernel is to know a slice instead of the slice's own: one that is
 * new after each change of the file, which has the version given, for slices that are not open. A
 * kernel that holds writes back goes by its own idea of a file's size and times, but a new inode
 * begins with ours.
 */
uint64_t fs_slices_number(struct fs_slices *slices, const struct fs_slice *slice,
                          const struct fs_version *version);

/* Begins new numbers for all slices, for each as soon as it is not open. */
void fs_slices_renumber(struct fs_slices *slices);

/*
 * The slices that are open for writing: a new array, the caller's to free(), with a reference to
 * each; their number, or -ENOMEM.
 */
int64_t fs_slices_written(struct fs_slices *slices, struct fs_slice ***list);

/*
 * Iterates over the open slices that may show a byte of the given one, itself among them. Returns
 * the slice behind last, the first one if last is NULL, and NULL behind the last one. With apart,
 * no two ranks of its view show the same byte, and of its own view only the slices of its own rank
 * are returned. The table's lock is held throughout.
 */
struct fs_slice *fs_slices_related(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                                   const struct fs_slice *last);

/* Returns the open slices of the view that a slice belongs to. The table's lock is held. */
struct fs_open *fs_slices_open(struct fs_slices *slices, const struct fs_slice *slice);

/* Returns true if a slice is open for writing. Takes the lock. */
bool fs_slices_is_written(struct fs_slices *slices, const struct fs_slice *slice);

/* Returns the inode number by which the slice is open, or was last. */
uint64_t fs_slices_inode_open(struct fs_slices *slices, const struct fs_slice *slice);

/* Reads and sets slice->filled. */
struct fs_version fs_slices_filled(struct fs_slices *slices, const struct fs_slice *slice);
void fs_slices_set_filled(struct fs_slices *slices, struct fs_slice *slice,
                          const struct fs_version *version);

#endif
