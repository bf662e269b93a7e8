/* SPDX-License-Identifier: MIT */
/*
 * Runs the daemons of many nodes (src/cluster), and the epochs and homes of their engines
 * (src/engine), over a virtual clock and network, with a file in memory. Injects faults at random
 * messages and stores, and checks the invariants: no node waits forever; the survivors agree on the
 * result of each epoch; each byte is stored once, and everything that was reported as stored is in
 * the file (shared_file.h); and no node stores alone while another node's engine still has a lease.
 * Prints the costs of an epoch.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/peers.h"
#include "daemons.h"
#include "engines.h"
#include "faults.h"
#include "shared_file.h"
#include "writers.h"

/* Starts the daemons, and engines that write to blocks of a file. The file is not kept if checked
   is 0. */
static void begin_run(int blocks, int checked)
{
    daemons_begin();
    shared_file_create(checked);
    writers_create(blocks);
}

/* Returns whether nothing was wrong. */
static bool end_run(void)
{
    daemons_end();
    writers_free();
    shared_file_free();
    return !run.failed;
}

/* Fewer epochs with many nodes, because each epoch has more messages. */
#define EPOCHS_ASKED (run.nodes < 100 ? 30 : 6)

/* The epochs requested in a run of mixed faults, and of how many such runs one has engines that
   store. */
#define MIXED_EPOCHS 6
#define MIXED_HOMES  256

/* Has random nodes request work, and then all leave one by one. */
static void plan_work(double until)
{
    unsigned int nodes = (unsigned int)run.nodes;

    for (int i = 0; i < EPOCHS_ASKED; i++)
        world_call((int)daemons_random(nodes), 100000 + daemons_random((unsigned int)until),
                   daemons_ask, i % 2 == 0);
    for (int i = 0; i < 6; i++)
        world_call((int)daemons_random(nodes), 100000 + daemons_random((unsigned int)until),
                   daemons_change, (uint64_t)i + 1);
}

static void check_together(void)
{
    const struct daemon *first = &run.daemon[0];

    for (int i = 0; i < run.nodes; i++) {
        const struct daemon *daemon = &run.daemon[i];

        if (!daemon->ended)
            daemons_wrong(i, "it has not come to the end");
        if (daemon->finished != first->finished || daemon->settled != first->settled ||
            daemon->committed != first->committed)
            daemons_wrong(i, "it has not done what node 0 has");
        if (daemon->finished < daemon->after || daemon->finished_sync < daemon->after_sync)
            daemons_wrong(i, "it has not got what it asked for");
    }
    if (first->finished > 0)
        shared_file_begin_epoch(first->finished + 1); /* the last epoch has finished */
    for (int i = 0; i < run.nodes; i++)
        writers_check(i);
    if (first->finished == 0 || first->settled == 0 ||
        (run.nodes > 5 && first->committed == first->settled))
        daemons_wrong(0, "it has done nothing");
}

static void check_alone(void)
{
    for (int i = 0; i < run.nodes; i++)
        if (!world.node[i].dead && !run.daemon[i].alone)
            daemons_wrong(i, "it waits for ever");
    for (int i = 0; i < run.nodes && run.homes; i++)
        writers_check(i);
}

/* Runs once, with a fault or without. Returns false if something was wrong; the seed repeats the
   run. */
static bool simulate(int nodes, int fanout, enum fault fault, unsigned int seed)
{
    bool stays = fault == NONE || fault == PAUSE;
    double work = 2e6;
    int blocks;

    run = (struct run){.nodes = nodes,
                       .fanout = fanout,
                       .timeout = TIMEOUT,
                       .fault = fault,
                       .seed = seed + (unsigned int)fault * 7919,
                       .faults = fault == NONE ? 0 : 1,
                       .homes = true,
                       .checks = true};
    run.engine = 50 << daemons_random(8);
    run.collective = daemons_random(2) == 0;
    blocks = 8 << daemons_random(3);
    if (fault >= SILENT)
        run.faults += (int)daemons_random(3);
    /* Each node sends about 40 messages in an epoch, and more if there are more nodes. */
    run.at = (uint64_t)nodes * 4 + daemons_random((unsigned int)nodes * 400);
    begin_run(blocks, blocks);
    plan_work(work);
    /* A lost message between engines is only noticed when they exchange messages, so requests
       more epochs. */
    for (int i = 0; i < 8 && fault == SEVER; i++)
        world_call((int)daemons_random((unsigned int)nodes), work + i * 1e6, daemons_ask, 0);
    if (stays)
        for (int i = 0; i < nodes; i++)
            world_call(i, work + 1e6 + daemons_random(100000), daemons_goodbye, 0);
    while (run.left < run.nodes && world_step(stays ? work + 3e6 : work + PATIENCE * 4))
        continue;
    if (stays)
        check_together();
    else if (run.happened)
        check_alone();
    else
        daemons_wrong(0, "nothing has happened");
    if (run.failed)
        printf("failed: --nodes %d --fanout %d --fault %s --seed %u\n", nodes, fanout,
               fault_names[fault], seed);
    return end_run();
}

/* Checks that all live nodes are alone, if any of them had a reason to degrade. */
static void check_mixed(void)
{
    bool together = true;

    for (int i = 0; i < run.nodes; i++)
        together = together && (world.node[i].dead || !run.daemon[i].degraded);
    if (!together || run.lasts)
        check_alone();
}

/* Returns a time in the first seconds of a run, in us. */
static double draw_time(void)
{
    return 100000 + daemons_random(3000000);
}

/*
 * Runs a few nodes with several faults of different kinds, before and after the nodes degrade. Only
 * in some runs do engines store. Most runs only look for an engine that may store while another
 * node acts alone, which needs leases but no bytes. Returns false if something was wrong.
 */
static bool simulate_mixed(unsigned int seed)
{
    const int blocks = 4;

    run = (struct run){.seed = seed * 2654435761U, .fault = MIXED, .checks = true};
    faults_draw();
    run.engine = 50 << daemons_random(8);
    run.homes = daemons_random(MIXED_HOMES) == 0;
    run.collective = daemons_random(2) == 0;
    run.time = draw_time();
    begin_run(blocks, blocks);
    for (int i = 0; i < MIXED_EPOCHS; i++)
        world_call((int)daemons_random((unsigned int)run.nodes), draw_time(), daemons_ask,
                   i % 2 == 0);
    for (int i = 0; i < 2; i++)
        world_call((int)daemons_random((unsigned int)run.nodes), draw_time(), daemons_change,
                   (uint64_t)i + 1);
    /* Faults move the end. */
    while (run.left < run.nodes && world_step(run.last + 2 * PATIENCE))
        continue;
    check_mixed();
    if (run.failed)
        printf("failed: --mixed --seed %u (%d nodes, fan-out %d, peer_timeout %d ms)\n", seed,
               run.nodes, run.fanout, run.timeout);
    return end_run();
}

/* The traffic of an epoch: of the busiest node, and the mean. */
struct traffic {
    double most_messages, most_bytes, mean_messages, mean_bytes;
};

/* The costs of an epoch. */
struct costs {
    double messages, bytes; /* sent and received, of node 0 */
    struct traffic daemons, engines;
    double idle_messages, idle_bytes; /* of node 0, in a second */
    double most_memory, engine_memory, time;
    double death_messages, death_time; /* of the busiest node, and until all nodes act alone */
};

static void reset_traffic(void)
{
    for (int i = 0; i < run.nodes; i++)
        world.node[i].work = world.node[i].beats = world.node[i].engine = (struct world_traffic){0};
}

/* Adds what a node has sent and received in some epochs. */
static void add_traffic(struct traffic *sum, const struct world_traffic *traffic, int epochs)
{
    double messages = (double)traffic->messages / epochs, bytes = (double)traffic->bytes / epochs;

    sum->mean_messages += messages / run.nodes;
    sum->mean_bytes += bytes / run.nodes;
    sum->most_messages = fmax(sum->most_messages, messages);
    sum->most_bytes = fmax(sum->most_bytes, bytes);
}

static void sum_up(struct costs *costs, int epochs)
{
    costs->messages = (double)world.node[0].work.messages / epochs;
    costs->bytes = (double)world.node[0].work.bytes / epochs;
    for (int i = 0; i < run.nodes; i++) {
        add_traffic(&costs->daemons, &world.node[i].work, epochs);
        add_traffic(&costs->engines, &world.node[i].engine, epochs);
        costs->most_memory = fmax(costs->most_memory, (double)world_memory(i));
        costs->engine_memory = fmax(costs->engine_memory, (double)engines_memory(i));
    }
}

static bool has_finished(uint64_t epoch)
{
    return run.epoch[epoch].finished == run.nodes;
}

/* Measures the costs of a second without an epoch. */
static void measure_idle(struct costs *costs)
{
    double begun = world.now;

    reset_traffic();
    while (world.now < begun + 5e6 && world_step(begun + 5e6))
        continue;
    costs->idle_messages = (double)world.node[0].beats.messages / 5;
    costs->idle_bytes = (double)world.node[0].beats.bytes / 5;
    reset_traffic();
}

/* Runs one epoch. Returns its time in us. */
static double measure_epoch(uint64_t epoch)
{
    double begun = world.now;

    world_call(run.nodes - 1, world.now, daemons_ask, 1);
    while (!has_finished(epoch) && world.now < begun + 60e6 && world_step(begun + 60e6))
        continue;
    if (!has_finished(epoch))
        daemons_wrong(0, "an epoch does not end");
    return world.now - begun;
}

/* Kills a node in the middle of an epoch. Measures until all others act alone. */
static void measure_death(struct costs *costs)
{
    double begun = world.now;
    int node = run.nodes / 2;
    uint64_t epoch = run.daemon[node].begun + 1;

    world_call(run.nodes - 1, world.now, daemons_ask, 1);
    while (run.daemon[node].begun != epoch && world_step(begun + 60e6))
        continue;
    reset_traffic();
    run.fault = KILL;
    world_kill(node, -ENOTCONN);
    engines_kill(node);
    begun = world.now;
    while (run.alone < run.nodes - 1 && world_step(begun + 60e6))
        continue;
    if (run.alone < run.nodes - 1)
        daemons_wrong(node, "others wait for it for ever");
    costs->death_time = world.now - begun;
    for (int i = 0; i < run.nodes; i++)
        costs->death_messages = fmax(costs->death_messages, (double)world.node[i].work.messages);
}

/*
 * Measures epochs that the last node requests one by one. Engines take no time in them. With homes,
 * they store what each node has written to some blocks, which takes no time either.
 */
static bool measure(struct costs *costs, int nodes, int fanout, bool homes, int epochs)
{
    run = (struct run){.nodes = nodes,
                       .fanout = fanout,
                       .timeout = TIMEOUT,
                       .homes = homes,
                       .collective = true}; /* adjacent blocks have the same home */
    *costs = (struct costs){0};
    begin_run(WRITERS_BLOCKS * (run.nodes < WRITERS_SERVERS ? run.nodes : WRITERS_SERVERS), 0);
    while (!daemons_are_together() && world_step(60e6))
        for (int i = 0; i < run.nodes; i++)
            world_step(60e6);
    if (!daemons_are_together())
        daemons_wrong(0, "not all have come together");
    measure_idle(costs);
    for (int i = 0; i < epochs; i++)
        costs->time += measure_epoch((uint64_t)i + 1) / epochs;
    sum_up(costs, epochs);
    if (!run.homes)
        measure_death(costs);
    return end_run();
}

/* Prints the additional costs of homes. */
static bool print_homes(int nodes, int fanout, int epochs, bool json)
{
    struct costs costs;
    bool good = measure(&costs, nodes, fanout, true, epochs);

    if (!json)
        printf(
            "# an epoch, %d blocks dirty on each node: messages and bytes, sent and received, of "
            "the\n# busiest engine and the mean; memory of one at most, bytes; time but for "
            "storing, us\n#  nodes     most n       most B   mean n     mean B     memory      "
            "time\n",
            WRITERS_BLOCKS);
    printf(json ? "{\"nodes\": %d, \"most_messages\": %.1f, \"most_bytes\": %.0f, "
                  "\"mean_messages\": %.1f, \"mean_bytes\": %.0f, \"memory\": %.0f, "
                  "\"time_us\": %.0f}\n"
                : "%8d %10.1f %12.0f %8.1f %10.0f %10.0f %9.0f\n",
           nodes, costs.engines.most_messages, costs.engines.most_bytes,
           costs.engines.mean_messages, costs.engines.mean_bytes, costs.engine_memory, costs.time);
    return good;
}

/* Prints the costs of messages between daemons. */
static bool print_costs(int nodes, int fanout, int epochs, bool json)
{
    struct costs costs;
    bool good = measure(&costs, nodes, fanout, false, epochs);
    int depth = 0;

    for (int node = nodes - 1; node > 0; node = mpiio_tree_above(node, fanout))
        depth++;
    printf(json ? "{\"nodes\": %d, \"fanout\": %d, \"depth\": %d, \"node0_messages\": %.1f, "
                  "\"node0_bytes\": %.0f, \"most_messages\": %.1f, \"most_bytes\": %.0f, "
                  "\"mean_messages\": %.2f, \"mean_bytes\": %.0f, \"idle_messages\": %.1f, "
                  "\"idle_bytes\": %.0f, \"memory\": %.0f, \"time_us\": %.0f, "
                  "\"death_messages\": %.0f, \"death_us\": %.0f}\n"
                : "%8d %8d %5d %10.1f %10.0f %10.1f %10.0f %8.2f %8.0f %9.1f %9.0f %10.0f %9.0f "
                  "%9.0f %10.0f\n",
           nodes, fanout, depth, costs.messages, costs.bytes, costs.daemons.most_messages,
           costs.daemons.most_bytes, costs.daemons.mean_messages, costs.daemons.mean_bytes,
           costs.idle_messages, costs.idle_bytes, costs.most_memory, costs.time,
           costs.death_messages, costs.death_time);
    return good;
}

static void print_head(void)
{
    printf(
        "# an epoch: messages and bytes, sent and received, of node 0, the most of any node, "
        "the mean;\n# heartbeats of node 0 a second; memory of a node at most, bytes; time "
        "but for storing, us (%.0f us a\n# message and side, %.0f us latency, %.1f GB/s); when a "
        "node is killed in one: the most messages of any\n# node, and us until all others act "
        "alone\n",
        world.costs.processor, world.costs.latency, world.costs.bandwidth / 1000);
    printf("#  nodes   fanout depth    node0 n    node0 B     most n     most B   mean n   mean B "
           "   idle n    idle B     memory      time   death n death time\n");
}

/* Does many runs with each fault. Messages cost almost nothing, because the runs test their
   order. */
static bool check_all(int nodes, int fanout, enum fault fault, unsigned int seed, int runs)
{
    int failed = 0, made = 0;

    for (int i = 0; i < runs; i++) {
        for (enum fault each = NONE; each < MIXED; each++) {
            if (fault != MIXED && fault != each)
                continue;
            failed += !simulate(nodes, fanout, each, seed + (unsigned int)i);
            made++;
        }
    }
    printf("%d nodes, fan-out %d: %d of %d runs failed\n", nodes, fanout, failed, made);
    return failed == 0;
}

static bool check_all_mixed(unsigned int seed, int runs)
{
    int failed = 0;

    for (int i = 0; i < runs; i++)
        failed += !simulate_mixed(seed + (unsigned int)i);
    printf("mixed faults: %d of %d runs failed\n", failed, runs);
    return failed == 0;
}

static enum fault fault_named(const char *name)
{
    enum fault fault = NONE;

    while (fault < MIXED && strcmp(name, fault_names[fault]) != 0)
        fault++;
    return fault;
}

static int print_usage(void)
{
    printf(
        "usage: simulate --mixed [--seed S] [--runs R]\n"
        "       simulate --fault KIND|--runs R [--nodes N] [--fanout F] [--seed S]\n"
        "       simulate [--homes] [--nodes N] [--fanout F] [--epochs E] [--json]\n"
        "Run i of R has the seed S + i. --mixed draws nodes, fan-out, peer_timeout and faults of\n"
        "several kinds from the seed. --fault has one kind happen, --runs alone each kind:");
    for (enum fault fault = NONE; fault < MIXED; fault++)
        printf(" %s", fault_names[fault]);
    printf("\nElse it measures what an epoch costs. With SCALE_LOG=1 it prints faults and logs.\n");
    return 0;
}

int main(int argc, char **argv)
{
    int json = 0, homes = 0, mixed = 0, help = 0;
    const struct option longs[] = {
        {"nodes", required_argument, NULL, 'n'},
        {"fanout", required_argument, NULL, 'f'},
        {"fault", required_argument, NULL, 'x'},
        {"seed", required_argument, NULL, 's'},
        {"runs", required_argument, NULL, 'r'},
        {"epochs", required_argument, NULL, 'e'},
        {"json", no_argument, &json, true},
        {"mixed", no_argument, &mixed, true},
        {"help", no_argument, &help, true},
        {"homes", no_argument, &homes, true},
        {0},
    };
    int nodes = 1024, fanout = MPIIO_TREE_FANOUT, runs = 0, epochs = 5, option;
    enum fault fault = MIXED; /* MIXED: each kind */
    unsigned int seed = 1;

    /* Makes the allocator reuse the memory of homes. Otherwise new memory takes most of the
       time. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    world.costs = (struct world_costs){.processor = 7, .latency = 20, .bandwidth = 1000};
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 'n':
            nodes = atoi(optarg);
            break;
        case 'f':
            fanout = atoi(optarg);
            break;
        case 'x':
            fault = fault_named(optarg);
            runs = runs == 0 ? 1 : runs;
            break;
        case 's':
            seed = (unsigned int)strtoul(optarg, NULL, 0);
            break;
        case 'r':
            runs = atoi(optarg);
            break;
        case 'e':
            epochs = atoi(optarg);
            break;
        case 0:
            break;
        default:
            return 2;
        }
    }
    if (help)
        return print_usage();
    if (mixed)
        return check_all_mixed(seed, runs != 0 ? runs : 1) ? 0 : 1;
    if (runs != 0)
        return check_all(nodes, fanout, fault, seed, runs) ? 0 : 1;
    if (homes)
        return print_homes(nodes, fanout, epochs, json) ? 0 : 1;
    if (!json)
        print_head();
    return print_costs(nodes, fanout, epochs, json) ? 0 : 1;
}
