/* SPDX-License-Identifier: MIT */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/* The writes of the nodes, made from a seed: each node knows those of all nodes. */

enum model_mode {
    MODEL_RANDOM,     /* runs of all kinds in some of the blocks, also over other nodes' */
    MODEL_INTERLEAVE, /* node k of n has the k-th 8 bytes of every 8 n, in all blocks */
    MODEL_FULL,       /* whole blocks, dealt in turn */
    MODEL_SPARSE,     /* blocks that lie far apart, a few bytes in each */
    MODEL_OVERLAP,    /* whole blocks: node 0 has all, the others the upper half */
};

struct model {
    const char *path;
    enum model_mode mode;
    uint64_t seed;
    int blocks;  /* that may be dirty; also the number of slots */
    bool lonely; /* the last node alone has anything */
    uint32_t node;
    uint32_t nodes;
    unsigned char *image; /* what the file should be */
    size_t size;
};

enum model_mode model_mode(const char *name);

/* The number in the file of the block that slot has. */
int64_t model_block(const struct model *model, int slot);

/* Makes what this node has dirty in the epoch. Slots are empty before. */
void model_dirty(const struct model *model, int epoch, const struct mpiio_slots *slots);

/*
 * Compares the file with what it should be after that epoch, called for each in turn. false: a
 * reason is in text.
 */
bool model_check(struct model *model, int epoch, char *text, size_t size);

#endif
