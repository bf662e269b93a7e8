/* SPDX-License-Identifier: MIT */
#ifndef SCALE_WORLD_H
#define SCALE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/connection.h"
#include "cluster/roster.h"

/*
 * A virtual clock, and a network of nodes that are connected as tree.h says: what
 * cluster/connection.h and the clocks are in a daemon. All of it is one thread's.
 *
 * Time, in us, passes as messages take it: each costs its sender and its receiver some of their
 * processor's time, one after the other, and then the network's latency and its length over the
 * network's bandwidth.
 */

struct world_costs {
    double processor; /* us a message, on each side */
    double latency;   /* us */
    double bandwidth; /* bytes/us */
};

/* The traffic so far. */
struct world_traffic {
    uint64_t messages, bytes;
};

struct world_node {
    struct mpiio_peers *peers;
    int64_t skew; /* ms: what its clocks are ahead of the world's */
    /* ms for which its machine was suspended, which mpiio_clock does not count; yet to be added. */
    int64_t slept, sleep;
    double busy;  /* until when its processor is, with what has come up to now */
    double timer; /* when it is woken */
    bool dead;    /* nothing happens on it from now on */
    bool gone;    /* it has left: mpiio_turn_end was called */
    double wakes; /* a node that is stopped goes on then */
    struct world_traffic beats, work; /* of daemons: heartbeats, and all else */
    struct world_traffic engine;      /* of its engine */
};

/* One end of a connection. */
struct world_end {
    struct mpiio_connection *link; /* NULL: closed */
    struct mpiio_peer *peer;
    double arrives; /* when what was sent to it last does */
    bool deaf;      /* what is sent to it is lost */
};

/* An event at its time. Events of the same time happen in the order of order. */
struct world_event {
    double time;
    uint64_t order;
    enum { WORLD_TIMER, WORLD_BYTES, WORLD_END, WORLD_CALL, WORLD_ENGINE } kind;
    int node, end;
    int error;      /* WORLD_END */
    bool queued;    /* its time is when the node's processor comes to it */
    uint8_t *bytes; /* owned */
    size_t size;
    void (*call)(int node, uint64_t argument);
    uint64_t argument;
    void (*run)(int node, const uint8_t *bytes);
};

struct world {
    struct world_costs costs;
    int nodes, fanout;
    struct world_node *node;
    struct world_end *end; /* of the node that is below, and then of the one above, of each node */
    double now;
    int current; /* the node that runs; -1: none does */
    uint64_t sent;
    void (*on_message)(int node); /* called when a node has sent one; NULL: nobody asks */
    void (*on_left)(int node);
    struct world_event *heap;
    size_t events, room;
    uint64_t order;
};

extern struct world world;

/* Makes nodes and connects them. options(node) are those of each; they are to be begun yet. */
void world_create(int nodes, int fanout, struct mpiio_peers_options (*options)(int node));
void world_free(void);

/* The node begins, at that time. */
void world_begin(int node, double time);

/* Calls something on a node at a time; then its turn comes. Not where it is dead or gone. */
void world_call(int node, double time, void (*call)(int node, uint64_t argument),
                uint64_t argument);

/*
 * Has something happen to a node's engine, of which its daemon knows nothing, at a time, with
 * bytes, which are taken over. Not where the node is dead.
 */
void world_engine(int node, double time, void (*run)(int node, const uint8_t *bytes), void *bytes);

/*
 * Ends the node's daemon. Those it is connected with see that error; 0: the machine is gone, and
 * they see nothing.
 */
void world_kill(int node, int error);

/* Stops a node until a time; what comes meanwhile waits. */
void world_stop(int node, double until);

/* Stops a node until a time, as its machine sleeps. Of a node that runs. */
void world_suspend(int node, double until);

/* Loses messages between a node and the one above it from now on: up, down or both. */
void world_cut(int node, bool up, bool down);

/* Delays what is sent between a node and the one above it until a time. */
void world_hold(int node, double until);

/* Ends one side of the connection between a node and the one above it with an error. upper: the
   side of the node above, else the node's own. */
void world_fail(int node, bool upper, int error);

/* Lets happen what happens next. False: nothing does before that time. */
bool world_step(double before);

/* Bytes of memory that a node has allocated for what it says to others. */
size_t world_memory(int node);

#endif
