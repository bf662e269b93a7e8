/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_FRAME_H
#define MPIIO_POOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "plan.h"

/*
 * Messages between the nodes of a pool. The node that asks has made the line (net/lines.h):
 *
 *   asks         home
 *   request ->              parts of a block, or blocks to be read ahead, which is not answered
 *           <-   answer     whether there are so many bytes, and they follow
 *
 * Integers have their highest byte first. Sizes are fixed but that of a request, which has it in
 * its first four bytes.
 */
#define MPIIO_POOL_ANSWER_BYTES 5

/* A request: this much, and 16 bytes a part, or 8 a block to be read ahead. */
#define MPIIO_POOL_REQUEST_HEAD 65
#define MPIIO_POOL_REQUEST_MAX  (MPIIO_POOL_REQUEST_HEAD + 16 * MPIIO_POOL_PARTS)

/* Blocks in a request to read ahead, at most. */
#define MPIIO_POOL_AHEAD_MAX 16

union mpiio_pool_list {
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
    int64_t block[MPIIO_POOL_AHEAD_MAX];
};

struct mpiio_pool_request {
    bool ahead;
    struct mpiio_pool_version version; /* that the one who asks sees */
    int64_t block;
    uint32_t count;               /* of parts, or blocks */
    struct mpiio_pool_part *part; /* borrowed, as is the next one */
    int64_t *blocks;
};

struct mpiio_pool_answer {
    bool there;
    uint32_t bytes; /* that follow; 0 where it is not there */
};

/* Writes to bytes, which has room for all that it may be. Returns its size. */
size_t mpiio_pool_answer_encode(const struct mpiio_pool_answer *answer, uint8_t *bytes);
size_t mpiio_pool_request_encode(const struct mpiio_pool_request *request, uint8_t *bytes);

/* Returns the number of bytes of a request behind its first four; 0: no request has that length. */
size_t mpiio_pool_request_size(const uint8_t bytes[4]);

/*
 * Reads, where bytes are as many as their kind has, a request's without the first four. Its list
 * goes to list, and its parts are some of one block and at most MPIIO_POOL_BLOCK bytes. False:
 * these are not what a node of this version says.
 */
bool mpiio_pool_answer_decode(const uint8_t *bytes, struct mpiio_pool_answer *answer);
bool mpiio_pool_request_decode(const uint8_t *bytes, size_t size,
                               struct mpiio_pool_request *request, union mpiio_pool_list *list);

#endif
