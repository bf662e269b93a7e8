/* SPDX-License-Identifier: MIT */
#include "shared_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemons.h"
#include "engine/file_write.h"
#include "engines.h"

#define BLOCK      ((size_t)MPIIO_BLOCK_SIZE)
#define MASK_BYTES (BLOCK / 8)
#define SHARED     (BLOCK / 8 * 7)
#define MOST       32 /* the most blocks of the file */

/* us; how often an expired lease is checked (src/engine/file_write.c) */
#define PAUSE 10000.0

static struct {
    int blocks;
    char *stored;              /* the file's bytes */
    char *reported;            /* as reported to nodes, each in its own part */
    char *expected;            /* of the current epoch, where bytes are frozen */
    uint32_t *writer;          /* likewise, for shared bytes: the last node that has them */
    uint64_t *frozen, *marked; /* by byte: frozen for the current epoch, and stored in it */
    bool touched[MOST];        /* by block: some byte is frozen */
    bool used[MOST];           /* by block: some byte was frozen or stored */
    int outcome[MOST];         /* by block, as reported to the first node; 1: not yet */
    int64_t failing;
} file;

static void *get(size_t size)
{
    void *memory = mmap(NULL, size * MOST, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    return memory;
}

/* Creates the file. All simulations reuse its memory, because mapping it anew cost a third of
   the time. */
void shared_file_create(int blocks)
{
    if (blocks > MOST)
        abort();
    file.blocks = blocks;
    file.failing = -1;
    if (file.stored == NULL) {
        file.stored = get(BLOCK);
        file.reported = get(BLOCK);
        file.expected = get(BLOCK);
        file.writer = get((BLOCK - SHARED) * sizeof(*file.writer));
        file.frozen = get(MASK_BYTES);
        file.marked = get(MASK_BYTES);
    }
    memset(file.touched, 0, sizeof(file.touched));
    memset(file.used, 0, sizeof(file.used));
    memset(file.outcome, 0, sizeof(file.outcome));
}

void shared_file_free(void)
{
    for (size_t i = 0; i < (size_t)file.blocks; i++) {
        if (!file.used[i])
            continue;
        memset(file.stored + i * BLOCK, 0, BLOCK);
        memset(file.reported + i * BLOCK, 0, BLOCK);
        memset(file.frozen + i * BLOCK / 64, 0, MASK_BYTES);
        memset(file.marked + i * BLOCK / 64, 0, MASK_BYTES);
    }
}

size_t shared_file_own_size(void)
{
    return SHARED / (size_t)run.nodes;
}

size_t shared_file_own_start(int node)
{
    return (size_t)node * shared_file_own_size();
}

static bool is_set(const uint64_t *mask, size_t at)
{
    return (mask[at / 64] >> at % 64 & 1) != 0;
}

static void set(uint64_t *mask, size_t at)
{
    mask[at / 64] |= (uint64_t)1 << at % 64;
}

/* Checks a block at an epoch's end: all frozen bytes are stored, unless the block was postponed
   or failed. */
static void end_block(size_t block)
{
    uint64_t *frozen = file.frozen + block * MASK_BYTES / 8;
    uint64_t *marked = file.marked + block * MASK_BYTES / 8;
    int outcome = file.outcome[block];

    if (outcome == 0 && memcmp(frozen, marked, MASK_BYTES) != 0)
        daemons_wrong(-1, "not all that was frozen was stored");
    if (outcome == 1)
        daemons_wrong(-1, "nobody was told what became of a block");
    if (outcome == -ENOSPC && file.failing != (int64_t)block)
        daemons_wrong(-1, "a block failed for another");
    memset(frozen, 0, MASK_BYTES);
    memset(marked, 0, MASK_BYTES);
    file.touched[block] = false;
}

void shared_file_begin_epoch(uint64_t epoch)
{
    if (file.blocks == 0)
        return;
    for (size_t i = 0; i < (size_t)file.blocks; i++) {
        if (file.touched[i])
            end_block(i);
        file.outcome[i] = 1;
    }
    file.failing = epoch % 7 == 5 ? (int64_t)daemons_random((unsigned int)file.blocks) : -1;
}

void shared_file_freeze(int node, int64_t block, const struct mpiio_slot *slot)
{
    size_t start = (size_t)block * BLOCK;
    char *expected = file.expected + start;
    uint64_t *frozen = file.frozen + start / 64;
    uint32_t *writer = file.writer + (size_t)block * (BLOCK - SHARED);
    struct mpiio_mask_run bytes = {0};

    if (file.blocks == 0 || mpiio_slot_bytes(slot) == 0)
        return;
    file.touched[block] = file.used[block] = true;
    /* If several nodes write a shared byte, the store keeps that of the node with the highest
     * number. */
    while (mpiio_slot_next_run(slot, bytes.end, MPIIO_BLOCK_SIZE, &bytes)) {
        size_t own = bytes.end < SHARED ? bytes.end : SHARED;

        if (bytes.start < own) {
            mpiio_mask_set(frozen, (struct mpiio_mask_runs){bytes.start, own - bytes.start, 1, 0});
            memcpy(expected + bytes.start, slot->data + bytes.start, own - bytes.start);
        }
        for (size_t i = bytes.start > SHARED ? bytes.start : SHARED; i < bytes.end; i++) {
            if (is_set(frozen, i) && writer[i - SHARED] > (uint32_t)node)
                continue;
            set(frozen, i);
            writer[i - SHARED] = (uint32_t)node;
            expected[i] = slot->data[i];
        }
    }
}

/* Records that the bytes of a slot in the node's own part were reported to it as stored. */
static void tell(int node, size_t start, const struct mpiio_slot *slot)
{
    size_t own = shared_file_own_start(node), end = own + shared_file_own_size();
    struct mpiio_mask_run bytes = {0};

    while (mpiio_slot_next_run(slot, bytes.end, MPIIO_BLOCK_SIZE, &bytes)) {
        size_t from = bytes.start > own ? bytes.start : own;
        size_t to = bytes.end < end ? bytes.end : end;

        if (from < to)
            memcpy(file.reported + start + from, slot->data + from, to - from);
    }
}

/* Returns true if a byte is as reported. Once a node acts alone, shared bytes may have been
   overwritten. */
static bool is_as_told(int node, size_t start, size_t at, bool stored)
{
    size_t own = shared_file_own_start(node);

    if (!stored)
        return !is_set(file.marked, start + at);
    if (run.alone != 0 && (at < own || at >= own + shared_file_own_size()))
        return true;
    return is_set(file.marked, start + at) && file.stored[start + at] == file.expected[start + at];
}

void shared_file_resolve(int node, int64_t block, const struct mpiio_slot *slot, int error)
{
    size_t start = (size_t)block * BLOCK;
    struct mpiio_mask_run bytes = {0};

    if (file.blocks == 0 || mpiio_slot_bytes(slot) == 0)
        return;
    if (error != 0 && error != -EAGAIN && (error != -ENOSPC || block != file.failing))
        daemons_wrong(node, "a block failed that could be stored");
    if (file.outcome[block] != 1 && file.outcome[block] != error)
        daemons_wrong(node, "it is told another end of a block than others");
    file.outcome[block] = error;
    while (mpiio_slot_next_run(slot, bytes.end, MPIIO_BLOCK_SIZE, &bytes)) {
        for (size_t i = bytes.start; i < bytes.end; i++) {
            if (!is_as_told(node, start, i, error == 0)) {
                daemons_wrong(node, error == 0 ? "it is told that what is not there is stored"
                                               : "what was not to be stored is there");
                return;
            }
        }
    }
    if (error == 0)
        tell(node, start, slot);
}

void shared_file_store_alone(int node, int64_t block, const struct mpiio_slot *slot)
{
    size_t start = (size_t)block * BLOCK;
    struct mpiio_mask_run bytes = {0};

    file.used[block] = true;
    while (mpiio_slot_next_run(slot, bytes.end, MPIIO_BLOCK_SIZE, &bytes))
        memcpy(file.stored + start + bytes.start, slot->data + bytes.start,
               bytes.end - bytes.start);
    tell(node, start, slot);
}

void shared_file_check(int node, int64_t block, const struct mpiio_slot *slot)
{
    size_t own = shared_file_own_start(node), size = shared_file_own_size();
    size_t start = (size_t)block * BLOCK;
    struct mpiio_mask_run found;

    if (memcmp(file.stored + start + own, file.reported + start + own, size) == 0)
        return;
    for (size_t i = own; i < own + size; i++) {
        if (file.stored[start + i] == file.reported[start + i])
            continue;
        if (slot == NULL || !mpiio_slot_next_run(slot, i, i + 1, &found) ||
            file.stored[start + i] != slot->data[i]) {
            daemons_wrong(node, "what it was told is stored is not there");
            return;
        }
    }
}

/* Functions that engines call. */

/* Waits for the engine's lease, as a home's fence does, and continues unless the engine is
   killed. */
static void await_lease(int node)
{
    while (!daemons_may_store(node))
        engines_pass(PAUSE);
    if (run.alone != 0)
        daemons_wrong(node, "its engine stores when others act");
}

static void store(int node, const char *bytes, size_t at, size_t length)
{
    if (file.blocks == 0)
        return;
    if (at + length > (size_t)file.blocks * BLOCK) {
        daemons_wrong(node, "it stores behind the file's end");
        return;
    }
    for (size_t i = at; i < at + length; i++) {
        if (is_set(file.marked, i) || !is_set(file.frozen, i)) {
            daemons_wrong(node, is_set(file.marked, i) ? "it stores a byte twice"
                                                       : "it stores what nobody has frozen");
            return;
        }
        set(file.marked, i);
    }
    memcpy(file.stored + at, bytes, length);
}

/* Returns the first byte of a range of the file that cannot be stored, or its end. */
static int64_t failing_from(int64_t start, int64_t end)
{
    int64_t first = file.failing * MPIIO_BLOCK_SIZE;

    if (file.failing < 0 || end <= first || start >= first + MPIIO_BLOCK_SIZE)
        return end;
    return start > first ? start : first;
}

bool engine_file_is_collective(const struct engine_file *unused)
{
    return run.collective;
}

/* Stores bytes, while time passes. The engine may die before or after that. Only some of many
   short runs have such a fault. */
static void store_slowly(int node, const char *bytes, int64_t start, int64_t end)
{
    unsigned int chance = run.fault != NONE ? daemons_random(16) : 1;

    if (chance == 0)
        engines_happen();
    if (chance == 0 && daemons_random(2) == 0)
        engines_pass(daemons_random(2000));
    await_lease(node);
    store(node, bytes, (size_t)start, (size_t)(end - start));
    if (chance == 0)
        engines_happen();
}

int engine_file_write_all(struct engine_file *unused, const void *memory, size_t length,
                          int64_t displacement, struct mpiio_epoch_counters *counters)
{
    int node, error = 0;

    if (length == 0)
        return 0;
    node = engines_enter();
    if (failing_from(displacement, displacement + (int64_t)length) < displacement + (int64_t)length)
        error = -ENOSPC;
    else
        store_slowly(node, memory, displacement, displacement + (int64_t)length);
    engines_leave();
    return error;
}

/* Stores ranges. Sometimes only a part of a range is stored, without an error. */
void engine_file_write(struct engine_file *unused, struct mpiio_transfer *transfer,
                       struct mpiio_epoch_counters *counters)
{
    const struct mpiio_range *ranges = transfer->ranges;
    int node = engines_enter();
    int64_t at = 0;

    transfer->error = 0;
    for (size_t i = 0; i < transfer->count; i++) {
        int64_t start = transfer->position + ranges[i].start, end = start + ranges[i].length;
        int64_t part = failing_from(start, end);

        if (part < end)
            transfer->error = -ENOSPC;
        else if (run.fault != NONE && ranges[i].length > 1 && daemons_random(64) == 0)
            part = start + ranges[i].length / 2;
        if (part > start)
            store_slowly(node, transfer->buffer + ranges[i].start, start, part);
        at = part - transfer->position;
        if (part < end)
            break;
    }
    engines_leave();
    transfer->bytes = (size_t)at;
}

int engine_file_sync(struct engine_file *unused)
{
    return 0;
}
