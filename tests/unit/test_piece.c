/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "unit.h"
#include "engine/home.h"

#define SIZE  ((size_t)MPIIO_BLOCK_SIZE)
#define WORDS MPIIO_BLOCK_WORDS
#define PAGE  ((size_t)MPIIO_PAGE_SIZE)

static struct mpiio_slots slots;
static char *buffer;

/* A block as its home has it, and its expected contents. */
static char data[SIZE], expected[SIZE];
static uint64_t mask[WORDS], expected_mask[WORDS];

/* Random bytes, which slots get from any place. */
static char noise[SIZE + PAGE];

static int set_up(void **state)
{
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)rand();
    buffer = aligned_alloc(64, SIZE * 2 + 64);
    return buffer == NULL || mpiio_slots_create(&slots, 1) != 0;
}

static int tear_down(void **state)
{
    free(buffer);
    mpiio_slots_destroy(&slots);
    return 0;
}

static size_t below(size_t limit)
{
    return (size_t)rand() % limit;
}

static struct mpiio_mask_runs random_runs(void)
{
    struct mpiio_mask_runs runs = {.start = below(SIZE), .count = 1};
    size_t room = SIZE - runs.start;

    runs.length = 1 + below(below(2) ? (room < 50 ? room : 50) : room);
    if (below(2) == 0) {
        runs.stride = (ptrdiff_t)(runs.length + below(100));
        runs.count = (room - runs.length) / (size_t)runs.stride + 1;
        runs.count = 1 + below(runs.count);
    }
    return runs;
}

static struct mpiio_slot random_slot(void)
{
    struct mpiio_slot slot = mpiio_slots_get(&slots, 0);

    mpiio_slots_clear(&slots, 0, below(2) == 0);
    for (size_t i = below(5); i > 0; i--) {
        struct mpiio_mask_runs runs = random_runs();

        mpiio_slot_touch(&slot, runs);
        mpiio_mask_set(slot.mask, runs);
    }
    for (size_t page = 0; page < SIZE; page += PAGE)
        if (mpiio_slot_touched(&slot, page, page + PAGE))
            memcpy(slot.data + page, noise + below(SIZE), PAGE);
    return slot;
}

static bool has(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

/* Applies slot to the expected block, byte by byte. */
static void expect(const struct mpiio_slot *slot)
{
    for (size_t i = 0; i < SIZE; i++) {
        if (i % PAGE == 0 && !mpiio_slot_touched(slot, i, i + PAGE)) {
            i += PAGE - 1;
            continue;
        }
        if (has(slot->mask, i)) {
            expected[i] = slot->data[i];
            expected_mask[i / 64] |= (uint64_t)1 << i % 64;
        }
    }
}

TEST(pieces_are_laid_over_what_is_there)
{
    memset(mask, 0, sizeof(mask));
    memset(expected_mask, 0, sizeof(expected_mask));
    for (int round = 0; round < UNIT_ROUNDS(60); round++) {
        struct mpiio_slot slot = random_slot();
        struct engine_shape shape = engine_shape_of(&slot);
        size_t length = engine_piece_size(&shape);

        /* The mask has at most one bit for each byte. */
        assert_true(length <= sizeof(shape) + shape.dirty + SIZE / 8 + 7);
        assert_true(length % 8 == 0);
        memset(buffer + length + ENGINE_PIECE_SLACK, 0x5a, 8);
        engine_piece_make(&shape, &slot, buffer);
        assert_memory_equal(buffer + length + ENGINE_PIECE_SLACK, "ZZZZZZZZ", 8);
        if (round % 2 == 0)
            assert_int_equal(engine_piece_lay(buffer, length, mask, data), 0);
        else
            engine_piece_lay_slot(&slot, mask, data);
        expect(&slot);
        for (size_t i = 0; i < SIZE; i++)
            if (has(expected_mask, i) && data[i] != expected[i])
                fail_msg("round %d: byte %zu is wrong", round, i);
        assert_memory_equal(mask, expected_mask, sizeof(mask));
    }
}

static blkcnt_t memory_of_slots(void)
{
    struct stat st;

    assert_int_equal(fstat(slots.fd, &st), 0);
    return st.st_blocks;
}

TEST(what_was_not_touched_stays_so)
{
    struct mpiio_slot slot = mpiio_slots_get(&slots, 0);
    struct mpiio_mask_runs ends[] = {{10, 5, 1, 0}, {SIZE - 3, 3, 1, 0}};
    struct mpiio_mask_runs many = {100, 1, 20000, 2};

    mpiio_slots_clear(&slots, 0, false);
    for (size_t i = 0; i < 2; i++) {
        mpiio_slot_touch(&slot, ends[i]);
        mpiio_mask_set(slot.mask, ends[i]);
        memset(slot.data + ends[i].start, 1, ends[i].length);
    }
    /* Once as runs, and once as a mask that spans the gap. */
    for (int i = 0; i < 2; i++) {
        blkcnt_t memory = memory_of_slots();
        struct engine_shape shape = engine_shape_of(&slot);

        assert_int_equal(shape.dirty, i == 0 ? 8 : 20008);
        assert_int_equal(shape.runs, i == 0 ? 2 : 0);
        engine_piece_make(&shape, &slot, buffer);
        assert_int_equal(memory_of_slots(), memory);
        mpiio_slot_touch(&slot, many);
        mpiio_mask_set(slot.mask, many);
        memset(slot.data + many.start, 1, many.count * 2);
    }
}

/* A piece that is truncated, longer, or changed anywhere is either applied or refused. It has no
   other effect. */
TEST(broken_pieces_are_refused)
{
    for (int round = 0; round < UNIT_ROUNDS(300); round++) {
        struct mpiio_slot slot = random_slot();
        struct engine_shape shape = engine_shape_of(&slot);
        size_t length = engine_piece_size(&shape);

        engine_piece_make(&shape, &slot, buffer);
        assert_int_equal(engine_piece_lay(buffer, length + 8, mask, data), -EPROTO);
        assert_int_equal(engine_piece_lay(buffer, length - 8, mask, data), -EPROTO);
        buffer[below(length < 200 ? length : 200)] ^= (char)(1 << below(8));
        engine_piece_lay(buffer, length, mask, data);
    }
    assert_int_equal(engine_piece_lay(buffer, 8, mask, data), -EPROTO);
}

TEST_GROUP(set_up, tear_down)
