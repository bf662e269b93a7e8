/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PEERS_H
#define MPIIO_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/complain.h"
#include "core/base/progress.h"
#include "net/net.h"

/*
 * The daemons of one mount's nodes. They agree on when to flush, on changes, on unmounting, and on
 * which nodes have failed. They use TCP connections that form a tree with node 0 at the root, which
 * decides. Decisions go down from node to node. Answers go up, and each node merges the answers of
 * its branch into one. So the number of connections and messages of a node is bounded.
 *
 * A node declares a directly connected peer failed if the connection ends, or if it has heard
 * nothing for peer_timeout. The time during which this process itself did not run (it was stopped)
 * does not count as silence. Some nodes may not reach each other although all reach node 0. So an
 * epoch also ends if for peer_timeout no engine makes progress, while all nodes that have not
 * finished it wait for each other. Once a node or an engine has failed, the nodes no longer act
 * together. Every daemon kills its engine. When all engines have exited, or after a bounded time,
 * each daemon goes on alone. The nodes that only the failed node connected with node 0 do the same
 * among themselves.
 *
 * Each node has a lease to store (clock.h). It ends a quarter of peer_timeout before silence can
 * declare a node failed (roster.h). That holds for any delay of the process, the machine or
 * messages.
 *
 * One thread serves the connections. It wakes for messages and heartbeats. Node 0 sends heartbeats
 * down the tree, and they come back up, once a second (or once in a quarter of peer_timeout if that
 * is less).
 *
 * Unless stated otherwise, functions are thread-safe, do not block, may be called from within
 * events, and return 0 or a negative errno: -ENOTCONN if the nodes are not together (yet, or any
 * longer).
 */
struct mpiio_peers;

#define MPIIO_PEERS_TIMEOUT 10000 /* ms; the default of peer_timeout */
#define MPIIO_PEERS_NODES   1048576

/*
 * Events. All but log are called from the one thread, one at a time, with no lock held, and not
 * before all nodes have joined. No heartbeat is sent during a call. So all but on_degraded,
 * on_alone and on_end must return at once, and leave long work to another thread. Each gets the
 * data of the options.
 */
struct mpiio_peers_events {
    /* A line for the log: a change of state, or why a connection was refused. From any thread. */
    void (*log)(void *data, enum mpiio_log_level level, const char *line);

    /*
     * An epoch begins. It includes everything written on this node so far. Call
     * mpiio_peers_epoch_done once this node has finished its part.
     */
    void (*on_epoch)(void *data, uint64_t epoch, bool sync);
    /* All nodes have finished the epoch. status: 0, or the error of the failed node with the
       lowest number. */
    void (*on_finished)(void *data, uint64_t epoch, bool sync, int status);

    /* Reports how far this node's engine has come in the current epoch. Called with each
       heartbeat from on_epoch until the epoch has finished. An engine that cannot go on for a
       reason that is known here does not count as waiting for others. */
    void (*progress)(void *data, struct mpiio_progress *progress);

    /* This node may store until that time (mpiio_lease_clock). The other nodes measure its silence
       from its last heartbeat, so none of them declares it failed before. 0: it may not store.
       Called repeatedly, with a later time in each call. */
    void (*on_lease)(void *data, int64_t until);

    /*
     * Asks whether atomicity can change to value. Answer with mpiio_peers_vote: 0 or a negative
     * errno. After a vote of 0, and until on_settled, the daemon must be able to commit and to
     * abort.
     */
    void (*on_prepare)(void *data, uint64_t change, bool value);
    /* The change is committed, or aborted: the old value stays. Also called after a vote that
       was not 0. */
    void (*on_settled)(void *data, uint64_t change, bool value, bool committed);

    /*
     * Asks to unmount this node. Answer with mpiio_peers_unmounted. May be called a second time,
     * with force, before that. Not called for a node that has said goodbye.
     */
    void (*on_unmount)(void *data, bool force);
    /* All nodes are unmounted and know it. The last event. */
    void (*on_end)(void *data);

    /*
     * A node or an engine has failed, or this node was declared failed. Kills this node's engine,
     * and returns once it has certainly exited. The current epoch gets no on_finished. A change
     * that is not settled yet is settled as aborted after this.
     */
    void (*on_degraded)(void *data, int node, const char *host, const char *why);
    /*
     * All live nodes have confirmed that their engines have exited, or a time has passed after
     * which their leases have expired. This daemon stores its dirty data and goes on alone. The
     * connections are closed. The last event. It may take as long as it needs.
     */
    void (*on_alone)(void *data);
};

/* Copied. Only the target of data must outlive the peers. */
struct mpiio_peers_options {
    int node, nodes;       /* this node's number from 0, and the number of nodes, at least 1 */
    int fanout;            /* nodes directly below a node, the same on all; 0: MPIIO_TREE_FANOUT */
    int peer_timeout;      /* ms; 0: MPIIO_PEERS_TIMEOUT; the value of node 0 holds for all */
    const char *host;      /* this node's name in messages; NULL: the machine's host name */
    struct mpiio_net *net; /* connects the nodes; borrowed, must outlive the peers */
    struct mpiio_peers_events events; /* none may be NULL */
    void *data;
};

enum mpiio_peers_state {
    MPIIO_PEERS_JOINING,   /* not all nodes have joined */
    MPIIO_PEERS_TOGETHER,  /* all have joined */
    MPIIO_PEERS_DEGRADING, /* a node has failed; engines are being killed */
    MPIIO_PEERS_ALONE,     /* this node goes on alone; final */
    MPIIO_PEERS_ENDED,     /* all nodes are unmounted; final */
    MPIIO_PEERS_STOPPED, /* by mpiio_peers_stop, or the node above was lost while joining; final */
};

struct mpiio_peers_status {
    enum mpiio_peers_state state;
    uint64_t begun, finished, finished_sync; /* last epochs; 0: none */
    int dead;                                /* the node that failed first, -1: none */
    char dead_host[256], why[512];           /* its host; why it was declared failed */
};

/* A connection, to the node above if there is one, or to a node directly below. */
struct mpiio_peer_status {
    int node;
    const char *state;       /* "absent", "connected", "unmounted", "closed" */
    char host[256];          /* "" while absent */
    int64_t age;             /* ms since bytes last arrived; -1: never */
    uint64_t received, sent; /* bytes */
};

/* Creates the peers of a node; on node 0, also starts their thread. Returns 0, or a negative errno
   and sets *peers to NULL. Free with mpiio_peers_free. */
int mpiio_peers_open(const struct mpiio_peers_options *options, struct mpiio_peers **peers);

/*
 * Joins the node above and starts the thread. Call once, on all nodes except node 0, after
 * mpiio_net_meet. Retries for up to timeout ms, except after these errors: -EACCES: the token is
 * wrong; -EINVAL: the other node has another number of nodes, or is not above this one, or this is
 * node 0; -EPROTONOSUPPORT: another version; -ECONNREFUSED: no process listens at any of its
 * addresses. Returns 0 or the last error. Blocks.
 */
int mpiio_peers_join(struct mpiio_peers *peers, int timeout);

/*
 * The join and refused callbacks of a listener (net/net.h), with the peers as tree.
 * mpiio_peers_arrive takes ownership of fd; the peers' thread answers. A connection that arrives
 * before this node has joined waits. mpiio_peers_refused logs. Thread-safe.
 */
void mpiio_peers_arrive(void *tree, int fd, const struct mpiio_handshake *handshake,
                        const struct mpiio_join *join);
void mpiio_peers_refused(void *tree, int error);

/*
 * Waits until all nodes have joined. Returns 0 then, even if some have failed since; -ETIMEDOUT
 * after timeout ms; -ENOTCONN if the node above was lost before. Blocks.
 */
int mpiio_peers_wait(struct mpiio_peers *peers, int timeout);

/*
 * Requests a flush; with sync, to the storage device. Sets *after to the last epoch that has begun
 * here. Any later epoch includes everything that this node has dirty now. So the request is
 * fulfilled once an epoch greater than *after has finished, and for sync, once such an epoch with
 * sync has. Requests share epochs.
 */
int mpiio_peers_request_flush(struct mpiio_peers *peers, bool sync, uint64_t *after);

/* Reports that this node has finished its part of an epoch, with status 0 or a negative errno. */
int mpiio_peers_epoch_done(struct mpiio_peers *peers, uint64_t epoch, int status);

/*
 * Changes the atomicity of all nodes, if each agrees. Blocks for up to timeout ms. The nodes must
 * agree within 3/4 of that. Returns 0, the errno with which a node refused, -ETIMEDOUT (after 3/4
 * of the time: nothing has changed; after all of it: unknown), or -ENOTCONN if the nodes are not
 * together: on_settled then reports the value that holds here. -EDEADLK from within an event.
 */
int mpiio_peers_set_atomicity(struct mpiio_peers *peers, bool value, int timeout);

/* Answers on_prepare. A late vote is ignored. */
int mpiio_peers_vote(struct mpiio_peers *peers, uint64_t change, int status);

/*
 * Unmounts all nodes. Blocks for up to timeout ms. Returns 0 once all are unmounted, also if they
 * were already. Returns the error of the failed node with the lowest number, and then sets *unsaved
 * (malloc'd; else NULL) to a line "HOST: TEXT" for each node that failed and stays mounted. Returns
 * -ETIMEDOUT while the nodes continue to try, -ENOTCONN, or -EDEADLK from within an event.
 */
int mpiio_peers_unmount_all(struct mpiio_peers *peers, bool force, int timeout, char **unsaved);

/*
 * Answers on_unmount: 0, or a negative errno and one line about unsaved data. -EINPROGRESS: this
 * node was asked to unmount all, and unmounts itself last. That is no failure, and unsaved is not
 * used.
 */
int mpiio_peers_unmounted(struct mpiio_peers *peers, int error, const char *unsaved);

/* Reports that this node was unmounted alone. It stays a member, without data, until all are
   unmounted. */
int mpiio_peers_goodbye(struct mpiio_peers *peers);

/* Reports that this node's engine has died, so the nodes cannot go on together. why: one line. */
int mpiio_peers_engine_lost(struct mpiio_peers *peers, const char *why);

void mpiio_peers_status(struct mpiio_peers *peers, struct mpiio_peers_status *status);

/* Reports the connection of an index from 0. Returns -ENOENT past the last one. */
int mpiio_peers_peer(struct mpiio_peers *peers, int index, struct mpiio_peer_status *status);

/*
 * Closes all connections and ends the thread. Waits for the thread, and so for a running event,
 * except from within one. May be called repeatedly. The other nodes then declare this one failed,
 * unless its state was final.
 */
void mpiio_peers_stop(struct mpiio_peers *peers);

/* Stops the thread and frees. No other thread may use the peers. NULL is allowed. */
void mpiio_peers_free(struct mpiio_peers *peers);

/*
 * The connections of a mount's nodes: a tree with node 0 at its root, in which each node has up to
 * fanout nodes below it, numbered level by level. All functions are local and thread-safe; node <
 * nodes.
 */
#define MPIIO_TREE_FANOUT 16 /* the default */

/* Returns the node above a node that is not 0. */
static inline int mpiio_tree_above(int node, int fanout)
{
    return (node - 1) / fanout;
}

/* Returns the number of nodes directly below a node: fanout * node + 1 and those that follow. */
static inline int mpiio_tree_below(int node, int nodes, int fanout)
{
    int64_t left = nodes - 1 - (int64_t)fanout * node;

    if (left <= 0)
        return 0;
    return left < fanout ? (int)left : fanout;
}

#endif
