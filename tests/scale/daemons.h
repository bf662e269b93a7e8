/* SPDX-License-Identifier: MIT */
#ifndef SCALE_DAEMONS_H
#define SCALE_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

/* Simulated daemons. They record their events. Their engines store data (writers.h), or only take
   time. This part also injects faults, and checks the events. */

#define TIMEOUT 2000 /* ms, peer_timeout where it is not drawn */
/* After a fault, nobody waits longer than this: to notice it, to fence, and to go on. In us. */
#define PATIENCE (4 * run.timeout * 1000.0)
#define EPOCHS   4096

/* A fault: a node's daemon or engine is killed, the node is paused for a while, or messages between
   two engines are lost. The faults from SILENT to CUT_DOWN are noticed only by the silence of a
   node. Faults after MIXED happen only in runs of mixed faults (faults.h). */
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
    SUSPEND, /* the machine sleeps, and mpiio_clock does not run */
    HOLD,    /* what is sent over a connection comes late */
    RESET,   /* one side of a connection sees it end; nothing else comes through */
    BREAK,   /* one side of a connection ends it for an error, before it is fenced */
    FAULTS
};
#define SILENT CRASH

/* The result of an epoch. */
struct epoch {
    int done; /* nodes that were through with it */
    int finished;
    bool sync;
    int status; /* as the first node received it */
};

/* The state of a daemon. */
struct daemon {
    uint64_t begun, finished, finished_sync;
    uint64_t after, after_sync; /* what it asked for is in later ones */
    int64_t lease;              /* by the world's clock, in ms */
    int64_t engine_until;       /* likewise: when the engine of a daemon that was killed ends */
    bool degraded, alone, ended;
    int change; /* under way, or 0 */
    int settled, committed;
};

/* The current simulation. */
struct run {
    int nodes, fanout;
    int timeout; /* ms, peer_timeout */
    unsigned int seed;
    enum fault fault;
    uint64_t at; /* the message at which the fault happens */
    double time; /* MIXED: the earliest time of the next fault */
    double last; /* MIXED: the time of the last fault, or when the node that it stopped goes on */
    int hit;     /* MIXED: the node of the last fault */
    bool lasts;  /* MIXED: some fault was no mere delay */
    int faults;  /* so many follow */
    bool happened, failed;
    struct daemon *daemon;
    struct epoch epoch[EPOCHS];
    int64_t no_lease; /* when the last lease may end, in ms; 0: all may have one */
    int left;         /* nodes that have left, or will never */
    double engine;    /* us until an engine begins, or without homes, that it takes */
    bool homes;       /* engines store */
    bool checks;      /* what is stored is looked at: else only what it costs */
    bool collective;  /* long runs are stored together */
    int alone;        /* nodes that act alone */
    uint64_t stored;  /* the last epoch that a node has begun */
};

extern struct run run;

/* The words for them. */
extern const char *const fault_names[FAULTS];

/* Times in ms of the world's clock. */
int64_t daemons_now(void);

/* Makes run.nodes of them, which begin at once. */
void daemons_begin(void);
void daemons_end(void);

/* All are connected, and have a lease. */
bool daemons_are_together(void);

/* Says that something is wrong with a node. */
void daemons_wrong(int node, const char *what);

/* For its engine: it has a lease. */
bool daemons_may_store(int node);

/* Its engine is through with an epoch. */
void daemons_through(int node, uint64_t epoch);

/* A number below bound, by run.seed; 0 where that is 0. */
unsigned int daemons_random(unsigned int bound);

/* For world_call: asks for a flush, or for a change by a call of that number; leaves. */
void daemons_ask(int node, uint64_t sync);
void daemons_change(int node, uint64_t number);
void daemons_goodbye(int node, uint64_t ignored);

#endif
