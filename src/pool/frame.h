/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_FRAME_H
#define MPIIO_POOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/handshake_proof.h"
#include "memory.h"
#include "plan.h"

/*
 * What the nodes of a pool say to each other, over a connection that the one who asks has made:
 *
 *   asks         home
 *           <-   greeting   the protocol, and a number to answer
 *   join    ->              who asks, and the proof that it knows the token
 *           <-   welcome    the home's own proof
 *   request ->              parts of a block, or blocks to be read ahead, which is not answered
 *           <-   answer     whether there are so many bytes, and they follow
 *
 * Integers have their highest byte first. Sizes are fixed but that of a request, which has it in
 * its first four bytes.
 */
#define MPIIO_POOL_PROTOCOL 1

#define MPIIO_POOL_GREETING_BYTES 24
#define MPIIO_POOL_JOIN_BYTES     32
#define MPIIO_POOL_WELCOME_BYTES  8
#define MPIIO_POOL_ANSWER_BYTES   5

/* A request: this much, and 16 bytes a part, or 8 a block to be read ahead. */
#define MPIIO_POOL_REQUEST_HEAD 65
#define MPIIO_POOL_REQUEST_MAX  (MPIIO_POOL_REQUEST_HEAD + 16 * MPIIO_POOL_PARTS)

/* Blocks in a request to read ahead, at most. */
#define MPIIO_POOL_AHEAD_MAX 16

struct mpiio_pool_greeting {
    uint64_t protocol;
    uint8_t nonce[MPIIO_NONCE_BYTES];
};

struct mpiio_pool_join {
    uint32_t node, nodes; /* the asking node's number in the group, and how many there are */
    uint8_t nonce[MPIIO_NONCE_BYTES];
    uint64_t proof;
};

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
size_t mpiio_pool_greeting_encode(const struct mpiio_pool_greeting *greeting, uint8_t *bytes);
size_t mpiio_pool_join_encode(const struct mpiio_pool_join *join, uint8_t *bytes);
size_t mpiio_pool_welcome_encode(uint64_t proof, uint8_t *bytes);
size_t mpiio_pool_answer_encode(const struct mpiio_pool_answer *answer, uint8_t *bytes);
size_t mpiio_pool_request_encode(const struct mpiio_pool_request *request, uint8_t *bytes);

/* What a request has behind its first four bytes; 0: none is as long as these say. */
size_t mpiio_pool_request_size(const uint8_t bytes[4]);

/*
 * Reads, where bytes are as many as their kind has, a request's without the first four. Its list
 * goes to list, and its parts are some of one block and at most MPIIO_POOL_BLOCK bytes. False:
 * these are not what a node of this version says.
 */
bool mpiio_pool_greeting_decode(const uint8_t *bytes, struct mpiio_pool_greeting *greeting);
bool mpiio_pool_join_decode(const uint8_t *bytes, struct mpiio_pool_join *join);
uint64_t mpiio_pool_welcome_decode(const uint8_t *bytes);
bool mpiio_pool_answer_decode(const uint8_t *bytes, struct mpiio_pool_answer *answer);
bool mpiio_pool_request_decode(const uint8_t *bytes, size_t size,
                               struct mpiio_pool_request *request, union mpiio_pool_list *list);

/* A token in hexadecimal, and back: false where a text begins with none. */
#define MPIIO_POOL_TOKEN_TEXT (2 * MPIIO_TOKEN_BYTES + 1)
void mpiio_pool_token_write(const uint8_t token[MPIIO_TOKEN_BYTES],
                            char text[MPIIO_POOL_TOKEN_TEXT]);
bool mpiio_pool_token_read(const char *text, uint8_t token[MPIIO_TOKEN_BYTES]);

/*
 * The proof of node by, when node of nodes joins. These are others than those of the daemons'
 * control connections, whose greeting has the same steps.
 */
uint64_t mpiio_pool_proof(const uint8_t token[MPIIO_TOKEN_BYTES],
                          const uint8_t asked[MPIIO_NONCE_BYTES],
                          const struct mpiio_pool_join *join, uint32_t by);

#endif
