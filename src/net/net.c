/* SPDX-License-Identifier: MIT */
#include "net.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "viewspec/base/integer.h"

/* ms, maximum: for one connection attempt, and for the handshake that follows. */
#define DIAL_TIME  1000
#define SHAKE_TIME 5000

int mpiio_net_new(const struct mpiio_net_options *options, struct mpiio_net **created)
{
    struct mpiio_net *net = calloc(1, sizeof(*net));

    *created = NULL;
    if (net == NULL)
        return -ENOMEM;
    net->options = *options;
    mpiio_listener_init(&net->listener, net);
    net->own = strdup("");
    if (net->own == NULL || sodium_init() < 0) {
        mpiio_net_free(net);
        return -ENOMEM;
    }
    randombytes_buf(net->token, sizeof(net->token));
    *created = net;
    return 0;
}

int mpiio_net_listen(struct mpiio_net *net)
{
    char *addresses;
    int fd;
    int error = mpiio_address_listen(&net->options.local, &net->options.ports, &fd, &addresses);

    if (error != 0)
        return error;
    free(net->own);
    net->own = addresses;
    return mpiio_listener_open(&net->listener, fd);
}

int mpiio_net_meet(struct mpiio_net *net, const uint8_t token[MPIIO_TOKEN_BYTES],
                   const char *addresses, size_t size)
{
    size_t at = 0;

    memcpy(net->token, token, sizeof(net->token));
    net->text = malloc(size + 1);
    net->address = calloc((size_t)net->options.nodes, sizeof(*net->address));
    if (net->text == NULL || net->address == NULL)
        return -ENOMEM;
    memcpy(net->text, addresses, size);
    for (int i = 0; i < net->options.nodes; i++) {
        const char *end = memchr(net->text + at, '\0', size - at);

        if (end == NULL)
            return -EPROTO;
        net->address[i] = net->text + at;
        at = (size_t)(end - net->text) + 1;
    }
    return at == size ? 0 : -EPROTO;
}

/* Returns true if the first word of text is one of this node's own addresses. */
static bool is_own(const struct mpiio_net *net, const char *text)
{
    size_t length = strcspn(text, " ");
    const char *own = net->own;

    while (*own != '\0') {
        size_t next = strcspn(own, " ");

        if (next == length && memcmp(own, text, length) == 0)
            return true;
        own += next + (own[next] == ' ');
    }
    return false;
}

/* Returns true for an error that comes from a daemon's answer, be it the intended node or
   another one. */
static bool is_answer(int error)
{
    return error == -EACCES || error == -EINVAL || error == -EPROTONOSUPPORT;
}

/* Connects to the first address of *at, and moves *at past it. */
static int try_address(const struct mpiio_net *net, const char **at, const struct mpiio_join *join,
                       int64_t end, struct mpiio_welcome *welcome)
{
    int64_t now = mpiio_clock();
    int error;
    int fd =
        mpiio_address_dial(&net->options.local, at, (int)vs_min((end - now) / 2 + 1, DIAL_TIME));

    if (fd < 0)
        return fd;
    mpiio_talk_prepare(fd);
    error = mpiio_handshake_join(fd, net->token, join, vs_min(end, now + SHAKE_TIME), welcome);
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

int mpiio_net_connect(const struct mpiio_net *net, int node, enum mpiio_purpose purpose,
                      const char *host, int64_t end, struct mpiio_welcome *welcome)
{
    struct mpiio_join join = {.purpose = purpose,
                              .node = (uint32_t)net->options.node,
                              .nodes = (uint32_t)net->options.nodes,
                              .to = (uint32_t)node};
    const char *at = net->address[node];
    int error = -ECONNREFUSED, failure = 0;

    snprintf(join.host, sizeof(join.host), "%s", host);
    while (mpiio_clock() < end) {
        int got;

        at += strspn(at, " ");
        if (*at == '\0')
            return failure != 0 ? failure : error;
        if (is_own(net, at)) { /* this address would reach this machine */
            at += strcspn(at, " ");
            continue;
        }
        got = try_address(net, &at, &join, end, welcome);
        if (got >= 0)
            return got;
        if (is_answer(got))
            error = got;
        /* the node itself may be at this address, and answer later */
        else if (got != -ECONNREFUSED)
            failure = got;
    }
    return failure != 0 ? failure : -ETIMEDOUT;
}

void mpiio_net_free(struct mpiio_net *net)
{
    if (net == NULL)
        return;
    mpiio_net_stop(net);
    mpiio_listener_destroy(&net->listener);
    free(net->own);
    free(net->text);
    free(net->address);
    free(net);
}
