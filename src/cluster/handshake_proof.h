/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HANDSHAKE_PROOF_H
#define MPIIO_HANDSHAKE_PROOF_H

#include <stddef.h>
#include <stdint.h>

/*
 * How two daemons show each other that they know the job's token, without sending it: each answers
 * the other's random nonce with a keyed hash. Who listens on the way learns nothing to log in with.
 */
#define MPIIO_TOKEN_BYTES 16
#define MPIIO_NONCE_BYTES 16

/* What a proof is about: both nonces, and who shows it as which of how many nodes. */
struct mpiio_claim {
    uint8_t asked[MPIIO_NONCE_BYTES];    /* the nonce of the one above */
    uint8_t answered[MPIIO_NONCE_BYTES]; /* the other one's */
    uint32_t by;                         /* number of the node that shows it */
    uint32_t node, nodes;                /* the member: its number, and of how many */
};

/* SipHash-2-4 of size bytes under a 16-byte key. Local, thread-safe. */
uint64_t mpiio_siphash(const uint8_t key[16], const void *bytes, size_t size);

/* The proof of a claim. Compare proofs as the integers they are: that takes the same time always.
 */
uint64_t mpiio_handshake_proof(const uint8_t token[MPIIO_TOKEN_BYTES],
                               const struct mpiio_claim *claim);

/* Fills size (at most 256) bytes at random. 0 or a negative errno. */
int mpiio_random(void *bytes, size_t size);

#endif
