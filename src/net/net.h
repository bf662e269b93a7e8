/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_NET_H
#define MPIIO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "handshake.h"
#include "listener.h"

/*
 * How the daemons of a mount reach each other: each listens at one port, knows where all others do,
 * and shares one token with them, by which a connection proves itself (handshake.h). The tree
 * (cluster/peers.h) and the pool (pool/pool.h) have their connections from here.
 *
 * Node 0 makes the token up. The engines hand it, and the addresses, to all.
 */
struct mpiio_net_options {
    int node, nodes;                  /* this node's number, and how many there are */
    struct mpiio_local_address local; /* where it listens, and connects from */
    struct mpiio_ports ports;         /* at one of which it listens */
    int timeout;                      /* ms that another node may take for a step of an answer */
    unsigned most; /* connections that are served, and that are kept (lines.h); 0: any number */
};

struct mpiio_net {
    struct mpiio_net_options options;
    uint8_t token[MPIIO_TOKEN_BYTES]; /* secret; set before others are joined */
    char *own;            /* where this node listens, "IP:PORT [IP6]:PORT ..."; "": nowhere */
    char *text;           /* the addresses of all */
    const char **address; /* by number, in text; NULL: they are not known yet */
    struct mpiio_listener listener;
};

/* Makes a node that knows nobody, with a token of its own. 0 or a negative errno, then NULL. */
int mpiio_net_new(const struct mpiio_net_options *options, struct mpiio_net **net);

/* Begins to listen: net->own. Nobody is answered before mpiio_net_start. 0 or a negative errno. */
int mpiio_net_listen(struct mpiio_net *net);

/*
 * What node 0 and the others have told: its token, and where each listens, by number, with a zero
 * byte behind each, size bytes. Copied. Once, before the threads start. 0, -ENOMEM, or -EPROTO
 * where these are not as many as there are nodes.
 */
int mpiio_net_meet(struct mpiio_net *net, const uint8_t token[MPIIO_TOKEN_BYTES],
                   const char *addresses, size_t size);

/* Answers those that connect, from now on. After any fork; once. 0 or a negative errno. */
int mpiio_net_start(struct mpiio_net *net, const struct mpiio_listener_calls *calls);

/*
 * Connects with another node, until end by mpiio_clock: tries each of its addresses once. Another
 * machine may have one of them, too: the first counts where the node itself answers. host: this
 * node's name, or "". Returns a non-blocking socket; -ECONNREFUSED where its machine says that
 * nobody listens at any; or why none could be used, which is what the node answered where it did:
 * -EACCES: it knows another token; -EPROTONOSUPPORT: it is of another version; -EINVAL: it is not
 * what is meant. Thread-safe; blocks.
 */
int mpiio_net_connect(const struct mpiio_net *net, int node, enum mpiio_purpose purpose,
                      const char *host, int64_t end, struct mpiio_welcome *welcome);

/* From now on nobody is answered any more. Does not wait. Thread-safe; may be repeated. */
void mpiio_net_close(struct mpiio_net *net);

/* Closes it, and ends its threads: no call is made any more. NULL is allowed; may be repeated. */
void mpiio_net_stop(struct mpiio_net *net);

/* Stops and frees. NULL is allowed. */
void mpiio_net_free(struct mpiio_net *net);

#endif
