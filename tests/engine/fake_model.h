/* SPDX-License-Identifier: MIT */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/* The writes of the nodes, made from a seed. Each node can compute those of all nodes. */

enum model_mode {
    /* runs of all kinds in some of the blocks; they may overlap other nodes' runs */
    MODEL_RANDOM,
    MODEL_INTERLEAVE, /* node k of n has the k-th 8 bytes of every 8 n, in all blocks */
    MODEL_FULL,       /* whole blocks, dealt to the nodes in turn */
    MODEL_SPARSE,     /* blocks that lie far apart, a few bytes in each */
    MODEL_OVERLAP,    /* node 0 has whole blocks, the others their upper halves */
};

struct model {
    const char *path;
    enum model_mode mode;
    uint64_t seed;
    int blocks;  /* blocks that may be dirty; also the number of slots */
    bool lonely; /* only the last node has data */
    uint32_t node;
    uint32_t nodes;
    unsigned char *image; /* the expected contents of the file */
    size_t size;
};

enum model_mode model_mode(const char *name);

/* Returns the file's block that slot holds. */
int64_t model_block(const struct model *model, int slot);

/* Fills the slots with the bytes that this node has dirty in the epoch. The slots must be empty. */
void model_dirty(const struct model *model, int epoch, const struct mpiio_slots *slots);

/*
 * Compares the file with its expected contents after an epoch. Call it for each epoch in turn.
 * Returns false after it has put a reason into text.
 */
bool model_check(struct model *model, int epoch, char *text, size_t size);

#endif
