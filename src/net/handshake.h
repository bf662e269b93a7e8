/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HANDSHAKE_H
#define MPIIO_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The handshake that opens each connection between two daemons, whatever its purpose:
 *
 *   connects                          accepts
 *                                 <-  HELLO     protocol, nonce
 *   protocol, nonce, purpose,
 *   both nodes, host          JOIN ->
 *                                 <-  WELCOME   status, peer_timeout, host
 *
 * Both sides know the mount's token. JOIN and WELCOME end with a proof: a keyed hash (BLAKE2b, 128
 * bits) of all bytes of the handshake up to there. It shows that the sender knows the token without
 * sending it. The hashed bytes contain both nonces, both nodes' numbers and the purpose. So a proof
 * is not valid on any other connection. Messages have fixed sizes; integers are big-endian.
 */

/* "MPIO" and the version of all messages between daemons. Different versions refuse each other. */
#define MPIIO_PROTOCOL UINT64_C(0x4d50494f00000006)

#define MPIIO_TOKEN_BYTES 16
#define MPIIO_NONCE_BYTES 16
#define MPIIO_HOST_MAX    255

#define MPIIO_HELLO_BYTES   24
#define MPIIO_JOIN_BYTES    309
#define MPIIO_WELCOME_BYTES 280

/* The purposes of a connection. */
enum mpiio_purpose {
    MPIIO_PURPOSE_TREE = 1, /* a node joins the one above it */
    MPIIO_PURPOSE_POOL,     /* a node asks another one for blocks */
    MPIIO_PURPOSES
};

struct mpiio_join {
    enum mpiio_purpose purpose;
    uint32_t node, nodes;          /* the sender's number, and its number of nodes; node < nodes */
    uint32_t to;                   /* number of the intended receiver; < nodes */
    char host[MPIIO_HOST_MAX + 1]; /* the sender's host, one clean line; may be "" */
};

struct mpiio_welcome {
    int32_t status;                /* 0, or a negative errno: why the connection is refused */
    uint32_t time;                 /* ms, for the tree: node 0's peer_timeout; at most INT32_MAX */
    char host[MPIIO_HOST_MAX + 1]; /* as in JOIN */
};

/* The bytes of one handshake: HELLO, JOIN and WELCOME. Proofs are computed from them. */
struct mpiio_handshake {
    uint8_t said[MPIIO_HELLO_BYTES + MPIIO_JOIN_BYTES + MPIIO_WELCOME_BYTES];
};

/*
 * All functions take a non-blocking socket, which stays the caller's, and are thread-safe for
 * different sockets. They return 0 or a negative errno: -EPROTO if the other side is not a daemon,
 * -EPROTONOSUPPORT if it has another version, -EACCES if it does not know the token, or an error of
 * mpiio_talk_send.
 */

/* Sends HELLO, which asks the other side to prove itself. Does not wait. */
int mpiio_handshake_ask(int fd, struct mpiio_handshake *handshake);

/* Receives JOIN and checks its proof. Call when MPIIO_JOIN_BYTES can be read or the connection has
   ended. Does not wait. */
int mpiio_handshake_hear(int fd, struct mpiio_handshake *handshake,
                         const uint8_t token[MPIIO_TOKEN_BYTES], struct mpiio_join *join);

/* Sends WELCOME, once for each JOIN. Does not wait. */
int mpiio_handshake_answer(int fd, struct mpiio_handshake *handshake,
                           const uint8_t token[MPIIO_TOKEN_BYTES],
                           const struct mpiio_welcome *welcome);

/*
 * Performs the side that connects: waits for HELLO, sends JOIN and waits for WELCOME. If the other
 * side is silent, fails with -ETIMEDOUT at end (mpiio_clock, ms). Also returns the status of
 * WELCOME if it is not 0.
 */
int mpiio_handshake_join(int fd, const uint8_t token[MPIIO_TOKEN_BYTES],
                         const struct mpiio_join *join, int64_t end, struct mpiio_welcome *welcome);

/* SipHash-2-4 of size bytes under a 16-byte key. Local, thread-safe. */
uint64_t mpiio_siphash(const uint8_t key[16], const void *bytes, size_t size);

#endif
