/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asking.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "election.h"
#include "herald.h"
#include "known.h"
#include "lines/server.h"
#include "lines/talk.h"
#include "searching.h"
#include "together.h"

/* ms: until there is a connection, at most, and no longer than a quarter of the time for which
   another node may not answer; for which one that has not answered is left alone. */
#define CONNECT 1000
#define REST    20
/* Threads that answer others. */
#define THREADS 2
/* Of the time for which another node may not answer: how often it may be silent at its turn; and
   how often turns are asked for in that time, but in ms: at least, at most. */
#define SILENCE      2
#define LOOKS        8
#define INTERVAL_MIN 10
#define INTERVAL_MAX 1000

struct mpiio_pointers {
    struct mpiio_pointers_options options;
    struct mpiio_asking asking; /* its lock: the lock */
    struct mpiio_searching searching;
    struct mpiio_together together;
    struct mpiio_herald herald;
    struct mpiio_server server;
    bool over;       /* lock: the lock; told by the asking's wanted */
    bool has_thread; /* which stands for election */
    pthread_t thread;
    struct mpiio_pointers_value *known; /* what the others were told; of the thread */
    bool told;                          /* the log says that this node keeps them; of the thread */
    struct mpiio_pointers_stats stats;  /* lock: the lock */
};

/* Answers others. */

/*
 * What is given is on its way before something else is given: who gets the latter knows that all
 * before it has left this process, should that end.
 */
static bool answer(struct mpiio_pointers *self, const struct mpiio_pointers_request *request,
                   int fd)
{
    uint8_t bytes[MPIIO_POINTERS_ANSWER_BYTES];
    struct mpiio_pointers_answer answer;
    uint8_t *known = NULL;
    size_t size = 0;
    bool pledged;
    int error;

    pthread_mutex_lock(&self->asking.lock);
    mpiio_asking_answer(&self->asking, request, &answer);
    pledged = request->type == MPIIO_POINTERS_PLEDGE && answer.verdict == MPIIO_POINTERS_GRANTED;
    if (pledged)
        known = mpiio_known_write(&self->asking.keeping, &size);
    mpiio_pointers_answer_encode(&answer, bytes);
    error = pledged && known == NULL
                ? -ENOMEM
                : mpiio_talk_send(fd, bytes, sizeof(bytes), self->options.timeout);
    pthread_mutex_unlock(&self->asking.lock);
    if (known != NULL && error == 0)
        error = mpiio_talk_send(fd, known, size, self->options.timeout);
    free(known);
    mpiio_herald_announce(&self->herald);
    return error == 0;
}

static bool serve(void *data, void *desk, int fd)
{
    struct mpiio_pointers *self = data;
    struct mpiio_pointers_request request;

    return mpiio_talk_receive(fd, desk, MPIIO_POINTERS_REQUEST_BYTES, self->options.timeout) == 0 &&
           mpiio_pointers_request_decode(desk, &request) &&
           request.node < (uint32_t)self->options.nodes && answer(self, &request, fd);
}

/* Keeps the pointers, when it is to. */

static void tell_log(struct mpiio_pointers *self)
{
    char line[96];

    if (self->told || self->options.node == 0 || self->options.log == NULL)
        return;
    self->told = true;
    snprintf(line, sizeof(line), "shared file pointers are kept by node %d from now on",
             self->options.node);
    self->options.log(self->options.data, MPIIO_LOG_INFO, line);
}

/* Waits for what there is to do; of what is given the others are told some time later. Lock held.
 */
static void await_work(struct mpiio_pointers *self)
{
    const struct mpiio_keeping *keeping = &self->asking.keeping;

    while (!keeping->wanted && !self->over &&
           mpiio_wait_until(&self->asking.wanted, &self->asking.lock,
                            keeping->given ? mpiio_clock() + keeping->lease / 2 : INT64_MAX))
        continue;
}

static void *run_keeper(void *data)
{
    struct mpiio_pointers *self = data;
    struct mpiio_keeping *keeping = &self->asking.keeping;
    bool over, wanted;

    for (;;) {
        pthread_mutex_lock(&self->asking.lock);
        await_work(self);
        over = self->over;
        wanted = keeping->wanted;
        keeping->wanted = false;
        pthread_mutex_unlock(&self->asking.lock);
        if (over)
            return NULL;
        if (wanted && mpiio_election_run(&self->asking, self->options.timeout))
            tell_log(self);
        mpiio_election_spread(&self->asking, self->known);
        mpiio_herald_announce(&self->herald);
    }
}

/* Beginning and end. */

static void init_talk(struct mpiio_pointers *self)
{
    const struct mpiio_pointers_options *options = &self->options;
    const struct mpiio_server_calls calls = {
        .threads = THREADS, .desk = MPIIO_POINTERS_REQUEST_BYTES, .serve = serve, .data = self};
    int connect = options->timeout / 4 < CONNECT ? options->timeout / 4 : CONNECT;
    const struct mpiio_lines_options asks = {.local = options->local,
                                             .node = options->node,
                                             .nodes = options->nodes,
                                             .timeout = options->timeout,
                                             .connect = connect,
                                             .rest = REST};

    mpiio_server_init(&self->server, &calls);
    self->server.node = options->node;
    self->server.nodes = options->nodes;
    self->server.timeout = options->timeout;
    mpiio_lines_init(&self->asking.lines, &asks);
}

static int init_turns(struct mpiio_pointers *self)
{
    const struct mpiio_pointers_options *options = &self->options;
    struct mpiio_turns *turns = &self->asking.keeping.turns;

    *turns = (struct mpiio_turns){.self = options->node,
                                  .nodes = options->nodes,
                                  .ranks = options->ranks,
                                  .patience = SILENCE * options->timeout,
                                  .views = options->count,
                                  .values = self->asking.keeping.values};
    return mpiio_turns_init(turns);
}

static int init_herald(struct mpiio_pointers *self)
{
    int interval = self->options.timeout / LOOKS;

    if (interval < INTERVAL_MIN)
        interval = INTERVAL_MIN;
    if (interval > INTERVAL_MAX)
        interval = INTERVAL_MAX;
    self->herald = (struct mpiio_herald){.searching = &self->searching,
                                         .interval = interval,
                                         .turn = self->options.turn,
                                         .passed = self->options.passed,
                                         .data = self->options.data};
    return mpiio_herald_init(&self->herald);
}

static int init(struct mpiio_pointers *self)
{
    int error;

    pthread_mutex_init(&self->asking.lock, NULL);
    pthread_cond_init(&self->asking.wanted, NULL);
    error = init_turns(self);
    if (error != 0)
        goto wanted;
    mpiio_searching_init(&self->searching, &self->asking, self->options.timeout);
    mpiio_together_init(&self->together);
    error = init_herald(self);
    if (error == 0) {
        init_talk(self);
        return 0;
    }
    mpiio_together_free(&self->together);
    mpiio_turns_free(&self->asking.keeping.turns);
wanted:
    pthread_cond_destroy(&self->asking.wanted);
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
    self->options.start = NULL;
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
    pthread_cond_signal(&self->asking.wanted);
    pthread_mutex_unlock(&self->asking.lock);
    atomic_store(&self->searching.over, true);
    mpiio_lines_end(&self->asking.lines);
    mpiio_herald_end(&self->herald);
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
    mpiio_herald_free(&pointers->herald);
    mpiio_together_free(&pointers->together);
    mpiio_given_free(&pointers->asking.keeping.given_to);
    mpiio_turns_free(&pointers->asking.keeping.turns);
    pthread_cond_destroy(&pointers->asking.wanted);
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
        error = mpiio_thread_start(&pointers->thread, run_keeper, pointers);
        pointers->has_thread = error == 0;
    }
    if (error == 0 && pointers->options.nodes > 1 && pointers->options.ranks > 0)
        error = mpiio_herald_start(&pointers->herald);
    return error;
}

/* Users. */

/* Around what others may have to answer: true where it is to be ended. */
static bool begin_wait(struct mpiio_pointers *self)
{
    bool waits = self->options.nodes > 1 && self->options.wait != NULL;

    if (waits)
        self->options.wait(self->options.data, true);
    return waits;
}

static void end_wait(struct mpiio_pointers *self, bool waits)
{
    if (waits)
        self->options.wait(self->options.data, false);
}

/* Asks who keeps the pointers, wherever that is. 0, -ESTALE, -EIO or -ENOTCONN. */
static int resolve(struct mpiio_pointers *self, struct mpiio_search *search)
{
    int error = mpiio_searching_resolve(&self->searching, search);

    mpiio_herald_announce(&self->herald);
    return error;
}

/* The same, of a user that waits for it. */
static int resolve_waiting(struct mpiio_pointers *self, struct mpiio_search *search)
{
    bool waits = begin_wait(self);
    int error = resolve(self, search);

    end_wait(self, waits);
    return error;
}

static int64_t take_etypes(struct mpiio_pointers *self, size_t pointer, uint64_t share,
                           int64_t count, int64_t limit, int64_t *position)
{
    struct mpiio_search search = mpiio_search_of(&self->searching, MPIIO_POINTERS_TAKE, pointer);
    int error;

    search.request.share = share;
    search.request.count = count;
    search.request.limit = limit;
    error = resolve(self, &search);
    *position = search.answer.value.position;
    return error != 0 ? error : search.answer.got;
}

/* For several takers (together.h). */
static int64_t take_all(void *data, size_t pointer, int64_t count, int64_t limit, int64_t *position)
{
    return take_etypes(data, pointer, MPIIO_POINTERS_ANYBODY, count, limit, position);
}

int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, uint64_t share,
                            int64_t count, int64_t limit, int64_t *position)
{
    bool waits = begin_wait(pointers);
    int64_t got;

    if (share == MPIIO_POINTERS_ANYBODY && pointers->options.nodes > 1)
        got = mpiio_together_take(&pointers->together, take_all, pointers, pointer, count, limit,
                                  position);
    else
        got = take_etypes(pointers, pointer, share, count, limit, position);
    end_wait(pointers, waits);
    if (got <= 0)
        return got;
    pthread_mutex_lock(&pointers->asking.lock);
    pointers->stats.takes++;
    pointers->stats.etypes += (uint64_t)got;
    pthread_mutex_unlock(&pointers->asking.lock);
    return got;
}

int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position)
{
    struct mpiio_search search = mpiio_search_of(&pointers->searching, MPIIO_POINTERS_GET, pointer);
    int error = resolve_waiting(pointers, &search);

    if (error == 0)
        *position = search.answer.value.position;
    return error;
}

int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position)
{
    struct mpiio_search search = mpiio_search_of(&pointers->searching, MPIIO_POINTERS_SET, pointer);

    search.request.count = position;
    return position < 0 ? -EINVAL : resolve_waiting(pointers, &search);
}

/* Shares. */

int mpiio_pointers_open(struct mpiio_pointers *pointers, size_t view, int64_t rank,
                        uint64_t *number)
{
    struct mpiio_search search = mpiio_search_of(&pointers->searching, MPIIO_POINTERS_OPEN, view);
    int error;

    search.request.count = rank;
    error = resolve_waiting(pointers, &search);
    *number = (uint64_t)search.answer.got;
    mpiio_herald_opened(&pointers->herald, view, error != 0);
    return error;
}

int mpiio_pointers_over(struct mpiio_pointers *pointers, size_t view, uint64_t number,
                        uint64_t *turn)
{
    struct mpiio_search search = mpiio_search_of(&pointers->searching, MPIIO_POINTERS_OVER, view);
    int error;

    search.request.share = number;
    error = resolve_waiting(pointers, &search);
    if (error != 0)
        return error;
    *turn = search.answer.turn;
    mpiio_herald_over(&pointers->herald, view, &search.answer);
    return 0;
}

int mpiio_pointers_turn(struct mpiio_pointers *pointers, size_t view, uint64_t *turn)
{
    struct mpiio_search search = mpiio_search_of(&pointers->searching, MPIIO_POINTERS_TURN, view);
    int error = resolve_waiting(pointers, &search);

    *turn = search.answer.turn;
    return error;
}

void mpiio_pointers_leave(struct mpiio_pointers *pointers)
{
    struct mpiio_pointers_answer answer;

    mpiio_herald_leave(&pointers->herald);
    if (pointers->options.nodes == 1)
        mpiio_herald_ask(&pointers->herald, MPIIO_POINTERS_TURN, 0, &answer);
}

int64_t mpiio_pointers_quiet(struct mpiio_pointers *pointers)
{
    return mpiio_lease_clock() - atomic_load(&pointers->herald.answered);
}

int64_t mpiio_pointers_done(struct mpiio_pointers *pointers)
{
    struct mpiio_pointers_answer answer;
    bool used;
    int error;

    pthread_mutex_lock(&pointers->asking.lock);
    used = pointers->asking.keeping.term > 0;
    pthread_mutex_unlock(&pointers->asking.lock);
    if (!used)
        return 0;
    error = mpiio_herald_ask(&pointers->herald, MPIIO_POINTERS_DONE, 0, &answer);
    return error != 0 ? error : answer.got;
}

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats)
{
    pthread_mutex_lock(&pointers->asking.lock);
    *stats = pointers->stats;
    stats->keeper = pointers->asking.keeping.keeper;
    pthread_mutex_unlock(&pointers->asking.lock);
}
