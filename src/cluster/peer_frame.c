/* SPDX-License-Identifier: MIT */
#include "peer_frame.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "viewspec/line.h"

/*
 * The fields of each type in their order: e number, p proof, r echo, n node, m nodes, t time,
 * s status, f flag, c nonce, h host, x text, g progress. One table for both ways.
 */
static const char *const fields_of[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_HELLO] = "ec",       [MPIIO_JOIN] = "enmcph",
    [MPIIO_WELCOME] = "pth",    [MPIIO_REFUSED] = "s",
    [MPIIO_BEAT] = "er",        [MPIIO_ASK] = "f",
    [MPIIO_DONE] = "es",        [MPIIO_CHANGE] = "eft",
    [MPIIO_VOTE] = "es",        [MPIIO_SETTLED] = "e",
    [MPIIO_UNMOUNT_ALL] = "ef", [MPIIO_UNMOUNTED] = "sx",
    [MPIIO_GOODBYE] = "",       [MPIIO_ENGINE_LOST] = "x",
    [MPIIO_PROGRESS] = "eg",    [MPIIO_FENCED] = "",
    [MPIIO_READY] = "",         [MPIIO_EPOCH] = "ef",
    [MPIIO_FINISHED] = "efs",   [MPIIO_PREPARE] = "ef",
    [MPIIO_SETTLE] = "ef",      [MPIIO_RESULT] = "esx",
    [MPIIO_UNMOUNT] = "f",      [MPIIO_END] = "",
    [MPIIO_DEGRADED] = "nhx",   [MPIIO_GO] = "",
};

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
    if (size != 0)
        memcpy(at, bytes, size);
    return at + size;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    uint32_t ordered = htobe32(value);

    return put(at, &ordered, sizeof(ordered));
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    uint64_t ordered = htobe64(value);

    return put(at, &ordered, sizeof(ordered));
}

static uint8_t *put_nodes(uint8_t *at, const uint32_t *nodes, uint32_t count)
{
    *at++ = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++)
        at = put32(at, nodes[i]);
    return at;
}

static uint8_t *put_progress(uint8_t *at, const struct mpiio_progress *progress)
{
    at = put64(put64(at, progress->count), progress->step);
    *at++ = progress->waiting;
    at = put_nodes(at, progress->from, progress->from_count);
    return put_nodes(at, progress->to, progress->to_count);
}

static uint8_t *put_field(uint8_t *at, const struct mpiio_peer_frame *frame, char field)
{
    size_t length = strlen(frame->host);

    switch (field) {
    case 'e':
        return put64(at, frame->number);
    case 'p':
        return put64(at, frame->proof);
    case 'r':
        return put64(at, frame->echo);
    case 'n':
        return put32(at, frame->node);
    case 'm':
        return put32(at, frame->nodes);
    case 't':
        return put32(at, frame->time);
    case 's':
        return put32(at, (uint32_t)-frame->status);
    case 'f':
        *at = frame->flag;
        return at + 1;
    case 'g':
        return put_progress(at, &frame->progress);
    case 'c':
        return put(at, frame->nonce, MPIIO_NONCE_BYTES);
    case 'h':
        *at = (uint8_t)length;
        return put(at + 1, frame->host, length);
    default: /* 'x' */
        return put(put32(at, frame->text_size), frame->text, frame->text_size);
    }
}

size_t mpiio_peer_frame_encode(const struct mpiio_peer_frame *frame, uint8_t *bytes)
{
    uint8_t *at = bytes + MPIIO_PEER_FRAME_HEAD;

    assert(frame->text_size <= MPIIO_PEER_TEXT_MAX);
    for (const char *field = fields_of[frame->type]; *field != '\0'; field++)
        at = put_field(at, frame, *field);
    put32(bytes, (uint32_t)(at - bytes));
    bytes[4] = (uint8_t)frame->type;
    return (size_t)(at - bytes);
}

/* The rest of a frame, which gets shorter as fields are taken. */
struct rest {
    const uint8_t *at;
    size_t left;
    bool wrong;
};

/* The next size bytes; where they are missing, all the rest is wrong, and zeros stand for them. */
static const uint8_t *take(struct rest *rest, size_t size)
{
    static const uint8_t zeros[MPIIO_HOST_MAX + 1];
    const uint8_t *taken = rest->at;

    if (rest->wrong || size > rest->left) {
        rest->wrong = true;
        return zeros;
    }
    rest->at += size;
    rest->left -= size;
    return taken;
}

/* A 32-bit integer from 0 to most. */
static uint32_t take32(struct rest *rest, uint32_t most)
{
    uint32_t value;

    memcpy(&value, take(rest, sizeof(value)), sizeof(value));
    value = be32toh(value);
    if (value <= most)
        return value;
    rest->wrong = true;
    return 0;
}

static uint64_t take64(struct rest *rest)
{
    uint64_t value;

    memcpy(&value, take(rest, sizeof(value)), sizeof(value));
    return be64toh(value);
}

static bool take_flag(struct rest *rest)
{
    uint8_t value = *take(rest, 1);

    rest->wrong = rest->wrong || value > 1;
    return value == 1;
}

static void take_host(struct rest *rest, char *host)
{
    size_t length = *take(rest, 1);
    const uint8_t *bytes = take(rest, length);

    memcpy(host, bytes, length);
    host[length] = '\0';
    rest->wrong = rest->wrong || length == 0 || strlen(host) != length || vs_line_clean(host);
}

static void take_text(struct rest *rest, struct mpiio_peer_frame *frame)
{
    frame->text_size = take32(rest, MPIIO_PEER_TEXT_MAX);
    frame->text = (const char *)take(rest, frame->text_size);
}

static uint32_t take_nodes(struct rest *rest, uint32_t *nodes)
{
    uint32_t count = *take(rest, 1);

    if (count > MPIIO_PROGRESS_NODES) {
        rest->wrong = true;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = take32(rest, INT32_MAX);
    return count;
}

static void take_progress(struct rest *rest, struct mpiio_progress *progress)
{
    progress->count = take64(rest);
    progress->step = take64(rest);
    progress->waiting = take_flag(rest);
    progress->from_count = take_nodes(rest, progress->from);
    progress->to_count = take_nodes(rest, progress->to);
}

static void take_field(struct rest *rest, struct mpiio_peer_frame *frame, char field)
{
    switch (field) {
    case 'e':
        frame->number = take64(rest);
        break;
    case 'p':
        frame->proof = take64(rest);
        break;
    case 'r':
        frame->echo = take64(rest);
        break;
    case 'n':
        frame->node = take32(rest, INT32_MAX);
        break;
    case 'm':
        frame->nodes = take32(rest, INT32_MAX);
        rest->wrong = rest->wrong || frame->node >= frame->nodes;
        break;
    case 't':
        frame->time = take32(rest, INT32_MAX);
        break;
    case 's':
        frame->status = -(int32_t)take32(rest, 4095);
        break;
    case 'f':
        frame->flag = take_flag(rest);
        break;
    case 'g':
        take_progress(rest, &frame->progress);
        break;
    case 'c':
        memcpy(frame->nonce, take(rest, MPIIO_NONCE_BYTES), MPIIO_NONCE_BYTES);
        break;
    case 'h':
        take_host(rest, frame->host);
        break;
    default: /* 'x' */
        take_text(rest, frame);
        break;
    }
}

ssize_t mpiio_peer_frame_decode(const uint8_t *bytes, size_t size, struct mpiio_peer_frame *frame)
{
    struct rest rest = {.at = bytes, .left = size};
    size_t length;

    memset(frame, 0, sizeof(*frame));
    if (size < 4)
        return 0;
    length = take32(&rest, MPIIO_PEER_FRAME_MAX);
    if (rest.wrong || length < MPIIO_PEER_FRAME_HEAD)
        return -EPROTO;
    if (size < MPIIO_PEER_FRAME_HEAD)
        return 0;
    frame->type = *take(&rest, 1);
    if (frame->type >= MPIIO_PEER_FRAME_TYPES || fields_of[frame->type] == NULL)
        return -EPROTO;
    if (size < length)
        return 0;
    rest.left = length - MPIIO_PEER_FRAME_HEAD;
    for (const char *field = fields_of[frame->type]; *field != '\0' && !rest.wrong; field++)
        take_field(&rest, frame, *field);
    return rest.wrong || rest.left != 0 ? -EPROTO : (ssize_t)length;
}
