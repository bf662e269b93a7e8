/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WRITERS_H
#define MPIIO_WRITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose data a dirty block holds: slices, by the ids that their users gave them. What could not be
 * stored is told to exactly those. For the sources of cache_private.h only, whose locks guard all
 * of it.
 */
struct mpiio_writer {
    uint64_t id;
    int unsaved; /* negative errno: why some of its data was not stored the last time; 0: all was */
    int round;   /* for mpiio_cache_resolve: what came of the generation under way */
};

/* All writers there ever were: a tree, NULL where empty. */
typedef void *mpiio_writer_tree;

/* The writer with that id, made where it is missing; NULL: no memory. */
struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id);

/* The same, or NULL where it is missing. */
struct mpiio_writer *mpiio_writer_find(mpiio_writer_tree *tree, uint64_t id);

void mpiio_writers_free_all(mpiio_writer_tree *tree);

/* The writers of a block, ascending by address. Zeros: none. */
struct mpiio_writers {
    struct mpiio_writer **writer;
    size_t count;
    size_t room;
    bool everyone; /* there was no memory to tell them apart */
};

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer);
void mpiio_writers_clear(struct mpiio_writers *writers);

#endif
