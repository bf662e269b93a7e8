/* SPDX-License-Identifier: MIT */
#include "cache_model.h"
#include "core/cache/cache.h"

/*
 * Write-back of values that were read, changed and written. They lie at random places within blocks
 * and across their borders. Any of their bytes may be dirty in either generation.
 */

/* Writes to the model as write-back does. Returns false if some of the bytes are frozen. */
static bool model_merged(int number, int64_t position, int length)
{
    bool any_clean = false, in_block = false;

    for (int i = 0; i < length; i++)
        if (model.frozen.there[vs_map_displacement(map_of(number), position + i)])
            return false;
    for (int i = 0, start = 0; i < length; i++) {
        int64_t at = vs_map_displacement(map_of(number), position + i);
        int64_t next = vs_map_displacement(map_of(number), position + i + 1);

        in_block |= model.active.there[at];
        if (i + 1 < length && next / MPIIO_BLOCK_SIZE == at / MPIIO_BLOCK_SIZE)
            continue;
        for (; start <= i && in_block; start++) {
            int64_t place = vs_map_displacement(map_of(number), position + start);

            model.active.there[place] = true;
            model.active.value[place] = bytes[start];
            model.active.wrote[place / MPIIO_BLOCK_SIZE][number] = true;
        }
        any_clean |= !in_block;
        in_block = false;
        start = i + 1;
    }
    for (int i = 0; i < length && any_clean; i++) {
        int64_t at = vs_map_displacement(map_of(number), position + i);

        model.file[at] = bytes[i];
        model.size = at >= model.size ? at + 1 : model.size;
    }
    return true;
}

static void put_merged(int number)
{
    int length = 1 + below(32);
    int64_t position = below((int)room_of(number) - length);
    struct mpiio_counters done = {0};
    struct mpiio_transfer transfer = {.map = map_of(number),
                                      .position = position,
                                      .length = (size_t)length,
                                      .buffer = (char *)bytes,
                                      .done = &done,
                                      .writer = (uint64_t)number + 100,
                                      .put = MPIIO_PUT_MERGED};

    fill_randomly(bytes, (size_t)length);
    mpiio_cache_write((struct mpiio_source *)model.cache, &transfer);
    if (model_merged(number, position, length)) {
        assert_int_equal(transfer.error, 0);
        assert_int_equal(transfer.bytes, length);
    } else {
        assert_int_equal(transfer.error, -EINPROGRESS);
        assert_int_equal(transfer.bytes, 0);
    }
    read_slice(number, position, (size_t)length);
}

static void random_step(void)
{
    int number = below(model.slices);
    int kind = below(40);

    if (kind < 4)
        random_flush(kind);
    else if (kind < 8)
        write_slice(number, below((int)room_of(number) - 40), 1 + (size_t)below(40));
    else
        put_merged(number);
}

TEST(test_random_blocks)
{
    for (int round = 0; round < 6; round++) {
        start(64 << 20);
        add_slice(make_view("'disp': %d", (int)MPIIO_BLOCK_SIZE - 30));
        add_slice(make_vector(5, 1, MPIIO_BLOCK_SIZE / 20));
        add_slice(make_vector(2, 3, MPIIO_BLOCK_SIZE / 15 + 1));
        add_slice(make_vector(MPIIO_BLOCK_SIZE - 11, 2, 7));
        model.slices = 4;
        for (int i = 0; i < UNIT_ROUNDS(1000); i++)
            random_step();
        store_rest();
    }
}

BEFORE_TESTS
{
    keep_guard();
}
