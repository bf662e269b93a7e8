/* SPDX-License-Identifier: MIT */
#include "collective.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* A message at most, in bytes: what has come of more is seen by the messages that are complete. */
#define MESSAGE ((size_t)256 << 10)

#define MAX_VALUES 4

/*
 * Who waits looks again at once, which costs nobody anything where processors are free, but lets
 * others run where they are not; and then sleeps, ever longer. In ns since something has come.
 */
#define YIELD_FOR  200000
#define SLEEP_MOST 1000000
/*
 * On a machine with more engines than processors who waits sleeps at once, if a bell rings for all
 * that is to come. That is so of messages that are not longer: others come in parts, for which the
 * receiver does something, too.
 */
#define SHORT ((size_t)4 << 10)
/* The daemon is told whom is waited for: most waiting is over sooner. */
#define TELL_AFTER 50000000

/* Nothing comes: since when, and whether the daemon knows. */
struct idle {
    int64_t since; /* 0: something has just come */
    bool told;
};

/* The mark is for a name that no other engines have. */
static void hang_bells(struct engine_collective *self)
{
    uint64_t mark;

    if (getrandom(&mark, sizeof(mark), 0) != (ssize_t)sizeof(mark))
        mark = (uint64_t)getpid();
    engine_collective_share(self, &mark, sizeof(mark), 0);
    engine_bells_init(&self->bells, self->node, self->nodes, mark);
    engine_collective_join(self);
    engine_bells_meet(&self->bells, mark);
}

void engine_collective_show(struct engine_collective *self, struct mpiio_progress_page *page)
{
    self->page = page != NULL ? page : &self->unseen;
}

void engine_collective_init(struct engine_collective *self, MPI_Comm comm)
{
    *self = (struct engine_collective){.broken = -1};
    engine_collective_show(self, NULL);
    MPI_Comm_dup(comm, &self->comm);
    MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(self->comm, &self->node);
    MPI_Comm_size(self->comm, &self->nodes);
    /* Else each sleep is 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1000UL);
    hang_bells(self);
}

/* The next request, of a message to or from peer. */
static MPI_Request *add(struct engine_collective *self, int peer)
{
    if (self->count == self->room) {
        self->room = self->room * 2 + 16;
        self->requests = reallocarray(self->requests, (size_t)self->room, sizeof(*self->requests));
        self->peers = reallocarray(self->peers, (size_t)self->room, sizeof(*self->peers));
        self->done = reallocarray(self->done, (size_t)self->room, sizeof(*self->done));
        self->statuses = reallocarray(self->statuses, (size_t)self->room, sizeof(*self->statuses));
        if (self->requests == NULL || self->peers == NULL || self->done == NULL ||
            self->statuses == NULL)
            abort();
    }
    self->peers[self->count] = peer;
    self->requests[self->count] = MPI_REQUEST_NULL;
    return &self->requests[self->count++];
}

static void list(uint32_t *nodes, uint32_t *count, int node)
{
    for (uint32_t i = 0; i < *count; i++)
        if (nodes[i] == (uint32_t)node)
            return;
    if (*count < MPIIO_PROGRESS_NODES)
        nodes[(*count)++] = (uint32_t)node;
}

/* Tells the daemon who is waited for. */
static void tell(const struct engine_collective *self)
{
    struct mpiio_progress what = {.waiting = true};

    for (int i = 0; i < self->count; i++) {
        if (self->requests[i] == MPI_REQUEST_NULL && i != self->broken)
            continue;
        if (self->peers[i] >= 0)
            list(what.from, &what.from_count, self->peers[i]);
        else
            list(what.to, &what.to_count, -1 - self->peers[i]);
    }
    mpiio_progress_wait(self->page, &what);
}

static void sleep_for(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/*
 * The message at index has failed: its node is not reached. The daemons find out, and end this
 * process.
 */
static _Noreturn void wait_for_end(struct engine_collective *self, int index)
{
    self->broken = index;
    tell(self);
    for (;;)
        sleep_for(SLEEP_MOST);
}

static void receive(struct engine_collective *self, void *bytes, size_t length, int from)
{
    for (size_t at = 0, part; at < length; at += part) {
        MPI_Request *request = add(self, from);

        part = length - at < MESSAGE ? length - at : MESSAGE;
        self->unannounced |= part > SHORT || !engine_bells_reach(&self->bells, from);
        if (MPI_Irecv((char *)bytes + at, (int)part, MPI_BYTE, from, 0, self->comm, request) !=
            MPI_SUCCESS)
            wait_for_end(self, self->count - 1);
    }
}

static void send(struct engine_collective *self, const void *bytes, size_t length, int to)
{
    for (size_t at = 0, part; at < length; at += part) {
        MPI_Request *request = add(self, -1 - to);

        part = length - at < MESSAGE ? length - at : MESSAGE;
        self->unannounced |= part > SHORT;
        if (MPI_Isend((const char *)bytes + at, (int)part, MPI_BYTE, to, 0, self->comm, request) !=
            MPI_SUCCESS)
            wait_for_end(self, self->count - 1);
    }
    if (length > 0)
        engine_bells_ring(&self->bells, to);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nothing has come; nor had anybody rung before that was looked for but what seen counts. */
static void wait_more(const struct engine_collective *self, uint32_t seen, struct idle *idle)
{
    bool sleeps_at_once = self->bells.crowded && !self->unannounced;
    int64_t now = now_ns(), ns;

    if (idle->since == 0)
        idle->since = now;
    ns = now - idle->since;
    if (ns < YIELD_FOR && !sleeps_at_once) {
        sched_yield();
        return;
    }
    if (ns >= TELL_AFTER && !idle->told) {
        tell(self);
        idle->told = true;
    }
    ns = !sleeps_at_once ? ns / 4 : ns > YIELD_FOR ? ns : YIELD_FOR;
    engine_bells_sleep(&self->bells, seen, ns < SLEEP_MOST ? ns : SLEEP_MOST);
}

/* Messages of several parts that have come: who sent them may have waited for that. */
static void ring_back(const struct engine_collective *self, int done)
{
    for (int i = 0; i < done; i++)
        if (self->peers[self->done[i]] >= 0)
            engine_bells_ring(&self->bells, self->peers[self->done[i]]);
}

/* Which of those that MPI_Testsome tells of has failed; -1: it is not known. */
static int failed_of(const struct engine_collective *self, int done)
{
    for (int i = 0; i < done; i++)
        if (self->statuses[i].MPI_ERROR != MPI_SUCCESS)
            return self->done[i];
    return -1;
}

/* One exchange: waits until all messages are through. */
static void wait_all(struct engine_collective *self)
{
    struct idle idle = {0};
    int left = self->count, done = 0;

    while (left > 0) {
        uint32_t seen = engine_bells_look(&self->bells);
        int error = MPI_Testsome(self->count, self->requests, &done, self->done, self->statuses);

        if (error != MPI_SUCCESS)
            wait_for_end(self, failed_of(self, done));
        if (done > 0) {
            left -= done;
            idle = (struct idle){0};
            mpiio_progress_note(self->page);
            if (self->unannounced)
                ring_back(self, done);
        } else {
            wait_more(self, seen, &idle);
        }
    }
    self->count = 0;
    self->unannounced = false;
}

void engine_collective_max(struct engine_collective *self, int64_t *values, int count)
{
    int64_t others[MAX_VALUES], sent[MAX_VALUES];
    size_t length = (size_t)count * sizeof(*values);

    /* Each knows the largest of twice as many nodes after each step; some may count twice. */
    for (int64_t reach = 1; reach < self->nodes; reach *= 2) {
        memcpy(sent, values, length);
        mpiio_progress_step(self->page);
        receive(self, others, length, (int)((self->node - reach + self->nodes) % self->nodes));
        send(self, sent, length, (int)((self->node + reach) % self->nodes));
        wait_all(self);
        for (int i = 0; i < count; i++)
            values[i] = others[i] > values[i] ? others[i] : values[i];
    }
}

int engine_collective_error(struct engine_collective *self, int error)
{
    int64_t worst = -(int64_t)error;

    engine_collective_max(self, &worst, 1);
    return (int)-worst;
}

void engine_collective_join(struct engine_collective *self)
{
    engine_collective_error(self, 0);
}

void engine_collective_share(struct engine_collective *self, void *bytes, size_t length, int from)
{
    int nodes = self->nodes, place = (self->node - from + nodes) % nodes;

    /* After each step twice as many nodes have it. */
    for (int reach = 1; reach < nodes; reach *= 2) {
        mpiio_progress_step(self->page);
        if (place < reach && place + reach < nodes)
            send(self, bytes, length, (self->node + reach) % nodes);
        else if (place >= reach && place < 2 * reach)
            receive(self, bytes, length, (self->node - reach + nodes) % nodes);
        wait_all(self);
    }
}

static char *part_of(const struct engine_parts *parts, int node, size_t size)
{
    return (char *)parts->bytes + (size_t)parts->starts[node] * size;
}

void engine_collective_exchange(struct engine_collective *self, const struct engine_parts *out,
                                const struct engine_parts *in, size_t size)
{
    int nodes = self->nodes, node = self->node;

    mpiio_progress_step(self->page);
    for (int i = 1; i < nodes; i++) {
        int from = (node - i + nodes) % nodes;

        receive(self, part_of(in, from, size), (size_t)in->counts[from] * size, from);
    }
    for (int i = 1; i < nodes; i++) {
        int to = (node + i) % nodes;

        send(self, part_of(out, to, size), (size_t)out->counts[to] * size, to);
    }
    memcpy(part_of(in, node, size), part_of(out, node, size), (size_t)out->counts[node] * size);
    wait_all(self);
}

/* A number other than 0, on its way from one node to another. */
struct parcel {
    int to, from, value;
};

struct parcels {
    struct parcel *parcel; /* owned */
    int count, room;
};

/* What goes first, in a message whose length both sides know: how many there are, and some. */
#ifndef PARCELS_FIRST
#define PARCELS_FIRST 64
#endif

struct first_parcels {
    int count;
    struct parcel parcel[PARCELS_FIRST];
};

static void reserve(struct parcels *parcels, int count)
{
    if (count <= parcels->room)
        return;
    parcels->room = count + count / 2 + PARCELS_FIRST;
    parcels->parcel =
        reallocarray(parcels->parcel, (size_t)parcels->room, sizeof(*parcels->parcel));
    if (parcels->parcel == NULL)
        abort();
}

static void put(struct parcels *parcels, struct parcel parcel)
{
    reserve(parcels, parcels->count + 1);
    parcels->parcel[parcels->count++] = parcel;
}

/* Takes those out of kept that have the bit reach in how far they have to go. */
static void take(struct engine_collective *self, struct parcels *kept, int reach,
                 struct parcels *taken)
{
    int left = 0;

    taken->count = 0;
    for (int i = 0; i < kept->count; i++) {
        struct parcel parcel = kept->parcel[i];

        if (((parcel.to - self->node + self->nodes) % self->nodes & reach) != 0)
            put(taken, parcel);
        else
            kept->parcel[left++] = parcel;
    }
    kept->count = left;
}

static size_t length_of(int count)
{
    return (size_t)count * sizeof(struct parcel);
}

/* Hands parcels to the node that is reach further, and adds to kept what comes from the other. */
static void hand_on(struct engine_collective *self, const struct parcels *parcels, int reach,
                    struct parcels *kept)
{
    struct first_parcels out = {.count = parcels->count}, in = {0};
    int first = out.count < PARCELS_FIRST ? out.count : PARCELS_FIRST;
    int from = (self->node - reach + self->nodes) % self->nodes;
    int to = (self->node + reach) % self->nodes;
    int come;

    if (first != 0)
        memcpy(out.parcel, parcels->parcel, length_of(first));
    mpiio_progress_step(self->page);
    receive(self, &in, sizeof(in), from);
    send(self, &out, offsetof(struct first_parcels, parcel) + length_of(first), to);
    wait_all(self);
    come = in.count < PARCELS_FIRST ? in.count : PARCELS_FIRST;
    reserve(kept, kept->count + in.count);
    if (come != 0)
        memcpy(kept->parcel + kept->count, in.parcel, length_of(come));
    receive(self, kept->parcel + kept->count + come, length_of(in.count - come), from);
    send(self, parcels->parcel + first, length_of(out.count - first), to);
    wait_all(self);
    kept->count += in.count;
}

/*
 * Bruck's: what is for the node i further goes there by the bits of i. Only what is not 0 does, so
 * that what is sent does not grow with the number of nodes.
 */
void engine_collective_transpose(struct engine_collective *self, const int *out, int *in)
{
    struct parcels kept = {0}, taken = {0};

    for (int i = 0; i < self->nodes; i++) {
        in[i] = 0;
        if (out[i] != 0)
            put(&kept, (struct parcel){.to = i, .from = self->node, .value = out[i]});
    }
    for (int reach = 1; reach < self->nodes; reach *= 2) {
        take(self, &kept, reach, &taken);
        hand_on(self, &taken, reach, &kept);
    }
    for (int i = 0; i < kept.count; i++)
        in[kept.parcel[i].from] = kept.parcel[i].value;
    free(kept.parcel);
    free(taken.parcel);
}
