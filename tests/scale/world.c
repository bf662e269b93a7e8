/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/roster.h"
#include "core/base/clock.h"

struct world world;

/* The clocks of the node that runs. Linked with --wrap. */

int64_t __wrap_mpiio_clock(void);
int64_t __wrap_mpiio_lease_clock(void);

static int64_t ms_of(const struct world_node *node)
{
    return (int64_t)(world.now / 1000) + node->skew + 1;
}

int64_t __wrap_mpiio_clock(void)
{
    const struct world_node *node = &world.node[world.current];

    return ms_of(node) - node->slept;
}

int64_t __wrap_mpiio_lease_clock(void)
{
    return ms_of(&world.node[world.current]) + 1000000;
}

/* Events, in a heap. */

static bool is_before(const struct world_event *a, const struct world_event *b)
{
    return a->time < b->time || (!(a->time > b->time) && a->order < b->order);
}

static void swap(size_t i, size_t j)
{
    struct world_event event = world.heap[i];

    world.heap[i] = world.heap[j];
    world.heap[j] = event;
}

static void push(struct world_event event)
{
    size_t i = world.events++;

    if (world.events > world.room) {
        world.room = world.room * 2 + 1024;
        world.heap = realloc(world.heap, world.room * sizeof(*world.heap));
        if (world.heap == NULL)
            abort();
    }
    world.heap[i] = event;
    for (; i != 0 && is_before(&world.heap[i], &world.heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(i, (i - 1) / 2);
}

static struct world_event pop(void)
{
    struct world_event first = world.heap[0];
    size_t i = 0, least;

    world.heap[0] = world.heap[--world.events];
    for (;;) {
        least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < world.events; k++)
            if (is_before(&world.heap[k], &world.heap[least]))
                least = k;
        if (least == i)
            return first;
        swap(i, least);
        i = least;
    }
}

static void schedule(struct world_event event)
{
    event.order = ++world.order;
    push(event);
}

/* The connection between a node and the one above it has two ends: end 2 * node is the node's
   own, the next one that of the node above. */

static int node_of(int end)
{
    return end % 2 == 0 ? end / 2 : mpiio_tree_above(end / 2, world.fanout);
}

static void count(struct world_node *node, const uint8_t *bytes, size_t size)
{
    struct world_traffic *traffic = bytes[4] == MPIIO_BEAT ? &node->beats : &node->work;

    traffic->messages++;
    traffic->bytes += size;
}

void mpiio_peer_connection_put(struct mpiio_peer_connection *link, const void *bytes, size_t size)
{
    struct world_node *node = &world.node[world.current];
    struct world_end *other;
    struct world_event event = {.kind = WORLD_BYTES, .end = link->fd ^ 1, .size = size};

    if (link->fd < 0 || link->error != 0 || node->dead)
        return;
    other = &world.end[event.end];
    event.node = node_of(event.end);
    atomic_fetch_add(&link->sent, size);
    count(node, bytes, size);
    if (node->busy < world.now)
        node->busy = world.now;
    node->busy += world.costs.processor;
    event.time = node->busy + world.costs.latency + (double)size / world.costs.bandwidth;
    if (event.time < other->arrives)
        event.time = other->arrives;
    other->arrives = event.time;
    if (!other->deaf) {
        event.bytes = malloc(size);
        if (event.bytes == NULL)
            abort();
        memcpy(event.bytes, bytes, size);
        schedule(event);
    }
    world.sent++;
    if (world.on_message != NULL)
        world.on_message(world.current);
}

/* Makes the other end see that this one has ended with an error, after everything that was sent
   to it. */
static void tell_end(int end, int error)
{
    struct world_end *other = &world.end[end ^ 1];
    double time = world.now + world.costs.latency;

    if (world.end[end].link == NULL)
        return;
    world.end[end].link = NULL;
    if (!other->deaf)
        schedule((struct world_event){.kind = WORLD_END,
                                      .time = time < other->arrives ? other->arrives : time,
                                      .end = end ^ 1,
                                      .error = error,
                                      .node = node_of(end ^ 1)});
}

void mpiio_peer_connection_close(struct mpiio_peer_connection *link)
{
    if (link->fd >= 0)
        tell_end(link->fd, -ENOTCONN);
    link->fd = -1;
    mpiio_queue_free(&link->in);
    mpiio_queue_free(&link->out);
}

/* These must not be called: nodes are connected already, and messages are delivered directly. */

void mpiio_peer_connection_open(struct mpiio_peer_connection *link, int fd)
{
    abort();
}

void mpiio_peer_connection_flush(struct mpiio_peer_connection *link)
{
}

bool mpiio_peer_connection_fill(struct mpiio_peer_connection *link)
{
    return false;
}

/* Nodes. */

static void connect(int node, int end, int other)
{
    struct mpiio_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        abort();
    peer->link.fd = end;
    atomic_store(&peer->link.heard, ms_of(&world.node[node]));
    mpiio_roster_adopt(world.node[node].peers, peer, other, world.node[other].peers->host);
    world.end[end] = (struct world_end){.link = &peer->link, .peer = peer};
}

void world_create(int nodes, int fanout, struct mpiio_peers_options (*options)(int node))
{
    struct mpiio_peers_options each;

    world = (struct world){.costs = world.costs, .nodes = nodes, .fanout = fanout, .current = -1};
    world.node = calloc((size_t)nodes, sizeof(*world.node));
    world.end = calloc((size_t)nodes * 2, sizeof(*world.end));
    if (world.node == NULL || world.end == NULL)
        abort();
    for (int i = 0; i < nodes; i++) {
        each = options(i);
        world.node[i].skew = (int64_t)i * 7919 % 100000;
        if (mpiio_roster_create(&each, &world.node[i].peers) != 0)
            abort();
    }
    for (int i = 1; i < nodes; i++) {
        int above = mpiio_tree_above(i, fanout);

        connect(i, 2 * i, above);
        connect(above, 2 * i + 1, i);
    }
}

void world_free(void)
{
    while (world.events != 0)
        free(pop().bytes);
    world.current = 0;
    for (int i = 0; i < world.nodes; i++)
        mpiio_roster_free(world.node[i].peers);
    while (world.events != 0)
        free(pop().bytes);
    free(world.heap);
    free(world.node);
    free(world.end);
    world = (struct world){.costs = world.costs};
}

/* Sets the time at which the node wakes up. Events of an older timer have no effect. */
static void set_timer(int number)
{
    struct world_node *node = &world.node[number];
    double time = (double)(mpiio_turn_next(node->peers) + node->slept - node->skew - 1) * 1000;

    if (time < world.now)
        time = world.now;
    if (time < node->timer || node->timer <= world.now) {
        node->timer = time;
        schedule((struct world_event){.kind = WORLD_TIMER, .time = time, .node = number});
    }
}

static void take_turn(int number)
{
    struct world_node *node = &world.node[number];

    bool stays = mpiio_turn(node->peers);

    if (node->dead) /* it has died in this turn */
        return;
    if (stays) {
        set_timer(number);
    } else {
        node->gone = true;
        mpiio_turn_end(node->peers);
        if (world.on_left != NULL)
            world.on_left(number);
    }
}

static void begin(int number, uint64_t argument)
{
    mpiio_turn_begin(world.node[number].peers);
}

void world_begin(int node, double time)
{
    world_stop(node, time); /* events before that wait */
    world_call(node, time, begin, 0);
}

void world_call(int node, double time, void (*call)(int node, uint64_t argument), uint64_t argument)
{
    schedule((struct world_event){
        .kind = WORLD_CALL, .time = time, .node = node, .call = call, .argument = argument});
}

void world_engine(int node, double time, void (*run)(int node, const uint8_t *bytes), void *bytes)
{
    schedule((struct world_event){
        .kind = WORLD_ENGINE, .time = time, .node = node, .run = run, .bytes = bytes});
}

void world_kill(int number, int error)
{
    struct world_node *node = &world.node[number];
    int first = world.fanout * number + 1;
    int below = mpiio_tree_below(number, world.nodes, world.fanout);

    node->dead = true;
    if (error == 0)
        return;
    if (number != 0)
        tell_end(2 * number, error);
    for (int i = first; i < first + below; i++)
        tell_end(2 * i + 1, error);
}

void world_stop(int node, double until)
{
    world.node[node].wakes = until;
}

void world_suspend(int node, double until)
{
    world.node[node].sleep = (int64_t)((until - world.now) / 1000);
    world.node[node].wakes = until;
}

void world_cut(int node, bool up, bool down)
{
    world.end[2 * node].deaf |= down;
    world.end[2 * node + 1].deaf |= up;
}

void world_hold(int node, double until)
{
    for (int end = 2 * node; end <= 2 * node + 1; end++)
        if (world.end[end].arrives < until)
            world.end[end].arrives = until;
}

void world_fail(int node, bool upper, int error)
{
    int end = 2 * node + upper;

    schedule((struct world_event){
        .kind = WORLD_END, .time = world.now, .end = end, .error = error, .node = node_of(end)});
}

static void receive(const struct world_event *event)
{
    struct world_end *end = &world.end[event->end];

    if (end->link == NULL || (end->deaf && event->error == 0))
        return;
    if (event->kind == WORLD_END) {
        if (end->link->error == 0)
            end->link->error = event->error;
    } else {
        atomic_store(&end->link->heard,
                     ms_of(&world.node[event->node]) - world.node[event->node].slept);
        atomic_fetch_add(&end->link->received, event->size);
        count(&world.node[event->node], event->bytes, event->size);
        if (mpiio_queue_put(&end->link->in, event->bytes, event->size) != 0)
            abort();
    }
    mpiio_turn_hear(world.node[event->node].peers, end->peer);
}

static void happen(const struct world_event *event)
{
    struct world_node *node = &world.node[event->node];

    if (event->kind == WORLD_ENGINE && !node->dead) {
        world.current = event->node;
        event->run(event->node, event->bytes);
        world.current = -1;
        return;
    }
    if (node->dead || node->gone ||
        (event->kind == WORLD_TIMER && (event->time < node->timer || event->time > node->timer)))
        return;
    world.current = event->node;
    node->slept += node->sleep;
    node->sleep = 0;
    mpiio_turn_look(node->peers);
    if (event->kind == WORLD_CALL)
        event->call(event->node, event->argument);
    else if (event->kind != WORLD_TIMER)
        receive(event);
    if (!node->dead)
        take_turn(event->node);
    world.current = -1;
}

/*
 * Returns true if an event must wait, because its node is stopped or its processor is busy. Events
 * keep their order. A timer only waits for a node that is stopped.
 */
static bool is_later(struct world_event *event)
{
    struct world_node *node = &world.node[event->node];
    double time = event->time < node->wakes ? node->wakes : event->time;
    bool later;

    if (node->dead || (node->gone && event->kind != WORLD_ENGINE))
        return false;
    if (event->kind == WORLD_TIMER) {
        if (event->time < node->timer || event->time > node->timer)
            return false;
        node->timer = time;
    } else if ((event->kind == WORLD_BYTES || event->kind == WORLD_END) && !event->queued) {
        event->queued = true;
        time = time < node->busy ? node->busy : time;
        node->busy = time + (event->kind == WORLD_BYTES ? world.costs.processor : 0);
    }
    later = time > event->time;
    event->time = time;
    if (later)
        push(*event);
    return later;
}

bool world_step(double before)
{
    struct world_event event;

    if (world.events == 0 || world.heap[0].time >= before)
        return false;
    event = pop();
    if (is_later(&event))
        return true;
    world.now = event.time;
    happen(&event);
    free(event.bytes);
    return true;
}

static size_t memory_of(const struct mpiio_peer *peer)
{
    return peer == NULL ? 0 : sizeof(*peer) + peer->link.in.capacity + peer->link.out.capacity;
}

size_t world_memory(int node)
{
    const struct mpiio_peers *peers = world.node[node].peers;
    size_t bytes =
        sizeof(*peers) + memory_of(peers->above) + peers->outbox.capacity + peers->sending.capacity;

    for (int i = 0; i < peers->peers; i++)
        bytes += sizeof(*peers->peer) + memory_of(peers->peer[i]);
    return bytes;
}
