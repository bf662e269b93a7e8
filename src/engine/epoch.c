/* SPDX-License-Identifier: MIT */
#include "epoch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "home.h"
#include "viewspec/base/arena.h"
#include "viewspec/base/integer.h"

/* A block that this node contributes. */
struct own {
    int64_t block;
    int home;
    uint32_t index; /* in the run's list of blocks */
    bool may_wait;
    struct mpiio_slot slot;
    struct engine_shape shape;
};

/* An epoch in progress. It lists only the nodes that this node exchanges something with. */
struct epoch {
    const struct engine_means *means;
    struct mpiio_epoch_counters *counters;
    struct vs_arena arena; /* owns all lists but sources and wants */
    struct own *owns;      /* sorted by home, then by block */
    size_t own_count;
    struct engine_notice *sent;     /* this node's announcements, in the order of owns */
    struct engine_notice *received; /* announcements to this home */
    size_t received_count;
    struct engine_home *home;
    char *out, *in;  /* pieces of a round, to and from other nodes */
    int32_t *wanted; /* pieces that homes request from this node */
    int32_t *outcomes;
    struct engine_part *homes; /* the parts of owns for each home */
    int home_count;
    struct engine_part *sources; /* the parts of received from each node */
    struct engine_part *asks;    /* pieces that this home requests from each source in a round */
    struct engine_part *in_words;
    int source_count;
    /* pieces that homes, want_count of them, request from this node in a round */
    struct engine_part *wants;
    struct engine_part *out_words;
    int want_count;
};

static int compare_owns(const void *left, const void *right)
{
    const struct own *a = left, *b = right;

    return a->home != b->home ? vs_compare(a->home, b->home) : vs_compare(a->block, b->block);
}

/* Builds the list of homes from owns, which are sorted. */
static void list_homes(struct epoch *epoch)
{
    for (size_t i = 0; i < epoch->own_count; i++) {
        int home = epoch->owns[i].home;

        if (epoch->home_count == 0 || epoch->homes[epoch->home_count - 1].node != home)
            epoch->homes[epoch->home_count++].node = home;
        epoch->homes[epoch->home_count - 1].count++;
    }
    engine_parts_begin(epoch->homes, epoch->home_count);
}

/* Examines the blocks of this node. An invalid block gets its error at once. */
static int look_at_blocks(struct epoch *epoch, const struct mpiio_message_flush *run,
                          const struct mpiio_flush_block *blocks, int32_t *errors)
{
    const struct mpiio_slots *slots = epoch->means->slots;

    epoch->owns = vs_arena_array(&epoch->arena, run->count, sizeof(*epoch->owns));
    epoch->sent = vs_arena_array(&epoch->arena, run->count, sizeof(*epoch->sent));
    epoch->homes = vs_arena_array(&epoch->arena, run->count, sizeof(*epoch->homes));
    if (epoch->arena.failure != 0)
        return epoch->arena.failure;
    for (uint32_t i = 0; i < run->count; i++) {
        struct own *own = &epoch->owns[epoch->own_count];

        if (blocks[i].slot >= (uint32_t)slots->count || blocks[i].block < 0 ||
            blocks[i].block > INT64_MAX / MPIIO_BLOCK_SIZE) {
            errors[i] = -EINVAL;
            continue;
        }
        own->block = blocks[i].block;
        own->home = mpiio_homes_node(epoch->means->homes, own->block);
        own->index = i;
        own->may_wait = blocks[i].may_wait;
        own->slot = mpiio_slots_get(slots, (int)blocks[i].slot);
        own->shape = engine_shape_of(&own->slot);
        epoch->counters->dirty_bytes += own->shape.dirty;
        if (own->shape.dirty > 0)
            epoch->own_count++;
    }
    qsort(epoch->owns, epoch->own_count, sizeof(*epoch->owns), compare_owns);
    list_homes(epoch);
    return 0;
}

/* Returns a new list of empty parts for the sources, or NULL. */
static struct engine_part *same_nodes(struct epoch *epoch)
{
    struct engine_part *copy = vs_arena_array(&epoch->arena, epoch->source_count, sizeof(*copy));

    for (int i = 0; i < epoch->source_count && copy != NULL; i++)
        copy[i].node = epoch->sources[i].node;
    return copy;
}

/* Collective: reports to each home how many pieces it will get from each node. */
static int count_notices(struct epoch *epoch)
{
    int64_t total;

    epoch->source_count = engine_collective_transpose(epoch->means->group, epoch->homes,
                                                      epoch->home_count, &epoch->sources);
    total = engine_parts_begin(epoch->sources, epoch->source_count);
    /* MPI counts are ints. */
    if (total > INT_MAX)
        return -EOVERFLOW;
    epoch->received_count = (size_t)total;
    epoch->received = vs_arena_array(&epoch->arena, total, sizeof(*epoch->received));
    epoch->outcomes =
        vs_arena_array(&epoch->arena, total + (int64_t)epoch->own_count, sizeof(*epoch->outcomes));
    epoch->asks = same_nodes(epoch);
    epoch->in_words = same_nodes(epoch);
    epoch->out_words = vs_arena_array(&epoch->arena, epoch->home_count, sizeof(*epoch->out_words));
    return epoch->arena.failure;
}

/* Returns the number of bytes that other nodes have announced to this home, at most `most`. */
static size_t count_incoming(const struct epoch *epoch, size_t most)
{
    size_t bytes = 0;

    for (int i = 0; i < epoch->source_count; i++) {
        const struct engine_part *source = &epoch->sources[i];

        if (source->node == epoch->means->group->node)
            continue;
        for (int j = 0; j < source->count && bytes < most; j++)
            bytes += (size_t)epoch->received[source->start + j].bytes;
    }
    return bytes < most ? bytes : most;
}

static char *new_buffer(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/*
 * Allocates buffers for the largest possible round: pieces for all other homes that request their
 * contribution, and pieces from others for this home. Pages that stay unused are never touched.
 */
static int make_buffers(struct epoch *epoch)
{
    size_t homes = (size_t)epoch->home_count,
           round = engine_round_bytes(epoch->means->group->nodes);
    size_t out = 0, largest = 0;

    for (size_t i = 0; i < epoch->own_count; i++) {
        size_t bytes = (size_t)epoch->sent[i].bytes;

        if (epoch->owns[i].home == epoch->means->group->node)
            continue;
        out += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (out > round + homes * largest)
        out = round + homes * largest;
    epoch->out = new_buffer(out + ENGINE_PIECE_SLACK);
    epoch->in = new_buffer(count_incoming(epoch, round) + 1);
    epoch->wanted =
        vs_arena_array(&epoch->arena, (int64_t)epoch->own_count, sizeof(*epoch->wanted));
    return epoch->out != NULL && epoch->in != NULL && epoch->wanted != NULL ? 0 : -ENOMEM;
}

static struct engine_notice notice_of(const struct own *own)
{
    bool may_wait = own->may_wait && engine_shape_is_short(&own->shape);

    return (struct engine_notice){.block = own->block,
                                  .bytes = (int32_t)engine_piece_size(&own->shape),
                                  .may_wait = may_wait ? (int32_t)own->shape.dirty : 0};
}

/* Collective: announces the pieces to their homes. Returns a local error. */
static int announce_pieces(struct epoch *epoch)
{
    const struct engine_means *means = epoch->means;
    const struct engine_parts notices = {epoch->received, epoch->sources, epoch->source_count};
    int error;

    for (size_t i = 0; i < epoch->own_count; i++)
        epoch->sent[i] = notice_of(&epoch->owns[i]);
    engine_collective_exchange(means->group,
                               &(struct engine_parts){epoch->sent, epoch->homes, epoch->home_count},
                               &notices, sizeof(*epoch->sent));
    error = engine_home_new(means->group->node, means->homes, &notices, &epoch->home);
    return error != 0 ? error : make_buffers(epoch);
}

/* Returns the entry of home in the list at. The list must contain it. */
static const struct engine_part *find_home(const struct engine_part *at, int home)
{
    while (at->node != home)
        at++;
    return at;
}

/* Merges a piece that this node sends to itself. */
static void lay_own(void *argument, int32_t place, uint64_t *mask, char *data)
{
    const struct epoch *epoch = argument;
    int node = epoch->means->group->node;

    engine_piece_lay_slot(&epoch->owns[find_home(epoch->homes, node)->start + place].slot, mask,
                          data);
}

/* Builds the pieces that other homes have requested in the send buffer. */
static void pack_pieces(struct epoch *epoch)
{
    char *to = epoch->out;
    const int32_t *wanted = epoch->wanted;
    const struct engine_part *home = epoch->homes;

    for (int i = 0; i < epoch->want_count; i++) {
        const struct engine_part *want = &epoch->wants[i];
        struct engine_part *words = &epoch->out_words[i];
        char *start = to;

        home = find_home(home, want->node);
        for (int j = 0; j < want->count; j++) {
            const struct own *own = &epoch->owns[home->start + *wanted++];

            if (want->node == epoch->means->group->node)
                continue;
            engine_piece_make(&own->shape, &own->slot, to);
            to += engine_piece_size(&own->shape);
        }
        *words = (struct engine_part){want->node, (int)((size_t)(to - start) / ENGINE_PIECE_UNIT),
                                      (int)((size_t)(start - epoch->out) / ENGINE_PIECE_UNIT)};
    }
}

/* Collective: the homes request pieces and receive them. */
static void fetch_pieces(struct epoch *epoch)
{
    struct engine_collective *group = epoch->means->group;
    const int32_t *asks = engine_home_ask(epoch->home, epoch->asks, epoch->in_words);

    free(epoch->wants);
    epoch->want_count =
        engine_collective_transpose(group, epoch->asks, epoch->source_count, &epoch->wants);
    engine_parts_begin(epoch->wants, epoch->want_count);
    engine_collective_exchange(
        group, &(struct engine_parts){(void *)asks, epoch->asks, epoch->source_count},
        &(struct engine_parts){epoch->wanted, epoch->wants, epoch->want_count}, sizeof(*asks));
    pack_pieces(epoch);
    engine_collective_exchange(
        group, &(struct engine_parts){epoch->out, epoch->out_words, epoch->want_count},
        &(struct engine_parts){epoch->in, epoch->in_words, epoch->source_count}, ENGINE_PIECE_UNIT);
}

/* Collective: runs one round. Returns true while more rounds are needed. */
static bool exchange_round(struct epoch *epoch)
{
    const struct engine_means *means = epoch->means;

    fetch_pieces(epoch);
    for (int i = 0; i < epoch->want_count; i++)
        epoch->counters->sent_bytes += (uint64_t)epoch->out_words[i].count * ENGINE_PIECE_UNIT;
    for (int i = 0; i < epoch->source_count; i++)
        epoch->counters->received_bytes += (uint64_t)epoch->in_words[i].count * ENGINE_PIECE_UNIT;
    epoch->counters->rounds++;
    engine_home_take(epoch->home, epoch->in, lay_own, epoch);
    return engine_home_store(epoch->home, means->file, means->group, epoch->counters);
}

/* Collective: the homes report the result of each piece. */
static void return_outcomes(struct epoch *epoch, int32_t *errors)
{
    int32_t *received = epoch->outcomes, *own = epoch->outcomes + epoch->received_count;

    engine_home_errors(epoch->home, received);
    engine_collective_exchange(
        epoch->means->group, &(struct engine_parts){received, epoch->sources, epoch->source_count},
        &(struct engine_parts){own, epoch->homes, epoch->home_count}, sizeof(*own));
    for (size_t i = 0; i < epoch->own_count; i++) {
        errors[epoch->owns[i].index] = own[i];
        epoch->counters->left_blocks += own[i] == -EAGAIN;
    }
}

/* Collective: verifies that all nodes run the same epoch, and finds out if any of them wants a
   sync. */
static int compare_epochs(struct engine_collective *group, const struct mpiio_message_flush *run,
                          bool *sync)
{
    int64_t most[3] = {run->sync, (int64_t)run->epoch, -(int64_t)run->epoch};

    engine_collective_max(group, most, 3);
    *sync = most[0] != 0;
    return most[1] == -most[2] ? 0 : -EPROTO;
}

/* Collective. Returns an error that applies to all blocks of all nodes, or 0. */
static int run_epoch(struct epoch *epoch, const struct mpiio_message_flush *run, int32_t *errors)
{
    struct engine_collective *group = epoch->means->group;
    bool sync = false;
    int error = compare_epochs(group, run, &sync);

    if (error != 0)
        return error;
    error = engine_collective_error(group, count_notices(epoch));
    if (error != 0)
        return error;
    error = engine_collective_error(group, announce_pieces(epoch));
    if (error != 0)
        return error;
    while (exchange_round(epoch))
        continue;
    return_outcomes(epoch, errors);
    return sync ? engine_collective_error(group, engine_file_sync(epoch->means->file)) : 0;
}

void engine_epoch(const struct engine_means *means, const struct mpiio_message_flush *run,
                  const struct mpiio_flush_block *blocks, int32_t *errors,
                  struct mpiio_message_result *result)
{
    struct epoch epoch = {.means = means, .counters = &result->counters};
    int error;

    *result = (struct mpiio_message_result){.epoch = run->epoch};
    memset(errors, 0, run->count * sizeof(*errors));
    error = look_at_blocks(&epoch, run, blocks, errors);
    /* Without memory for its blocks, the node takes part as if it had none. */
    epoch.arena.failure = 0;
    result->error = run_epoch(&epoch, run, errors);
    for (uint32_t i = 0; i < run->count; i++)
        if (error != 0 || result->error != 0)
            errors[i] = error != 0 ? error : result->error;
    engine_home_free(epoch.home);
    free(epoch.out);
    free(epoch.in);
    free(epoch.sources);
    free(epoch.wants);
    vs_arena_free(&epoch.arena);
}
