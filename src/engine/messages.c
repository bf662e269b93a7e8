/* SPDX-License-Identifier: MIT */
#include "messages.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <mpi.h>

#include "core/base/clock.h"

/* The maximum size of a message in bytes. Longer data are sent in parts, so that completed parts
   show progress. */
#define MESSAGE ((size_t)256 << 10)

/*
 * Polling intervals, in us since the last message. A waiting engine first polls and yields the
 * processor, which costs nothing if processors are free. Then it sleeps for increasing times.
 */
#define YIELD_FOR  200
#define SLEEP_MOST 1000
/*
 * On a machine with more engines than processors, a waiting engine sleeps at once if a bell
 * announces every message that it waits for. This holds for messages up to this size. Longer
 * messages need the receiver to take part in the transfer.
 */
#define SHORT ((size_t)4 << 10)
/* us after which the daemon learns which nodes this one waits for. Most waits are shorter. */
#define TELL_AFTER 50000

/* The time since the last message. */
struct idle {
    int64_t since; /* 0: a message has just arrived */
    bool reported;
};

struct engine_messages {
    MPI_Comm comm; /* a communicator for these messages alone */
    int node, nodes;
    struct mpiio_progress_page unseen; /* used while no daemon has a page */
    struct mpiio_progress_page *page;  /* borrowed, or &unseen */
    struct engine_bells bells;
    MPI_Request *requests;
    int *peers; /* for each request: the sender, or -1 - receiver */
    int *done;  /* results of MPI_Testsome, with statuses */
    MPI_Status *statuses;
    int count, room;
    bool unannounced; /* some of the messages come without a ring */
    int broken;       /* index of the message that failed; -1: none */
};

/* Sets up the bells. The random mark gives their shared memory a name of its own. */
static void hang_bells(struct engine_messages *self)
{
    uint64_t mark;

    if (getrandom(&mark, sizeof(mark), 0) != (ssize_t)sizeof(mark))
        mark = (uint64_t)getpid();
    MPI_Bcast(&mark, (int)sizeof(mark), MPI_BYTE, 0, self->comm);
    engine_bells_init(&self->bells, self->node, self->nodes, mark);
    MPI_Barrier(self->comm);
    engine_bells_meet(&self->bells, mark);
}

struct engine_messages *engine_messages_new(int *node, int *nodes)
{
    struct engine_messages *self = calloc(1, sizeof(*self));

    if (self == NULL)
        abort();
    self->broken = -1;
    engine_messages_show(self, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &self->comm);
    MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(self->comm, &self->node);
    MPI_Comm_size(self->comm, &self->nodes);
    /* The default timer slack makes each sleep 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1000UL);
    hang_bells(self);
    *node = self->node;
    *nodes = self->nodes;
    return self;
}

void engine_messages_show(struct engine_messages *self, struct mpiio_progress_page *page)
{
    self->page = page != NULL ? page : &self->unseen;
}

void engine_messages_step(struct engine_messages *self)
{
    mpiio_progress_step(self->page);
}

/* Returns the next free request, for a message to or from peer. */
static MPI_Request *add_peer(struct engine_messages *self, int peer)
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

static void add_node(uint32_t *nodes, uint32_t *count, int node)
{
    for (uint32_t i = 0; i < *count; i++)
        if (nodes[i] == (uint32_t)node)
            return;
    if (*count < MPIIO_PROGRESS_NODES)
        nodes[(*count)++] = (uint32_t)node;
}

/* Reports to the daemon which nodes this one waits for. */
static void tell_progress(const struct engine_messages *self)
{
    struct mpiio_progress what = {.waiting = true};

    for (int i = 0; i < self->count; i++) {
        if (self->requests[i] == MPI_REQUEST_NULL && i != self->broken)
            continue;
        if (self->peers[i] >= 0)
            add_node(what.from, &what.from_count, self->peers[i]);
        else
            add_node(what.to, &what.to_count, -1 - self->peers[i]);
    }
    mpiio_progress_wait(self->page, &what);
}

/*
 * Waits to be killed: the message at index has failed, because its node is unreachable. The daemons
 * detect this and end the process.
 */
static _Noreturn void wait_for_end(struct engine_messages *self, int index)
{
    self->broken = index;
    tell_progress(self);
    for (;;)
        pause();
}

void engine_messages_receive(struct engine_messages *self, void *bytes, size_t length, int from)
{
    for (size_t at = 0, part; at < length; at += part) {
        MPI_Request *request = add_peer(self, from);

        part = length - at < MESSAGE ? length - at : MESSAGE;
        self->unannounced |= part > SHORT || !engine_bells_reach(&self->bells, from);
        if (MPI_Irecv((char *)bytes + at, (int)part, MPI_BYTE, from, 0, self->comm, request) !=
            MPI_SUCCESS)
            wait_for_end(self, self->count - 1);
    }
}

void engine_messages_send(struct engine_messages *self, const void *bytes, size_t length, int to)
{
    for (size_t at = 0, part; at < length; at += part) {
        MPI_Request *request = add_peer(self, -1 - to);

        part = length - at < MESSAGE ? length - at : MESSAGE;
        self->unannounced |= part > SHORT;
        if (MPI_Isend((const char *)bytes + at, (int)part, MPI_BYTE, to, 0, self->comm, request) !=
            MPI_SUCCESS)
            wait_for_end(self, self->count - 1);
    }
    if (length > 0)
        engine_bells_ring(&self->bells, to);
}

/* Waits because no message has arrived. seen is the ring count from before the last check. */
static void wait_more(const struct engine_messages *self, uint32_t seen, struct idle *idle)
{
    bool sleeps_at_once = self->bells.crowded && !self->unannounced;
    int64_t now = mpiio_clock_us(), us;

    if (idle->since == 0)
        idle->since = now;
    us = now - idle->since;
    if (us < YIELD_FOR && !sleeps_at_once) {
        sched_yield();
        return;
    }
    if (us >= TELL_AFTER && !idle->reported) {
        tell_progress(self);
        idle->reported = true;
    }
    us = !sleeps_at_once ? us / 4 : us > YIELD_FOR ? us : YIELD_FOR;
    engine_bells_sleep(&self->bells, seen, 1000L * (us < SLEEP_MOST ? us : SLEEP_MOST));
}

/* Wakes the senders of messages that have arrived: they may wait until a long message is
   received. */
static void ring_back(const struct engine_messages *self, int done)
{
    for (int i = 0; i < done; i++)
        if (self->peers[self->done[i]] >= 0)
            engine_bells_ring(&self->bells, self->peers[self->done[i]]);
}

/* Returns the index of the request that failed in MPI_Testsome, or -1 if it is unknown. */
static int failed_of(const struct engine_messages *self, int done)
{
    for (int i = 0; i < done; i++)
        if (self->statuses[i].MPI_ERROR != MPI_SUCCESS)
            return self->done[i];
    return -1;
}

void engine_messages_wait(struct engine_messages *self)
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
