/* SPDX-License-Identifier: MIT */
#include "epoch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "home.h"
#include "piece.h"

/* A block that this node hands in. */
struct own {
    int64_t block;
    int home;
    uint32_t index; /* in the run's list */
    bool may_wait;
    struct mpiio_slot slot;
    struct engine_shape shape;
};

/* An epoch in its course. Arrays of ints have an entry for each node. */
struct epoch {
    struct engine *engine;
    struct mpiio_epoch_counters *counters;
    struct own *owns; /* by home, and then by block */
    size_t own_count;
    struct engine_notice *sent;     /* what this node announces, as owns */
    struct engine_notice *received; /* what is announced to this home */
    size_t received_count;
    struct engine_home *home;
    char *out, *in;  /* the pieces of a round, to and from other nodes */
    char *piece;     /* one of this node's for itself */
    int32_t *wanted; /* what the homes ask of this node */
    int32_t *outcomes;
    int *ints;
    int *own_counts, *own_starts;       /* of owns, by home */
    int *notice_counts, *notice_starts; /* of received, by node */
    int *ask_counts, *ask_starts;       /* of what this home asks for in a round */
    int *want_counts, *want_starts;     /* of what this node is asked for */
    int *in_words, *in_starts;
    int *out_words, *out_starts;
};

/* Arrays of ints in an epoch. */
#define INT_ARRAYS 12

static int compare_owns(const void *left, const void *right)
{
    const struct own *a = left, *b = right;

    if (a->home != b->home)
        return a->home < b->home ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

/* Looks at the blocks that are handed in; those that cannot be have their errors at once. */
static int collect(struct epoch *epoch, const struct mpiio_message_flush *run,
                   const struct mpiio_flush_block *blocks, int32_t *errors)
{
    const struct mpiio_slots *slots = &epoch->engine->slots;

    epoch->owns = calloc((size_t)run->count + 1, sizeof(*epoch->owns));
    epoch->sent = calloc((size_t)run->count + 1, sizeof(*epoch->sent));
    if (epoch->owns == NULL || epoch->sent == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < run->count; i++) {
        struct own *own = &epoch->owns[epoch->own_count];

        if (blocks[i].slot >= (uint32_t)slots->count) {
            errors[i] = -EINVAL;
            continue;
        }
        own->block = blocks[i].block;
        own->home = engine_stripes_home(&epoch->engine->stripes, own->block);
        own->index = i;
        own->may_wait = blocks[i].may_wait;
        own->slot = mpiio_slots_get(slots, (int)blocks[i].slot);
        own->shape = engine_shape_of(&own->slot);
        epoch->counters->dirty_bytes += own->shape.dirty;
        if (own->shape.dirty > 0)
            epoch->own_count++;
    }
    qsort(epoch->owns, epoch->own_count, sizeof(*epoch->owns), compare_owns);
    return 0;
}

/* A node without memory for even these cannot take part, nor tell anybody. */
static int make_arrays(struct epoch *epoch)
{
    size_t nodes = (size_t)epoch->engine->nodes;
    int **arrays[INT_ARRAYS] = {
        &epoch->own_counts, &epoch->own_starts, &epoch->notice_counts, &epoch->notice_starts,
        &epoch->ask_counts, &epoch->ask_starts, &epoch->want_counts,   &epoch->want_starts,
        &epoch->in_words,   &epoch->in_starts,  &epoch->out_words,     &epoch->out_starts,
    };

    epoch->ints = calloc(nodes * INT_ARRAYS, sizeof(*epoch->ints));
    for (size_t i = 0; i < INT_ARRAYS && epoch->ints != NULL; i++)
        *arrays[i] = epoch->ints + i * nodes;
    return epoch->ints != NULL ? 0 : -ENOMEM;
}

static void free_epoch(struct epoch *epoch)
{
    engine_home_free(epoch->home);
    free(epoch->owns);
    free(epoch->sent);
    free(epoch->received);
    free(epoch->out);
    free(epoch->in);
    free(epoch->piece);
    free(epoch->wanted);
    free(epoch->outcomes);
    free(epoch->ints);
}

/* Where the parts of a buffer begin that are so long; returns their sum. */
static int64_t starts_of(const int *counts, int *starts, int nodes)
{
    int64_t total = 0;

    for (int i = 0; i < nodes; i++) {
        starts[i] = (int)total;
        total += counts[i];
    }
    return total;
}

/* Collective: tells the homes how many pieces they will get from whom. */
static int count_notices(struct epoch *epoch)
{
    int nodes = epoch->engine->nodes;
    int64_t total;

    for (size_t i = 0; i < epoch->own_count; i++)
        epoch->own_counts[epoch->owns[i].home]++;
    engine_collective_transpose(&epoch->engine->group, epoch->own_counts, epoch->notice_counts);
    starts_of(epoch->own_counts, epoch->own_starts, nodes);
    total = 0;
    for (int i = 0; i < nodes; i++)
        total += epoch->notice_counts[i];
    /* MPI counts by ints. */
    if (total > INT_MAX)
        return -EOVERFLOW;
    starts_of(epoch->notice_counts, epoch->notice_starts, nodes);
    epoch->received_count = (size_t)total;
    epoch->received = calloc((size_t)total + 1, sizeof(*epoch->received));
    epoch->outcomes = calloc((size_t)total + epoch->own_count + 1, sizeof(*epoch->outcomes));
    return epoch->received != NULL && epoch->outcomes != NULL ? 0 : -ENOMEM;
}

/* Whether what this node announces, or is announced to this home, at index is between itself. */
static bool is_inside(const struct epoch *epoch, const int *starts, const int *counts, size_t index)
{
    int node = epoch->engine->node;

    return index >= (size_t)starts[node] && index < (size_t)(starts[node] + counts[node]);
}

static char *new_buffer(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/*
 * What a round takes at most: pieces of this node's for every other home that asks for its share,
 * and of others for this home. Memory that is not used is never touched.
 */
static int make_buffers(struct epoch *epoch)
{
    size_t nodes = (size_t)epoch->engine->nodes, round = engine_round_bytes(epoch->engine->nodes);
    size_t out = 0, in = 0, largest = 0;

    for (size_t i = 0; i < epoch->own_count; i++) {
        size_t bytes = (size_t)epoch->sent[i].bytes;

        if (!is_inside(epoch, epoch->own_starts, epoch->own_counts, i))
            out += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (out > round + nodes * largest)
        out = round + nodes * largest;
    for (size_t i = 0; i < epoch->received_count && in < round; i++)
        if (!is_inside(epoch, epoch->notice_starts, epoch->notice_counts, i))
            in += (size_t)epoch->received[i].bytes;
    if (in > round)
        in = round;
    epoch->out = new_buffer(out + ENGINE_PIECE_SLACK);
    epoch->in = new_buffer(in + 1);
    epoch->piece = new_buffer(largest + ENGINE_PIECE_SLACK);
    epoch->wanted = calloc(epoch->own_count + 1, sizeof(*epoch->wanted));
    return epoch->out != NULL && epoch->in != NULL && epoch->piece != NULL && epoch->wanted != NULL
               ? 0
               : -ENOMEM;
}

static struct engine_notice notice_of(const struct own *own)
{
    bool may_wait = own->may_wait && engine_shape_is_short(&own->shape);

    return (struct engine_notice){.block = own->block,
                                  .bytes = (int32_t)engine_piece_size(&own->shape),
                                  .may_wait = may_wait ? (int32_t)own->shape.dirty : 0};
}

/* Collective: announces the pieces to their homes. Returns an error of this node's. */
static int announce(struct epoch *epoch)
{
    struct engine *engine = epoch->engine;
    int error;

    for (size_t i = 0; i < epoch->own_count; i++)
        epoch->sent[i] = notice_of(&epoch->owns[i]);
    engine_collective_exchange(
        &engine->group, &(struct engine_parts){epoch->sent, epoch->own_counts, epoch->own_starts},
        &(struct engine_parts){epoch->received, epoch->notice_counts, epoch->notice_starts},
        sizeof(*epoch->sent));
    error = engine_home_new(engine->node, &engine->stripes, epoch->received, epoch->notice_counts,
                            &epoch->home);
    return error != 0 ? error : make_buffers(epoch);
}

/* A piece of this node's for itself. */
static const char *own_piece(void *argument, int32_t place)
{
    struct epoch *epoch = argument;
    const struct own *own = &epoch->owns[epoch->own_starts[epoch->engine->node] + place];

    engine_piece_make(&own->shape, &own->slot, epoch->piece);
    return epoch->piece;
}

/* Makes the pieces that the other homes ask for, where they are to be sent from. */
static void pack(struct epoch *epoch)
{
    char *to = epoch->out;
    const int32_t *wanted = epoch->wanted;

    for (int home = 0; home < epoch->engine->nodes; home++) {
        const struct own *owns = epoch->owns + epoch->own_starts[home];
        char *start = to;

        for (int i = 0; i < epoch->want_counts[home]; i++) {
            const struct own *own = &owns[*wanted++];

            if (home == epoch->engine->node)
                continue;
            engine_piece_make(&own->shape, &own->slot, to);
            to += engine_piece_size(&own->shape);
        }
        epoch->out_starts[home] = (int)((size_t)(start - epoch->out) / ENGINE_PIECE_UNIT);
        epoch->out_words[home] = (int)((size_t)(to - start) / ENGINE_PIECE_UNIT);
    }
}

/* Collective: one round. Returns true as long as there is one more. */
static bool exchange(struct epoch *epoch)
{
    struct engine *engine = epoch->engine;
    int nodes = engine->nodes;
    const int32_t *asks;

    engine_home_ask(epoch->home, epoch->ask_counts, epoch->in_words, &asks);
    engine_collective_transpose(&engine->group, epoch->ask_counts, epoch->want_counts);
    starts_of(epoch->ask_counts, epoch->ask_starts, nodes);
    starts_of(epoch->want_counts, epoch->want_starts, nodes);
    starts_of(epoch->in_words, epoch->in_starts, nodes);
    engine_collective_exchange(
        &engine->group, &(struct engine_parts){(void *)asks, epoch->ask_counts, epoch->ask_starts},
        &(struct engine_parts){epoch->wanted, epoch->want_counts, epoch->want_starts},
        sizeof(*asks));
    pack(epoch);
    engine_collective_exchange(
        &engine->group, &(struct engine_parts){epoch->out, epoch->out_words, epoch->out_starts},
        &(struct engine_parts){epoch->in, epoch->in_words, epoch->in_starts}, ENGINE_PIECE_UNIT);
    for (int i = 0; i < nodes; i++) {
        epoch->counters->sent_bytes += (uint64_t)epoch->out_words[i] * ENGINE_PIECE_UNIT;
        epoch->counters->received_bytes += (uint64_t)epoch->in_words[i] * ENGINE_PIECE_UNIT;
    }
    epoch->counters->rounds++;
    engine_home_take(epoch->home, epoch->in, own_piece, epoch);
    return engine_home_store(epoch->home, &engine->file, &engine->group, epoch->counters);
}

/* Collective: the homes tell what became of the pieces. */
static void return_outcomes(struct epoch *epoch, int32_t *errors)
{
    int32_t *received = epoch->outcomes, *own = epoch->outcomes + epoch->received_count;

    engine_home_errors(epoch->home, received);
    engine_collective_exchange(
        &epoch->engine->group,
        &(struct engine_parts){received, epoch->notice_counts, epoch->notice_starts},
        &(struct engine_parts){own, epoch->own_counts, epoch->own_starts}, sizeof(*own));
    for (size_t i = 0; i < epoch->own_count; i++) {
        errors[epoch->owns[i].index] = own[i];
        epoch->counters->left_blocks += own[i] == -EAGAIN;
    }
}

/* Collective: whether all nodes run the same epoch, and one of them wants the data synced. */
static int compare_epochs(struct engine *engine, const struct mpiio_message_flush *run, bool *sync)
{
    int64_t most[3] = {run->sync, (int64_t)run->epoch, -(int64_t)run->epoch};

    engine_collective_max(&engine->group, most, 3);
    *sync = most[0] != 0;
    return most[1] == -most[2] ? 0 : -EPROTO;
}

/* Collective. Returns the error of all blocks of all nodes. */
static int run_epoch(struct epoch *epoch, const struct mpiio_message_flush *run, int32_t *errors)
{
    struct engine *engine = epoch->engine;
    bool sync = false;
    int error = compare_epochs(engine, run, &sync);

    if (error != 0)
        return error;
    error = engine_collective_error(&engine->group, count_notices(epoch));
    if (error != 0)
        return error;
    error = engine_collective_error(&engine->group, announce(epoch));
    if (error != 0)
        return error;
    while (exchange(epoch))
        continue;
    return_outcomes(epoch, errors);
    return sync ? engine_collective_error(&engine->group, engine_file_sync(&engine->file)) : 0;
}

void engine_epoch(struct engine *engine, const struct mpiio_message_flush *run,
                  const struct mpiio_flush_block *blocks, int32_t *errors,
                  struct mpiio_message_result *result)
{
    struct epoch epoch = {.engine = engine, .counters = &result->counters};
    int error;

    *result = (struct mpiio_message_result){.epoch = run->epoch, .count = run->count};
    memset(errors, 0, run->count * sizeof(*errors));
    error = collect(&epoch, run, blocks, errors);
    if (error != 0)
        epoch.own_count = 0;
    if (make_arrays(&epoch) != 0)
        abort();
    result->error = run_epoch(&epoch, run, errors);
    for (uint32_t i = 0; i < run->count; i++)
        if (error != 0 || result->error != 0)
            errors[i] = error != 0 ? error : result->error;
    free_epoch(&epoch);
}
