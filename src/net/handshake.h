/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HANDSHAKE_H
#define MPIIO_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How each connection between two daemons begins, whatever it is for. The one that connects joins:
 *
 *   joins                          is joined
 *                             <-   HELLO     the protocol, and a nonce
 *   the same, what for, who   JOIN ->
 *                             <-   WELCOME   0 or why not, and who
 *
 * Both know the mount's token. JOIN and WELCOME end with a keyed hash (BLAKE2b, 128 bits) of all
 * that was said on the connection up to there, which shows that their sender knows the token
 * without sending it. As the nonces, both nodes' numbers and the purpose are part of what is
 * hashed, a proof has no meaning on any other connection. Messages have fixed sizes; integers have
 * their highest byte first.
 */

/* "MPIO" and the version of all that daemons tell each other: two versions refuse each other. */
#define MPIIO_PROTOCOL UINT64_C(0x4d50494f00000006)

#define MPIIO_TOKEN_BYTES 16
#define MPIIO_NONCE_BYTES 16
#define MPIIO_HOST_MAX    255

#define MPIIO_HELLO_BYTES   24
#define MPIIO_JOIN_BYTES    309
#define MPIIO_WELCOME_BYTES 280

/* What a connection is for. */
enum mpiio_purpose {
    MPIIO_PURPOSE_TREE = 1, /* a node joins the one above it */
    MPIIO_PURPOSE_POOL,     /* a node asks another one for blocks */
    MPIIO_PURPOSES
};

struct mpiio_join {
    enum mpiio_purpose purpose;
    uint32_t node, nodes;          /* who joins, and how many nodes it knows of; node < nodes */
    uint32_t to;                   /* the node that is to be joined; < nodes */
    char host[MPIIO_HOST_MAX + 1]; /* the sender's, one clean line */
};

struct mpiio_welcome {
    int32_t status; /* 0, or a negative errno: why the other one may not join */
    uint32_t time;  /* ms, of the tree: its peer_timeout; at most INT32_MAX */
    char host[MPIIO_HOST_MAX + 1];
};

/* What was said on a connection. */
struct mpiio_handshake {
    uint8_t said[MPIIO_HELLO_BYTES + MPIIO_JOIN_BYTES + MPIIO_WELCOME_BYTES];
};

/*
 * Functions are thread-safe for different connections, which are non-blocking sockets, and return
 * 0 or a negative errno: -EPROTO where the other side is no daemon, -EPROTONOSUPPORT where it is
 * one of another version, -EACCES where it does not know the token, and what talk.h's functions
 * return.
 */

/* Asks whoever has connected to prove itself. Does not wait. */
int mpiio_handshake_ask(int fd, struct mpiio_handshake *handshake);

/* Takes the answer, where MPIIO_JOIN_BYTES can be read or the connection has ended. Does not wait.
 */
int mpiio_handshake_hear(int fd, struct mpiio_handshake *handshake,
                         const uint8_t token[MPIIO_TOKEN_BYTES], struct mpiio_join *join);

/* Answers that, once. Does not wait. */
int mpiio_handshake_answer(int fd, struct mpiio_handshake *handshake,
                           const uint8_t token[MPIIO_TOKEN_BYTES],
                           const struct mpiio_welcome *welcome);

/* Joins, until end by mpiio_clock. A welcome's status that is not 0 is returned. */
int mpiio_handshake_join(int fd, const uint8_t token[MPIIO_TOKEN_BYTES],
                         const struct mpiio_join *join, int64_t end, struct mpiio_welcome *welcome);

/* SipHash-2-4 of size bytes under a 16-byte key. Local, thread-safe. */
uint64_t mpiio_siphash(const uint8_t key[16], const void *bytes, size_t size);

#endif
