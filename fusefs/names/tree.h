/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_H
#define FS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "viewspec/spec.h"

/*
 * The names of a mount and their inode numbers. All of it is computed from the spec's views and
 * number of ranks: a folder of a million ranks costs no memory. Immutable after fs_tree_init, so
 * every function is thread-safe.
 *
 * An inode number says all that there is to know: small ones are the fixed nodes; a slice's is
 * (view + 1) * 2^32 + rank, and 2^31 more with its NumPy header; the folder, the "self", the
 * "self.npy" and the "shared" of view v are 16 + 4v, 17 + 4v, 18 + 4v and 19 + 4v. "whole", all
 * bytes of an assembled file, is the slice of rank 0 of one more view than the spec has. "shared",
 * what all ranks of a view see, behind a shared file pointer, is a slice, too. Numbers from 2^63 on
 * are those of "ordered" and of what is in it: each use of a rank there has one of its own, as the
 * kernel has but one writer of a number at a time, and a later round is not to keep an earlier one.
 */
enum fs_kind {
    FS_NONE,
    FS_ROOT,    /* the mount point; holds the ranks where the spec has a single view */
    FS_CONTROL, /* .mpiio */
    FS_SPEC,    /* .mpiio/spec.json */
    FS_STATS,   /* .mpiio/stats.json */
    FS_FILE,    /* .mpiio/file */
    FS_FOLDER,  /* a view's folder */
    FS_SELF,    /* self, beside the ranks of a view */
    FS_SLICE,
    FS_ORDERED, /* "ordered", beside the ranks of a view that has a "shared" */
};

struct fs_node {
    enum fs_kind kind;
    size_t view;  /* of a folder, self or slice */
    int64_t rank; /* of a slice */
    bool npy;     /* of a self or slice: behind a NumPy header */
    bool shared;  /* of a slice: it is "shared", and no rank's */
    bool ordered; /* of a self or slice: it is in "ordered" */
    unsigned use; /* of such a slice: tells apart those who have looked it up */
};

struct fs_tree {
    const struct vs_spec *spec; /* borrowed */
    int64_t ranks;
    int64_t first, end; /* the ranks that are shown: [first, end) */
    size_t views;
    bool folders;       /* the spec names its views: each has a folder */
    bool npy;           /* each slice is there with a NumPy header, too */
    bool whole;         /* the file is assembled from members */
    int width;          /* digits of the largest rank */
    const bool *shared; /* by view: it has a "shared"; borrowed. NULL: none has */
    bool ordered;       /* each of those has an "ordered", too */
    bool sequential;    /* and there is nothing else of a view */
};

/* NAME_MAX and a zero: a spec with a longer view name is not mounted. */
#define FS_NAME_SIZE 256

void fs_tree_init(struct fs_tree *tree, const struct vs_spec *spec, bool npy);

/* Shows no ranks but those of node: its block, where they are dealt to nodes in blocks. */
void fs_tree_localize(struct fs_tree *tree, int node, int nodes);

uint64_t fs_tree_inode(struct fs_node node);

/*
 * Another number for the slice of inode, in a mount of one view: each round from 1 to 2^31 - 1
 * has its own.
 */
uint64_t fs_tree_renumber(uint64_t inode, uint64_t round);

/* The node of an inode number; kind FS_NONE where the mount has no such node. */
struct fs_node fs_tree_node(const struct fs_tree *tree, uint64_t inode);

/* Whether the node is the slice "whole". */
bool fs_tree_is_whole(const struct fs_tree *tree, struct fs_node node);

/* Whether a view has an "ordered". */
bool fs_tree_has_ordered(const struct fs_tree *tree, size_t view);

/* The slice "shared" of a view. */
struct fs_node fs_tree_shared(size_t view);

/* True for the nodes that fs_tree_entry can list. */
bool fs_tree_is_folder(struct fs_node node);

/*
 * The node called name in folder; kind FS_NONE where there is none. Ranks are found by their
 * padded and by their plain number. "shared" and "ordered" are found, and not listed: what reads
 * all of a folder would take what others are to get.
 */
struct fs_node fs_tree_find(const struct fs_tree *tree, struct fs_node folder, const char *name);

/*
 * Entry number index (from 0: ".", "..", ...) of folder: fills name (FS_NAME_SIZE bytes) and node.
 * Those of kind FS_SELF are the last of a folder of ranks. Returns false behind the last. O(1).
 */
bool fs_tree_entry(const struct fs_tree *tree, struct fs_node folder, int64_t index, char *name,
                   struct fs_node *node);

/* Writes the listed (padded) name of a slice into name. */
void fs_tree_rank_name(const struct fs_tree *tree, struct fs_node slice, char *name);

/*
 * self.c: returns the rank of a process in MPI_COMM_WORLD, from its environment: -ENOENT without
 * one, or where the tree has none such.
 */
int64_t fs_self_rank(const struct fs_tree *tree, pid_t process);

#endif
