/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HOLDER_H
#define MPIIO_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose data a dirty block holds: slices, by the ids that their users gave them. What could not be
 * stored is told to exactly those. For back.c only, whose locks guard all of it.
 */
struct mpiio_holder {
    uint64_t id;
    int unsaved; /* negative errno: why some of its data was not stored the last time; 0: all was */
    int round;   /* for mpiio_back_resolve: what came of the generation under way */
};

/* All holders there ever were: a tree, NULL where empty. */
typedef void *mpiio_holder_tree;

/* The holder with that id, made where it is missing; NULL: no memory. */
struct mpiio_holder *mpiio_holder_get(mpiio_holder_tree *tree, uint64_t id);

/* The same, or NULL where it is missing. */
struct mpiio_holder *mpiio_holder_find(mpiio_holder_tree *tree, uint64_t id);

void mpiio_holder_free_all(mpiio_holder_tree *tree);

/* The holders of a block, ascending by address. Zeros: none. */
struct mpiio_holders {
    struct mpiio_holder **holder;
    size_t count;
    size_t room;
    bool everyone; /* there was no memory to tell them apart */
};

void mpiio_holders_add(struct mpiio_holders *holders, struct mpiio_holder *holder);
void mpiio_holders_clear(struct mpiio_holders *holders);

#endif
