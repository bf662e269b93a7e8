/* SPDX-License-Identifier: MIT */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

/* A file in memory that several pools of this process share. Each pool acts as a node. */

#include <pthread.h>
#include <stdatomic.h>

#include "net_fixture.h"
#include "slice_fixture.h"
#include "pool/pool.h"

#define NODES_MAX    4
#define WORDS(bytes) ((bytes) / 8)

#define NODES_TIMEOUT 60000 /* ms; no node is given up because the machine stalls */

/* A file in memory. Each of its words contains its own position and the version that wrote it. */
static struct fake {
    uint64_t *words;
    int64_t size; /* in bytes */
    uint64_t version, epoch;
    bool changing; /* the version may be changing, so pools must not keep it */
    int error;     /* that reads fail with; 0: none */
    int64_t ends;  /* where reads find the end of the file */
    pthread_rwlock_t lock;
    _Atomic uint64_t read; /* bytes read so far */
} fake;

static struct nodes {
    int count;
    struct mpiio_homes homes;
    struct mpiio_net *net[NODES_MAX];
    struct mpiio_pool *pool[NODES_MAX];
    const char *addresses[NODES_MAX]; /* of each node */
} nodes;

static inline bool pool_read(struct mpiio_pool *pool, const struct vs_view *view, int64_t position,
                             size_t length, void *buffer)
{
    struct mpiio_transfer transfer = {
        .map = vs_view_map(view), .position = position, .length = length, .buffer = buffer};

    return mpiio_pool_read(pool, &transfer);
}

static inline uint64_t fake_word(int64_t index, uint64_t version)
{
    return ((uint64_t)index * 0x9E3779B97F4A7C15) << 16 | (version & 0xffff);
}

static inline bool fake_look(void *data, const struct mpiio_pool_version *seen,
                             struct mpiio_pool_version *version)
{
    struct fake *file = data;
    bool stays;

    pthread_rwlock_rdlock(&file->lock);
    *version = (struct mpiio_pool_version){
        .size = file->size, .times = {(int64_t)file->version}, .epoch = file->epoch};
    stays = !file->changing;
    pthread_rwlock_unlock(&file->lock);
    return stays;
}

static inline int64_t fake_read(void *data, void *buffer, size_t length, int64_t displacement)
{
    struct fake *file = data;
    int64_t rest, got;

    pthread_rwlock_rdlock(&file->lock);
    rest = (file->ends < file->size ? file->ends : file->size) - displacement;
    rest = rest < 0 ? 0 : rest;
    got = file->error != 0 ? file->error : rest < (int64_t)length ? rest : (int64_t)length;
    if (got > 0)
        memcpy(buffer, (char *)file->words + displacement, (size_t)got);
    pthread_rwlock_unlock(&file->lock);
    if (got > 0)
        atomic_fetch_add(&file->read, (uint64_t)got);
    return got;
}

/* Makes reads fail with error, unless it is 0, and find the end of the file at ends. */
static inline void set_reads(int error, int64_t ends)
{
    pthread_rwlock_wrlock(&fake.lock);
    fake.error = error;
    fake.ends = ends;
    pthread_rwlock_unlock(&fake.lock);
}

static inline void set_changing(bool changing)
{
    pthread_rwlock_wrlock(&fake.lock);
    fake.changing = changing;
    pthread_rwlock_unlock(&fake.lock);
}

/* Frees a node, which is gone for the others. */
static inline void free_node(int node)
{
    mpiio_net_free(nodes.net[node]); /* before the pool: its threads answer from the pool */
    mpiio_pool_free(nodes.pool[node]);
    nodes.net[node] = NULL;
    nodes.pool[node] = NULL;
}

static inline void free_nodes(void)
{
    for (int i = 0; i < nodes.count; i++)
        free_node(i);
    nodes.count = 0;
}

/* Frees the nodes and their file. */
static inline int free_all(void **state)
{
    free_nodes();
    free(fake.words);
    fake.words = NULL;
    return 0;
}

TEST_GROUP(NULL, free_all)

/* Makes the file of a test in place of the previous one and its nodes. */
static inline void make_fake(int64_t size)
{
    free_all(NULL);
    fake = (struct fake){
        .size = size, .ends = INT64_MAX, .version = 1, .lock = PTHREAD_RWLOCK_INITIALIZER};
    fake.words = malloc((size_t)size);
    assert_non_null(fake.words);
    for (int64_t i = 0; i < WORDS(size); i++)
        fake.words[i] = fake_word(i, 1);
}

/* Makes a pool that listens. It does not know the other nodes yet. */
static inline void make_pool(int node, int64_t size, int timeout)
{
    struct mpiio_pool_options options = {
        .file = {.look = fake_look, .read = fake_read, .data = &fake},
        .size = size,
        .timeout = timeout};

    nodes.net[node] = make_net(node, nodes.count, timeout);
    nodes.addresses[node] = nodes.net[node]->own;
    options.net = nodes.count > 1 ? nodes.net[node] : NULL;
    assert_int_equal(mpiio_pool_new(&options, &nodes.pool[node]), 0);
}

/* Gives a node the addresses of the others, and starts its pool. */
static inline void meet(int node)
{
    struct mpiio_listener_calls calls = {0};

    meet_others(nodes.net[node], net_token, nodes.addresses);
    assert_int_equal(mpiio_pool_meet(nodes.pool[node], &nodes.homes), 0);
    mpiio_pool_answer(nodes.pool[node], &calls);
    assert_int_equal(mpiio_net_start(nodes.net[node], &calls), 0);
    assert_int_equal(mpiio_pool_start(nodes.pool[node]), 0);
}

/* Makes the nodes of the file in place of the previous ones. homes describes its stripes and their
   number of servers, if known. */
static inline void make_nodes_of(struct mpiio_homes homes, int64_t size)
{
    free_nodes();
    nodes = (struct nodes){.count = homes.nodes, .homes = homes};
    for (int i = 0; i < nodes.count; i++)
        make_pool(i, size, NODES_TIMEOUT);
    for (int i = 0; i < nodes.count; i++)
        meet(i);
}

static inline void make_nodes(int count, int64_t size)
{
    make_nodes_of(mpiio_homes_of(0, 0, count), size);
}

/* Has a node leave. The others lose it; it goes on alone. */
static inline void leave(int node)
{
    mpiio_pool_alone(nodes.pool[node]);
    mpiio_net_close(nodes.net[node]);
}

static inline struct mpiio_pool_stats stats_of(struct mpiio_pool *pool)
{
    struct mpiio_pool_stats stats;

    mpiio_pool_get_stats(pool, &stats);
    return stats;
}

static inline struct mpiio_pool_stats stats_sum(void)
{
    struct mpiio_pool_stats sum = {0};

    for (int i = 0; i < nodes.count; i++) {
        struct mpiio_pool_stats stats = stats_of(nodes.pool[i]);

        sum.storage_bytes += stats.storage_bytes;
        sum.sent_bytes += stats.sent_bytes;
        sum.received_bytes += stats.received_bytes;
        sum.blocks += stats.blocks;
        sum.passed += stats.passed;
    }
    return sum;
}

#endif
