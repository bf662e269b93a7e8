/* SPDX-License-Identifier: MIT */
#ifndef SCALE_WORLD_H
#define SCALE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/roster.h"

/*
 * A virtual clock, and a network of nodes that are connected as peers.h describes. It takes the
 * place of cluster/connection.c and of the clocks in a daemon. It belongs to one thread.
 *
 * Time, in us, passes as messages take it. A message costs processor time of its sender and then of
 * its receiver. In between it takes the network's latency, and its length divided by the bandwidth.
 */

struct world_costs {
    double processor; /* us for each message, on each side */
    double latency;   /* us */
    double bandwidth; /* bytes/us */
};

/* The traffic so far. */
struct world_traffic {
    uint64_t messages, bytes;
};

struct world_node {
    struct mpiio_peers *peers;
    int64_t skew; /* ms by which its clocks are ahead of the world's */
    /* ms for which its machine was suspended, which mpiio_clock does not count; ms still to be
       added. */
    int64_t slept, sleep;
    double busy;  /* when its processor becomes idle, with the messages so far */
    double timer; /* when it wakes up */
    bool dead;    /* nothing happens on it from then on */
    bool gone;    /* it has left: mpiio_turn_end was called */
    double wakes; /* when a stopped node continues */
    struct world_traffic beats, work; /* of daemons: heartbeats, and other messages */
    struct world_traffic engine;      /* of its engine */
};

/* One end of a connection. */
struct world_end {
    struct mpiio_peer_connection *link; /* NULL: closed */
    struct mpiio_peer *peer;
    double arrives; /* when the last message sent to it arrives */
    bool deaf;      /* messages sent to it are lost */
};

/* An event and its time. Events at the same time happen by ascending order. */
struct world_event {
    double time;
    uint64_t order;
    enum { WORLD_TIMER, WORLD_BYTES, WORLD_END, WORLD_CALL, WORLD_ENGINE } kind;
    int node, end;
    int error;      /* WORLD_END */
    bool queued;    /* its time is the one at which the node's processor handles it */
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
    struct world_end *end; /* of each node: its own end, and that of the node above */
    double now;
    int current; /* the node that runs; -1: none does */
    uint64_t sent;
    void (*on_message)(int node); /* called when a node has sent a message; may be NULL */
    void (*on_left)(int node);
    struct world_event *heap;
    size_t events, room;
    uint64_t order;
};

extern struct world world;

/* Makes nodes and connects them. options(node) are the options of each. world_begin starts them. */
void world_create(int nodes, int fanout, struct mpiio_peers_options (*options)(int node));
void world_free(void);

/* Starts the node at this time. */
void world_begin(int node, double time);

/* Calls a function on a node at a time, then runs the node's turn. Does nothing if the node is
   dead or gone. */
void world_call(int node, double time, void (*call)(int node, uint64_t argument),
                uint64_t argument);

/*
 * Calls run with bytes on a node's engine at a time, without the daemon's knowledge. Takes
 * ownership of bytes. Does nothing if the node is dead.
 */
void world_engine(int node, double time, void (*run)(int node, const uint8_t *bytes), void *bytes);

/*
 * Ends the node's daemon. Connected nodes see this error. If it is 0, the machine is gone, and they
 * see nothing.
 */
void world_kill(int node, int error);

/* Stops a node until a time. Events meanwhile are delayed. */
void world_stop(int node, double until);

/* Stops a running node until a time, as if its machine were suspended. */
void world_suspend(int node, double until);

/* Loses messages between a node and the one above it from now on: up, down or both. */
void world_cut(int node, bool up, bool down);

/* Delays the messages between a node and the one above it until a time. */
void world_hold(int node, double until);

/* Ends one side of the connection between a node and the one above it with an error. upper: the
   upper node's side, else the node's own. */
void world_fail(int node, bool upper, int error);

/* Processes the next event. Returns false if there is none before that time. */
bool world_step(double before);

/* Returns the bytes of memory that a node has allocated for messages to others. */
size_t world_memory(int node);

#endif
