/* SPDX-License-Identifier: MIT */
#include "home.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

#define BLOCK_SIZE  ((size_t)MPIIO_BLOCK_SIZE)
#define GROUP_SIZE  (MPIIO_HOMES_GROUP * BLOCK_SIZE)
#define GROUP_WORDS (MPIIO_HOMES_GROUP * (size_t)MPIIO_BLOCK_WORDS)

/* Short runs are passed to the store in lists of this length. */
#define RANGES 4096

/* An announced piece. */
struct piece {
    int64_t block;
    int32_t source; /* index of its node's part of the notices */
    int32_t place;  /* its index among its node's announcements */
    int32_t bytes;
    int32_t may_wait; /* as announced */
    size_t notice;    /* its index among the notices of all nodes */
};

enum group_state { GROUP_CLOSED, GROUP_OPEN, GROUP_DONE };

struct group {
    enum group_state state;
    int64_t number;                 /* its first block, divided by MPIIO_HOMES_GROUP */
    size_t missing;                 /* pieces that have not arrived yet */
    size_t next[MPIIO_HOMES_GROUP]; /* for each block: the piece to request next */
    size_t end[MPIIO_HOMES_GROUP];  /* for each block: the end of its pieces */
    int32_t error[MPIIO_HOMES_GROUP];
    bool given_up[MPIIO_HOMES_GROUP]; /* a store to the block has failed; no other is tried */
    char *data;                       /* while open; NULL: memory is exhausted */
    uint64_t *mask;                   /* after the data */
};

/* A long run that waits for the collective write. */
struct long_run {
    struct group *group;
    struct mpiio_range range;
};

struct engine_home {
    struct vs_arena arena; /* owns all lists but the groups' memory and long_runs */
    int nodes;
    int source_count; /* parts of the notices */
    int own;          /* this node's part; -1: it has none */
    size_t piece_count;
    struct piece *pieces; /* sorted by block, then by node */
    size_t group_count;
    struct group *groups; /* ascending */
    size_t first;         /* all groups before it are done */
    int open;
    char *spare[ENGINE_OPEN]; /* memory of closed groups, for reuse */
    int spare_count;
    size_t *asked; /* pieces of the current round, sorted by node once chosen */
    size_t *chosen;
    int32_t *asks;
    size_t ask_count;
    size_t *of_source; /* bytes requested from each source in this round */
    struct long_run *long_runs;
    size_t long_count, long_room;
    struct mpiio_range *ranges; /* RANGES of them */
};

static void skip_done(struct engine_home *home)
{
    while (home->first < home->group_count && home->groups[home->first].state == GROUP_DONE)
        home->first++;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    return a->block != b->block ? vs_compare(a->block, b->block) : vs_compare(a->source, b->source);
}

/* Returns true if the pieces [first, end), which are all pieces of a block, can wait for another
   flush. */
static bool are_left(const struct engine_home *home, size_t first, size_t end)
{
    int64_t dirty = 0;

    for (size_t i = first; i < end; i++) {
        if (home->pieces[i].may_wait == 0)
            return false;
        dirty += home->pieces[i].may_wait;
    }
    return dirty < MPIIO_BLOCK_SIZE;
}

/* Returns the group of block. Appends a new one if the last group is another. */
static struct group *last_group(struct engine_home *home, int64_t block)
{
    struct group *group = home->groups + home->group_count - 1;

    if (home->group_count > 0 && group->number == block / MPIIO_HOMES_GROUP)
        return group;
    group = &home->groups[home->group_count++];
    group->number = block / MPIIO_HOMES_GROUP;
    /* It stays done unless a piece is missing. */
    group->state = GROUP_DONE;
    return group;
}

/* Groups the sorted pieces. */
static void make_groups(struct engine_home *home)
{
    for (size_t first = 0, end; first < home->piece_count; first = end) {
        int64_t block = home->pieces[first].block;
        struct group *group = last_group(home, block);
        size_t in_group = (size_t)(block % MPIIO_HOMES_GROUP);

        for (end = first; end < home->piece_count && home->pieces[end].block == block;)
            end++;
        if (are_left(home, first, end)) {
            group->error[in_group] = -EAGAIN;
            continue;
        }
        group->next[in_group] = first;
        group->end[in_group] = end;
        group->missing += end - first;
        group->state = GROUP_CLOSED;
    }
    skip_done(home);
}

static int take_notices(struct engine_home *home, int node, const struct mpiio_homes *homes,
                        const struct engine_parts *notices)
{
    const struct engine_notice *notice = notices->bytes;
    size_t total = 0;

    for (int32_t source = 0; source < notices->count; source++) {
        if (notices->part[source].node == node)
            home->own = source;
        for (int32_t i = 0; i < notices->part[source].count; i++, notice++, total++) {
            if (notice->block < 0 || mpiio_homes_node(homes, notice->block) != node ||
                notice->bytes <= 0 || notice->bytes > ENGINE_PIECE_MOST ||
                notice->bytes % ENGINE_PIECE_UNIT != 0)
                return -EPROTO;
            home->pieces[total] =
                (struct piece){notice->block, source, i, notice->bytes, notice->may_wait, total};
        }
    }
    qsort(home->pieces, total, sizeof(*home->pieces), compare_pieces);
    make_groups(home);
    return 0;
}

/* Allocates the lists of pieces. Returns 0 or a negative errno. */
static int make_lists(struct engine_home *home)
{
    struct vs_arena *arena = &home->arena;
    int64_t count = (int64_t)home->piece_count;

    home->pieces = vs_arena_array(arena, count, sizeof(*home->pieces));
    home->groups = vs_arena_array(arena, count, sizeof(*home->groups));
    home->asked = vs_arena_array(arena, count, sizeof(*home->asked));
    home->chosen = vs_arena_array(arena, count, sizeof(*home->chosen));
    home->asks = vs_arena_array(arena, count, sizeof(*home->asks));
    home->of_source = vs_arena_array(arena, home->source_count, sizeof(*home->of_source));
    home->ranges = vs_arena_array(arena, count > 0 ? RANGES : 0, sizeof(*home->ranges));
    return arena->failure;
}

int engine_home_new(int node, const struct mpiio_homes *homes, const struct engine_parts *notices,
                    struct engine_home **home)
{
    struct engine_home *new = calloc(1, sizeof(*new));
    int error;

    if (new == NULL)
        return -ENOMEM;
    new->nodes = homes->nodes;
    new->source_count = notices->count;
    new->own = -1;
    for (int i = 0; i < notices->count; i++)
        new->piece_count += (size_t)notices->part[i].count;
    error = make_lists(new);
    if (error == 0)
        error = take_notices(new, node, homes, notices);
    if (error != 0) {
        engine_home_free(new);
        return error;
    }
    *home = new;
    return 0;
}

void engine_home_free(struct engine_home *home)
{
    if (home == NULL)
        return;
    for (size_t i = home->first; i < home->group_count; i++)
        free(home->groups[i].data);
    while (home->spare_count > 0)
        free(home->spare[--home->spare_count]);
    free(home->long_runs);
    vs_arena_free(&home->arena);
    free(home);
}

static void set_error(struct group *group, size_t first, size_t last, int error)
{
    for (size_t i = first; i <= last; i++)
        if (group->error[i] == 0)
            group->error[i] = error;
}

static void open_group(struct engine_home *home, struct group *group)
{
    group->state = GROUP_OPEN;
    home->open++;
    if (home->spare_count > 0)
        group->data = home->spare[--home->spare_count];
    else
        group->data = aligned_alloc(64, GROUP_SIZE + GROUP_WORDS * sizeof(uint64_t));
    if (group->data == NULL) {
        /* Its pieces still arrive, and are discarded. */
        set_error(group, 0, MPIIO_HOMES_GROUP - 1, -ENOMEM);
        return;
    }
    group->mask = (uint64_t *)(group->data + GROUP_SIZE);
    memset(group->mask, 0, GROUP_WORDS * sizeof(uint64_t));
}

static void close_group(struct engine_home *home, struct group *group)
{
    group->state = GROUP_DONE;
    home->open--;
    if (group->data != NULL)
        home->spare[home->spare_count++] = group->data;
    group->data = NULL;
    skip_done(home);
}

/* Requests pieces of group while they fit into the round. *total is the sum requested from all
   nodes. */
static void ask_group(struct engine_home *home, struct group *group, size_t *total)
{
    size_t round = engine_round_bytes(home->nodes), share = round / (size_t)home->nodes;

    if (group->state == GROUP_DONE || (group->state == GROUP_CLOSED && home->open == ENGINE_OPEN))
        return;
    for (int i = 0; i < MPIIO_HOMES_GROUP; i++) {
        for (; group->next[i] < group->end[i]; group->next[i]++) {
            const struct piece *piece = &home->pieces[group->next[i]];
            size_t bytes = (size_t)piece->bytes;
            size_t *of_node = &home->of_source[piece->source];

            if ((*total > 0 && *total + bytes > round) ||
                (*of_node > 0 && *of_node + bytes > share))
                break;
            if (group->state == GROUP_CLOSED)
                open_group(home, group);
            *total += bytes;
            *of_node += bytes;
            home->chosen[home->ask_count++] = group->next[i];
        }
    }
}

const int32_t *engine_home_ask(struct engine_home *home, struct engine_part *counts,
                               struct engine_part *words)
{
    size_t round = engine_round_bytes(home->nodes), total = 0;

    home->ask_count = 0;
    memset(home->of_source, 0, (size_t)home->source_count * sizeof(*home->of_source));
    for (int i = 0; i < home->source_count; i++)
        counts[i].count = 0;
    for (size_t i = home->first; i < home->group_count && total < round; i++)
        ask_group(home, &home->groups[i], &total);
    /* Sort by node, stably: pieces of one node keep their order. */
    for (size_t i = 0; i < home->ask_count; i++)
        counts[home->pieces[home->chosen[i]].source].count++;
    for (int i = 0; i < home->source_count; i++)
        words[i].count = i == home->own ? 0 : (int)(home->of_source[i] / ENGINE_PIECE_UNIT);
    engine_parts_begin(words, home->source_count);
    engine_parts_begin(counts, home->source_count);
    for (int i = 0; i < home->source_count; i++)
        home->of_source[i] = (size_t)counts[i].start;
    for (size_t i = 0; i < home->ask_count; i++) {
        const struct piece *piece = &home->pieces[home->chosen[i]];
        size_t place = home->of_source[piece->source]++;

        home->asked[place] = home->chosen[i];
        home->asks[place] = piece->place;
    }
    return home->asks;
}

static struct group *group_of(const struct engine_home *home, int64_t block)
{
    int64_t behind = VS_FIRST(i, (int64_t)home->first + 1, (int64_t)home->group_count,
                              home->groups[i].number > block / MPIIO_HOMES_GROUP);

    return &home->groups[behind - 1];
}

void engine_home_take(struct engine_home *home, const char *pieces,
                      void (*lay_own)(void *argument, int32_t place, uint64_t *mask, char *data),
                      void *argument)
{
    for (size_t i = 0; i < home->ask_count; i++) {
        const struct piece *piece = &home->pieces[home->asked[i]];
        struct group *group = group_of(home, piece->block);
        size_t in_group = (size_t)(piece->block % MPIIO_HOMES_GROUP);
        bool own = piece->source == home->own;

        group->missing--;
        if (group->data != NULL) {
            uint64_t *mask = group->mask + in_group * MPIIO_BLOCK_WORDS;
            char *data = group->data + in_group * BLOCK_SIZE;

            if (own)
                lay_own(argument, piece->place, mask, data);
            else
                set_error(group, in_group, in_group,
                          engine_piece_lay(pieces, (size_t)piece->bytes, mask, data));
        }
        pieces += own ? 0 : piece->bytes;
    }
    home->ask_count = 0;
}

/*
 * Skips blocks that were given up: trims the ranges from range on, and returns the first range that
 * has other bytes, or end.
 */
static struct mpiio_range *skip_given_up(const struct group *group, struct mpiio_range *range,
                                         const struct mpiio_range *end)
{
    while (range < end && group->given_up[(size_t)range->start / BLOCK_SIZE]) {
        int64_t edge = (range->start / (int64_t)BLOCK_SIZE + 1) * (int64_t)BLOCK_SIZE;

        if (range->start + range->length <= edge) {
            range++;
            continue;
        }
        range->length -= edge - range->start;
        range->start = edge;
    }
    return range;
}

/* Returns how many of the ascending ranges can be stored in one call: those before the first
   block that was given up. */
static size_t count_until_given_up(const struct group *group, const struct mpiio_range *range,
                                   const struct mpiio_range *end)
{
    size_t count = 0;

    while (range + count < end && !group->given_up[(size_t)range[count].start / BLOCK_SIZE])
        count++;
    return count;
}

/*
 * Stores the first count ranges of the home, in ascending order. A failure does not affect other
 * blocks, but the rest of its block is given up. On a full disk, each run would otherwise fail one
 * by one while all nodes wait.
 */
static void store_ranges(struct engine_home *home, struct group *group, size_t count,
                         struct engine_file *file, struct mpiio_epoch_counters *counters)
{
    struct mpiio_range *range = home->ranges, *end = range + count;

    while ((range = skip_given_up(group, range, end)) < end) {
        struct mpiio_transfer transfer = {.position = group->number * (int64_t)GROUP_SIZE,
                                          .buffer = group->data,
                                          .ranges = range,
                                          .count = count_until_given_up(group, range, end)};
        int64_t at;
        bool stuck;

        engine_file_write(file, &transfer, counters);
        at = (int64_t)transfer.bytes;
        stuck = transfer.error != 0 || at <= range->start;
        while (range < end && range->start + range->length <= at)
            range++;
        if (range < end && at > range->start) {
            /* Only a part was stored. If the reason is unknown, the next attempt reveals it. */
            range->length -= at - range->start;
            range->start = at;
        }
        if (range < end && stuck) {
            size_t block = (size_t)range->start / BLOCK_SIZE;

            set_error(group, block, block, transfer.error != 0 ? transfer.error : -EIO);
            group->given_up[block] = true;
        }
    }
}

/* Stores the short runs of a group and keeps the long ones for the collective write. Without
   collective writes it stores all runs; a long run for which there is no memory is stored at once,
   too. */
static void store_group(struct engine_home *home, struct group *group, struct engine_file *file,
                        struct mpiio_epoch_counters *counters)
{
    bool collective = engine_file_is_collective(file);
    struct mpiio_mask_run run = {0};
    size_t count = 0;

    while (mpiio_mask_next_run(group->mask, run.end, GROUP_SIZE, &run)) {
        struct mpiio_range range = {(int64_t)run.start, (int64_t)(run.end - run.start)};

        counters->merged_runs++;
        if (collective && run.end - run.start >= ENGINE_LONG_RUN &&
            VS_LIST_ROOM(home->long_runs, home->long_count, home->long_room)) {
            home->long_runs[home->long_count++] = (struct long_run){group, range};
            continue;
        }
        home->ranges[count++] = range;
        if (count == RANGES) {
            store_ranges(home, group, count, file, counters);
            count = 0;
        }
    }
    store_ranges(home, group, count, file, counters);
}

static bool is_ready(const struct group *group)
{
    return group->state == GROUP_OPEN && group->missing == 0;
}

/* Collective: stores a long run as a whole. If that fails, stores it block by block: only the
   blocks that fail get an error. */
static void store_long_run(struct engine_home *home, const struct long_run *run,
                           struct engine_file *file, struct mpiio_epoch_counters *counters)
{
    int64_t start = run->range.start, end = start + run->range.length;
    int64_t position = run->group->number * (int64_t)GROUP_SIZE + start;
    size_t count = 0;

    if (engine_file_write_all(file, run->group->data + start, (size_t)run->range.length, position,
                              counters) == 0)
        return;
    while (start < end) {
        int64_t edge = (start / BLOCK_SIZE + 1) * BLOCK_SIZE;

        edge = edge < end ? edge : end;
        home->ranges[count++] = (struct mpiio_range){start, edge - start};
        start = edge;
    }
    store_ranges(home, run->group, count, file, counters);
}

bool engine_home_store(struct engine_home *home, struct engine_file *file,
                       struct engine_collective *engines, struct mpiio_epoch_counters *counters)
{
    int64_t most[2] = {0}; /* maximum over the homes: long runs, and 1 if pieces are missing */

    home->long_count = 0;
    for (size_t i = home->first; i < home->group_count; i++)
        if (is_ready(&home->groups[i]) && home->groups[i].data != NULL)
            store_group(home, &home->groups[i], file, counters);
    most[0] = (int64_t)home->long_count;
    for (size_t i = home->first; i < home->group_count; i++)
        if (home->groups[i].missing > 0)
            most[1] = 1;
    engine_collective_max(engines, most, 2);
    /* Each node writes a long run of its own, or takes part without one. */
    for (size_t i = 0; i < (size_t)most[0]; i++)
        if (i < home->long_count)
            store_long_run(home, &home->long_runs[i], file, counters);
        else
            engine_file_write_all(file, NULL, 0, 0, counters);
    for (size_t i = home->first; i < home->group_count; i++)
        if (is_ready(&home->groups[i]))
            close_group(home, &home->groups[i]);
    return most[1] != 0;
}

void engine_home_errors(const struct engine_home *home, int32_t *errors)
{
    size_t group = 0;

    for (size_t i = 0; i < home->piece_count; i++) {
        const struct piece *piece = &home->pieces[i];

        while (home->groups[group].number != piece->block / MPIIO_HOMES_GROUP)
            group++;
        errors[piece->notice] = home->groups[group].error[piece->block % MPIIO_HOMES_GROUP];
    }
}
