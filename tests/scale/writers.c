/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <stdlib.h>

#include "daemons.h"
#include "core/cache/homes.h"
#include "engines.h"
#include "shared_file.h"

/* Bytes that a node writes to each block if only the costs matter. */
#define MEASURED 512

/* The epoch in which some nodes write much data. */
#define MUCH_IN 3

/* The dirty data of a node. */
struct writer {
    int64_t block[WRITERS_BLOCKS]; /* by slot; -1: the slot is free */
    bool tried[WRITERS_BLOCKS];    /* the block was frozen before, and must be stored now */
    uint64_t version;              /* of the bytes that it writes */
    uint64_t epoch;                /* the epoch that bytes are frozen for; 0: none are */
    int slot[WRITERS_BLOCKS];      /* slots that are frozen */
    struct mpiio_flush_block list[WRITERS_BLOCKS];
    int32_t errors[WRITERS_BLOCKS];
    uint32_t count;
    struct engine_means means;
};

static struct {
    int blocks;
    struct writer *writer;    /* by node */
    struct mpiio_slots slots; /* of all nodes */
    struct mpiio_homes homes;
} writers;

void writers_create(int blocks)
{
    int servers = run.nodes < WRITERS_SERVERS ? run.nodes : WRITERS_SERVERS;

    writers.blocks = blocks;
    writers.writer = calloc((size_t)run.nodes, sizeof(*writers.writer));
    if (writers.writer == NULL ||
        mpiio_slots_create(&writers.slots, run.nodes * WRITERS_BLOCKS) != 0)
        abort();
    /* With stripes of one block, each block has another home than the one before it. */
    writers.homes = mpiio_homes_of(run.collective ? 0 : MPIIO_BLOCK_SIZE, servers, run.nodes);
    for (int i = 0; i < run.nodes; i++) {
        writers.writer[i].means = (struct engine_means){
            .group = engines_group(i), .homes = &writers.homes, .slots = &writers.slots};
        for (int j = 0; j < WRITERS_BLOCKS; j++)
            writers.writer[i].block[j] = -1;
    }
}

void writers_free(void)
{
    mpiio_slots_destroy(&writers.slots);
    free(writers.writer);
}

static struct mpiio_slot slot_of(int node, int index)
{
    return mpiio_slots_get(&writers.slots, node * WRITERS_BLOCKS + index);
}

static void clear(int node, int index)
{
    mpiio_slots_clear(&writers.slots, node * WRITERS_BLOCKS + index, true);
    writers.writer[node].block[index] = -1;
    writers.writer[node].tried[index] = false;
}

/* Returns the byte that the node writes at an offset of a block. Other nodes and later versions
   write other bytes. */
static char value(int node, uint64_t version, size_t at)
{
    uint64_t hash =
        ((uint64_t)node * 40503 + version) * 0x9e3779b97f4a7c15 + at * 0x2545f4914f6cdd1d;

    return (char)(hash >> 40);
}

static void write_bytes(int node, int index, size_t start, size_t length)
{
    struct mpiio_slot slot = slot_of(node, index);
    struct mpiio_mask_runs bytes = {start, length, 1, 0};

    if (length == 0)
        return;
    mpiio_slot_touch(&slot, bytes);
    for (size_t i = start; i < start + length; i++)
        slot.data[i] = value(node, writers.writer[node].version, i);
    mpiio_mask_set(slot.mask, bytes);
}

/* Writes to a block: a part of the node's own bytes or all of them, in one run or many, and
   shared bytes. */
static void write_block(int node, int index)
{
    size_t own = shared_file_own_start(node), size = shared_file_own_size();
    size_t shared = (size_t)MPIIO_BLOCK_SIZE / 8 * 7, start;

    switch (daemons_random(4)) {
    case 0:
        write_bytes(node, index, own, size);
        break;
    case 1:
        start = daemons_random((unsigned int)size);
        write_bytes(node, index, own + start, 1 + daemons_random((unsigned int)(size - start)));
        break;
    case 2:
        for (start = daemons_random(64); start + 8 < size; start += 9 + daemons_random(400))
            write_bytes(node, index, own + start, 1 + daemons_random(8));
        break;
    default:
        break;
    }
    if (daemons_random(3) != 0)
        return;
    start = daemons_random(120000);
    write_bytes(node, index, shared + start, 1 + daemons_random(10000));
}

/* Returns the slot of the block, or a free one for it, or -1 if there is none. */
static int slot_for(struct writer *writer, int64_t block)
{
    int free = -1;

    for (int i = 0; i < WRITERS_BLOCKS; i++) {
        if (writer->block[i] == block)
            return i;
        if (writer->block[i] < 0)
            free = i;
    }
    if (free >= 0)
        writer->block[free] = block;
    return free;
}

static void write_something(int node, int count)
{
    struct writer *writer = &writers.writer[node];
    bool measures = run.fault == NONE && !run.checks;

    writer->version++;
    for (int i = 0; i < count; i++) {
        int index = slot_for(writer, (int64_t)daemons_random((unsigned int)writers.blocks));

        if (index < 0)
            continue;
        if (measures)
            write_bytes(node, index, (size_t)node % 256 * MEASURED, MEASURED);
        else
            write_block(node, index);
    }
}

/* Some nodes write so much to the same blocks that the home fetches them in several rounds. */
static void write_much(int node)
{
    size_t shared = (size_t)MPIIO_BLOCK_SIZE / 8 * 7;

    writers.writer[node].version++;
    if (node % (run.nodes / 6 + 1) != 0)
        return;
    for (int64_t block = 0; block < WRITERS_BLOCKS; block++) {
        int index = daemons_random(3) != 0 ? slot_for(&writers.writer[node], block) : -1;

        if (index >= 0)
            write_bytes(node, index, shared, (size_t)MPIIO_BLOCK_SIZE - shared);
    }
}

static void freeze(int node, uint64_t epoch, bool sync)
{
    struct writer *writer = &writers.writer[node];
    bool may_wait = !sync && run.checks && daemons_random(4) != 0;

    writer->epoch = epoch;
    writer->count = 0;
    for (int i = 0; i < WRITERS_BLOCKS; i++) {
        struct mpiio_slot slot = slot_of(node, i);

        if (writer->block[i] < 0)
            continue;
        shared_file_freeze(node, writer->block[i], &slot);
        writer->slot[writer->count] = i;
        writer->list[writer->count++] =
            (struct mpiio_flush_block){.block = writer->block[i],
                                       .slot = (uint32_t)(node * WRITERS_BLOCKS + i),
                                       .may_wait = may_wait && !writer->tried[i]};
    }
}

static void through(int node, const struct mpiio_message_result *result)
{
    const struct writer *writer = &writers.writer[node];

    if (result->error != 0 || result->epoch != writer->epoch)
        daemons_wrong(node, "its engine says that the epoch has failed");
    daemons_through(node, result->epoch);
}

void writers_flush(int node, uint64_t epoch, bool sync, double time)
{
    struct writer *writer = &writers.writer[node];
    struct mpiio_message_flush flush = {.epoch = epoch, .sync = sync};

    if (run.checks && epoch == MUCH_IN)
        write_much(node);
    else
        write_something(node, run.checks ? (int)daemons_random(4) : WRITERS_BLOCKS);
    freeze(node, epoch, sync);
    flush.count = writer->count;
    engines_flush(node, time, &writer->means, &flush, writer->list, writer->errors, through);
}

void writers_resolve(int node)
{
    struct writer *writer = &writers.writer[node];

    writer->epoch = 0;
    for (uint32_t i = 0; i < writer->count; i++) {
        int index = writer->slot[i];
        struct mpiio_slot slot = slot_of(node, index);

        if (writer->errors[i] == -EAGAIN && !writer->list[i].may_wait)
            daemons_wrong(node, "a block is left that may not wait");
        shared_file_resolve(node, writer->block[index], &slot, writer->errors[i]);
        if (writer->errors[i] == 0)
            clear(node, index);
        else
            writer->tried[index] = true;
    }
}

static void store_alone(int node)
{
    for (int i = 0; i < WRITERS_BLOCKS; i++) {
        struct mpiio_slot slot = slot_of(node, i);

        if (writers.writer[node].block[i] < 0)
            continue;
        shared_file_store_alone(node, writers.writer[node].block[i], &slot);
        clear(node, i);
    }
}

void writers_go_alone(int node)
{
    writers.writer[node].epoch = 0;
    store_alone(node);
    write_something(node, WRITERS_BLOCKS);
    store_alone(node);
}

void writers_check(int node)
{
    for (int64_t block = 0; block < writers.blocks; block++) {
        struct mpiio_slot slot, *dirty = NULL;

        for (int i = 0; i < WRITERS_BLOCKS; i++) {
            if (writers.writer[node].block[i] != block)
                continue;
            slot = slot_of(node, i);
            dirty = &slot;
        }
        shared_file_check(node, block, dirty);
    }
}
