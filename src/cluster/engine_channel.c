/* SPDX-License-Identifier: MIT */
#include "engine_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * On the wire a message is its type and then its members in order: integers of 4 or 8 bytes in
 * this machine's byte order, texts as their length and their bytes.
 */

/* The last block of a file of 2^63-1 bytes, in blocks of 1 MiB. */
#define BLOCK_LAST (INT64_MAX >> 20)

/* Of a list in one message: what fits beside its type and its length. */
#define BLOCK_BYTES      16
#define BLOCKS_A_MESSAGE ((MPIIO_MESSAGE_MAX - 8) / BLOCK_BYTES)
#define ERRORS_A_MESSAGE ((MPIIO_MESSAGE_MAX - 8) / (uint32_t)sizeof(int32_t))

/* One message in the making, or being read. */
struct wire {
    char *bytes;
    size_t size; /* being read: its length; in the making: the room */
    size_t at;   /* how far it is read or made */
    bool failed; /* what is read ends too early or is wrong; what is made does not fit */
};

struct mpiio_channel {
    int fd;
    char sent[MPIIO_MESSAGE_MAX];
    char received[MPIIO_MESSAGE_MAX + 1]; /* one more shows that a message was too long */
};

int mpiio_channel_new(int fd, struct mpiio_channel **channel)
{
    *channel = malloc(sizeof(**channel));
    if (*channel == NULL)
        return -ENOMEM;
    (*channel)->fd = fd;
    return 0;
}

void mpiio_channel_free(struct mpiio_channel *channel)
{
    if (channel != NULL) {
        close(channel->fd);
        free(channel);
    }
}

int mpiio_channel_fd(const struct mpiio_channel *channel)
{
    return channel->fd;
}

static void put(struct wire *wire, const void *from, size_t length)
{
    if (wire->failed || length > wire->size - wire->at) {
        wire->failed = true;
        return;
    }
    memcpy(wire->bytes + wire->at, from, length);
    wire->at += length;
}

static void put_u32(struct wire *wire, uint32_t value)
{
    put(wire, &value, sizeof(value));
}

static void put_u64(struct wire *wire, uint64_t value)
{
    put(wire, &value, sizeof(value));
}

static void put_text(struct wire *wire, const char *text)
{
    size_t length = strlen(text);

    if (length >= MPIIO_TEXT_MAX)
        wire->failed = true;
    put_u32(wire, (uint32_t)length);
    put(wire, text, length + 1);
}

static void get(struct wire *wire, void *to, size_t length)
{
    if (wire->failed || length > wire->size - wire->at) {
        wire->failed = true;
        memset(to, 0, length);
        return;
    }
    memcpy(to, wire->bytes + wire->at, length);
    wire->at += length;
}

static uint32_t get_u32(struct wire *wire)
{
    uint32_t value;

    get(wire, &value, sizeof(value));
    return value;
}

static uint64_t get_u64(struct wire *wire)
{
    uint64_t value;

    get(wire, &value, sizeof(value));
    return value;
}

/* A text lies in the message with its final zero and is left there. */
static const char *get_text(struct wire *wire)
{
    uint32_t length = get_u32(wire);
    const char *text = wire->bytes + wire->at;

    if (wire->failed || length >= MPIIO_TEXT_MAX || length >= wire->size - wire->at ||
        memchr(text, '\0', length + 1) != text + length) {
        wire->failed = true;
        return "";
    }
    wire->at += length + 1;
    return text;
}

static void put_hints(struct wire *wire, const struct mpiio_hints *hints)
{
    if (hints->count > MPIIO_HINTS_MAX) {
        wire->failed = true;
        return;
    }
    put_u32(wire, hints->count);
    for (uint32_t i = 0; i < hints->count; i++) {
        put_text(wire, hints->hint[i].key);
        put_text(wire, hints->hint[i].value);
    }
}

static void get_hints(struct wire *wire, struct mpiio_hints *hints)
{
    hints->count = get_u32(wire);
    if (hints->count > MPIIO_HINTS_MAX) {
        wire->failed = true;
        hints->count = 0;
    }
    for (uint32_t i = 0; i < hints->count; i++) {
        hints->hint[i].key = get_text(wire);
        hints->hint[i].value = get_text(wire);
    }
}

static void put_body(struct wire *wire, const struct mpiio_message *message)
{
    switch (message->type) {
    case MPIIO_MESSAGE_NODE:
        put_u32(wire, MPIIO_MESSAGE_VERSION);
        put_u32(wire, message->node.node);
        put_u32(wire, message->node.nodes);
        put_u32(wire, (uint32_t)message->node.pid);
        break;
    case MPIIO_MESSAGE_HELLO:
        put_u32(wire, MPIIO_MESSAGE_VERSION);
        put_text(wire, message->hello.path);
        put_u32(wire, message->hello.store);
        put_text(wire, message->hello.address);
        put_u64(wire, message->hello.spec);
        put_hints(wire, &message->hello.hints);
        break;
    case MPIIO_MESSAGE_PEERS:
        put_text(wire, message->peers);
        break;
    case MPIIO_MESSAGE_FAILED:
        put_u32(wire, (uint32_t)message->failed.status);
        put_text(wire, message->failed.text);
        break;
    case MPIIO_MESSAGE_START:
        put_hints(wire, &message->start);
        break;
    case MPIIO_MESSAGE_FLUSH:
        put_u64(wire, message->flush.epoch);
        put_u32(wire, message->flush.sync);
        put_u32(wire, message->flush.count);
        break;
    case MPIIO_MESSAGE_RESULT:
        put_u64(wire, message->result.epoch);
        put_u32(wire, (uint32_t)message->result.error);
        put_u32(wire, message->result.count);
        put(wire, &message->result.counters, sizeof(message->result.counters));
        break;
    default: /* READY, QUIT: the type says all */
        break;
    }
}

static void get_body(struct wire *wire, struct mpiio_message *message)
{
    switch (message->type) {
    case MPIIO_MESSAGE_NODE:
        wire->failed = get_u32(wire) != MPIIO_MESSAGE_VERSION;
        message->node.node = get_u32(wire);
        message->node.nodes = get_u32(wire);
        message->node.pid = (int32_t)get_u32(wire);
        wire->failed |= message->node.node >= message->node.nodes || message->node.pid <= 0;
        break;
    case MPIIO_MESSAGE_HELLO:
        wire->failed = get_u32(wire) != MPIIO_MESSAGE_VERSION;
        message->hello.path = get_text(wire);
        message->hello.store = get_u32(wire);
        message->hello.address = get_text(wire);
        message->hello.spec = get_u64(wire);
        get_hints(wire, &message->hello.hints);
        wire->failed |= message->hello.store > MPIIO_STORE_MPIIO;
        break;
    case MPIIO_MESSAGE_PEERS:
        message->peers = get_text(wire);
        break;
    case MPIIO_MESSAGE_FAILED:
        message->failed.status = (int32_t)get_u32(wire);
        message->failed.text = get_text(wire);
        wire->failed |= message->failed.status < 1 || message->failed.status > 2;
        break;
    case MPIIO_MESSAGE_START:
        get_hints(wire, &message->start);
        break;
    case MPIIO_MESSAGE_FLUSH:
        message->flush.epoch = get_u64(wire);
        message->flush.sync = get_u32(wire) != 0;
        message->flush.count = get_u32(wire);
        break;
    case MPIIO_MESSAGE_RESULT:
        message->result.epoch = get_u64(wire);
        message->result.error = (int32_t)get_u32(wire);
        message->result.count = get_u32(wire);
        get(wire, &message->result.counters, sizeof(message->result.counters));
        wire->failed |= message->result.error > 0;
        break;
    case MPIIO_MESSAGE_READY:
    case MPIIO_MESSAGE_QUIT:
        break;
    default: /* what there is not, and the parts of lists where none is expected */
        wire->failed = true;
        break;
    }
}

/* Sends the message made in wire, and descriptor with it where that is >= 0. */
static int transmit(struct mpiio_channel *channel, const struct wire *wire, int descriptor)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.align = {.cmsg_len = CMSG_LEN(sizeof(int)),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = wire->bytes, .iov_len = wire->at};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (wire->failed)
        return -E2BIG;
    if (descriptor >= 0) {
        memcpy(CMSG_DATA(&control.align), &descriptor, sizeof(descriptor));
        header.msg_control = &control;
        header.msg_controllen = sizeof(control.bytes);
    }
    do {
        sent = sendmsg(channel->fd, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    return 0;
}

static struct wire start_message(struct mpiio_channel *channel, enum mpiio_message_type type)
{
    struct wire wire = {.bytes = channel->sent, .size = sizeof(channel->sent)};

    put_u32(&wire, type);
    return wire;
}

int mpiio_channel_send(struct mpiio_channel *channel, const struct mpiio_message *message)
{
    struct wire wire = start_message(channel, message->type);

    put_body(&wire, message);
    return transmit(channel, &wire,
                    message->type == MPIIO_MESSAGE_HELLO ? message->hello.memory : -1);
}

int mpiio_channel_send_flush(struct mpiio_channel *channel, const struct mpiio_message_flush *flush,
                             const struct mpiio_flush_block *blocks)
{
    struct mpiio_message message = {.type = MPIIO_MESSAGE_FLUSH, .flush = *flush};
    int error = mpiio_channel_send(channel, &message);

    for (uint32_t i = 0; i < flush->count && error == 0;) {
        struct wire wire = start_message(channel, MPIIO_MESSAGE_BLOCKS);
        uint32_t left = flush->count - i;
        uint32_t count = left < BLOCKS_A_MESSAGE ? left : BLOCKS_A_MESSAGE;

        put_u32(&wire, count);
        for (uint32_t end = i + count; i < end; i++) {
            put_u64(&wire, (uint64_t)blocks[i].block);
            put_u32(&wire, blocks[i].slot);
            put_u32(&wire, blocks[i].may_wait);
        }
        error = transmit(channel, &wire, -1);
    }
    return error;
}

int mpiio_channel_send_result(struct mpiio_channel *channel,
                              const struct mpiio_message_result *result, const int32_t *errors)
{
    struct mpiio_message message = {.type = MPIIO_MESSAGE_RESULT, .result = *result};
    int error = mpiio_channel_send(channel, &message);

    for (uint32_t i = 0; i < result->count && error == 0;) {
        struct wire wire = start_message(channel, MPIIO_MESSAGE_ERRORS);
        uint32_t left = result->count - i;
        uint32_t count = left < ERRORS_A_MESSAGE ? left : ERRORS_A_MESSAGE;

        put_u32(&wire, count);
        put(&wire, errors + i, count * sizeof(*errors));
        i += count;
        error = transmit(channel, &wire, -1);
    }
    return error;
}

/* The first descriptor that came with a message, or -1. Others are closed. */
static int take_descriptor(struct msghdr *header)
{
    int first = -1;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int descriptor;

            memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(descriptor));
            if (first < 0)
                first = descriptor;
            else
                close(descriptor);
        }
    }
    return first;
}

/* Receives one message of any type. The descriptor that came with it, or -1, is the caller's. */
static int receive(struct mpiio_channel *channel, struct wire *wire, int *descriptor)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = channel->received, .iov_len = sizeof(channel->received)};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof(control.bytes)};
    ssize_t length;

    do {
        length = recvmsg(channel->fd, &header, MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    *descriptor = take_descriptor(&header);
    if (length == 0)
        return -EPIPE;
    *wire = (struct wire){
        .bytes = channel->received, .size = (size_t)length, .failed = length > MPIIO_MESSAGE_MAX};
    return 0;
}

int mpiio_channel_receive(struct mpiio_channel *channel, struct mpiio_message *message)
{
    struct wire wire = {0};
    int descriptor = -1;
    int error = receive(channel, &wire, &descriptor);

    if (error != 0)
        return error;
    message->type = get_u32(&wire);
    if (!wire.failed)
        get_body(&wire, message);
    /* HELLO brings the memory, and nothing else brings a descriptor. */
    if (wire.failed || wire.at != wire.size ||
        (message->type == MPIIO_MESSAGE_HELLO) != (descriptor >= 0)) {
        if (descriptor >= 0)
            close(descriptor);
        return -EPROTO;
    }
    if (descriptor >= 0)
        message->hello.memory = descriptor;
    return 0;
}

/* Receives a part of a list: how many entries of bytes each it has, at most most; or an error. */
static int64_t receive_part(struct mpiio_channel *channel, enum mpiio_message_type type,
                            size_t bytes, uint32_t most, struct wire *wire)
{
    int descriptor = -1;
    int error = receive(channel, wire, &descriptor);
    uint32_t count;

    if (descriptor >= 0)
        close(descriptor);
    if (error != 0)
        return error;
    if (get_u32(wire) != (uint32_t)type || descriptor >= 0)
        return -EPROTO;
    count = get_u32(wire);
    if (wire->failed || count == 0 || count > most || wire->size - wire->at != count * bytes)
        return -EPROTO;
    return count;
}

int mpiio_channel_receive_blocks(struct mpiio_channel *channel, struct mpiio_flush_block *blocks,
                                 uint32_t count)
{
    struct wire wire = {0};

    while (count > 0) {
        int64_t part = receive_part(channel, MPIIO_MESSAGE_BLOCKS, BLOCK_BYTES, count, &wire);

        if (part < 0)
            return (int)part;
        count -= (uint32_t)part;
        for (; part > 0; part--, blocks++) {
            blocks->block = (int64_t)get_u64(&wire);
            blocks->slot = get_u32(&wire);
            blocks->may_wait = get_u32(&wire) != 0;
            if (blocks->block < 0 || blocks->block > BLOCK_LAST)
                return -EPROTO;
        }
    }
    return 0;
}

int mpiio_channel_receive_errors(struct mpiio_channel *channel, int32_t *errors, uint32_t count)
{
    struct wire wire = {0};

    while (count > 0) {
        int64_t part = receive_part(channel, MPIIO_MESSAGE_ERRORS, sizeof(*errors), count, &wire);

        if (part < 0)
            return (int)part;
        count -= (uint32_t)part;
        for (; part > 0; part--, errors++) {
            get(&wire, errors, sizeof(*errors));
            if (*errors > 0)
                return -EPROTO;
        }
    }
    return 0;
}
