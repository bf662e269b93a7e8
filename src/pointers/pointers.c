/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asking.h"
#include "core/base/clock.h"
#include "core/base/lease.h"
#include "core/base/thread.h"
#include "election.h"
#include "lines/server.h"
#include "lines/talk.h"

/* ms until there is a connection; for which a node that has not answered is left alone. */
#define CONNECT 1000
#define REST    20
/* Threads that answer others. */
#define THREADS 2
/* ms between two questions who keeps the pointers: from, to. */
#define PAUSE     1
#define PAUSE_MAX 50
/* How often the time for which one node may not answer a request may last. */
#define PATIENCE 5

struct mpiio_pointers {
    struct mpiio_pointers_options options;
    struct mpiio_asking asking; /* its lock: the lock */
    struct mpiio_server server;
    pthread_cond_t wanted; /* of the keeping, or over */
    bool over;             /* lock: the lock */
    bool has_thread;       /* which stands for election */
    pthread_t thread;
    _Atomic int64_t alone;              /* until then nobody is told: there is none */
    atomic_int deputy;                  /* who is told what this node takes */
    struct mpiio_pointers_value *known; /* what the others were told; of the thread */
    bool told;                          /* the log says that this node keeps them; of the thread */
    struct mpiio_pointers_stats stats;  /* lock: the lock */
};

/* What a thread that answers has: a request, or an answer with all values. */
#define DESK (MPIIO_POINTERS_ANSWER_BYTES + MPIIO_POINTERS_MAX * MPIIO_POINTERS_VALUE_BYTES)

static void say(struct mpiio_pointers *self, const char *line)
{
    if (self->options.log != NULL)
        self->options.log(self->options.data, line);
}

/* As mpiio_keeping_answer; wakes the thread where it gets something to do. Lock held. */
static void answer_now(struct mpiio_pointers *self, const struct mpiio_pointers_request *request,
                       bool asking, struct mpiio_pointers_answer *answer)
{
    struct mpiio_keeping *keeping = &self->asking.keeping;
    bool had_given = keeping->given;

    mpiio_keeping_answer(keeping, request, asking, mpiio_lease_clock(), answer);
    if (keeping->wanted || (keeping->given && !had_given))
        pthread_cond_signal(&self->wanted);
}

/* Answers others. */

/* Writes the answer, and what is behind it: how many bytes. Lock held. */
static size_t write_answer(struct mpiio_pointers *self,
                           const struct mpiio_pointers_request *request,
                           const struct mpiio_pointers_answer *answer, uint8_t *bytes)
{
    const struct mpiio_keeping *keeping = &self->asking.keeping;
    size_t size = MPIIO_POINTERS_ANSWER_BYTES;

    mpiio_pointers_answer_encode(answer, bytes);
    if (request->type != MPIIO_POINTERS_PLEDGE || answer->verdict != MPIIO_POINTERS_GRANTED)
        return size;
    for (size_t i = 0; i < keeping->count; i++, size += MPIIO_POINTERS_VALUE_BYTES)
        mpiio_pointers_value_encode(&keeping->values[i], bytes + size);
    return size;
}

/*
 * What is given is on its way before something else is given: who gets the latter knows that all
 * before it has left this process, should that end.
 */
static bool answer(struct mpiio_pointers *self, const struct mpiio_pointers_request *request,
                   uint8_t *bytes, int fd)
{
    struct mpiio_pointers_answer answer;
    size_t size;
    int error = 0;

    pthread_mutex_lock(&self->asking.lock);
    answer_now(self, request, mpiio_asking_waits(&self->asking, (int)request->node), &answer);
    size = write_answer(self, request, &answer, bytes);
    if (size == MPIIO_POINTERS_ANSWER_BYTES)
        error = mpiio_talk_send(fd, bytes, size, self->options.timeout);
    pthread_mutex_unlock(&self->asking.lock);
    if (size > MPIIO_POINTERS_ANSWER_BYTES)
        error = mpiio_talk_send(fd, bytes, size, self->options.timeout);
    return error == 0;
}

static bool serve(void *data, void *desk, int fd)
{
    struct mpiio_pointers *self = data;
    struct mpiio_pointers_request request;

    return mpiio_talk_receive(fd, desk, MPIIO_POINTERS_REQUEST_BYTES, self->options.timeout) == 0 &&
           mpiio_pointers_request_decode(desk, &request) &&
           request.node < (uint32_t)self->options.nodes && answer(self, &request, desk, fd);
}

/* Keeps the pointers, when it is to. */

static void tell_log(struct mpiio_pointers *self)
{
    char line[96];

    if (self->told || self->options.node == 0)
        return;
    self->told = true;
    snprintf(line, sizeof(line), "shared file pointers are kept by node %d from now on",
             self->options.node);
    say(self, line);
}

/* Waits for what there is to do; of what is given the others are told some time later. Lock held.
 */
static void await_work(struct mpiio_pointers *self)
{
    const struct mpiio_keeping *keeping = &self->asking.keeping;
    struct timespec when;
    int64_t end;
    int error = 0;

    while (!keeping->wanted && !self->over && error == 0) {
        end = mpiio_clock() + keeping->lease / 2;
        when = (struct timespec){.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};
        error = keeping->given ? pthread_cond_clockwait(&self->wanted, &self->asking.lock,
                                                        CLOCK_MONOTONIC, &when)
                               : pthread_cond_wait(&self->wanted, &self->asking.lock);
    }
}

static void *keep(void *data)
{
    struct mpiio_pointers *self = data;
    struct mpiio_keeping *keeping = &self->asking.keeping;
    bool over = false, wanted;

    while (!over) {
        pthread_mutex_lock(&self->asking.lock);
        await_work(self);
        over = self->over;
        wanted = keeping->wanted;
        keeping->wanted = false;
        pthread_mutex_unlock(&self->asking.lock);
        if (!over && wanted && mpiio_election_run(&self->asking, self->options.timeout))
            tell_log(self);
        if (!over)
            mpiio_election_spread(&self->asking, self->known);
    }
    return NULL;
}

/* Beginning and end. */

static int init_talk(struct mpiio_pointers *self)
{
    const struct mpiio_pointers_options *options = &self->options;
    const struct mpiio_server_calls calls = {
        .threads = THREADS, .desk = DESK, .serve = serve, .data = self};
    const struct mpiio_lines_options asks = {.local = options->local,
                                             .node = options->node,
                                             .nodes = options->nodes,
                                             .timeout = options->timeout,
                                             .connect = CONNECT,
                                             .rest = REST};
    int error = mpiio_server_init(&self->server, &calls);

    if (error != 0)
        return error;
    self->server.node = options->node;
    self->server.nodes = options->nodes;
    self->server.timeout = options->timeout;
    error = mpiio_lines_init(&self->asking.lines, &asks);
    if (error != 0)
        mpiio_server_destroy(&self->server);
    return error;
}

static int init(struct mpiio_pointers *self)
{
    int error = -pthread_mutex_init(&self->asking.lock, NULL);

    if (error != 0)
        return error;
    error = -pthread_cond_init(&self->wanted, NULL);
    if (error != 0)
        goto lock;
    error = init_talk(self);
    if (error == 0)
        return 0;
    pthread_cond_destroy(&self->wanted);
lock:
    pthread_mutex_destroy(&self->asking.lock);
    return error;
}

int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers)
{
    struct mpiio_pointers *self = calloc(1, sizeof(*self));
    struct mpiio_keeping *keeping;
    int error = -ENOMEM;

    if (self == NULL)
        return error;
    self->options = *options;
    atomic_init(&self->deputy, options->node);
    keeping = &self->asking.keeping;
    keeping->count = options->count;
    keeping->values = calloc(options->count + 1, sizeof(*keeping->values));
    mpiio_keeping_init(keeping, options->node, options->nodes, options->timeout / 2);
    self->known = calloc(options->count + 1, sizeof(*self->known));
    if (keeping->values != NULL && self->known != NULL)
        error = init(self);
    if (error != 0) {
        free(self->known);
        free(keeping->values);
        free(self);
        return error;
    }
    for (size_t i = 0; i < options->count; i++)
        keeping->values[i].position = options->start[i];
    *pointers = self;
    return 0;
}

static void end(struct mpiio_pointers *self)
{
    pthread_mutex_lock(&self->asking.lock);
    self->over = true;
    pthread_cond_signal(&self->wanted);
    pthread_mutex_unlock(&self->asking.lock);
    mpiio_lines_end(&self->asking.lines);
    if (self->has_thread)
        pthread_join(self->thread, NULL);
}

void mpiio_pointers_free(struct mpiio_pointers *pointers)
{
    if (pointers == NULL)
        return;
    end(pointers);
    mpiio_server_destroy(&pointers->server);
    mpiio_lines_destroy(&pointers->asking.lines);
    pthread_cond_destroy(&pointers->wanted);
    pthread_mutex_destroy(&pointers->asking.lock);
    free(pointers->known);
    free(pointers->asking.keeping.values);
    free(pointers);
}

int mpiio_pointers_listen(struct mpiio_pointers *pointers, char **place)
{
    return mpiio_server_listen(&pointers->server, &pointers->options.local, place);
}

int mpiio_pointers_meet(struct mpiio_pointers *pointers, const char *places, size_t size)
{
    return mpiio_lines_meet(&pointers->asking.lines, places, size);
}

int mpiio_pointers_start(struct mpiio_pointers *pointers)
{
    int error = mpiio_server_start(&pointers->server);

    if (error == 0 && pointers->options.nodes > 1) {
        error = mpiio_thread_start(&pointers->thread, keep, pointers);
        pointers->has_thread = error == 0;
    }
    return error;
}

/* Users. */

/* A user's request, and whom it is to be asked. */
struct search {
    struct mpiio_pointers_request request;
    struct mpiio_pointers_answer answer;
    int target;
    int silent; /* did not answer; -1: nobody */
    int pause;
    int64_t until;
};

/*
 * Tells one other node what is taken here. 0: it knows, or none answers and this node is enough
 * by itself; else a negative errno.
 */
static int tell(struct mpiio_pointers *self, const struct search *search)
{
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TELL,
                                             .term = search->answer.term,
                                             .node = (uint32_t)self->options.node,
                                             .pointer = search->request.pointer,
                                             .value = search->answer.value};
    int nodes = self->options.nodes, own = self->options.node, first = atomic_load(&self->deputy);
    struct mpiio_pointers_answer answer;
    bool with_us[MPIIO_POINTERS_NODES] = {false}, gone[MPIIO_POINTERS_NODES] = {false};

    if (mpiio_lease_clock() < atomic_load(&self->alone))
        return 0;
    with_us[own] = true;
    request.value.position += search->answer.got;
    for (int i = 0; i < nodes; i++) {
        int other = (first + i) % nodes;

        if (other == own)
            continue;
        gone[other] = mpiio_lines_refused(&self->asking.lines, other);
        if (!gone[other] &&
            mpiio_asking_ask(&self->asking, other, &request, CONNECT, &answer) == 0) {
            atomic_store(&self->deputy, other);
            return answer.verdict == MPIIO_POINTERS_GRANTED ? 0 : -EAGAIN;
        }
        gone[other] = mpiio_lines_refused(&self->asking.lines, other);
    }
    if (!mpiio_keeping_is_enough(with_us, gone, nodes))
        return -EIO;
    atomic_store(&self->alone, mpiio_lease_clock() + self->asking.keeping.lease);
    return 0;
}

/* This node keeps the pointers, or might. */
static int ask_self(struct mpiio_pointers *self, struct search *search)
{
    bool given, pays;

    pthread_mutex_lock(&self->asking.lock);
    answer_now(self, &search->request, false, &search->answer);
    pthread_mutex_unlock(&self->asking.lock);
    given = search->answer.verdict == MPIIO_POINTERS_GRANTED;
    pays = search->request.type == MPIIO_POINTERS_SET || search->answer.got > 0;
    if (given && pays && self->options.nodes > 1 && tell(self, search) != 0)
        search->answer.verdict = MPIIO_POINTERS_BUSY;
    return 0;
}

static int ask(struct mpiio_pointers *self, struct search *search)
{
    pthread_mutex_lock(&self->asking.lock);
    search->request.value = self->asking.keeping.values[search->request.pointer];
    pthread_mutex_unlock(&self->asking.lock);
    if (search->target == self->options.node)
        return ask_self(self, search);
    return mpiio_asking_ask(&self->asking, search->target, &search->request, self->options.timeout,
                            &search->answer);
}

/* The first node that may live; but for one, if there is another. */
static int first_alive(struct mpiio_pointers *self, int but)
{
    int nodes = self->options.nodes;

    for (int i = 0; i < nodes; i++)
        if (i != but && (i == self->options.node || !mpiio_lines_refused(&self->asking.lines, i)))
            return i;
    return but;
}

/* Whom to ask next; after error, or an answer that did not help. */
static void go_on(struct mpiio_pointers *self, struct search *search, int error)
{
    const struct timespec pause = {.tv_nsec = search->pause * 1000000};

    if (error != 0) {
        search->silent = search->target;
        search->target = first_alive(self, search->target);
    } else if (search->answer.verdict == MPIIO_POINTERS_REFUSED &&
               (int)search->answer.keeper != search->silent &&
               (int)search->answer.keeper != search->target &&
               search->answer.keeper < (uint32_t)self->options.nodes) {
        search->target = (int)search->answer.keeper;
    } else {
        search->silent = -1;
    }
    nanosleep(&pause, NULL);
    if (search->pause < PAUSE_MAX)
        search->pause *= 2;
}

static int find(struct mpiio_pointers *self, struct search *search)
{
    int error;

    search->silent = -1;
    search->pause = PAUSE;
    search->until = mpiio_lease_clock() + (int64_t)PATIENCE * self->options.timeout;
    pthread_mutex_lock(&self->asking.lock);
    search->target = self->asking.keeping.keeper;
    pthread_mutex_unlock(&self->asking.lock);
    while ((error = ask(self, search)) != 0 || search->answer.verdict != MPIIO_POINTERS_GRANTED) {
        if (mpiio_lease_clock() >= search->until)
            return -EIO;
        go_on(self, search, error);
    }
    return 0;
}

/* Asks who keeps the pointers, wherever that is. 0 or -EIO. */
static int resolve(struct mpiio_pointers *self, struct search *search)
{
    bool waits = self->options.nodes > 1 && self->options.wait != NULL;
    int error;

    search->request.node = (uint32_t)self->options.node;
    if (waits)
        self->options.wait(self->options.data, true);
    error = find(self, search);
    if (waits)
        self->options.wait(self->options.data, false);
    return error;
}

int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, int64_t count,
                            int64_t limit, int64_t *position)
{
    struct search search = {.request = {.type = MPIIO_POINTERS_TAKE,
                                        .pointer = (uint32_t)pointer,
                                        .count = count,
                                        .limit = limit}};
    int error = resolve(pointers, &search);

    if (error != 0)
        return error;
    pthread_mutex_lock(&pointers->asking.lock);
    pointers->stats.takes += search.answer.got > 0;
    pointers->stats.etypes += (uint64_t)search.answer.got;
    pthread_mutex_unlock(&pointers->asking.lock);
    *position = search.answer.value.position;
    return search.answer.got;
}

int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position)
{
    struct search search = {.request = {.type = MPIIO_POINTERS_GET, .pointer = (uint32_t)pointer}};
    int error = resolve(pointers, &search);

    if (error == 0)
        *position = search.answer.value.position;
    return error;
}

int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position)
{
    struct search search = {
        .request = {.type = MPIIO_POINTERS_SET, .pointer = (uint32_t)pointer, .count = position}};

    return position < 0 ? -EINVAL : resolve(pointers, &search);
}

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats)
{
    pthread_mutex_lock(&pointers->asking.lock);
    *stats = pointers->stats;
    stats->keeper = pointers->asking.keeping.keeper;
    pthread_mutex_unlock(&pointers->asking.lock);
}
