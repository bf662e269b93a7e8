/* SPDX-License-Identifier: MIT */
#ifndef NET_FIXTURE_H
#define NET_FIXTURE_H

#include "unit.h"
#include "net/net.h"

/* A fixture for the tests of connections: nodes of this process that can reach each other. */

static const uint8_t net_token[MPIIO_TOKEN_BYTES] = "all nodes' token";

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
    static const struct mpiio_local_address any;
    const char *at = addresses;
    int fd = mpiio_address_dial(&any, &at, 20000);

    assert_true(fd >= 0);
    return fd;
}

#endif
