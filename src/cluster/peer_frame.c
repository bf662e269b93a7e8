/* SPDX-License-Identifier: MIT */
#include "peer_frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire.h"

/* Sets of states. */
enum {
    JOINING = 1 << MPIIO_PEERS_JOINING,
    TOGETHER = 1 << MPIIO_PEERS_TOGETHER,
    DEGRADING = 1 << MPIIO_PEERS_DEGRADING,
    FINAL = 1 << MPIIO_PEERS_ALONE | 1 << MPIIO_PEERS_ENDED | 1 << MPIIO_PEERS_STOPPED,
    LATER = DEGRADING | FINAL,
};

/*
 * The types of frames. Encoding and decoding use the fields of a type in the order of its letters:
 * e number, r echo, n node, t time, s status, f flag, k count, h host, x text. The receiver acts on
 * a frame in the states in `due`. In those in `late`, the frame has come too late.
 *
 * Once all nodes have joined, any frame from below is allowed in any state, because its sender may
 * not know the current state yet. A node degrades as soon as it learns of a failure. Frames from
 * above that were sent before that are too late.
 */
static const struct {
    const char *fields; /* NULL: there is no such type */
    unsigned int due, late;
} types[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_BEAT] = {"ert", JOINING | TOGETHER | LATER, 0},
    /* If a node leaves after all have joined, LOST reports that. A JOINED that withdraws an earlier
       one is then ignored. */
    [MPIIO_JOINED] = {"f", JOINING, TOGETHER | LATER},
    [MPIIO_ASK] = {"f", TOGETHER, LATER},
    [MPIIO_DONE] = {"esn", TOGETHER, LATER},
    [MPIIO_CHANGE] = {"eft", TOGETHER, LATER},
    [MPIIO_VOTE] = {"es", TOGETHER, LATER},
    [MPIIO_SETTLED] = {"e", TOGETHER, LATER},
    [MPIIO_UNMOUNT_ALL] = {"ef", TOGETHER, LATER},
    [MPIIO_UNMOUNTED] = {"snfx", TOGETHER, LATER},
    [MPIIO_GOODBYE] = {"f", TOGETHER, LATER},
    [MPIIO_LOST] = {"nhx", TOGETHER, LATER},
    [MPIIO_PROGRESS] = {"efkx", TOGETHER, LATER},
    /* A node that has fenced itself may send it while this one is together. Its connection will
       end. */
    [MPIIO_FENCED] = {"", DEGRADING, TOGETHER | FINAL},
    [MPIIO_READY] = {"", JOINING, 0},
    [MPIIO_EPOCH] = {"ef", TOGETHER, LATER},
    [MPIIO_FINISHED] = {"efs", TOGETHER, LATER},
    [MPIIO_PREPARE] = {"ef", TOGETHER, LATER},
    [MPIIO_SETTLE] = {"ef", TOGETHER, LATER},
    [MPIIO_RESULT] = {"efsx", TOGETHER, LATER},
    [MPIIO_UNMOUNT] = {"f", TOGETHER, LATER},
    [MPIIO_END] = {"", TOGETHER, LATER},
    [MPIIO_DEGRADED] = {"nhx", TOGETHER, LATER},
    [MPIIO_GO] = {"", DEGRADING, FINAL},
};

/* Encodes or decodes a number below 2^31. */
static void code_number(struct mpiio_wire *wire, uint32_t *number)
{
    mpiio_wire_u32(wire, number);
    mpiio_wire_expect(wire, *number <= INT32_MAX);
}

static void code_field(struct mpiio_wire *wire, struct mpiio_peer_frame *frame, char field)
{
    switch (field) {
    case 'e':
        mpiio_wire_u64(wire, &frame->number);
        break;
    case 'r':
        mpiio_wire_u64(wire, &frame->echo);
        break;
    case 'n':
        code_number(wire, &frame->node);
        break;
    case 't':
        code_number(wire, &frame->time);
        break;
    case 's':
        mpiio_wire_errno(wire, &frame->status);
        break;
    case 'f':
        mpiio_wire_flag(wire, &frame->flag);
        break;
    case 'k':
        mpiio_wire_u64(wire, &frame->count);
        break;
    case 'h':
        mpiio_wire_line(wire, frame->host, sizeof(frame->host));
        break;
    default: /* 'x' */
        mpiio_wire_string(wire, &frame->text, &frame->text_size);
        mpiio_wire_expect(wire, frame->text_size <= MPIIO_PEER_TEXT_MAX);
        break;
    }
}

static void code_fields(struct mpiio_wire *wire, struct mpiio_peer_frame *frame)
{
    for (const char *field = types[frame->type].fields; *field != '\0'; field++)
        code_field(wire, frame, *field);
}

size_t mpiio_peer_frame_encode(const struct mpiio_peer_frame *frame, uint8_t *bytes)
{
    struct mpiio_peer_frame copy = *frame;
    struct mpiio_wire head = {.to = bytes, .size = MPIIO_PEER_FRAME_HEAD};
    struct mpiio_wire wire = {
        .to = bytes, .size = MPIIO_PEER_FRAME_MAX, .at = MPIIO_PEER_FRAME_HEAD};
    uint32_t length;

    code_fields(&wire, &copy);
    assert(!wire.failed && frame->text_size <= MPIIO_PEER_TEXT_MAX);
    length = (uint32_t)wire.at;
    mpiio_wire_u32(&head, &length);
    mpiio_wire_u8(&head, frame->type, UINT8_MAX);
    return wire.at;
}

ssize_t mpiio_peer_frame_decode(const uint8_t *bytes, size_t size, struct mpiio_peer_frame *frame)
{
    struct mpiio_wire wire = {.from = bytes, .size = size};
    uint32_t length;

    memset(frame, 0, sizeof(*frame));
    if (size < sizeof(length))
        return 0;
    mpiio_wire_u32(&wire, &length);
    if (length < MPIIO_PEER_FRAME_HEAD || length > MPIIO_PEER_FRAME_MAX)
        return -EPROTO;
    if (size < MPIIO_PEER_FRAME_HEAD)
        return 0;
    frame->type = (enum mpiio_peer_frame_type)mpiio_wire_u8(&wire, 0, MPIIO_PEER_FRAME_TYPES - 1);
    if (types[frame->type].fields == NULL)
        return -EPROTO;
    if (size < length)
        return 0;
    wire.size = length;
    code_fields(&wire, frame);
    return mpiio_wire_complete(&wire) ? (ssize_t)length : -EPROTO;
}

enum mpiio_frame_rule mpiio_frame_rule(enum mpiio_peer_frame_type type, bool up,
                                       enum mpiio_peers_state state)
{
    bool goes_up = type >= MPIIO_JOINED && type <= MPIIO_FENCED;
    unsigned int now = 1U << state;

    if (type != MPIIO_BEAT && !(up ? goes_up : type >= MPIIO_READY))
        return MPIIO_FRAME_WRONG;
    if (types[type].due & now)
        return MPIIO_FRAME_DUE;
    return types[type].late & now ? MPIIO_FRAME_LATE : MPIIO_FRAME_WRONG;
}

/* Queues. */

int mpiio_queue_reserve(struct mpiio_queue *queue, size_t size)
{
    size_t held = mpiio_queue_size(queue);
    size_t capacity = queue->capacity != 0 ? queue->capacity : 256;
    uint8_t *bytes;

    if (size > MPIIO_QUEUE_MAX - held)
        return -ENOBUFS;
    if (size <= queue->capacity - queue->end)
        return 0;
    if (queue->start != 0) {
        memmove(queue->bytes, queue->bytes + queue->start, held);
        queue->start = 0;
        queue->end = held;
    }
    while (capacity < held + size)
        capacity *= 2;
    if (capacity == queue->capacity)
        return 0;
    bytes = realloc(queue->bytes, capacity);
    if (bytes == NULL)
        return -ENOMEM;
    queue->bytes = bytes;
    queue->capacity = capacity;
    return 0;
}

int mpiio_queue_put(struct mpiio_queue *queue, const void *bytes, size_t size)
{
    int error = mpiio_queue_reserve(queue, size);

    if (error == 0 && size != 0) {
        memcpy(queue->bytes + queue->end, bytes, size);
        queue->end += size;
    }
    return error;
}

int mpiio_queue_frame(struct mpiio_queue *queue, const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    return mpiio_queue_put(queue, bytes, mpiio_peer_frame_encode(frame, bytes));
}

int mpiio_queue_next(struct mpiio_queue *queue, struct mpiio_peer_frame *frame)
{
    size_t size = mpiio_queue_size(queue);
    ssize_t length;

    if (size == 0)
        return 0;
    length = mpiio_peer_frame_decode(mpiio_queue_first(queue), size, frame);
    if (length <= 0)
        return (int)length;
    mpiio_queue_drop(queue, (size_t)length);
    return 1;
}

void mpiio_queue_drop(struct mpiio_queue *queue, size_t size)
{
    if (size < mpiio_queue_size(queue))
        queue->start += size;
    else
        queue->start = queue->end = 0;
}

void mpiio_queue_free(struct mpiio_queue *queue)
{
    free(queue->bytes);
    *queue = (struct mpiio_queue){0};
}
