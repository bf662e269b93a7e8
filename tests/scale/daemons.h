/* SPDX-License-Identifier: MIT */
#ifndef SCALE_DAEMONS_H
#define SCALE_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

/* Simulated daemons, which record their events. Their engines store data (writers.h), or only
   take time. This part also injects faults and checks the events. */

#define TIMEOUT 2000 /* ms; peer_timeout, unless a run draws it */
/* us. After a fault, no node waits longer than this until it has noticed the fault, fenced, and
   continued. */
#define PATIENCE (4 * run.timeout * 1000.0)
#define EPOCHS   4096

/* A fault: a node's daemon or engine is killed, the node is paused for a while, or messages
   between two engines are lost. Faults from SILENT to CUT_DOWN are only noticed because a node
   is silent. Faults after MIXED only happen in runs of mixed faults (faults.h). */
enum fault {
    NONE,
    KILL,
    ENGINE,
    PAUSE,
    SEVER,
    CRASH,
    STOP,
    CUT,
    CUT_UP,
    CUT_DOWN,
    MIXED,
    FREEZE,  /* the daemon is stopped, for longer than peer_timeout or not; its engine is not */
    SUSPEND, /* the machine sleeps, and its mpiio_clock stops */
    HOLD,    /* messages over a connection are delayed */
    RESET,   /* one side of a connection sees its end; no more messages pass */
    BREAK,   /* one side of a connection closes it because of an error, before it is fenced */
    FAULTS
};
#define SILENT CRASH

/* The result of an epoch. */
struct epoch {
    int done; /* nodes that have finished it */
    int finished;
    bool sync;
    int status; /* as the first node received it */
};

/* The state of a daemon. */
struct daemon {
    uint64_t begun, finished, finished_sync;
    uint64_t after, after_sync; /* later epochs have what it requested */
    int64_t lease;              /* by the world's clock, in ms */
    int64_t engine_until;       /* likewise: when the engine of a killed daemon exits */
    bool degraded, alone, ended;
    int change; /* in progress, or 0 */
    int settled, committed;
};

/* The current simulation. */
struct run {
    int nodes, fanout;
    int timeout; /* ms; peer_timeout */
    unsigned int seed;
    enum fault fault;
    uint64_t at; /* the message at which the fault happens */
    double time; /* MIXED: the earliest time of the next fault */
    double last; /* MIXED: the time of the last fault, or when the node that it stopped continues */
    int hit;     /* MIXED: the node of the last fault */
    bool lasts;  /* MIXED: some fault was more than a delay */
    int faults;  /* faults that are still to come */
    bool happened, failed;
    struct daemon *daemon;
    struct epoch epoch[EPOCHS];
    int64_t no_lease; /* ms; when the last lease may expire; 0: every node may have one */
    int left;         /* nodes that have left, or never will */
    double engine;    /* us until an engine begins; without homes, us that it takes */
    bool homes;       /* the engines store data */
    bool checks;      /* stored data is checked, and not only its costs */
    bool collective;  /* long runs are stored collectively */
    int alone;        /* nodes that act alone */
    uint64_t stored;  /* the last epoch that any node has begun */
};

extern struct run run;

/* The names of faults. */
extern const char *const fault_names[FAULTS];

/* Returns the world's time in ms. */
int64_t daemons_now(void);

/* Makes run.nodes daemons. They begin at once. */
void daemons_begin(void);
void daemons_end(void);

/* Returns true if all daemons are connected and have a lease. */
bool daemons_are_together(void);

/* Reports that something is wrong with a node. */
void daemons_wrong(int node, const char *what);

/* Returns true if the node's engine has a lease. For the engine. */
bool daemons_may_store(int node);

/* The node's engine has finished an epoch. */
void daemons_through(int node, uint64_t epoch);

/* Returns a random number below bound, by run.seed, or 0 if bound is 0. */
unsigned int daemons_random(unsigned int bound);

/* Functions for world_call: request a flush, request change number change, or leave. */
void daemons_ask(int node, uint64_t sync);
void daemons_change(int node, uint64_t number);
void daemons_goodbye(int node, uint64_t ignored);

#endif
