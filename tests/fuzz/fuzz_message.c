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

static void check_message(const struct mpiio_message *message)
{
    switch (message->type) {
    case MPIIO_MESSAGE_HELLO:
        CHECK(strlen(message->hello.path) < MPIIO_TEXT_MAX);
        CHECK(strlen(message->hello.address) < MPIIO_TEXT_MAX);
        check_hints(&message->hello.hints);
        if (message->hello.memory >= 0)
            close(message->hello.memory);
        break;
    case MPIIO_MESSAGE_PEERS:
        CHECK(mpiio_homes_node(&message->peers.homes, INT64_MAX >> 20) <
              message->peers.homes.nodes);
        close(message->peers.addresses);
        break;
    case MPIIO_MESSAGE_FAILED:
        CHECK(strlen(message->failed.text) < MPIIO_TEXT_MAX);
        break;
    case MPIIO_MESSAGE_START:
        check_hints(&message->start);
        break;
    default:
        break;
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
        check_message(&message);
    CHECK(rc <= 0);
    mpiio_channel_free(channel);
    return 0;
}
