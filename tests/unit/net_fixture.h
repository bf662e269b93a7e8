/* SPDX-License-Identifier: MIT */
#ifndef NET_FIXTURE_H
#define NET_FIXTURE_H

#include <poll.h>
#include <sys/socket.h>

#include "unit.h"
#include "core/base/clock.h"
#include "net/address.h"
#include "net/net.h"

/* A fixture for the tests of connections: nodes of this process that can reach each other. */

static const uint8_t net_token[MPIIO_TOKEN_BYTES] = "all nodes' token";

static const struct mpiio_local_address any; /* an address of this machine */
static const struct mpiio_ports any_port;

/* Makes a node that listens. */
static inline struct mpiio_net *make_net(int node, int nodes, int timeout)
{
    const struct mpiio_net_options options = {.node = node, .nodes = nodes, .timeout = timeout};
    struct mpiio_net *net;

    assert_int_equal(mpiio_net_new(&options, &net), 0);
    assert_int_equal(mpiio_net_listen(net), 0);
    return net;
}

/* Gives a node the token and the addresses of the others, by number. NULL stands for an address
   that is not known yet. */
static inline void meet_others(struct mpiio_net *net, const uint8_t *token,
                               const char *const *addresses)
{
    char *all;
    size_t size;
    FILE *out = open_memstream(&all, &size);

    for (int i = 0; i < net->options.nodes; i++)
        fprintf(out, "%s%c", addresses[i] != NULL ? addresses[i] : "", '\0');
    fclose(out);
    assert_int_equal(mpiio_net_meet(net, token, all, size), 0);
    free(all);
}

/* Connects to the first of a list of addresses, without a handshake. Returns the socket. */
static inline int dial_node(const char *addresses)
{
    const char *at = addresses;
    int fd = mpiio_address_dial(&any, &at, 20000);

    assert_true(fd >= 0);
    return fd;
}

/* Listens at a local address, and connects to it from there. Returns the addresses, to be freed. */
static inline char *connect_pair(const struct mpiio_local_address *local, int *dialled,
                                 int *accepted)
{
    char *addresses;
    const char *at;
    int listening;

    assert_int_equal(mpiio_address_listen(local, &any_port, &listening, &addresses), 0);
    at = addresses;
    *dialled = mpiio_address_dial(local, &at, 10000);
    assert_true(*dialled >= 0);
    assert_int_equal(mpiio_address_wait(listening, POLLIN, 10000), 0);
    *accepted = accept(listening, NULL, NULL);
    assert_true(*accepted >= 0);
    close(listening);
    return addresses;
}

/* Joins a node by a connection to the first of its addresses. Returns the error. */
static inline int join_node(const char *addresses, const struct mpiio_join *join, int *fd)
{
    struct mpiio_welcome welcome;

    *fd = dial_node(addresses);
    return mpiio_handshake_join(*fd, net_token, join, mpiio_clock() + 60000, &welcome);
}

#endif
