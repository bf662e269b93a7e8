/* SPDX-License-Identifier: MIT */
#include "daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "engines.h"
#include "faults.h"
#include "shared_file.h"
#include "writers.h"

struct run run;

const char *const fault_names[FAULTS] = {"none",    "kill", "engine", "pause",    "sever", "crash",
                                         "stop",    "cut",  "cut-up", "cut-down", "mixed", "freeze",
                                         "suspend", "hold", "reset",  "break"};

unsigned int daemons_random(unsigned int bound)
{
    uint64_t number = (uint64_t)rand_r(&run.seed) << 16 ^ (uint64_t)rand_r(&run.seed);

    return bound == 0 ? 0 : (unsigned int)(number % bound);
}

void daemons_wrong(int node, const char *what)
{
    printf("wrong: node %d at %.3f s: %s\n", node, world.now / 1e6, what);
    run.failed = true;
}

int64_t daemons_now(void)
{
    return (int64_t)(world.now / 1000);
}

static int number_of(const struct daemon *daemon)
{
    return (int)(daemon - run.daemon);
}

/*
 * Returns true if the node's engine may still store: the node is neither degraded nor ended, and
 * its lease ended less than a quarter of peer_timeout ago, if at all. If the daemon was killed, its
 * engine runs until engine_until.
 */
static bool may_store(const struct daemon *daemon)
{
    bool runs = !world.node[number_of(daemon)].dead || daemon->engine_until > daemons_now();

    return runs && !daemon->degraded && !daemon->ended &&
           daemon->lease + run.timeout / 4 > daemons_now() + 1;
}

bool daemons_may_store(int node)
{
    return run.daemon[node].lease > daemons_now();
}

static void on_log(void *data, enum mpiio_log_level level, const char *line)
{
    if (getenv("SCALE_LOG") != NULL)
        printf("%.6f node %d: %s\n", world.now / 1e6, number_of(data), line);
}

static void end_part(int node, uint64_t epoch)
{
    struct daemon *daemon = &run.daemon[node];

    /* A report that the engine made before it was killed counts, until the node stores the data
       again. */
    if (run.homes && !daemon->alone)
        writers_resolve(node);
    if (daemon->degraded)
        return;
    run.epoch[epoch % EPOCHS].done++;
    mpiio_peers_epoch_done(world.node[node].peers, epoch,
                           epoch % 5 == 3 && node % 7 == 3 ? -28 : 0);
}

void daemons_through(int node, uint64_t epoch)
{
    world_call(node, world.now, end_part, epoch);
}

/* Programs write, the node freezes their bytes, and the engine begins at this time. */
static void flush(int node, uint64_t epoch, bool sync, double time)
{
    if (run.stored != epoch)
        shared_file_begin_epoch(epoch);
    run.stored = epoch;
    writers_flush(node, epoch, sync, time);
}

static void on_epoch(void *data, uint64_t number, bool sync)
{
    struct daemon *daemon = data;
    struct epoch *epoch = &run.epoch[number % EPOCHS];
    double time;

    if (number != daemon->begun + 1 || daemon->finished != daemon->begun || daemon->degraded)
        daemons_wrong(number_of(daemon), "an epoch begins that should not");
    daemon->begun = number;
    epoch->sync = sync;
    time = world.now + run.engine * (0.5 + daemons_random(1024) / 1024.0);
    if (run.homes)
        flush(number_of(daemon), number, sync, time);
    else
        world_call(number_of(daemon), time, end_part, number);
}

static void on_finished(void *data, uint64_t number, bool sync, int status)
{
    struct daemon *daemon = data;
    struct epoch *epoch = &run.epoch[number % EPOCHS];

    if (number != daemon->begun || daemon->degraded)
        daemons_wrong(number_of(daemon), "an epoch ends that should not");
    if (epoch->done != run.nodes)
        daemons_wrong(number_of(daemon), "an epoch ends that not all are through with");
    if (epoch->sync != sync || (epoch->finished != 0 && epoch->status != status))
        daemons_wrong(number_of(daemon), "it is told another end of an epoch than others");
    if (status != (run.nodes > 3 && number % 5 == 3 ? -28 : 0))
        daemons_wrong(number_of(daemon), "an epoch ends otherwise than its nodes do");
    daemon->finished = number;
    if (sync)
        daemon->finished_sync = number;
    epoch->status = status;
    epoch->finished++;
}

static void on_progress(void *data, struct mpiio_progress *progress)
{
    if (run.homes)
        mpiio_progress_read(engines_progress(number_of(data)), progress);
    else
        *progress = (struct mpiio_progress){.waiting = true, .count = (uint64_t)daemons_now()};
}

static void on_lease(void *data, int64_t until)
{
    struct daemon *daemon = data;
    int64_t ahead = mpiio_lease_clock() - daemons_now();

    if (until != 0 && until - ahead < daemon->lease)
        daemons_wrong(number_of(daemon), "its lease is shorter than it was");
    daemon->lease = until == 0 ? 0 : until == MPIIO_LEASE_FOREVER ? until : until - ahead;
    if (run.no_lease != 0 && may_store(daemon) && !run.failed)
        daemons_wrong(number_of(daemon), "it gets a lease when somebody is taken for dead");
}

static void on_prepare(void *data, uint64_t change, bool value)
{
    struct daemon *daemon = data;
    int node = number_of(daemon);

    if (daemon->change != 0)
        daemons_wrong(node, "a change begins while another is under way");
    daemon->change = (int)change;
    mpiio_peers_vote(world.node[node].peers, change, change % 3 == 2 && node % 11 == 5 ? -16 : 0);
}

static void on_settled(void *data, uint64_t change, bool value, bool committed)
{
    struct daemon *daemon = data;

    if (daemon->change != (int)change)
        daemons_wrong(number_of(daemon), "a change is settled that was not prepared");
    if (committed && change % 3 == 2 && run.nodes > 5)
        daemons_wrong(number_of(daemon), "a change is made that a node refused");
    daemon->change = 0;
    daemon->settled++;
    daemon->committed += committed;
}

static void on_unmount(void *data, bool force)
{
    mpiio_peers_unmounted(world.node[number_of(data)].peers, 0, NULL);
}

static void on_end(void *data)
{
    ((struct daemon *)data)->ended = true;
}

/* Records the first time from which no engine may store, except engines that are known to have
   exited. Reports each engine that still has a lease. */
static void expect_no_lease(void)
{
    if (run.no_lease != 0)
        return;
    run.no_lease = daemons_now() + 1;
    for (int i = 0; i < run.nodes; i++)
        if (may_store(&run.daemon[i]))
            daemons_wrong(i, "its engine may store when others act, or are about to");
}

static void kill_engine(int node, const uint8_t *unused)
{
    engines_kill(node);
}

/* Ends the node's engine, maybe after a while. The daemon sends nothing until then. */
static void on_degraded(void *data, int node, const char *host, const char *why)
{
    static const char silent[] = "not heard of";
    struct daemon *daemon = data;

    if (run.fault == NONE)
        daemons_wrong(number_of(daemon), "it is degraded though nothing has happened");
    daemon->degraded = true;
    /* Leases must expire before a node is declared failed because it is silent. */
    if (strncmp(why, silent, strlen(silent)) == 0)
        expect_no_lease();
    if (run.checks && daemons_random(4) != 0) {
        double time = world.now + 1000 + daemons_random(20000);

        world.node[number_of(daemon)].busy = time;
        world_engine(number_of(daemon), time - daemons_random(1000), kill_engine, NULL);
    } else {
        engines_kill(number_of(daemon));
    }
}

static void on_alone(void *data)
{
    struct daemon *daemon = data;

    if (!daemon->degraded || daemon->alone || daemon->ended)
        daemons_wrong(number_of(daemon), "it goes on alone, and should not");
    daemon->alone = true;
    expect_no_lease();
    run.alone++;
    if (run.homes)
        writers_go_alone(number_of(daemon));
}

static struct mpiio_peers_options options(int node)
{
    return (struct mpiio_peers_options){.node = node,
                                        .nodes = run.nodes,
                                        .fanout = run.fanout,
                                        .peer_timeout = run.timeout,
                                        .host = "host",
                                        .events = {.log = on_log,
                                                   .on_epoch = on_epoch,
                                                   .on_finished = on_finished,
                                                   .progress = on_progress,
                                                   .on_lease = on_lease,
                                                   .on_prepare = on_prepare,
                                                   .on_settled = on_settled,
                                                   .on_unmount = on_unmount,
                                                   .on_end = on_end,
                                                   .on_degraded = on_degraded,
                                                   .on_alone = on_alone},
                                        .data = &run.daemon[node]};
}

static void on_left(int node)
{
    run.left++;
}

bool daemons_are_together(void)
{
    for (int i = 0; i < run.nodes; i++)
        if (world.node[i].peers->status.state != MPIIO_PEERS_TOGETHER || run.daemon[i].lease == 0)
            return false;
    return true;
}

static void on_message(int node)
{
    if (run.faults != 0 && world.sent >= run.at && world.now >= run.time &&
        (run.happened || daemons_are_together()))
        faults_happen(node);
}

void daemons_ask(int node, uint64_t sync)
{
    struct daemon *daemon = &run.daemon[node];
    uint64_t after;

    if (mpiio_peers_request_flush(world.node[node].peers, sync != 0, &after) != 0)
        return;
    daemon->after = after + 1;
    if (sync != 0)
        daemon->after_sync = after + 1;
}

void daemons_change(int node, uint64_t number)
{
    mpiio_roster_tell(world.node[node].peers,
                      &(struct mpiio_peer_frame){.type = MPIIO_CHANGE,
                                                 .number = number,
                                                 .flag = true,
                                                 .time = (uint32_t)run.timeout / 2});
}

void daemons_goodbye(int node, uint64_t ignored)
{
    mpiio_peers_goodbye(world.node[node].peers);
}

void daemons_begin(void)
{
    run.daemon = calloc((size_t)run.nodes, sizeof(*run.daemon));
    if (run.daemon == NULL)
        abort();
    world_create(run.nodes, run.fanout, options);
    engines_create();
    world.on_left = on_left;
    world.on_message = on_message;
    for (int i = 0; i < run.nodes; i++)
        world_begin(i, daemons_random(10000));
}

void daemons_end(void)
{
    world.on_left = NULL;
    world.on_message = NULL;
    engines_free();
    world_free();
    free(run.daemon);
}
