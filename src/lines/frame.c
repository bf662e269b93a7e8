/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "cluster/address.h"
#include "cluster/wire.h"
#include "lines.h"

/* Spells "mpiopo" in a dump, and tells a daemon from what else may listen at a port. */
#define MAGIC ((uint64_t)0x6d70696f706f0000)
/* In the place of a number of nodes, of which there are fewer. */
#define POOLED 0x80000000U

static void code_greeting(struct mpiio_wire *wire, struct mpiio_line_greeting *greeting)
{
    mpiio_wire_u64(wire, &greeting->protocol);
    mpiio_wire_bytes(wire, greeting->nonce, sizeof(greeting->nonce));
}

size_t mpiio_line_greeting_encode(const struct mpiio_line_greeting *greeting, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_LINE_GREETING_BYTES};
    struct mpiio_line_greeting copy = *greeting;

    copy.protocol = MAGIC | MPIIO_LINE_PROTOCOL;
    code_greeting(&wire, &copy);
    return wire.at;
}

bool mpiio_line_greeting_decode(const uint8_t *bytes, struct mpiio_line_greeting *greeting)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_LINE_GREETING_BYTES};

    code_greeting(&wire, greeting);
    return mpiio_wire_complete(&wire) && greeting->protocol == (MAGIC | MPIIO_LINE_PROTOCOL);
}

static void code_join(struct mpiio_wire *wire, struct mpiio_line_join *join)
{
    mpiio_wire_u32(wire, &join->node);
    mpiio_wire_u32(wire, &join->nodes);
    mpiio_wire_bytes(wire, join->nonce, sizeof(join->nonce));
    mpiio_wire_u64(wire, &join->proof);
    mpiio_wire_expect(wire, join->node < join->nodes && join->nodes <= MPIIO_LINES_NODES);
}

size_t mpiio_line_join_encode(const struct mpiio_line_join *join, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_LINE_JOIN_BYTES};
    struct mpiio_line_join copy = *join;

    code_join(&wire, &copy);
    return wire.at;
}

bool mpiio_line_join_decode(const uint8_t *bytes, struct mpiio_line_join *join)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_LINE_JOIN_BYTES};

    code_join(&wire, join);
    return mpiio_wire_complete(&wire);
}

size_t mpiio_line_welcome_encode(uint64_t proof, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_LINE_WELCOME_BYTES};

    mpiio_wire_u64(&wire, &proof);
    return wire.at;
}

uint64_t mpiio_line_welcome_decode(const uint8_t *bytes)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_LINE_WELCOME_BYTES};
    uint64_t proof;

    mpiio_wire_u64(&wire, &proof);
    return proof;
}

void mpiio_line_token_write(const uint8_t token[MPIIO_TOKEN_BYTES],
                            char text[MPIIO_LINE_TOKEN_TEXT])
{
    for (size_t i = 0; i < MPIIO_TOKEN_BYTES; i++)
        sprintf(text + 2 * i, "%02x", token[i]);
}

bool mpiio_line_token_read(const char *text, uint8_t token[MPIIO_TOKEN_BYTES])
{
    if (strlen(text) < MPIIO_LINE_TOKEN_TEXT - 1)
        return false;
    for (size_t i = 0; i < MPIIO_TOKEN_BYTES; i++)
        if (sscanf(text + 2 * i, "%2hhx", &token[i]) != 1)
            return false;
    return true;
}

uint64_t mpiio_line_proof(const uint8_t token[MPIIO_TOKEN_BYTES],
                          const uint8_t asked[MPIIO_NONCE_BYTES],
                          const struct mpiio_line_join *join, uint32_t by)
{
    struct mpiio_claim claim = {.by = by, .node = join->node, .nodes = join->nodes | POOLED};

    memcpy(claim.asked, asked, sizeof(claim.asked));
    memcpy(claim.answered, join->nonce, sizeof(claim.answered));
    return mpiio_handshake_proof(token, &claim);
}

/* Sending and receiving in time. */

/* What a call gave that moved nothing: 0 where it is to be made again. */
static int go_on(int fd, short events, int timeout)
{
    if (errno == EINTR)
        return 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return mpiio_address_wait(fd, events, timeout);
    return errno == EPIPE || errno == ECONNRESET ? -ENOTCONN : -errno;
}

int mpiio_talk_send(int fd, const void *bytes, size_t size, int timeout)
{
    const char *at = bytes;
    int error = 0;

    while (size > 0 && error == 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0) {
            error = go_on(fd, POLLOUT, timeout);
        } else {
            at += sent;
            size -= (size_t)sent;
        }
    }
    return error;
}

int mpiio_talk_receive(int fd, void *bytes, size_t size, int timeout)
{
    char *at = bytes;
    int error = 0;

    while (size > 0 && error == 0) {
        ssize_t got = recv(fd, at, size, MSG_DONTWAIT);

        if (got == 0) {
            error = -ENOTCONN;
        } else if (got < 0) {
            error = go_on(fd, POLLIN, timeout);
        } else {
            at += got;
            size -= (size_t)got;
        }
    }
    return error;
}

void mpiio_talk_prepare(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
