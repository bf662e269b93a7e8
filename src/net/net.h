/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_NET_H
#define MPIIO_NET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "address.h"
#include "handshake.h"

/* The maximum number of threads of a listener, and of strangers: connections that have not
   proved themselves yet. */
#define MPIIO_LISTENER_THREADS   4
#define MPIIO_LISTENER_STRANGERS 64

TAILQ_HEAD(mpiio_sessions, mpiio_session);

/* Callbacks of a listener. Any of its threads may call them, without a lock. */
struct mpiio_listener_calls {
    /*
     * Takes ownership of fd, a connection for the tree that has proved itself. The callee closes
     * it, or answers it from any thread by mpiio_handshake_answer. handshake and join are borrowed
     * for the call. NULL: no node may join (-EOPNOTSUPP).
     */
    void (*join)(void *tree, int fd, const struct mpiio_handshake *handshake,
                 const struct mpiio_join *join);
    /* Reports that the listener has refused a connection of any purpose, at most once a second;
       error is a negative errno. May be NULL. */
    void (*refused)(void *tree, int error);
    void *tree; /* the argument of both */

    /*
     * Receives a request that has begun to arrive on fd, and answers it. desk is memory of the
     * calling thread. Returns false to have the listener close fd. NULL: nothing is served
     * (-EOPNOTSUPP).
     */
    bool (*serve)(void *pool, void *desk, int fd);
    void *pool;  /* the argument of serve */
    int threads; /* number of threads, from 1 to MPIIO_LISTENER_THREADS */
    size_t desk; /* bytes of memory for each thread, uninitialized */
};

/*
 * Accepts connections of other nodes' daemons on one port, verifies that they know the token
 * (handshake.h), and passes each on by its purpose.
 *
 * No thread waits for a stranger, and a stranger has no effect. A stranger is closed after 5 s, or
 * after 1 s if there are MPIIO_LISTENER_STRANGERS of them while more wait in the kernel. The
 * threads sleep until data arrives. They wake up every 100 ms while there are strangers, else every
 * 10 s. If more connections are served than the options of net allow, the idle one that was served
 * least recently is closed.
 */
struct mpiio_listener {
    const struct mpiio_net *net; /* borrowed; contains this listener */
    struct mpiio_listener_calls calls;
    int listens; /* the listening socket; -1: none */
    int poll, wake;
    int threads;
    pthread_t thread[MPIIO_LISTENER_THREADS];

    pthread_mutex_t lock;
    bool over;        /* closed; guarded by lock, as all members below */
    bool waiting;     /* connections wait in the kernel because there is no room */
    int64_t reported; /* mpiio_clock: when a refusal was reported last */
    struct mpiio_sessions strangers,
        /* in the order in which they were accepted, or last served */
        served;
};

/*
 * The network of a mount's daemons. Each daemon listens on one port and knows the addresses of all
 * others. All share one token, by which both ends of a connection prove themselves (handshake.h).
 * The tree (cluster/peers.h) and the pool (pool/pool.h) obtain their connections here.
 *
 * Node 0 makes the token. The engines distribute the token and the addresses.
 */
struct mpiio_net_options {
    int node, nodes;                  /* this node's number, and the number of all nodes */
    struct mpiio_local_address local; /* the address to listen on and to connect from */
    struct mpiio_ports ports;         /* the ports to listen on: the first free one */
    /* ms to wait for a free connection, and to send no requests to a failed node (connections.h) */
    int timeout;
    unsigned most; /* maximum of pool connections: of accepted ones, and of persistent ones; 0:
                      unlimited */
};

struct mpiio_net {
    struct mpiio_net_options options;
    uint8_t token[MPIIO_TOKEN_BYTES]; /* secret; random until mpiio_net_meet sets node 0's */
    char *own;            /* addresses of this node, "IP:PORT [IP6]:PORT ..."; "": not listening */
    char *text;           /* the addresses of all nodes */
    const char **address; /* by node, in text; NULL before mpiio_net_meet */
    struct mpiio_listener listener;
};

/* Creates the network of a node with a random token and no addresses of other nodes. Returns 0,
   or a negative errno and sets *net to NULL. Free with mpiio_net_free. */
int mpiio_net_new(const struct mpiio_net_options *options, struct mpiio_net **net);

/*
 * Begins to listen and sets net->own. Connections wait in the kernel until mpiio_net_start. Returns
 * 0 or a negative errno: -EADDRINUSE if none of the ports is free.
 */
int mpiio_net_listen(struct mpiio_net *net);

/*
 * Copies node 0's token and the addresses of all nodes: strings in node order, each with its
 * terminating zero, size bytes in total. Call once, before mpiio_net_start. Returns 0, -ENOMEM, or
 * -EPROTO if the number of strings is not the number of nodes.
 */
int mpiio_net_meet(struct mpiio_net *net, const uint8_t token[MPIIO_TOKEN_BYTES],
                   const char *addresses, size_t size);

/* Starts the threads that accept connections. Copies calls. Call once, after any fork. Returns 0 or
   a negative errno; then some threads may run. Does nothing if the node does not listen. */
int mpiio_net_start(struct mpiio_net *net, const struct mpiio_listener_calls *calls);

/*
 * Connects to another node until end (mpiio_clock, ms). Tries each of the node's addresses once,
 * except addresses that this node has, too. Other machines may have the same addresses, so it
 * continues until the node itself answers. host is this node's name, or "". Returns a non-blocking
 * socket that the caller owns, or a negative errno:
 *
 *   -ECONNREFUSED     all attempts were refused: no process listens
 *   -EACCES           a daemon with another token answered
 *   -EPROTONOSUPPORT  a daemon of another version answered
 *   -EINVAL           another node answered, or the numbers of nodes differ; a malformed address
 *   -ETIMEDOUT        end has passed
 *
 * or the error of an attempt that failed for another reason. Such an error takes precedence,
 * because the attempt may succeed later, and the daemons that answered may belong to other nodes.
 * Requires mpiio_net_meet. Thread-safe; blocks.
 */
int mpiio_net_connect(const struct mpiio_net *net, int node, enum mpiio_purpose purpose,
                      const char *host, int64_t end, struct mpiio_welcome *welcome);

/* Stops listening and ends the connections that are served or have not proved themselves, but not
   those that the join callback owns. Returns at once. Thread-safe; may be called repeatedly. */
void mpiio_net_close(struct mpiio_net *net);

/* Closes as mpiio_net_close, and joins the threads: no callback runs afterwards. NULL is
   allowed. May be called repeatedly. */
void mpiio_net_stop(struct mpiio_net *net);

/* Stops and frees. NULL is allowed. */
void mpiio_net_free(struct mpiio_net *net);

/* The listener of a net, for net.c. */

/* Initializes the listener without a socket. */
void mpiio_listener_init(struct mpiio_listener *listener, const struct mpiio_net *net);

/* Takes ownership of fd, a listening socket, also on failure. Returns 0 or a negative errno. */
int mpiio_listener_open(struct mpiio_listener *listener, int fd);

/* Closes all descriptors and frees. The threads must have been stopped. */
void mpiio_listener_destroy(struct mpiio_listener *listener);

#endif
