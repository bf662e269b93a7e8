/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for messages of an engine's channel. Any bytes from the other end are a message
 * of this version with values in their bounds, or they are refused. The input is a list of
 * messages: a length of two bytes, low byte first, then as many bytes.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "cluster/engine_channel.h"

/* The entries of a list that are received at most. No input has more. */
#define MOST 65536

/* Sends as much as the socket accepts. */
static void send_all(int fd, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t length = data[0] | (size_t)data[1] << 8;

        data += 2;
        size -= 2;
        if (length > size)
            length = size;
        if (length > 0 && send(fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return;
        data += length;
        size -= length;
    }
}

static void check_hints(const struct mpiio_hints *hints)
{
    CHECK(hints->count <= MPIIO_HINTS_MAX);
    for (uint32_t i = 0; i < hints->count; i++)
        CHECK(strlen(hints->hint[i].key) < MPIIO_TEXT_MAX &&
              strlen(hints->hint[i].value) < MPIIO_TEXT_MAX);
}

static int take_blocks(struct mpiio_channel *channel, uint32_t count)
{
    struct mpiio_flush_block *blocks = count <= MOST ? calloc(count + 1, sizeof(*blocks)) : NULL;
    int rc;

    if (blocks == NULL)
        return -E2BIG;
    rc = mpiio_channel_receive_blocks(channel, blocks, count);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        CHECK(blocks[i].block >= 0);
    free(blocks);
    return rc;
}

static int take_errors(struct mpiio_channel *channel, uint32_t count)
{
    int32_t *errors = count <= MOST ? calloc(count + 1, sizeof(*errors)) : NULL;
    int rc;

    if (errors == NULL)
        return -E2BIG;
    rc = mpiio_channel_receive_errors(channel, errors, count);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        CHECK(errors[i] <= 0);
    free(errors);
    return rc;
}

static int take_addresses(struct mpiio_channel *channel, uint32_t size)
{
    char *addresses = size <= MOST ? malloc(size + 1) : NULL;
    int rc = addresses != NULL ? mpiio_channel_receive_addresses(channel, addresses, size) : -E2BIG;

    free(addresses);
    return rc;
}

static int check_message(struct mpiio_channel *channel, const struct mpiio_message *message)
{
    switch (message->type) {
    case MPIIO_MESSAGE_HELLO:
        CHECK(strlen(message->hello.path) < MPIIO_TEXT_MAX);
        CHECK(strlen(message->hello.address) < MPIIO_TEXT_MAX);
        check_hints(&message->hello.hints);
        if (message->hello.memory >= 0)
            close(message->hello.memory);
        return 0;
    case MPIIO_MESSAGE_PEERS:
        CHECK(mpiio_homes_node(&message->peers.homes, INT64_MAX >> 20) <
              message->peers.homes.nodes);
        return take_addresses(channel, message->peers.size);
    case MPIIO_MESSAGE_FAILED:
        CHECK(strlen(message->failed.text) < MPIIO_TEXT_MAX);
        return 0;
    case MPIIO_MESSAGE_START:
        check_hints(&message->start);
        return 0;
    case MPIIO_MESSAGE_FLUSH:
        return take_blocks(channel, message->flush.count);
    case MPIIO_MESSAGE_RESULT:
        return take_errors(channel, message->result.count);
    default:
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mpiio_channel *channel;
    struct mpiio_message message;
    int ends[2], rc;

    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(mpiio_channel_new(ends[0], &channel) == 0);
    send_all(ends[1], data, size);
    close(ends[1]);
    while ((rc = mpiio_channel_receive(channel, &message)) == 0)
        if (check_message(channel, &message) != 0)
            break;
    CHECK(rc <= 0);
    mpiio_channel_free(channel);
    return 0;
}
