/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/peers.h"
#include "core/base/clock.h"
#include "daemons.h"
#include "engines.h"

/* Returns how many other nodes run. If all were stopped, none would notice another's silence. */
static int count_others(int node)
{
    int count = 0;

    for (int i = 0; i < run.nodes; i++)
        count += i != node && !world.node[i].dead && world.node[i].wakes <= world.now;
    return count;
}

static void log_fault(enum fault fault, int node)
{
    if (getenv("SCALE_LOG") != NULL)
        printf("%.6f %s: node %d\n", world.now / 1e6, fault_names[fault], node);
}

static void kill_daemon(int node, int error)
{
    if (!world.node[node].dead && !world.node[node].gone)
        run.left++;
    world_kill(node, error);
    engines_kill(node);
}

/* Loses the messages between two engines that send to each other in each epoch. */
static void sever(int node)
{
    int distance = 1 << daemons_random(3);

    engines_sever(node, (node + (distance < run.nodes ? distance : 1)) % run.nodes);
}

static void happen(enum fault fault, int node)
{
    switch (fault) {
    case KILL:
        kill_daemon(node, -ENOTCONN);
        break;
    case CRASH:
        kill_daemon(node, 0);
        break;
    case STOP:
        if (count_others(node) != 0)
            world_stop(node, 2 * PATIENCE);
        break;
    case PAUSE: /* too short to declare any node failed */
        if (world.node[node].wakes <= world.now)
            world_stop(node, world.now + run.timeout * 1000.0 / 8);
        break;
    case CUT:
    case CUT_UP:
    case CUT_DOWN:
        world_cut(node, fault != CUT_DOWN, fault != CUT_UP);
        break;
    case SEVER:
        sever(node);
        break;
    case ENGINE:
        engines_kill(node);
        mpiio_peers_engine_lost(world.node[node].peers, "killed");
        break;
    default:
        break;
    }
}

/* Mixed faults. */

void faults_draw(void)
{
    static const int fanouts[] = {1, 2, 3, 4, 16}, timeouts[] = {1000, 2000, 3000, 5000, 10000};

    run.nodes = 3 + (int)daemons_random(14);
    run.fanout = fanouts[daemons_random(5)];
    run.timeout = timeouts[daemons_random(5)];
    run.faults = 1 + (int)daemons_random(5);
}

/* Draws a time in ms: almost none, or about as long as one of the timeouts of nodes. */
static double draw_time(void)
{
    const int times[] = {1, 10, 100, 1000, 2000, run.timeout / 4, run.timeout, 2 * run.timeout};
    int most = times[daemons_random(8)];

    return (double)most * (1 + daemons_random(1000)) / 1000;
}

/* Draws the node of a fault: the sender, a neighbour of the last fault's node, or any node. */
static int draw_node(int node)
{
    int last = run.hit, below = last * run.fanout + 1;
    int count = mpiio_tree_below(last, run.nodes, run.fanout);

    switch (daemons_random(4)) {
    case 0:
        return node;
    case 1:
        return count > 0 ? below + (int)daemons_random((unsigned int)count) : last;
    case 2:
        return last > 0 ? mpiio_tree_above(last, run.fanout) : last;
    default:
        return (int)daemons_random((unsigned int)run.nodes);
    }
}

/* Stops a node, or suspends its machine. */
static double freeze(enum fault fault, int node)
{
    double time = world.now + draw_time() * 1000;
    bool runs = world.node[node].wakes <= world.now;

    if (count_others(node) == 0)
        return world.now;
    if (fault == SUSPEND && runs)
        world_suspend(node, time);
    else if (runs)
        world_stop(node, time);
    return time;
}

/* Makes one side of the connection above a node see its end. */
static void end_one_side(enum fault fault, int node)
{
    static const int errors[] = {-ENOBUFS, -EPROTO};
    bool upper = daemons_random(2) == 0;

    if (fault == RESET) {
        world_fail(node, upper, -ECONNRESET);
        world_cut(node, true, true);
    } else {
        world_fail(node, upper, errors[daemons_random(2)]);
    }
}

/* Kills a daemon. Its engine exits a little later, within the time to settle. */
static void kill_one(int node)
{
    struct daemon *daemon = &run.daemon[node];
    int settle = run.timeout < 2000 ? run.timeout : 2000;
    bool reset = world.node[node].wakes > world.now || daemons_random(4) == 0;

    if (world.node[node].dead)
        return;
    if (engines_is_alive(node))
        daemon->engine_until = daemons_now() + daemons_random((unsigned int)settle);
    kill_daemon(node, reset ? -ECONNRESET : -ENOTCONN);
}

static void happen_mixed(enum fault fault, int node)
{
    double until = world.now;
    int below = node != 0 ? node : 1 + (int)daemons_random((unsigned int)run.nodes - 1);

    run.hit = node;
    log_fault(fault, fault >= HOLD ? below : node);
    switch (fault) {
    case KILL:
        kill_one(node);
        break;
    case FREEZE:
    case SUSPEND:
        until = freeze(fault, node);
        break;
    case HOLD:
        until = world.now + draw_time() * 1000;
        world_hold(below, until);
        break;
    case RESET:
    case BREAK:
        end_one_side(fault, below);
        break;
    default:
        happen(fault, fault >= CUT ? below : node);
        break;
    }
    run.lasts |= fault != PAUSE && fault != FREEZE && fault != SUSPEND && fault != HOLD;
    if (until > run.last)
        run.last = until;
}

static void happen_next(int node)
{
    static const enum fault kinds[] = {KILL,   KILL,    KILL,  ENGINE, PAUSE,  CRASH,
                                       FREEZE, SUSPEND, CUT,   CUT_UP, FREEZE, CUT_DOWN,
                                       HOLD,   RESET,   BREAK, HOLD};

    run.time = world.now + draw_time() * 1000;
    happen_mixed(kinds[daemons_random(sizeof(kinds) / sizeof(*kinds))], draw_node(node));
}

void faults_happen(int node)
{
    run.happened = true;
    run.faults--;
    if (run.fault == MIXED) {
        happen_next(node);
        return;
    }
    run.at = world.sent + daemons_random((unsigned int)run.nodes * 20);
    if (daemons_random(2) == 0)
        node = (int)daemons_random((unsigned int)run.nodes);
    if (run.fault >= CUT && run.fault <= CUT_DOWN && node == 0)
        node = 1;
    log_fault(run.fault, node);
    happen(run.fault, node);
}
