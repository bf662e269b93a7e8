/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_FRAME_H
#define MPIIO_POOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "plan.h"

/*
 * Messages between the nodes of a pool. The requesting node has made the connection
 * (net/connections.h):
 *
 *   requester    home
 *   request ->              parts of a block; or blocks to read ahead, which gets no answer
 *           <-   answer     whether the bytes are available; if so, they follow
 *
 * Integers are big-endian. Sizes are fixed. Only a request has a variable size, in its first 4
 * bytes.
 */
#define MPIIO_POOL_ANSWER_BYTES 5

/* The size of a request: a fixed head, and 16 bytes per part, or 8 per block to read ahead. */
#define MPIIO_POOL_REQUEST_HEAD 65
#define MPIIO_POOL_REQUEST_MAX  (MPIIO_POOL_REQUEST_HEAD + 16 * MPIIO_POOL_PARTS)

/* The maximum number of blocks in a request to read ahead. */
#define MPIIO_POOL_AHEAD_MAX 16

union mpiio_pool_list {
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
    int64_t block[MPIIO_POOL_AHEAD_MAX];
};

struct mpiio_pool_request {
    bool ahead;
    struct mpiio_pool_version version; /* of the file, as the requester sees it */
    int64_t block;
    uint32_t count;               /* of parts or blocks */
    struct mpiio_pool_part *part; /* borrowed, as blocks */
    int64_t *blocks;
};

struct mpiio_pool_answer {
    bool there;
    uint32_t bytes; /* size of the data that follows; 0 if not there */
};

/* Encode to bytes, which must have room for the longest message of that kind. Return its size. */
size_t mpiio_pool_answer_encode(const struct mpiio_pool_answer *answer, uint8_t *bytes);
size_t mpiio_pool_request_encode(const struct mpiio_pool_request *request, uint8_t *bytes);

/* Returns the size of a request without its first four bytes, or 0 if it is invalid. */
size_t mpiio_pool_request_size(const uint8_t bytes[4]);

/*
 * Decode an answer, or a request of size bytes without its first four. The list of a request is
 * stored in list. Its parts lie within one block and have at most MPIIO_POOL_BLOCK bytes. Return
 * false if the message is invalid.
 */
bool mpiio_pool_answer_decode(const uint8_t *bytes, struct mpiio_pool_answer *answer);
bool mpiio_pool_request_decode(const uint8_t *bytes, size_t size,
                               struct mpiio_pool_request *request, union mpiio_pool_list *list);

#endif
