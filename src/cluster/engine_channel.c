/* SPDX-License-Identifier: MIT */
#include "engine_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/wire.h"

struct mpiio_channel {
    int fd;
    uint8_t sent[MPIIO_MESSAGE_MAX];
    uint8_t received[MPIIO_MESSAGE_MAX + 1]; /* the extra byte detects a message that is too long */
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

static void code_version(struct mpiio_wire *wire)
{
    uint32_t version = MPIIO_MESSAGE_VERSION;

    mpiio_wire_u32(wire, &version);
    mpiio_wire_expect(wire, version == MPIIO_MESSAGE_VERSION);
}

static void code_hints(struct mpiio_wire *wire, struct mpiio_hints *hints)
{
    mpiio_wire_u32(wire, &hints->count);
    if (hints->count > MPIIO_HINTS_MAX) {
        wire->failed = true;
        hints->count = 0;
    }
    for (uint32_t i = 0; i < hints->count; i++) {
        mpiio_wire_text(wire, &hints->hint[i].key, MPIIO_TEXT_MAX);
        mpiio_wire_text(wire, &hints->hint[i].value, MPIIO_TEXT_MAX);
    }
}

static void code_node(struct mpiio_wire *wire, struct mpiio_message_node *node)
{
    code_version(wire);
    mpiio_wire_u32(wire, &node->node);
    mpiio_wire_u32(wire, &node->nodes);
    mpiio_wire_u32(wire, (uint32_t *)&node->pid);
    mpiio_wire_expect(wire, node->node < node->nodes && node->pid > 0);
}

static void code_hello(struct mpiio_wire *wire, struct mpiio_message_hello *hello)
{
    code_version(wire);
    mpiio_wire_text(wire, &hello->path, MPIIO_TEXT_MAX);
    mpiio_wire_u64(wire, &hello->device);
    mpiio_wire_u64(wire, &hello->inode);
    hello->store = (enum mpiio_store_mode)mpiio_wire_u8(wire, hello->store, MPIIO_STORE_MPIIO);
    hello->coherence =
        (enum mpiio_coherence)mpiio_wire_u8(wire, hello->coherence, MPIIO_COHERENCE_NONE);
    mpiio_wire_text(wire, &hello->address, MPIIO_TEXT_MAX);
    mpiio_wire_u32(wire, &hello->fanout);
    mpiio_wire_expect(wire, hello->fanout > 0 && hello->fanout <= INT32_MAX);
    mpiio_wire_bytes(wire, hello->token, sizeof(hello->token));
    mpiio_wire_bytes(wire, hello->mount, sizeof(hello->mount));
    mpiio_wire_u64(wire, &hello->spec);
    mpiio_wire_flag(wire, &hello->assembled);
    mpiio_wire_u64(wire, &hello->held);
    code_hints(wire, &hello->hints);
}

static void code_peers(struct mpiio_wire *wire, struct mpiio_message_peers *peers)
{
    uint32_t nodes = (uint32_t)peers->homes.nodes;

    mpiio_wire_bytes(wire, peers->token, sizeof(peers->token));
    mpiio_wire_bytes(wire, peers->mount, sizeof(peers->mount));
    mpiio_wire_u64(wire, (uint64_t *)&peers->homes.stretch);
    mpiio_wire_u64(wire, (uint64_t *)&peers->homes.period);
    mpiio_wire_u32(wire, &nodes);
    mpiio_wire_expect(wire, peers->homes.stretch > 0 && peers->homes.period > 0 &&
                                peers->homes.period <= INT32_MAX && nodes > 0 &&
                                nodes <= INT32_MAX);
    peers->homes.nodes = (int)nodes;
}

static void code_counters(struct mpiio_wire *wire, struct mpiio_epoch_counters *counters)
{
    uint64_t *counter = (uint64_t *)counters;

    for (size_t i = 0; i < sizeof(*counters) / sizeof(*counter); i++)
        mpiio_wire_u64(wire, &counter[i]);
}

/* Encodes or decodes a message: its type, then its fields in order. */
static void code_message(struct mpiio_wire *wire, struct mpiio_message *message)
{
    message->type = (enum mpiio_message_type)mpiio_wire_u8(wire, message->type, MPIIO_MESSAGE_QUIT);
    switch (message->type) {
    case MPIIO_MESSAGE_NODE:
        code_node(wire, &message->node);
        break;
    case MPIIO_MESSAGE_HELLO:
        code_hello(wire, &message->hello);
        break;
    case MPIIO_MESSAGE_PEERS:
        code_peers(wire, &message->peers);
        break;
    case MPIIO_MESSAGE_FAILED:
        mpiio_wire_u32(wire, (uint32_t *)&message->failed.status);
        mpiio_wire_expect(wire, message->failed.status == 1 || message->failed.status == 2);
        mpiio_wire_text(wire, &message->failed.text, MPIIO_TEXT_MAX);
        break;
    case MPIIO_MESSAGE_START:
        code_hints(wire, &message->start);
        break;
    case MPIIO_MESSAGE_FLUSH:
        mpiio_wire_u64(wire, &message->flush.epoch);
        mpiio_wire_flag(wire, &message->flush.sync);
        mpiio_wire_u32(wire, &message->flush.count);
        break;
    case MPIIO_MESSAGE_RESULT:
        mpiio_wire_u64(wire, &message->result.epoch);
        mpiio_wire_errno(wire, &message->result.error);
        code_counters(wire, &message->result.counters);
        break;
    case MPIIO_MESSAGE_READY:
    case MPIIO_MESSAGE_QUIT:
        break;
    default:
        mpiio_wire_expect(wire, false);
        break;
    }
}

/* The maximum number of descriptors that come with a message. */
#define DESCRIPTORS 2

/* Sets place to the addresses of the fields of a message that are descriptors. Returns their
   number. */
static size_t find_descriptors(struct mpiio_message *message, int *place[DESCRIPTORS])
{
    size_t count = 0;

    if (message->type == MPIIO_MESSAGE_HELLO) {
        place[count++] = &message->hello.memory;
        if (message->hello.assembled)
            place[count++] = &message->hello.members;
    } else if (message->type == MPIIO_MESSAGE_PEERS) {
        place[count++] = &message->peers.addresses;
    }
    return count;
}

int mpiio_channel_send(struct mpiio_channel *channel, const struct mpiio_message *message)
{
    struct mpiio_wire wire = {.to = channel->sent, .size = sizeof(channel->sent)};
    struct mpiio_message copy = *message;
    int *place[DESCRIPTORS];
    size_t count = find_descriptors(&copy, place);
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control = {.align = {.cmsg_len = CMSG_LEN(count * sizeof(int)),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = channel->sent};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    code_message(&wire, &copy);
    if (wire.failed)
        return -E2BIG;
    part.iov_len = wire.at;
    for (size_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(&control.align) + i * sizeof(int), place[i], sizeof(int));
    if (count > 0) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    do {
        sent = sendmsg(channel->fd, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    return 0;
}

static void close_all(const int descriptors[DESCRIPTORS])
{
    for (size_t i = 0; i < DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* Receives one message of any type. The caller owns the descriptors that came with it, and has set
   the places for them to -1. */
static int receive(struct mpiio_channel *channel, struct mpiio_wire *wire,
                   int descriptors[DESCRIPTORS])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = channel->received, .iov_len = sizeof(channel->received)};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = CMSG_LEN(DESCRIPTORS * sizeof(int))};
    ssize_t length;

    do {
        length = recvmsg(channel->fd, &header, MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    /* The kernel creates no more descriptors than msg_controllen has room for. */
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item))
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS)
            memcpy(descriptors, CMSG_DATA(item), item->cmsg_len - CMSG_LEN(0));
    if (length == 0) {
        close_all(descriptors);
        return -EPIPE;
    }
    *wire = (struct mpiio_wire){
        .from = channel->received, .size = (size_t)length, .failed = length > MPIIO_MESSAGE_MAX};
    return 0;
}

int mpiio_channel_receive(struct mpiio_channel *channel, struct mpiio_message *message)
{
    struct mpiio_wire wire;
    int descriptors[DESCRIPTORS] = {-1, -1}, *place[DESCRIPTORS] = {0};
    int error = receive(channel, &wire, descriptors);
    size_t count;
    bool right;

    if (error != 0)
        return error;
    code_message(&wire, message);
    count = find_descriptors(message, place);
    right = mpiio_wire_complete(&wire);
    for (size_t i = 0; i < DESCRIPTORS; i++)
        right = right && (descriptors[i] >= 0) == (i < count);
    if (!right) {
        close_all(descriptors);
        return -EPROTO;
    }
    if (message->type == MPIIO_MESSAGE_HELLO)
        message->hello.members = -1;
    for (size_t i = 0; i < count; i++)
        *place[i] = descriptors[i];
    return 0;
}

int mpiio_channel_pack(const void *bytes, size_t size)
{
    int fd = memfd_create("mpiio-text", MFD_CLOEXEC);
    ssize_t put = fd < 0 ? -1 : write(fd, bytes, size);
    int error = put < 0 ? -errno : -ENOSPC;

    if (put == (ssize_t)size) /* signals do not cut a write to memory short */
        return fd;
    if (fd >= 0)
        close(fd);
    return error;
}

char *mpiio_channel_unpack(int fd, size_t *size)
{
    struct stat st;
    char *bytes;

    if (fstat(fd, &st) != 0 || (bytes = malloc((size_t)st.st_size + 1)) == NULL)
        return NULL;
    *size = (size_t)st.st_size;
    if (pread(fd, bytes, *size, 0) == st.st_size)
        return bytes;
    free(bytes);
    return NULL;
}
