/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PEERS_H
#define MPIIO_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/complain.h"
#include "core/base/progress.h"
#include "net/net.h"

/*
 * The daemons of the nodes of one mount, which agree on when to flush, on changes, on the end, and
 * on who is dead: over TCP connections of their own, a tree with node 0 at its root (tree.h), which
 * decides. What it tells goes down from node to node; what they answer goes up, and is one answer
 * where nodes meet. So no node has more than a few connections, nor messages.
 *
 * Dead is whose connection ends, or who is silent for peer_timeout, for a node that is connected
 * with it; one's own absence (a stopped process) is not counted as the others' silence. An epoch in
 * which no engine comes further for peer_timeout, while all that are not through with it wait for
 * each other, ends, too: some do not reach each other, though all reach node 0. Once a node is
 * dead, or an engine, nobody goes on together: every daemon kills its engine, and when all have, or
 * after a bounded time, goes on alone. Those that only the dead one connected with node 0 do the
 * same among themselves.
 *
 * Each node has a lease to store (clock.h): it ends a quarter of peer_timeout before
 * silence can declare a node failed (roster.h), however long the process, its machine or what it
 * is sent was held up.
 *
 * One thread serves the connections. It wakes for messages and for heartbeats, which node 0 has go
 * down the tree and come back once a second (once in a quarter of peer_timeout where that is less).
 *
 * Unless said otherwise, functions are thread-safe, do not block, may be called from within events,
 * and return 0 or a negative errno: -ENOTCONN where the nodes are not together, not yet or no more.
 */
struct mpiio_peers;

#define MPIIO_PEERS_TIMEOUT 10000 /* ms, peer_timeout where none is given */
#define MPIIO_PEERS_NODES   1048576

/*
 * Events. All but log are called from the one thread, one at a time, with no lock held, and not
 * before all nodes have joined. No heartbeat is sent during a call. So all but on_degraded,
 * on_alone and on_end must return at once, and leave long work to another thread. Each gets the
 * data of the options.
 */
struct mpiio_peers_events {
    /* A line for the log: a change of state, why a connection was refused. From any thread. */
    void (*log)(void *data, enum mpiio_log_level level, const char *line);

    /*
     * An epoch begins: what is written on this node up to now belongs to it. mpiio_peers_epoch_done
     * is due, once, when this node's part is over.
     */
    void (*on_epoch)(void *data, uint64_t epoch, bool sync);
    /* All nodes are through with it. status: 0, or that of the first node that failed. */
    void (*on_finished)(void *data, uint64_t epoch, bool sync, int status);

    /* Reports how far this node's engine has come in the current epoch. Called once in each
       heartbeat from on_epoch until the epoch has finished. An engine that cannot go on for a
       reason that is known here does not count as waiting for others. */
    void (*progress)(void *data, struct mpiio_progress *progress);

    /* This node may store until that time (mpiio_lease_clock). The other nodes measure its silence
       from its last heartbeat, so none of them declares it failed before. 0: it may not store.
       Called repeatedly, with a later time in each call. */
    void (*on_lease)(void *data, int64_t until);

    /*
     * Atomicity is to be value: mpiio_peers_vote is due with 0 or a negative errno. From a vote of
     * 0 on, until on_settled, the daemon must be able to go either way.
     */
    void (*on_prepare)(void *data, uint64_t change, bool value);
    /* It is value now (committed), or stays as it was. Also after a vote that was not 0. */
    void (*on_settled)(void *data, uint64_t change, bool value, bool committed);

    /*
     * This node is to be unmounted: mpiio_peers_unmounted is due. May come a second time, with
     * force, before that. Not for a node that has said goodbye.
     */
    void (*on_unmount)(void *data, bool force);
    /* All nodes are unmounted and know it. The last event. */
    void (*on_end)(void *data);

    /*
     * A node is dead (or this one was taken for dead, or an engine died): kills this node's
     * engine, and returns when it is gone for sure. What was under way will not be finished: no
     * on_finished; a change that is not settled yet is settled as not committed, after this.
     */
    void (*on_degraded)(void *data, int node, const char *host, const char *why);
    /*
     * The engines of all that live are gone: this daemon stores what it holds, and goes on alone.
     * The connections are closed. The last event; may take as long as it needs.
     */
    void (*on_alone)(void *data);
};

/* Copied: only what data points to must live as long as the peers. */
struct mpiio_peers_options {
    int node, nodes;       /* this node's number, from 0, and how many there are, 1 at least */
    int fanout;            /* nodes right below a node, the same on all; 0: MPIIO_TREE_FANOUT */
    int peer_timeout;      /* ms; 0: MPIIO_PEERS_TIMEOUT; that of node 0 counts for all */
    const char *host;      /* this node's name for others; NULL: that of the machine */
    struct mpiio_net *net; /* by which the nodes reach each other; borrowed, and outlives it */
    struct mpiio_peers_events events; /* none may be NULL */
    void *data;
};

enum mpiio_peers_state {
    MPIIO_PEERS_JOINING,   /* not all nodes are there */
    MPIIO_PEERS_TOGETHER,  /* all are */
    MPIIO_PEERS_DEGRADING, /* somebody is dead; engines are being killed */
    MPIIO_PEERS_ALONE,     /* this node goes on alone; final */
    MPIIO_PEERS_ENDED,     /* all nodes are unmounted; final */
    MPIIO_PEERS_STOPPED, /* by mpiio_peers_stop, or the node above was lost while joining; final */
};

struct mpiio_peers_status {
    enum mpiio_peers_state state;
    uint64_t begun, finished, finished_sync; /* last epochs; 0: none */
    int dead;                                /* who died first, -1: nobody */
    char dead_host[256], why[512];           /* of that node; why it is taken for dead */
};

/* A connection: to the node above, where there is one, and then to those right below. */
struct mpiio_peer_status {
    int node;
    const char *state;       /* "absent", "connected", "unmounted", "closed" */
    char host[256];          /* "" while absent */
    int64_t age;             /* ms since it was last heard; -1: never */
    uint64_t received, sent; /* bytes */
};

/* Creates the peers of a node; on node 0, also starts their thread. Returns 0, or a negative errno
   and sets *peers to NULL. Free with mpiio_peers_free. */
int mpiio_peers_open(const struct mpiio_peers_options *options, struct mpiio_peers **peers);

/*
 * Joins the node above (tree.h) and starts the thread. Call once, on all nodes but node 0, after
 * mpiio_net_meet. Tries again for up to timeout ms, except after these errors: -EACCES: the token
 * is wrong; -EINVAL: the other node has another number of nodes, or is not above this one, or this
 * is node 0; -EPROTONOSUPPORT: another version; -ECONNREFUSED: no process listens at any of its
 * addresses. Returns 0 or the last error. Blocks.
 */
int mpiio_peers_join(struct mpiio_peers *peers, int timeout);

/*
 * The join and refused callbacks of a listener (net/listener.h), with the peers as tree.
 * mpiio_peers_arrive takes ownership of fd; the peers' thread answers. A connection that arrives
 * before this node has joined waits until it has. mpiio_peers_refused logs. Thread-safe.
 */
void mpiio_peers_arrive(void *tree, int fd, const struct mpiio_handshake *handshake,
                        const struct mpiio_join *join);
void mpiio_peers_refused(void *tree, int error);

/*
 * Blocks until all nodes have joined: 0, also where some were lost since; -ETIMEDOUT after timeout
 * ms, -ENOTCONN where the node above was lost before.
 */
int mpiio_peers_wait(struct mpiio_peers *peers, int timeout);

/*
 * Asks for a flush, with sync: to the device. *after is the last epoch that has begun here: a later
 * one takes all that this node holds now. So what was asked for is done once an epoch greater
 * than *after is finished, and for sync one that is with sync. Requests share epochs.
 */
int mpiio_peers_request_flush(struct mpiio_peers *peers, bool sync, uint64_t *after);

/* This node's part of an epoch is over, with status 0 or a negative errno. */
int mpiio_peers_epoch_done(struct mpiio_peers *peers, uint64_t epoch, int status);

/*
 * Changes the atomicity of all nodes, if each agrees. Blocks for up to timeout ms, of which 3/4 are
 * for the nodes to agree. Returns 0, the errno with which a node refused, -ETIMEDOUT (after 3/4 of
 * the time: nothing has changed; after all of it: unknown), or -ENOTCONN if the nodes are not
 * together: on_settled then reports the value that holds here. -EDEADLK from within an event.
 */
int mpiio_peers_set_atomicity(struct mpiio_peers *peers, bool value, int timeout);

/* Answers on_prepare. A vote that comes too late is not counted. */
int mpiio_peers_vote(struct mpiio_peers *peers, uint64_t change, int status);

/*
 * Has all nodes unmounted. Blocks up to timeout ms. 0 when all are (also when they were); the first
 * node's error, and then *unsaved (malloc'd; else NULL) has a line "HOST: TEXT" for each that
 * failed, which stays mounted; -ETIMEDOUT: the nodes go on trying; -ENOTCONN; -EDEADLK from within
 * an event.
 */
int mpiio_peers_unmount_all(struct mpiio_peers *peers, bool force, int timeout, char **unsaved);

/*
 * Answers on_unmount: 0, or a negative errno and what is unsaved, one line. -EINPROGRESS: this node
 * is asked to unmount all and comes last, by itself; that is no failure, and unsaved is not used.
 */
int mpiio_peers_unmounted(struct mpiio_peers *peers, int error, const char *unsaved);

/* This node was unmounted alone. It stays a member, without data, until all are. */
int mpiio_peers_goodbye(struct mpiio_peers *peers);

/* This node's engine has died: nobody can go on together. why: one line. */
int mpiio_peers_engine_lost(struct mpiio_peers *peers, const char *why);

void mpiio_peers_status(struct mpiio_peers *peers, struct mpiio_peers_status *status);

/* The connection of that index, from 0. -ENOENT past the last. */
int mpiio_peers_peer(struct mpiio_peers *peers, int index, struct mpiio_peer_status *status);

/*
 * Closes all connections and ends the thread; waits for it, and so for an event that it is in
 * (but not from within one). May be repeated. For the others, this node is dead then,
 * unless its state was final.
 */
void mpiio_peers_stop(struct mpiio_peers *peers);

/* Stops and frees. No other thread may use the peers. NULL is allowed. */
void mpiio_peers_free(struct mpiio_peers *peers);

#endif
