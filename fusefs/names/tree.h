/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_H
#define FS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "viewspec/spec.h"

/*
 * The names of a mount and their inode numbers. All are computed from the spec's views and number
 * of ranks, so a folder of a million ranks costs no memory. The tree is immutable once the mount
 * serves, so every function is thread-safe.
 *
 * An inode number identifies its node completely. Small numbers are the fixed nodes. A slice has
 * (view + 1) * 2^32 + rank, plus 2^31 with its NumPy header. The folder and "shared" of view v have
 * 16 + 8v and 17 + 8v, and "self" in each format the numbers after these. "whole", all bytes of an
 * assembled file, is the slice of rank 0 of an additional view. "shared" is also a slice: all ranks
 * of a view access it through a shared file pointer.
 *
 * Numbers with 2^62 belong to files for other programs (exports.h), if the mount has any.
 *
 * Numbers from 2^63 on belong to "ordered" and its entries. There, each use of a rank has a number
 * of its own: the kernel allows only one writer of an inode at a time, and a later round must not
 * delay an earlier one.
 */
enum fs_kind {
    FS_NONE,
    FS_ROOT,    /* the mount point; contains the ranks if the spec has a single view */
    FS_CONTROL, /* .mpiio */
    FS_SPEC,    /* .mpiio/spec.json */
    FS_STATS,   /* .mpiio/stats.json */
    FS_FILE,    /* .mpiio/file */
    FS_FOLDER,  /* a view's folder */
    FS_SELF,    /* self, beside the ranks of a view */
    FS_SLICE,
    FS_ORDERED,       /* "ordered", beside the ranks of a view that has a "shared" */
    FS_EXPORT,        /* a file for other programs */
    FS_EXPORT_FOLDER, /* "zarr", or a folder in it */
};

/* The formats in which the mount shows ranks, and the store of all arrays. */
enum fs_format {
    FS_PLAIN,
    FS_NPY, /* a slice after a NumPy header */
    FS_NETCDF,
    FS_VTK,
    FS_RANK_FORMATS,
    FS_ZARR = FS_RANK_FORMATS,
};

struct fs_exports;

struct fs_node {
    enum fs_kind kind;
    size_t view;  /* of a folder, self, slice or export; in "zarr", the number of a node */
    int64_t rank; /* of a slice or export, which may be -1: all ranks; in "zarr", of a file */
    enum fs_format format; /* of a self, slice or export; a slice has one of the first two */
    bool shared;           /* of a slice: it is "shared" and belongs to no rank */
    bool ordered;          /* of a self or slice: it is in "ordered" */
    unsigned use;          /* of a slice in "ordered": distinguishes its lookups */
};

struct fs_tree {
    const struct vs_spec *spec; /* borrowed */
    int64_t ranks;
    int64_t first, end; /* the ranks that are shown: [first, end) */
    size_t views;
    bool folders;                     /* the spec names its views, so each has a folder */
    bool npy;                         /* each slice also exists with a NumPy header */
    bool whole;                       /* the file is assembled from members */
    int width;                        /* digits of the largest rank */
    const bool *shared;               /* by view: it has a "shared"; borrowed; NULL: none */
    bool ordered;                     /* each view with a "shared" also has an "ordered" */
    bool sequential;                  /* the views have no other entries than these */
    const struct fs_exports *exports; /* the files for other programs; borrowed; NULL: none */
};

/* NAME_MAX and a zero byte. A spec with a longer view name cannot be mounted. */
#define FS_NAME_SIZE 256

void fs_tree_init(struct fs_tree *tree, const struct vs_spec *spec, bool npy);

/* Shows only the ranks of one node, if the ranks are distributed to the nodes in blocks. */
void fs_tree_localize(struct fs_tree *tree, int node, int nodes);

uint64_t fs_tree_inode(struct fs_node node);

/*
 * Returns another number for the slice of inode, in a mount with one view. Each round from 1 to
 * 2^29 - 1 gives a different number; then they begin again.
 */
uint64_t fs_tree_renumber(uint64_t inode, uint64_t round);

/* Returns the node of an inode number, of kind FS_NONE if the mount has no such node. */
struct fs_node fs_tree_node(const struct fs_tree *tree, uint64_t inode);

/* Returns true if the node is the slice "whole". */
bool fs_tree_is_whole(const struct fs_tree *tree, struct fs_node node);

/* Returns true if the view has a "shared". */
bool fs_tree_has_shared(const struct fs_tree *tree, size_t view);

/* Returns true if the view has an "ordered". */
bool fs_tree_has_ordered(const struct fs_tree *tree, size_t view);

/* Returns the node of the slice "shared" of a view. */
struct fs_node fs_tree_shared(size_t view);

/* Returns true if fs_tree_entry can list the node. */
bool fs_tree_is_folder(struct fs_node node);

/*
 * Returns the node called name in folder, of kind FS_NONE if there is none. Ranks are found by
 * their padded and by their plain number. "shared" and "ordered" are found but not listed, because
 * a program that reads all files of a folder would take data meant for others.
 */
struct fs_node fs_tree_find(const struct fs_tree *tree, struct fs_node folder, const char *name);

/*
 * Returns entry number index (from 0: ".", "..", ...) of folder: fills name (FS_NAME_SIZE bytes)
 * and node. Entries of kind FS_SELF come last in a folder of ranks. Returns false after the last
 * entry. Takes constant time.
 */
bool fs_tree_entry(const struct fs_tree *tree, struct fs_node folder, int64_t index, char *name,
                   struct fs_node *node);

/* Writes the listed (padded) name of a slice, or of a rank's export, into name. */
void fs_tree_rank_name(const struct fs_tree *tree, struct fs_node slice, char *name);

/*
 * self.c: returns the rank of a process in MPI_COMM_WORLD, from its environment. Returns -ENOENT if
 * the environment has none or the tree does not show it, or another negative errno.
 */
int64_t fs_self_rank(const struct fs_tree *tree, pid_t process);

#endif
