/* SPDX-License-Identifier: MIT */
#ifndef CACHE_MODEL_H
#define CACHE_MODEL_H

/* A model of write-back: it keeps one byte for each byte of each generation. */

#include "core/cache/cache.h"
#include "random_views.h"

#define BYTES  (5 << 20)
#define BLOCKS 5
#define SLICES 12

struct layer {
    bool there[BYTES];
    unsigned char value[BYTES];
    bool wrote[BLOCKS][SLICES]; /* the slices that have data in a block */
    bool tried[BLOCKS];         /* the block was frozen before, and stayed dirty */
};

static struct model {
    struct opened opened;
    struct mpiio_cache *cache;
    struct mpiio_slice *slice[SLICES];
    int slices;
    int64_t size; /* of the file */
    unsigned char file[BYTES];
    struct layer active, frozen;
    bool is_frozen;
    const struct mpiio_flush_block *list;
    size_t count;
    int unsaved[SLICES];
} model;

static unsigned char seen[BYTES], bytes[BYTES];

static inline int model_free(void **state)
{
    for (int i = 0; i < model.slices; i++)
        mpiio_slice_free(model.slice[i]);
    mpiio_store_drop_cache(model.opened.store, model.cache);
    close_opened(&model.opened);
    memset(&model, 0, sizeof(model));
    return 0;
}

TEST_GROUP(NULL, model_free)

/* Makes a model in place of the previous one. */
static inline void start(int64_t dirty_max)
{
    model_free(NULL);
    restore_guard();
    model.opened = open_slice(O_RDWR, NULL);
    assert_int_equal(mpiio_store_add_cache(model.opened.store, dirty_max, &model.cache), 0);
}

static inline struct mpiio_slice *add_slice(struct vs_view *view)
{
    struct mpiio_slice *slice = make_slice(model.opened.store, view);

    mpiio_slice_set_id(slice, (uint64_t)model.slices + 100);
    model.slice[model.slices++] = slice;
    return slice;
}

static inline unsigned char model_byte(int64_t at)
{
    if (model.active.there[at])
        return model.active.value[at];
    return model.frozen.there[at] ? model.frozen.value[at] : model.file[at];
}

static inline int64_t model_size(void)
{
    int64_t at = BYTES;

    while (at > model.size && !model.active.there[at - 1] && !model.frozen.there[at - 1])
        at--;
    return at;
}

static inline const struct vs_map *map_of(int number)
{
    return vs_view_map(mpiio_slice_view(model.slice[number]));
}

/* Returns how many positions, counted from the slice's start, lie within the model. */
static inline int64_t room_of(int number)
{
    return vs_view_positions(mpiio_slice_view(model.slice[number]), BYTES);
}

static inline void write_slice(int number, int64_t offset, size_t length)
{
    fill_randomly(bytes, length);
    for (size_t i = 0; i < length; i++) {
        int64_t at = vs_map_displacement(map_of(number), offset + (int64_t)i);

        model.active.there[at] = true;
        model.active.value[at] = bytes[i];
        model.active.wrote[at / MPIIO_BLOCK_SIZE][number] = true;
    }
    assert_int_equal(mpiio_slice_write(model.slice[number], bytes, length, offset), length);
}

static inline void read_slice(int number, int64_t offset, size_t length)
{
    int64_t size = vs_view_slice_size(mpiio_slice_view(model.slice[number]), model_size());
    int64_t there = size > offset ? size - offset : 0;

    assert_int_equal(mpiio_slice_size(model.slice[number]), size);
    there = there < (int64_t)length ? there : (int64_t)length;
    assert_int_equal(mpiio_slice_read(model.slice[number], seen, length, offset), there);
    for (int64_t i = 0; i < there; i++) {
        int64_t at = vs_map_displacement(map_of(number), offset + i);

        if (seen[i] != model_byte(at))
            fail_msg("slice %d: displacement %" PRId64 " is %d and should be %d", number, at,
                     seen[i], model_byte(at));
    }
}

/* Checks that the frozen slots hold exactly what the model has. */
static inline void check_frozen(void)
{
    size_t listed = 0;

    for (int64_t block = 0; block < BLOCKS; block++) {
        const bool *there = model.frozen.there + block * MPIIO_BLOCK_SIZE;
        struct mpiio_slot slot;

        if (memchr(there, 1, (size_t)MPIIO_BLOCK_SIZE) == NULL)
            continue;
        assert_true(listed < model.count);
        assert_int_equal(model.list[listed].may_wait, !model.frozen.tried[block]);
        assert_int_equal(model.list[listed].block, block);
        slot = mpiio_slots_get(mpiio_cache_slots(model.cache), (int)model.list[listed++].slot);
        for (int64_t i = 0; i < MPIIO_BLOCK_SIZE; i++)
            if ((slot.mask[i / 64] >> i % 64 & 1) != there[i] ||
                (there[i] &&
                 (unsigned char)slot.data[i] != model.frozen.value[block * MPIIO_BLOCK_SIZE + i]))
                fail_msg("byte %" PRId64 " of block %" PRId64 " is wrong", i, block);
    }
    assert_int_equal(listed, model.count);
}

static inline void freeze(void)
{
    assert_int_equal(mpiio_cache_freeze(model.cache, true, &model.count), 0);
    model.list = mpiio_slots_blocks(mpiio_cache_slots(model.cache));
    model.frozen = model.active;
    memset(&model.active, 0, sizeof(model.active));
    model.is_frozen = true;
    check_frozen();
}

/* Moves the frozen bytes of a block to the model's file. After an error they become active
   again, except where newer bytes are active. */
static inline void settle_block(int64_t block, int error)
{
    const bool *there = model.frozen.there + block * MPIIO_BLOCK_SIZE;

    model.active.tried[block] |= error != 0 && memchr(there, 1, (size_t)MPIIO_BLOCK_SIZE) != NULL;
    for (int64_t at = block * MPIIO_BLOCK_SIZE; at < (block + 1) * MPIIO_BLOCK_SIZE; at++) {
        if (!model.frozen.there[at])
            continue;
        if (error == 0) {
            model.file[at] = model.frozen.value[at];
            model.size = at >= model.size ? at + 1 : model.size;
        } else if (!model.active.there[at]) {
            model.active.there[at] = true;
            model.active.value[at] = model.frozen.value[at];
        }
    }
    for (int i = 0; i < SLICES && error != 0; i++)
        if (model.frozen.wrote[block][i]) {
            model.active.wrote[block][i] = true;
            model.unsaved[i] = error != -EAGAIN ? error : model.unsaved[i];
        }
}

static inline void settle(const int *errors)
{
    memset(model.unsaved, 0, sizeof(model.unsaved));
    for (int64_t block = 0; block < BLOCKS; block++)
        settle_block(block, errors[block]);
    memset(&model.frozen, 0, sizeof(model.frozen));
    model.is_frozen = false;
}

/* Stores a block from its slot, as another process would. Finds byte runs one bit at a time. */
static inline void store_block(const struct mpiio_flush_block *frozen)
{
    struct mpiio_slot slot = mpiio_slots_get(mpiio_cache_slots(model.cache), (int)frozen->slot);

    for (int64_t i = 0; i < MPIIO_BLOCK_SIZE; i++) {
        int64_t from = i;

        while (i < MPIIO_BLOCK_SIZE && (slot.mask[i / 64] >> i % 64 & 1) != 0)
            i++;
        if (i > from)
            write_file(model.opened.fd, slot.data + from, (size_t)(i - from),
                       frozen->block * MPIIO_BLOCK_SIZE + from);
    }
}

static inline void resolve(void)
{
    int errors[BLOCKS], of_block[BLOCKS] = {0};

    for (size_t i = 0; i < model.count; i++) {
        errors[i] = below(3) > 0 ? 0 : below(2) && model.list[i].may_wait ? -EAGAIN : -ENOSPC;
        of_block[model.list[i].block] = errors[i];
        if (errors[i] == 0)
            store_block(&model.list[i]);
    }
    mpiio_cache_resolve(model.cache, errors);
    settle(of_block);
}

/* Stores all bytes of the model. */
static inline void settle_all(void)
{
    const int errors[BLOCKS] = {0};

    if (model.is_frozen)
        settle(errors);
    model.frozen = model.active;
    memset(&model.active, 0, sizeof(model.active));
    settle(errors);
}

static inline void store_all(void)
{
    assert_int_equal(mpiio_cache_store_all(model.cache), 0);
    settle_all();
    assert_true(mpiio_cache_is_empty(model.cache));
    assert_int_equal(mpiio_cache_end(model.cache), 0);
}

/* Checks that the file holds exactly what was stored. */
static inline void check_file(void)
{
    assert_int_equal(stat_of(model.opened.fd).st_size, model.size);
    assert_int_equal(pread(model.opened.fd, seen, BYTES, 0), model.size);
    assert_memory_equal(seen, model.file, (size_t)model.size);
}

static inline void check_errors(void)
{
    int number = below(model.slices);
    int error = model.unsaved[number];

    assert_int_equal(mpiio_cache_error(model.cache, (uint64_t)number + 100), error);
}

static inline void check_stats(void)
{
    struct mpiio_cache_stats stats;
    int64_t dirty = 0;

    for (int64_t at = 0; at < BYTES; at++)
        dirty += model.active.there[at] + model.frozen.there[at];
    mpiio_cache_get_stats(model.cache, &stats);
    assert_int_equal(stats.dirty_bytes, dirty);
    assert_true(stats.dirty_memory >= dirty);
    assert_true(dirty > 0 || stats.dirty_memory == 0);
}

/* Does the step of a flush that belongs to kind (0 to 3), or checks what the cache reports. */
static inline void random_flush(int kind)
{
    switch (kind) {
    case 0:
        if (!model.is_frozen)
            freeze();
        break;
    case 1:
        if (model.is_frozen)
            resolve();
        break;
    case 2:
        if (below(4) == 0)
            store_all();
        check_file();
        break;
    default:
        check_stats();
    }
}

/* Stores all dirty bytes at the end of a test, and checks the file. */
static inline void store_rest(void)
{
    if (model.is_frozen)
        resolve();
    store_all();
    check_file();
}

#endif
