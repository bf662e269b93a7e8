/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "request.h"

/* The pause between two looks at the record by a node that waits for a turn: 1 / POLL_PART of the
   time that the node has waited, but from POLL_MIN to POLL_MAX us. So it learns of a turn late by
   that part at most, or by POLL_MIN, and a long wait takes few looks. Where each look asks a
   server, POLL_TURN us are added for each turn in between, which takes longer than that, for
   POLL_TURNS at most: then many nodes that wait do not load the server. */
#define POLL_MIN   50
#define POLL_MAX   50000
#define POLL_PART  8
#define POLL_TURN  1000
#define POLL_TURNS 250

/* The number of times that a batch is tried again if it came too late to be written. */
#define TRIES 3

/* The maximal number of requests in a batch. */
#define BATCH 256

/* us for which a node that keeps the lock waits for the next batch. */
#define KEEPS 1000

/*
 * On several nodes, one thread uses the record. It handles requests in batches, in the order of
 * their arrival. Requests that arrive while it handles a batch form the next one.
 */
struct mpiio_pointers {
    struct mpiio_pointers_options options;
    int64_t *origin;            /* where the pointers begin; owned */
    struct mpiio_record record; /* of the thread */
    struct mpiio_watch watch;   /* of the thread */
    bool complained;            /* the log says that the record cannot be used; of the thread */
    bool started;
    pthread_t thread;

    /* On several nodes, only the thread uses the state. On a single node, lock guards it. */
    struct mpiio_state state;
    _Atomic int64_t read; /* when the record was last read, mpiio_lease_clock() */

    pthread_mutex_t lock;
    pthread_cond_t wanted;   /* there are requests, this node leaves, or the thread is to exit */
    pthread_cond_t answered; /* some requests are done */
    struct mpiio_request *first, **last;
    _Atomic bool leaving; /* mpiio_pointers_leave */
    _Atomic bool all;     /* all nodes leave */
    _Atomic bool settled; /* mpiio_pointers_are_over */
    bool over;
    uint64_t *announced; /* by view: the last turn that was reported */
    uint64_t seen;       /* state.turns.changes at the last report */
    struct mpiio_pointers_stats stats;
};

/* Reports turns that have come since the last call. Called without the lock. */
static void announce_turns(struct mpiio_pointers *self)
{
    const struct mpiio_turns *turns = &self->state.turns;
    size_t views;

    /* After a failure the state may be ahead of the record. */
    if (self->options.turn == NULL || (self->options.nodes > 1 && self->record.generation == 0))
        return;
    pthread_mutex_lock(&self->lock);
    views = self->seen != turns->changes ? turns->views : 0;
    self->seen = turns->changes;
    for (size_t i = 0; i < views; i++) {
        uint64_t turn = turns->view[i].turn;
        bool own = mpiio_turns_owner(turns, i) == (uint32_t)turns->self;

        if (self->announced[i] == turn)
            continue;
        self->announced[i] = turn;
        pthread_mutex_unlock(&self->lock);
        self->options.turn(self->options.data, i, turn, own);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

/* The thread. */

/* Logs why the record cannot be used. Does so once, until the record can be used again. */
static void complain(struct mpiio_pointers *self, int error)
{
    const char *reason = strerror(-error);
    char line[NAME_MAX + 160];

    if (self->complained || self->options.log == NULL)
        return;
    self->complained = true;
    if (error == -EBUSY)
        reason = "another mount on several nodes uses it (choose a folder with pointers=)";
    else if (error == -ETIMEDOUT || error == -ECANCELED)
        reason = "another node does not release its lock";
    else if (error == -ESTALE)
        reason = "it was overwritten";
    snprintf(line, sizeof(line), "shared file pointers: %s: %s", self->record.name, reason);
    self->options.log(self->options.data, MPIIO_LOG_ERROR, line);
}

static bool is_read_only(const struct mpiio_request *list)
{
    while (list != NULL && list->kind == MPIIO_REQUEST_GET)
        list = list->next;
    return list == NULL;
}

/* Brings the state up to date. Locks the record first, unless all requests only read it. If the
   lock was kept, the state is up to date. */
static int begin_batch(struct mpiio_pointers *self, const struct mpiio_request *list)
{
    struct mpiio_record *record = &self->record;
    int error;

    if (mpiio_record_is_kept(record))
        return 0;
    mpiio_record_unlock(record);
    error = is_read_only(list) ? 0 : mpiio_record_lock(record, false);
    if (error == 0)
        error = mpiio_record_read(record, &self->state);
    if (error != 0)
        mpiio_record_unlock(record);
    return error;
}

/* The record could be used, or not: for the log, and for mpiio_pointers_quiet. */
static void note_result(struct mpiio_pointers *self, int error)
{
    if (error != 0) {
        complain(self, error);
        return;
    }
    self->complained = false;
    atomic_store(&self->read, mpiio_lease_clock());
}

/* Ends a batch. Keeps the lock for the next one, unless another node is to go on. */
static void end_batch(struct mpiio_pointers *self, const struct mpiio_request *list, int error)
{
    bool leaves = list->kind == MPIIO_REQUEST_EXIT || list->kind == MPIIO_REQUEST_LEAVE;

    if (error == 0 && list->kind == MPIIO_REQUEST_EXIT)
        mpiio_record_remove_last(&self->record);
    if (error != 0 || leaves || mpiio_turns_of_others(&self->state.turns) ||
        !mpiio_record_keeps(&self->record))
        mpiio_record_unlock(&self->record);
}

/* Handles a batch of requests. Returns 0, or a negative errno that applies to all of them. */
static int try_batch(struct mpiio_pointers *self, struct mpiio_request *list)
{
    struct mpiio_entry entries[BATCH];
    size_t count = 0;
    int error = begin_batch(self, list);

    for (struct mpiio_request *request = list; request != NULL && error == 0;
         request = request->next) {
        int any = mpiio_request_apply(&self->state, request, &entries[count]);

        error = any < 0 ? any : 0;
        count += any > 0;
    }
    if (error == 0 && count > 0)
        error = mpiio_record_append(&self->record, entries, count);
    if (error == -ETIMEDOUT && count > 0)
        error = -EIO; /* the filesystem's: the entries may have been written */
    if (error == 0 && count > 0)
        mpiio_record_shorten(&self->record, &self->state);
    else if (error != 0)
        self->record.generation = 0;
    end_batch(self, list, error);
    return error;
}

static void handle_batch(struct mpiio_pointers *self, struct mpiio_request *list)
{
    int error = try_batch(self, list);

    for (int i = 0; i < TRIES && error == -ECANCELED; i++) {
        mpiio_record_read(&self->record, &self->state);
        error = try_batch(self, list);
    }
    note_result(self, error);
    announce_turns(self);
    pthread_mutex_lock(&self->lock);
    while (list != NULL) {
        struct mpiio_request *next = list->next;

        if (error != 0)
            list->result = mpiio_request_error(list, error);
        list->done = true;
        list = next;
    }
    pthread_cond_broadcast(&self->answered);
    pthread_mutex_unlock(&self->lock);
}

/* Takes the first requests off the queue. Called with the lock held. */
static struct mpiio_request *take_batch(struct mpiio_pointers *self)
{
    struct mpiio_request *list = self->first, **end = &list;

    assert(mpiio_is_held(&self->lock));
    for (size_t i = 0; i < BATCH && *end != NULL; i++)
        end = &(*end)->next;
    self->first = *end;
    *end = NULL;
    if (self->first == NULL)
        self->last = &self->first;
    return list;
}

/* Returns true if this node looks at the record: if it has open contributions, or does not know
   because of a failure; at the end, if any node has some. */
static bool is_looking(const struct mpiio_pointers *self)
{
    return self->record.generation == 0 || self->state.turns.node[self->options.node].held > 0 ||
           (self->all && !self->settled);
}

/* Reads the record to see whether a turn has come, unless a batch has just read it. Returns true if
   a turn has come. */
static bool look_for_turns(struct mpiio_pointers *self, bool has_read)
{
    const struct mpiio_turns_node *node = &self->state.turns.node[self->options.node];
    uint64_t changes = self->state.turns.changes;
    bool all = self->all;

    self->watch.all = all;
    if (self->leaving && !node->leaving && node->held > 0) {
        struct mpiio_request leave = {.kind = MPIIO_REQUEST_LEAVE};

        handle_batch(self, &leave);
    } else if (!has_read || all) {
        int error = mpiio_record_read(&self->record, &self->state);

        /* A record that can be read, but not written, counts as one that cannot be used. */
        if (error != 0 || !self->complained)
            note_result(self, error);
    }
    mpiio_watch_look(&self->watch);
    announce_turns(self);
    self->settled = all && self->record.generation != 0 && self->state.turns.count == 0;
    return changes != self->state.turns.changes;
}

/* Returns the pause until the next look at the record, in us. since: when the last turn or request
   came. At its own turn, a node only advances its heartbeat, and sees whether it was dropped. */
static int64_t pause_of_look(const struct mpiio_pointers *self, int64_t now, int64_t since)
{
    const struct mpiio_turns *turns = &self->state.turns;
    uint64_t distance = mpiio_turns_distance(turns);
    bool at_turn = distance == UINT64_MAX && turns->node[turns->self].held > 0;
    int64_t pause = (now - since) / POLL_PART;

    if (pause > POLL_MAX || (at_turn && self->record.generation != 0))
        pause = POLL_MAX;
    if (self->record.synced && !at_turn && distance > 1)
        pause += POLL_TURN * (int64_t)(distance <= POLL_TURNS ? distance - 1 : POLL_TURNS);
    return pause > POLL_MIN ? pause : POLL_MIN;
}

/* Returns when the node is to look at the record, or to release its lock if it has kept it,
   mpiio_clock_us(). When all nodes leave, it looks at once. */
static int64_t next_look(const struct mpiio_pointers *self, int64_t since)
{
    int64_t now = mpiio_clock_us();

    if (self->record.since != 0)
        return now + KEEPS;
    if (self->all && !self->watch.all)
        return now;
    return is_looking(self) ? now + pause_of_look(self, now, since) : INT64_MAX;
}

/* Waits for requests, or until the node is to look at the record. Returns the first requests;
 *over: there are none, and the thread is to end. */
static struct mpiio_request *await_batch(struct mpiio_pointers *self, int64_t since, bool *over)
{
    struct mpiio_request *list;
    bool waits = true;

    pthread_mutex_lock(&self->lock);
    while (self->first == NULL && !self->over && waits)
        waits = mpiio_wait_until_us(&self->wanted, &self->lock, next_look(self, since));
    *over = self->over && self->first == NULL;
    list = take_batch(self);
    pthread_mutex_unlock(&self->lock);
    return list;
}

static void *run_pointers(void *data)
{
    struct mpiio_pointers *self = data;
    int64_t since = mpiio_clock_us();
    bool over = false;

    while (!over) {
        struct mpiio_request *list = await_batch(self, since, &over);
        bool any = list != NULL, news = any;

        if (any)
            handle_batch(self, list);
        else
            mpiio_record_unlock(&self->record);
        if (self->record.since == 0 && is_looking(self) && !over)
            news |= look_for_turns(self, any);
        if (news)
            since = mpiio_clock_us();
    }
    return NULL;
}

/* Start and exit. */

int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers)
{
    struct mpiio_pointers *self = calloc(1, sizeof(*self));
    size_t count = options->count;
    int64_t *origin = calloc(2 * count + 1, sizeof(*origin));

    if (self == NULL || origin == NULL ||
        mpiio_state_init(&self->state, count, options->positions, options->node, options->nodes,
                         options->ranks)) {
        free(origin);
        free(self);
        return -ENOMEM;
    }
    self->origin = memcpy(origin, options->start, count * sizeof(*origin));
    self->announced = (uint64_t *)(origin + count);
    self->options = *options;
    self->options.start = NULL;
    self->record.fd = -1;
    for (size_t i = 0; i < count && options->nodes == 1; i++)
        atomic_store(&self->state.position[i], origin[i]);
    self->last = &self->first;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wanted, NULL);
    pthread_cond_init(&self->answered, NULL);
    *pointers = self;
    return 0;
}

/* Node 0 writes where pointers begin: other nodes may see another size of the file. */
static int write_starts(struct mpiio_pointers *self)
{
    int error = mpiio_record_read(&self->record, &self->state);

    for (size_t i = 0; i < self->options.count && error == 0; i++) {
        const struct mpiio_entry entry = {
            .kind = MPIIO_ENTRY_POSITION, .view = (uint32_t)i, .value = (uint64_t)self->origin[i]};

        if (self->origin[i] == 0)
            continue;
        error = mpiio_state_apply(&self->state, &entry);
        if (error == 0)
            error = mpiio_record_append(&self->record, &entry, 1);
    }
    return error;
}

int mpiio_pointers_meet(struct mpiio_pointers *pointers, const struct mpiio_record *record)
{
    struct mpiio_pointers *self = pointers;
    int error;

    self->record = *record;
    self->record.node = self->options.node;
    self->record.nodes = self->options.nodes;
    self->record.timeout = self->options.timeout;
    mpiio_record_init(&self->record);
    if (self->options.node != 0)
        return mpiio_record_prove(&self->record);
    error = mpiio_record_lock(&self->record, true);
    if (error == 0)
        error = write_starts(self);
    mpiio_record_unlock(&self->record);
    return error;
}

int mpiio_pointers_start(struct mpiio_pointers *pointers)
{
    struct mpiio_pointers *self = pointers;
    int error;

    if (self->options.nodes == 1)
        return 0;
    self->watch = (struct mpiio_watch){.record = &self->record,
                                       .state = &self->state,
                                       .timeout = self->options.timeout,
                                       .dropped = self->options.dropped,
                                       .data = self->options.data};
    error = mpiio_watch_init(&self->watch);
    if (error == 0)
        error = mpiio_thread_start(&self->thread, run_pointers, self);
    self->started = error == 0;
    return error;
}

/* Has the thread handle a request, and waits for it. On a single node, the caller handles it. */
static void ask(struct mpiio_pointers *self, struct mpiio_request *request)
{
    struct mpiio_entry entry;
    int error;

    pthread_mutex_lock(&self->lock);
    if (self->options.nodes == 1) {
        error = mpiio_request_apply(&self->state, request, &entry);
        if (error < 0)
            request->result = error;
    } else if (!self->started) {
        request->result = -EIO;
    } else {
        *self->last = request;
        self->last = &request->next;
        pthread_cond_signal(&self->wanted);
        while (!request->done)
            pthread_cond_wait(&self->answered, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    if (self->options.nodes == 1)
        announce_turns(self);
}

static void end_thread(struct mpiio_pointers *self)
{
    struct mpiio_request leave = {.kind = MPIIO_REQUEST_EXIT};

    if (!self->started) {
        mpiio_record_abandon(&self->record);
        return;
    }
    ask(self, &leave);
    pthread_mutex_lock(&self->lock);
    self->over = true;
    pthread_cond_signal(&self->wanted);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
}

void mpiio_pointers_free(struct mpiio_pointers *pointers)
{
    if (pointers == NULL)
        return;
    end_thread(pointers);
    mpiio_record_close(&pointers->record);
    mpiio_watch_free(&pointers->watch);
    mpiio_state_free(&pointers->state);
    pthread_cond_destroy(&pointers->answered);
    pthread_cond_destroy(&pointers->wanted);
    pthread_mutex_destroy(&pointers->lock);
    free(pointers->origin);
    free(pointers);
}

/* Does what ask does, and reports that the caller may wait for other nodes. Returns the request's
   result. */
static int64_t ask_waiting(struct mpiio_pointers *self, struct mpiio_request *request)
{
    bool waits = self->options.nodes > 1 && self->options.wait != NULL;

    if (waits)
        self->options.wait(self->options.data, true);
    ask(self, request);
    if (waits)
        self->options.wait(self->options.data, false);
    return request->result;
}

int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, uint64_t share,
                            int64_t count, int64_t limit, int64_t *position)
{
    struct mpiio_request request = {.kind = MPIIO_REQUEST_TAKE,
                                    .view = pointer,
                                    .share = share,
                                    .count = count,
                                    .limit = limit};
    int64_t got = ask_waiting(pointers, &request);

    *position = request.position;
    if (got <= 0)
        return got;
    pthread_mutex_lock(&pointers->lock);
    pointers->stats.takes++;
    pointers->stats.etypes += (uint64_t)got;
    pthread_mutex_unlock(&pointers->lock);
    return got;
}

int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position,
                       uint64_t *turn)
{
    struct mpiio_request request = {.kind = MPIIO_REQUEST_GET, .view = pointer};
    int error = (int)ask_waiting(pointers, &request);

    *position = request.position;
    *turn = request.turn;
    return error;
}

int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position)
{
    struct mpiio_request request = {.kind = MPIIO_REQUEST_SET, .view = pointer, .count = position};

    return position < 0 ? -EINVAL : (int)ask_waiting(pointers, &request);
}

int mpiio_pointers_open(struct mpiio_pointers *pointers, size_t view, int64_t rank,
                        uint64_t *number)
{
    struct mpiio_request request = {.kind = MPIIO_REQUEST_OPEN, .view = view, .count = rank};
    int64_t result = ask_waiting(pointers, &request);

    *number = (uint64_t)result;
    return result < 0 ? (int)result : 0;
}

int mpiio_pointers_over(struct mpiio_pointers *pointers, size_t view, uint64_t number,
                        uint64_t *turn)
{
    struct mpiio_request request = {.kind = MPIIO_REQUEST_OVER, .view = view, .share = number};
    int error = (int)ask_waiting(pointers, &request);

    *turn = request.turn;
    return error;
}

void mpiio_pointers_leave(struct mpiio_pointers *pointers, bool all)
{
    struct mpiio_request leave = {.kind = MPIIO_REQUEST_LEAVE};

    if (pointers->options.nodes == 1) {
        ask(pointers, &leave);
        return;
    }
    pthread_mutex_lock(&pointers->lock);
    pointers->leaving = true;
    pointers->all = all;
    pthread_cond_signal(&pointers->wanted);
    pthread_mutex_unlock(&pointers->lock);
}

bool mpiio_pointers_are_over(const struct mpiio_pointers *pointers)
{
    return !pointers->started || !pointers->all || pointers->settled;
}

int64_t mpiio_pointers_quiet(struct mpiio_pointers *pointers)
{
    return mpiio_lease_clock() - atomic_load(&pointers->read);
}

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats)
{
    *stats = MPIIO_LOCKED(&pointers->lock, pointers->stats);
}
