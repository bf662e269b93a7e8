/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/cache/slots.h"
#include "net/connections.h"
#include "pool_private.h"

/* The number of blocks that one home, and all homes together, read ahead of a stream. */
#define DEPTH     2
#define DEPTH_ALL 32
/* The maximum number of adjacent blocks of MPIIO_BLOCK_SIZE at one home. In a longer region all
   readers would send requests to the same home at once. A single stretch may be longer. */
#define STRETCH_MOST 16
/* The number of threads that answer requests as a home. */
#define THREADS 4
/* The maximum size, in bytes, of the unanswered requests to one home. They must fit in the
   socket buffers, because a home does not read requests while it sends an answer. */
#define UNANSWERED ((size_t)32 << 10)

struct mpiio_pool {
    struct mpiio_pool_options options;
    struct mpiio_homes homes;
    struct mpiio_pool_memory memory;
    struct mpiio_pool_ahead ahead;
    struct mpiio_pool_answers answers;
    struct mpiio_connections connections;
    struct mpiio_pool_streams streams;
    atomic_bool alone;
    _Atomic uint64_t received_bytes, served, passed;
};

/* The requests of a round to one home, over one connection, and their progress. Block ranges
   (ranges) are indices into the plan. */
struct exchange {
    int home;
    struct mpiio_connection *connection; /* NULL: none, or returned */
    int asked;                           /* the range to request next; -1: none */
    int answered;                        /* the range to be answered next; -1: none */
    int last;                            /* the home's last range */
    size_t unanswered;                   /* bytes of requests that were sent but not answered */
};

/* A round of a read: a plan, and the homes of its ranges. */
struct round {
    struct mpiio_pool *pool;
    struct mpiio_pool_version version;
    bool failed;
    int exchanges;
    struct exchange exchange[MPIIO_POOL_RANGES];
    int follows[MPIIO_POOL_RANGES];        /* the next range of the same home; -1: none */
    uint8_t bytes[MPIIO_POOL_REQUEST_MAX]; /* a request */
    struct mpiio_pool_plan plan;
};

int mpiio_pool_new(const struct mpiio_pool_options *options, struct mpiio_pool **pool)
{
    *pool = calloc(1, sizeof(**pool));
    if (*pool == NULL)
        return -ENOMEM;
    (*pool)->options = *options;
    (*pool)->homes = mpiio_homes_of(0, 0, 1);
    mpiio_pool_memory_init(&(*pool)->memory, &options->file, options->size);
    mpiio_pool_ahead_init(&(*pool)->ahead, &(*pool)->memory);
    (*pool)->answers =
        (struct mpiio_pool_answers){.ahead = &(*pool)->ahead, .timeout = options->timeout};
    pthread_mutex_init(&(*pool)->streams.lock, NULL);
    return 0;
}

void mpiio_pool_free(struct mpiio_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_destroy(&pool->streams.lock);
    mpiio_connections_destroy(&pool->connections);
    mpiio_pool_ahead_destroy(&pool->ahead);
    mpiio_pool_memory_destroy(&pool->memory);
    free(pool);
}

/* Returns the largest block size, in bytes, that divides a stretch. So no block has two homes. */
static int64_t choose_block(const struct mpiio_homes *homes)
{
    int64_t size = MPIIO_POOL_BLOCK;

    while (homes->stretch * MPIIO_BLOCK_SIZE % size != 0)
        size /= 2;
    return size;
}

int mpiio_pool_meet(struct mpiio_pool *pool, const struct mpiio_homes *homes)
{
    pool->homes = *homes;
    if (homes->period < homes->nodes ||
        homes->stretch * homes->period / homes->nodes > STRETCH_MOST) {
        pool->homes.period = homes->nodes;
        if (homes->stretch > STRETCH_MOST)
            pool->homes.stretch = STRETCH_MOST;
    }
    pool->memory.size = choose_block(&pool->homes);
    pool->memory.most *= MPIIO_POOL_BLOCK / pool->memory.size;
    return pool->options.net == NULL
               ? 0
               : mpiio_connections_init(&pool->connections, pool->options.net);
}

void mpiio_pool_answer(struct mpiio_pool *pool, struct mpiio_listener_calls *calls)
{
    calls->serve = mpiio_pool_answers_serve;
    calls->pool = &pool->answers;
    calls->threads = THREADS;
    calls->desk = sizeof(struct mpiio_pool_desk);
}

int mpiio_pool_start(struct mpiio_pool *pool)
{
    return mpiio_pool_ahead_start(&pool->ahead);
}

void mpiio_pool_alone(struct mpiio_pool *pool)
{
    atomic_store(&pool->alone, true);
    if (pool->connections.others != NULL)
        mpiio_connections_end(&pool->connections);
}

static int own_number(const struct mpiio_pool *pool)
{
    return pool->options.net != NULL ? pool->options.net->options.node : 0;
}

/* A round. */

static int home_of(const struct mpiio_pool *pool, int64_t block)
{
    return mpiio_homes_node(&pool->homes, block * (pool->memory.size / MPIIO_BLOCK_SIZE));
}

static struct exchange *find_exchange(struct round *round, int home)
{
    for (int i = 0; i < round->exchanges; i++)
        if (round->exchange[i].home == home)
            return &round->exchange[i];
    return NULL;
}

/* Adds an exchange with a home, in the order of the homes' numbers. */
static struct exchange *add_exchange(struct round *round, int home, int range)
{
    int at = round->exchanges++;

    for (; at > 0 && round->exchange[at - 1].home > home; at--)
        round->exchange[at] = round->exchange[at - 1];
    round->exchange[at] = (struct exchange){.home = home, .asked = range, .answered = range};
    return &round->exchange[at];
}

/* Assigns the ranges to their homes. */
static void deal(struct round *round)
{
    round->exchanges = 0;
    for (int i = 0; i < round->plan.ranges; i++) {
        int home = home_of(round->pool, round->plan.range[i].block);
        struct exchange *exchange = find_exchange(round, home);

        if (exchange == NULL)
            exchange = add_exchange(round, home, i);
        else
            round->follows[exchange->last] = i;
        exchange->last = i;
        round->follows[i] = -1;
    }
}

static struct mpiio_pool_request request_of(struct round *round,
                                            const struct mpiio_pool_range *range)
{
    return (struct mpiio_pool_request){.version = round->version,
                                       .block = range->block,
                                       .count = range->count,
                                       .part = round->plan.part + range->first};
}

/* Requests ranges from a home: at least one, and as many as may be unanswered. */
static int ask_home(struct round *round, struct exchange *exchange)
{
    int error = 0;

    while (error == 0 && exchange->asked >= 0) {
        const struct mpiio_pool_request request =
            request_of(round, &round->plan.range[exchange->asked]);
        size_t size = mpiio_pool_request_encode(&request, round->bytes);

        if (exchange->unanswered > 0 && exchange->unanswered + size > UNANSWERED)
            break;
        error = mpiio_talk_send(exchange->connection->fd, round->bytes, size,
                                round->pool->options.timeout);
        exchange->unanswered += size;
        exchange->asked = round->follows[exchange->asked];
    }
    return error;
}

/* Receives one answer. Returns 0, or a negative errno if the connection is no longer usable. */
static int take_answer(struct round *round, struct exchange *exchange)
{
    const struct mpiio_pool_range *range = &round->plan.range[exchange->answered];
    int fd = exchange->connection->fd, timeout = round->pool->options.timeout;
    uint8_t bytes[MPIIO_POOL_ANSWER_BYTES];
    struct mpiio_pool_answer answer;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && (!mpiio_pool_answer_decode(bytes, &answer) ||
                       (answer.there && answer.bytes != range->bytes)))
        error = -EPROTO;
    if (error != 0)
        return error;
    if (answer.there)
        error = mpiio_talk_receive(fd, range->memory, range->bytes, timeout);
    else
        round->failed = true;
    if (answer.there && error == 0)
        atomic_fetch_add(&round->pool->received_bytes, range->bytes);
    exchange->answered = round->follows[exchange->answered];
    /* All requests that were sent have been answered. */
    if (exchange->answered == exchange->asked)
        exchange->unanswered = 0;
    return error;
}

static void end_exchange(struct round *round, struct exchange *exchange, int error)
{
    mpiio_connections_put(&round->pool->connections, exchange->home, exchange->connection, error);
    round->failed = round->failed || error != 0;
    exchange->connection = NULL;
}

/*
 * Takes a connection to each other home. All rounds take connections in the order of the homes, so
 * they cannot deadlock.
 */
static void take_lines(struct round *round)
{
    int64_t end = mpiio_clock() + round->pool->options.timeout;

    for (int i = 0; i < round->exchanges && !round->failed; i++) {
        struct exchange *exchange = &round->exchange[i];

        if (exchange->home == own_number(round->pool))
            continue;
        exchange->connection =
            mpiio_connections_get(&round->pool->connections, exchange->home, end);
        round->failed = exchange->connection == NULL;
    }
}

/* Receives all outstanding answers. Sends no more requests once the round has failed. */
static void finish_exchange(struct round *round, struct exchange *exchange)
{
    int error = 0;

    while (error == 0) {
        if (!round->failed)
            error = ask_home(round, exchange);
        if (error != 0 || exchange->answered == exchange->asked)
            break;
        error = take_answer(round, exchange);
    }
    end_exchange(round, exchange, error);
}

static void say(const struct mpiio_pool_options *options, bool waits)
{
    if (options->wait != NULL && options->net != NULL)
        options->wait(options->data, waits);
}

/* Sends requests to the other homes, reads the blocks of this node meanwhile, and receives the
   answers. */
static bool run_round(struct round *round)
{
    int own = own_number(round->pool);
    struct exchange *mine;

    deal(round);
    mine = find_exchange(round, own);
    say(&round->pool->options, true);
    take_lines(round);
    for (int i = 0; i < round->exchanges && !round->failed; i++) {
        struct exchange *exchange = &round->exchange[i];
        int error = exchange->connection != NULL ? ask_home(round, exchange) : 0;

        if (error != 0)
            end_exchange(round, exchange, error);
    }
    for (int i = mine != NULL ? mine->asked : -1; i >= 0 && !round->failed; i = round->follows[i]) {
        const struct mpiio_pool_range *range = &round->plan.range[i];
        const struct mpiio_pool_request request = request_of(round, range);

        round->failed = !mpiio_pool_fetch(&round->pool->memory, &request, range->memory);
    }
    for (int i = 0; i < round->exchanges; i++)
        if (round->exchange[i].connection != NULL)
            finish_exchange(round, &round->exchange[i]);
    say(&round->pool->options, false);
    return !round->failed;
}

/* Reading ahead. */

static void tell(struct mpiio_pool *pool, int home, const int64_t *blocks, size_t count)
{
    struct mpiio_pool_request request = {
        .ahead = true, .count = (uint32_t)count, .blocks = (int64_t *)blocks};
    uint8_t bytes[MPIIO_POOL_REQUEST_HEAD + sizeof(int64_t) * MPIIO_POOL_AHEAD_MAX];
    struct mpiio_connection *connection;

    if (home == own_number(pool)) {
        mpiio_pool_ahead_want(&pool->ahead, blocks, count);
        return;
    }
    connection =
        mpiio_connections_get(&pool->connections, home, mpiio_clock() + pool->options.timeout);
    if (connection == NULL)
        return;
    mpiio_connections_put(&pool->connections, home, connection,
                          mpiio_talk_send(connection->fd, bytes,
                                          mpiio_pool_request_encode(&request, bytes),
                                          pool->options.timeout));
}

/* Requests read-ahead of the blocks that follow a request of a stream. */
static void tell_all(struct mpiio_pool *pool, const struct mpiio_transfer *transfer)
{
    int64_t blocks[DEPTH_ALL], own[MPIIO_POOL_AHEAD_MAX];
    int nodes = pool->homes.nodes;
    size_t wanted = nodes < DEPTH_ALL / DEPTH ? (size_t)(DEPTH * nodes) : DEPTH_ALL;
    size_t count =
        mpiio_pool_streams_ahead(&pool->streams, pool->memory.size, transfer->map,
                                 transfer->position, (int64_t)transfer->length, blocks, wanted);

    for (size_t i = 0; i < count; i++) {
        int home = home_of(pool, blocks[i]);
        size_t found = 0;

        for (size_t j = i; j < count; j++)
            if (blocks[j] >= 0 && home_of(pool, blocks[j]) == home &&
                found < MPIIO_POOL_AHEAD_MAX) {
                own[found++] = blocks[j];
                blocks[j] = -1;
            }
        if (found > 0)
            tell(pool, home, own, found);
    }
}

/* Reads. */

static bool read_all(struct round *round, const struct mpiio_transfer *transfer)
{
    struct mpiio_pool *pool = round->pool;
    bool stream = mpiio_pool_streams_pass(&pool->streams, transfer->map, transfer->position,
                                          (int64_t)transfer->length);
    struct mpiio_transfer rest = *transfer;

    while (rest.length > 0) {
        size_t taken = mpiio_pool_plan_make(&round->plan, &rest);

        if (taken == 0 || (!stream && !mpiio_pool_plan_is_dense(&round->plan)))
            return false;
        if (rest.length == transfer->length && stream)
            tell_all(pool, transfer);
        if (!run_round(round))
            return false;
        mpiio_transfer_pass(&rest, taken);
    }
    return true;
}

bool mpiio_pool_read(struct mpiio_pool *pool, const struct mpiio_transfer *transfer)
{
    const struct mpiio_pool_file *file = &pool->options.file;
    struct round *round;
    bool served = false;

    if (atomic_load(&pool->alone) || transfer->length == 0)
        return false;
    round = malloc(sizeof(*round));
    if (round != NULL) {
        round->pool = pool;
        round->plan.block = pool->memory.size;
        round->failed = false;
        served = file->look(file->data, NULL, &round->version) && read_all(round, transfer);
    }
    free(round);
    atomic_fetch_add(served ? &pool->served : &pool->passed, 1);
    return served;
}

void mpiio_pool_get_stats(struct mpiio_pool *pool, struct mpiio_pool_stats *stats)
{
    struct mpiio_pool_memory *memory = &pool->memory;

    *stats = (struct mpiio_pool_stats){.size = memory->most * memory->size,
                                       .ahead = atomic_load(&pool->ahead.blocks),
                                       .sent_bytes = atomic_load(&pool->answers.sent_bytes),
                                       .received_bytes = atomic_load(&pool->received_bytes),
                                       .served = atomic_load(&pool->served),
                                       .passed = atomic_load(&pool->passed)};
    pthread_mutex_lock(&memory->lock);
    stats->held = memory->count * memory->size;
    stats->hits = memory->hits;
    stats->blocks = memory->blocks;
    stats->storage_bytes = memory->storage_bytes;
    pthread_mutex_unlock(&memory->lock);
}
