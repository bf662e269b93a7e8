/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LINE_FRAME_H
#define MPIIO_LINE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/handshake_proof.h"

/*
 * How a line between two daemons begins, which the one who asks has made:
 *
 *   asks         answers
 *           <-   greeting   the protocol, and a number to answer
 *   join    ->              who asks, and the proof that it knows the token
 *           <-   welcome    the other one's own proof
 *
 * Integers have their highest byte first. Sizes are fixed. What follows is its users' own.
 */
#define MPIIO_LINE_PROTOCOL 2

#define MPIIO_LINE_GREETING_BYTES 24
#define MPIIO_LINE_JOIN_BYTES     32
#define MPIIO_LINE_WELCOME_BYTES  8

struct mpiio_line_greeting {
    uint64_t protocol;
    uint8_t nonce[MPIIO_NONCE_BYTES];
};

struct mpiio_line_join {
    uint32_t node, nodes; /* the asking node's number in the group, and how many there are */
    uint8_t nonce[MPIIO_NONCE_BYTES];
    uint64_t proof;
};

/* Writes to bytes, which has room for all that it may be. Returns its size. */
size_t mpiio_line_greeting_encode(const struct mpiio_line_greeting *greeting, uint8_t *bytes);
size_t mpiio_line_join_encode(const struct mpiio_line_join *join, uint8_t *bytes);
size_t mpiio_line_welcome_encode(uint64_t proof, uint8_t *bytes);

/* Reads, where bytes are as many as their kind has. False: no node of this version says that. */
bool mpiio_line_greeting_decode(const uint8_t *bytes, struct mpiio_line_greeting *greeting);
bool mpiio_line_join_decode(const uint8_t *bytes, struct mpiio_line_join *join);
uint64_t mpiio_line_welcome_decode(const uint8_t *bytes);

/* A token in hexadecimal, and back: false where a text begins with none. */
#define MPIIO_LINE_TOKEN_TEXT (2 * MPIIO_TOKEN_BYTES + 1)
void mpiio_line_token_write(const uint8_t token[MPIIO_TOKEN_BYTES],
                            char text[MPIIO_LINE_TOKEN_TEXT]);
bool mpiio_line_token_read(const char *text, uint8_t token[MPIIO_TOKEN_BYTES]);

/*
 * The proof of node by, when node of nodes joins. These are others than those of the daemons'
 * control connections, whose greeting has the same steps.
 */
uint64_t mpiio_line_proof(const uint8_t token[MPIIO_TOKEN_BYTES],
                          const uint8_t asked[MPIIO_NONCE_BYTES],
                          const struct mpiio_line_join *join, uint32_t by);

/*
 * All of so many bytes over a connected non-blocking socket. The other end may take timeout ms for
 * each step forward. 0; -ENOTCONN where it has closed; -ETIMEDOUT; or another negative errno. A
 * socket that another thread has shut down fails at once. Thread-safe for different sockets.
 */
int mpiio_talk_send(int fd, const void *bytes, size_t size, int timeout);
int mpiio_talk_receive(int fd, void *bytes, size_t size, int timeout);

/* Has what is sent go on its way at once. */
void mpiio_talk_prepare(int fd);

#endif
