/* SPDX-License-Identifier: MIT */
#include "handshake.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "core/base/clock.h"
#include "viewspec/base/line.h"
#include "wire.h"

uint64_t mpiio_siphash(const uint8_t key[16], const void *bytes, size_t size)
{
    uint8_t hash[crypto_shorthash_BYTES];
    uint64_t word;

    crypto_shorthash(hash, bytes, size, key);
    memcpy(&word, hash, sizeof(word));
    return le64toh(word);
}

/* The offset of each message in the handshake, and the size of the proof that ends the last two. */
#define JOIN_AT     MPIIO_HELLO_BYTES
#define WELCOME_AT  (JOIN_AT + MPIIO_JOIN_BYTES)
#define END         (WELCOME_AT + MPIIO_WELCOME_BYTES)
#define PROOF_BYTES crypto_generichash_BYTES_MIN

_Static_assert(END == sizeof(((struct mpiio_handshake *)0)->said), "the messages' sizes");

/* Checks the protocol's version. The rest of a message is decoded only if the version matches. */
static int check_protocol(const uint8_t *message)
{
    struct mpiio_wire wire = {.from = message, .size = sizeof(uint64_t)};
    uint64_t protocol;

    mpiio_wire_u64(&wire, &protocol);
    if (protocol == MPIIO_PROTOCOL)
        return 0;
    return protocol >> 32 == MPIIO_PROTOCOL >> 32 ? -EPROTONOSUPPORT : -EPROTO;
}

/* Writes the protocol and a nonce, with which HELLO and JOIN begin. */
static void write_head(struct mpiio_wire *wire)
{
    uint64_t protocol = MPIIO_PROTOCOL;
    uint8_t nonce[MPIIO_NONCE_BYTES];

    randombytes_buf(nonce, sizeof(nonce));
    mpiio_wire_u64(wire, &protocol);
    mpiio_wire_bytes(wire, nonce, sizeof(nonce));
}

static void code_host(struct mpiio_wire *wire, char host[MPIIO_HOST_MAX + 1])
{
    mpiio_wire_bytes(wire, host, MPIIO_HOST_MAX + 1);
    mpiio_wire_expect(wire, memchr(host, '\0', MPIIO_HOST_MAX + 1) != NULL && !vs_line_clean(host));
}

static void code_join(struct mpiio_wire *wire, struct mpiio_join *join)
{
    join->purpose = (enum mpiio_purpose)mpiio_wire_u8(wire, join->purpose, MPIIO_PURPOSES - 1);
    mpiio_wire_u32(wire, &join->node);
    mpiio_wire_u32(wire, &join->nodes);
    mpiio_wire_u32(wire, &join->to);
    code_host(wire, join->host);
    mpiio_wire_expect(wire, join->purpose > 0 && join->node < join->nodes &&
                                join->to < join->nodes && join->nodes <= INT32_MAX);
}

static void code_welcome(struct mpiio_wire *wire, struct mpiio_welcome *welcome)
{
    mpiio_wire_errno(wire, &welcome->status);
    mpiio_wire_u32(wire, &welcome->time);
    code_host(wire, welcome->host);
    mpiio_wire_expect(wire, welcome->time <= INT32_MAX);
}

/* Computes the proof of the message that ends at offset end of the handshake. */
static void make_proof(const struct mpiio_handshake *handshake, size_t end,
                       const uint8_t token[MPIIO_TOKEN_BYTES], uint8_t proof[PROOF_BYTES])
{
    crypto_generichash(proof, PROOF_BYTES, handshake->said, end - PROOF_BYTES, token,
                       MPIIO_TOKEN_BYTES);
}

static void write_proof(struct mpiio_handshake *handshake, size_t end,
                        const uint8_t token[MPIIO_TOKEN_BYTES])
{
    make_proof(handshake, end, token, handshake->said + end - PROOF_BYTES);
}

static int check_proof(const struct mpiio_handshake *handshake, size_t end,
                       const uint8_t token[MPIIO_TOKEN_BYTES])
{
    uint8_t proof[PROOF_BYTES];

    make_proof(handshake, end, token, proof);
    return sodium_memcmp(proof, handshake->said + end - PROOF_BYTES, PROOF_BYTES) == 0 ? 0
                                                                                       : -EACCES;
}

int mpiio_handshake_ask(int fd, struct mpiio_handshake *handshake)
{
    struct mpiio_wire wire = {.to = handshake->said, .size = MPIIO_HELLO_BYTES};

    write_head(&wire);
    return mpiio_talk_send(fd, handshake->said, MPIIO_HELLO_BYTES, 0);
}

int mpiio_handshake_hear(int fd, struct mpiio_handshake *handshake,
                         const uint8_t token[MPIIO_TOKEN_BYTES], struct mpiio_join *join)
{
    uint8_t *message = handshake->said + JOIN_AT;
    struct mpiio_wire wire = {.from = message + MPIIO_HELLO_BYTES,
                              .size = MPIIO_JOIN_BYTES - MPIIO_HELLO_BYTES - PROOF_BYTES};
    int error = mpiio_talk_receive(fd, message, MPIIO_JOIN_BYTES, 0);

    if (error == 0)
        error = check_protocol(message);
    if (error == 0)
        error = check_proof(handshake, WELCOME_AT, token);
    if (error != 0)
        return error;
    code_join(&wire, join);
    return mpiio_wire_complete(&wire) ? 0 : -EPROTO;
}

int mpiio_handshake_answer(int fd, struct mpiio_handshake *handshake,
                           const uint8_t token[MPIIO_TOKEN_BYTES],
                           const struct mpiio_welcome *welcome)
{
    struct mpiio_wire wire = {.to = handshake->said + WELCOME_AT, .size = MPIIO_WELCOME_BYTES};
    struct mpiio_welcome copy = *welcome;

    code_welcome(&wire, &copy);
    write_proof(handshake, END, token);
    return mpiio_talk_send(fd, handshake->said + WELCOME_AT, MPIIO_WELCOME_BYTES, 0);
}

/* Receives a whole message before end. It may arrive in parts. */
static int receive_message(int fd, void *message, int size, int64_t end)
{
    int error;

    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &size, sizeof(size));
    error = mpiio_address_wait(fd, POLLIN, end - mpiio_clock());
    return error != 0 ? error : mpiio_talk_receive(fd, message, (size_t)size, 0);
}

static int send_join(int fd, struct mpiio_handshake *handshake,
                     const uint8_t token[MPIIO_TOKEN_BYTES], const struct mpiio_join *join,
                     int64_t end)
{
    struct mpiio_wire wire = {.to = handshake->said + JOIN_AT, .size = MPIIO_JOIN_BYTES};
    struct mpiio_join copy = *join;

    write_head(&wire);
    code_join(&wire, &copy);
    write_proof(handshake, WELCOME_AT, token);
    return mpiio_talk_send(fd, handshake->said + JOIN_AT, MPIIO_JOIN_BYTES, end - mpiio_clock());
}

int mpiio_handshake_join(int fd, const uint8_t token[MPIIO_TOKEN_BYTES],
                         const struct mpiio_join *join, int64_t end, struct mpiio_welcome *welcome)
{
    struct mpiio_handshake handshake;
    struct mpiio_wire wire = {.from = handshake.said + WELCOME_AT,
                              .size = MPIIO_WELCOME_BYTES - PROOF_BYTES};
    const int any = 1;
    int error = receive_message(fd, handshake.said, MPIIO_HELLO_BYTES, end);

    if (error == 0)
        error = check_protocol(handshake.said);
    if (error == 0)
        error = send_join(fd, &handshake, token, join, end);
    if (error == 0)
        error = receive_message(fd, handshake.said + WELCOME_AT, MPIIO_WELCOME_BYTES, end);
    if (error == 0)
        error = check_proof(&handshake, END, token);
    if (error != 0)
        return error;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
    code_welcome(&wire, welcome);
    return mpiio_wire_complete(&wire) ? welcome->status : -EPROTO;
}
