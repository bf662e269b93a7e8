/* SPDX-License-Identifier: MIT */
#include "random.h"
#include "slice_fixture.h"

#include "core/cache/slots.h"

/* Tests masks against an array with one flag for each byte. */

#define BYTES 40000

static uint64_t mask[MPIIO_MASK_WORDS(BYTES)], lower_mask[MPIIO_MASK_WORDS(BYTES)];
static unsigned char flags[BYTES], lower_flags[BYTES];
static unsigned char data[BYTES], lower[BYTES], wanted[BYTES];
static unsigned char packed[BYTES + MPIIO_MASK_SLACK];

static struct mpiio_mask_runs random_runs(void)
{
    static const int lengths[] = {1, 2, 4, 8, 16, 32, 64, 512};
    int length = below(2) ? lengths[below(8)] : 1 + below(below(2) ? 70 : 3000);
    int stride = below(3) == 0 ? 2 * length : below(2) ? length + below(40) : 1 + below(4000);
    int most = (BYTES - length) / stride + 1;
    int count = 1 + below(most);
    int start = below(BYTES - (count - 1) * stride - length + 1);
    bool back = below(4) == 0;

    return (struct mpiio_mask_runs){.start = (size_t)(back ? start + (count - 1) * stride : start),
                                    .length = (size_t)length,
                                    .count = (size_t)count,
                                    .stride = back ? -stride : stride};
}

/* Sets the flags of runs to value. If value is 2, counts the flags that are set instead. */
static size_t apply(unsigned char *to, struct mpiio_mask_runs runs, int value, size_t *total)
{
    size_t set = 0;

    for (size_t run = 0; run < runs.count; run++)
        for (size_t i = 0; i < runs.length; i++) {
            unsigned char *flag = to + (ptrdiff_t)runs.start + (ptrdiff_t)run * runs.stride + i;

            set += *flag;
            if (value != 2)
                *flag = (unsigned char)value;
            *total += 1;
        }
    return set;
}

static void check_flags(const uint64_t *bits, const unsigned char *expected)
{
    size_t at = 0, total = 0;
    struct mpiio_mask_run run;

    while (mpiio_mask_next_run(bits, at, BYTES, &run)) {
        for (; at < run.start; at++)
            assert_int_equal(expected[at], 0);
        for (; at < run.end; at++)
            assert_int_equal(expected[at], 1);
        assert_true(at == BYTES || expected[at] == 0);
        total += run.end - run.start;
    }
    for (; at < BYTES; at++)
        assert_int_equal(expected[at], 0);
    assert_int_equal(mpiio_mask_count(bits, 0, BYTES), total);
}

static void random_mask(uint64_t *bits, unsigned char *expected)
{
    size_t total = 0;

    memset(bits, 0, sizeof(mask));
    memset(expected, 0, sizeof(flags));
    for (int i = below(4); i >= 0; i--) {
        struct mpiio_mask_runs runs = random_runs();

        mpiio_mask_set(bits, runs);
        apply(expected, runs, 1, &total);
    }
}

TEST(test_runs)
{
    for (int i = 0; i < 300; i++) {
        struct mpiio_mask_runs runs = random_runs(), look = random_runs();
        size_t total = 0, set;

        random_mask(mask, flags);
        mpiio_mask_clear(mask, runs);
        apply(flags, runs, 0, &total);
        check_flags(mask, flags);
        if (below(4) == 0) {
            mpiio_mask_set(mask, look);
            apply(flags, look, 1, &total);
        }
        total = 0;
        set = apply(flags, look, 2, &total);
        assert_int_equal(mpiio_mask_test(mask, look), set == 0       ? MPIIO_MASK_NONE
                                                      : set == total ? MPIIO_MASK_ALL
                                                                     : MPIIO_MASK_SOME);
    }
}

TEST(test_pack)
{
    for (int i = 0; i < 300; i++) {
        size_t from = (size_t)below(BYTES), to = from + (size_t)below(BYTES - (int)from) + 1, n = 0;

        random_mask(mask, flags);
        if (i % 3 == 0) {
            from = 0;
            to = BYTES;
        }
        fill_randomly(data, BYTES);
        memset(packed, 0xee, sizeof(packed));
        assert_int_equal(mpiio_mask_pack(mask, from, to, data, packed),
                         mpiio_mask_count(mask, from, to));
        for (size_t at = from; at < to; at++)
            if (flags[at])
                assert_int_equal(packed[n++], data[at]);
        fill_randomly(packed, BYTES);
        n = 0;
        memcpy(wanted, data, BYTES);
        for (size_t at = from; at < to; at++)
            if (flags[at])
                wanted[at] = packed[n++];
        assert_int_equal(mpiio_mask_unpack(mask, from, to, packed, data), n);
        assert_memory_equal(data, wanted, BYTES);
    }
}

TEST(test_merge_and_lay)
{
    for (int i = 0; i < 300; i++) {
        random_mask(mask, flags);
        random_mask(lower_mask, lower_flags);
        fill_randomly(data, BYTES);
        fill_randomly(lower, BYTES);
        for (int at = 0; at < BYTES; at++) {
            wanted[at] = lower_flags[at] && !flags[at] ? lower[at] : data[at];
            flags[at] |= lower_flags[at];
        }
        mpiio_mask_merge(mask, data, lower_mask, lower, MPIIO_MASK_WORDS(BYTES), true);
        assert_memory_equal(data, wanted, BYTES);
        check_flags(mask, flags);
        fill_randomly(lower, BYTES);
        for (int at = 0; at < BYTES; at++)
            wanted[at] = lower_flags[at] ? lower[at] : data[at];
        mpiio_mask_merge(mask, data, lower_mask, lower, MPIIO_MASK_WORDS(BYTES), false);
        assert_memory_equal(data, wanted, BYTES);
        check_flags(mask, flags);
    }
}

/* The engine sees the blocks that the daemon lists, and the daemon the engine's results. Nothing
   else has their memory, which is there before a flush. */
TEST(test_lists_of_a_flush)
{
    struct mpiio_slots slots, other;
    int64_t before;

    assert_int_equal(mpiio_slots_create(&slots, 1000), 0);
    assert_int_equal(mpiio_slots_map(&other, slots.fd), 0);
    before = stat_of(slots.fd).st_blocks;
    for (int i = 0; i < 1000; i++) {
        mpiio_slots_blocks(&slots)[i] = (struct mpiio_flush_block){
            .block = INT64_MAX - i, .slot = UINT32_MAX, .may_wait = true};
        mpiio_slots_errors(&other)[i] = -i;
        memset(mpiio_slots_get(&slots, i).pages, 0xff, MPIIO_PAGE_WORDS * sizeof(uint64_t));
    }
    mpiio_lease_set(mpiio_slots_lease(&slots), 17);
    assert_int_equal(stat_of(slots.fd).st_blocks, before);
    for (int i = 0; i < 1000; i++) {
        const struct mpiio_flush_block *block = &mpiio_slots_blocks(&other)[i];

        assert_true(block->block == INT64_MAX - i && block->slot == UINT32_MAX && block->may_wait);
        assert_int_equal(mpiio_slots_errors(&slots)[i], -i);
        assert_true(mpiio_slots_get(&other, i).pages[MPIIO_PAGE_WORDS - 1] == UINT64_MAX);
    }
    assert_int_equal(mpiio_slots_get(&other, 0).data[0], 0);
    mpiio_slots_unmap(&other);
    mpiio_slots_destroy(&slots);
}

/* The engine sees the bytes that the daemon writes into a slot. */
TEST(test_slots)
{
    const struct mpiio_mask_runs runs = {.start = 300000, .length = 8, .count = 9000, .stride = 16};
    struct mpiio_slots slots, other;
    struct mpiio_slot slot, seen;
    struct mpiio_mask_run run = {0};
    int64_t before;
    int fd = make_file(), count = 0;

    assert_int_equal(mpiio_slots_map(&other, fd), -EINVAL);
    close(fd);
    assert_int_equal(mpiio_slots_create(&slots, 1000), 0);
    assert_int_equal(mpiio_slots_map(&other, slots.fd), 0);
    assert_int_equal(other.count, 1000);
    slot = mpiio_slots_get(&slots, 999);
    seen = mpiio_slots_get(&other, 999);
    before = stat_of(slots.fd).st_blocks;
    mpiio_slot_touch(&slot, runs);
    mpiio_mask_set(slot.mask, runs);
    memset(slot.data + 300000, 'x', 8);
    while (mpiio_slot_next_run(&seen, run.end, MPIIO_BLOCK_SIZE, &run)) {
        assert_int_equal(run.start, 300000 + 16 * count++);
        assert_int_equal(run.end, run.start + 8);
    }
    assert_int_equal(count, 9000);
    assert_int_equal(seen.data[300007], 'x');
    assert_int_equal(mpiio_slot_bytes(&seen), 72000);
    /* 36 pages of data and 5 of the mask. Reading them has allocated no more. */
    assert_int_equal(mpiio_slot_memory(seen.pages), 41 * MPIIO_PAGE_SIZE);
    assert_in_range(stat_of(slots.fd).st_blocks - before, 0, 42 * 8);
    mpiio_slots_clear(&slots, 999, false);
    assert_in_range(stat_of(slots.fd).st_blocks - before, 0, 8);
    assert_int_equal(mpiio_slot_bytes(&seen), 0);
    assert_false(mpiio_slot_next_run(&seen, 0, MPIIO_BLOCK_SIZE, &run));
    mpiio_slot_touch(&slot, runs);
    mpiio_mask_set(slot.mask, runs);
    mpiio_slots_clear(&slots, 999, true);
    assert_int_equal(mpiio_mask_count(seen.mask, 0, (size_t)MPIIO_BLOCK_SIZE), 0);
    mpiio_slots_unmap(&other);
    mpiio_slots_destroy(&slots);
}
