/* SPDX-License-Identifier: MIT */
/*
 * Tests the trees of loops that types are compiled to, and their shapes, coverage and order in
 * memory. The results for random trees are compared with those of lists of all their bytes. Unlike
 * the types of a spec, the trees may overlap, interleave and descend in every way.
 */

#include "random.h"
#include "unit.h"
#include "viewspec/base/integer.h"
#include "viewspec/map/cover.h"
#include "viewspec/map/node.h"
#include "viewspec/map/map_private.h"
#include "viewspec/map/shape.h"

#define BYTES   96  /* most bytes of a tree */
#define NEAR    500 /* all displacements are within [-NEAR, NEAR) */
#define SAMPLES 4000
#define ITEMS   4
#define WINDOW  160

/* A tree, and the displacements of its bytes and starts in typemap order. Each etype has one
   start. */
struct sample {
    const struct vs_node *node;
    bool ascends; /* the parts of all etypes ascend */
    int64_t size, start_count;
    int64_t bytes[BYTES], starts[BYTES];
};

static struct vs_arena arena;
static struct vs_shapes shapes;
static struct sample samples[SAMPLES];

static int64_t between(int64_t low, int64_t high)
{
    return low + below((int)(high - low + 1));
}

/* Appends the bytes and starts of child, displaced by distance. Returns false if there are too many
   bytes, or if one is not within [-NEAR, NEAR). */
static bool append(struct sample *sample, const struct sample *child, int64_t distance)
{
    if (sample->size + child->size > BYTES)
        return false;
    sample->ascends = sample->ascends && child->ascends;
    for (int64_t i = 0; i < child->size; i++) {
        sample->bytes[sample->size++] = child->bytes[i] + distance;
        if (child->bytes[i] + distance < -NEAR || child->bytes[i] + distance >= NEAR)
            return false;
    }
    for (int64_t i = 0; i < child->start_count; i++)
        sample->starts[sample->start_count++] = child->starts[i] + distance;
    return true;
}

static bool make_run(struct sample *sample)
{
    sample->size = between(1, 3);
    sample->node = vs_node_run(&arena, sample->size);
    for (int64_t i = 0; i < sample->size; i++)
        sample->bytes[i] = i;
    sample->starts[sample->start_count++] = 0;
    return true;
}

static bool starts_ascend(const struct sample *sample)
{
    for (int64_t i = 1; i < sample->start_count; i++)
        if (sample->starts[i] < sample->starts[i - 1])
            return false;
    return sample->ascends;
}

static bool make_etype(struct sample *sample, const struct sample *child)
{
    sample->node = vs_node_unit(&arena, child->node);
    append(sample, child, 0);
    sample->ascends = starts_ascend(sample);
    sample->starts[0] = 0;
    sample->start_count = 1;
    return true;
}

/* Returns a stride for child: a random one, or one that makes instances adjacent. */
static int64_t pick_stride(const struct vs_node *child)
{
    int64_t strides[] = {between(-20, 20), between(0, 6), child->size, child->hi - child->lo,
                         child->count * child->stride};

    return strides[below(5)];
}

static bool make_loop(struct sample *sample, const struct sample *child)
{
    int64_t count = below(3) ? between(1, 4) : between(5, 12), stride = pick_stride(child->node);

    sample->node = vs_node_loop(&arena, count, stride, child->node);
    for (int64_t i = 0; i < count; i++)
        if (!append(sample, child, i * stride))
            return false;
    return true;
}

static bool make_blocks(struct sample *sample, const struct sample *child)
{
    int64_t lengths[4], places[4], count = between(1, 4), unit = between(1, 3), next = 0;
    int64_t stride = pick_stride(child->node), length = between(1, 2);
    bool varies = below(4) > 0, ascends = below(2);

    for (int64_t b = 0; b < count; b++) {
        lengths[b] = varies ? between(b == 0, 3) : length;
        places[b] = ascends ? next + below(4) : between(-20, 20);
        next = places[b] + lengths[b] * vs_max(stride, 1);
    }
    sample->node = vs_node_blocks(&arena, count, varies ? lengths : NULL, length, places, unit,
                                  stride, child->node);
    for (int64_t b = 0; b < count; b++)
        for (int64_t i = 0; i < lengths[b]; i++)
            if (!append(sample, child, places[b] * unit + i * stride))
                return false;
    return true;
}

static bool make_sequence(struct sample *sample, int number)
{
    const struct vs_node *nodes[4];
    int64_t count = between(1, 4), next = 0;
    bool ascends = below(3) > 0;

    for (int64_t i = 0; i < count; i++) {
        const struct sample *child = &samples[below(number)];
        int64_t distance = ascends ? next - child->node->lo + below(3) : between(-30, 30);

        next = distance + child->node->hi;
        nodes[i] = vs_node_shift(&arena, child->node, distance);
        if (!append(sample, child, distance))
            return false;
    }
    sample->node = vs_node_seq(&arena, count, nodes);
    return true;
}

/* Makes a tree from earlier ones. Returns false if it is too large. */
static bool make_sample(int number)
{
    struct sample *sample = &samples[number];
    int64_t kind = number < 3 ? 0 : below(13);

    *sample = (struct sample){.ascends = true};
    if (kind == 0)
        return make_run(sample);
    if (kind < 5)
        return make_loop(sample, &samples[below(number)]);
    if (kind < 9)
        return make_blocks(sample, &samples[below(number)]);
    if (kind < 12)
        return make_sequence(sample, number);
    return make_etype(sample, &samples[below(number)]);
}

static int make_samples(void **state)
{
    start_random(7);
    for (int i = 0; i < SAMPLES; i++)
        while (!make_sample(i))
            ;
    return arena.failure;
}

static int free_samples(void **state)
{
    vs_shapes_free(&shapes);
    vs_arena_free(&arena);
    return 0;
}

TEST_GROUP(make_samples, free_samples)

static void check_facts(const struct sample *sample)
{
    const struct vs_node *node = sample->node;
    int64_t low = NEAR, high = -NEAR, grain = 0;
    bool rise = true;

    for (int64_t i = 0; i < sample->size; i++) {
        low = vs_min(low, sample->bytes[i]);
        high = vs_max(high, sample->bytes[i] + 1);
        rise = rise && (i == 0 || sample->bytes[i] > sample->bytes[i - 1]);
    }
    for (int64_t i = 1; i < sample->start_count; i++)
        grain = vs_gcd(grain, sample->starts[i] - sample->starts[i - 1]);
    assert_int_equal(node->size, sample->size);
    assert_int_equal(node->lo, low);
    assert_int_equal(node->hi, high);
    assert_int_equal(node->monotonic, starts_ascend(sample));
    assert_int_equal(node->disjoint, starts_ascend(sample) && rise);
    assert_int_equal(node->starts.first, sample->starts[0]);
    assert_int_equal(node->starts.last, sample->starts[sample->start_count - 1]);
    assert_int_equal(node->starts.grain, grain);
}

/* Checks the depth and the number of runs of a tree against those of its children. Bytes that are
   adjacent and in order must be one run, regardless of the nodes that compose them. */
static void check_structure(const struct vs_node *node)
{
    const struct vs_node *const *children = node->kind == VS_SEQ ? node->children : &node->child;
    int64_t runs = node->kind == VS_RUN, deepest = 0;

    for (int64_t i = 0; node->kind != VS_RUN && i < (node->kind == VS_SEQ ? node->count : 1); i++) {
        runs += children[i]->runs;
        deepest = vs_max(deepest, children[i]->depth);
    }
    if (node->kind == VS_LOOP)
        runs *= node->count;
    else if (node->kind == VS_BLOCKS) /* a block may be one run */
        runs *= node->child->kind == VS_RUN && node->stride == node->child->size
                    ? node->count
                    : node->before[node->count];
    assert_true(node->kind == VS_RUN || !node->disjoint || node->hi - node->lo > node->size);
    assert_int_equal(node->depth, deepest + 1);
    assert_int_equal(node->runs, runs);
}

/* Checks the first position of a displacement, and the first position whose byte is at or after
   it. */
static void check_inverse(const struct sample *sample, int64_t displacement)
{
    int64_t first = 0, bound = 0, steps = INT32_MAX;

    while (first < sample->size && sample->bytes[first] != displacement)
        first++;
    while (bound < sample->size && sample->bytes[bound] < displacement)
        bound++;
    assert_int_equal(vs_node_lower_bound(sample->node, displacement), bound);
    if (sample->node->monotonic)
        assert_int_equal(vs_node_find(sample->node, displacement, &steps),
                         first < sample->size ? first : -1);
}

TEST(nodes_match_their_lists_of_bytes)
{
    for (int i = 0; i < SAMPLES; i++) {
        const struct sample *sample = &samples[i];

        check_facts(sample);
        check_structure(sample->node);
        for (int64_t k = 0; k < sample->size; k++)
            assert_int_equal(vs_node_seek(sample->node, k), sample->bytes[k]);
        for (int64_t k = sample->node->lo - 2; k < sample->node->hi + 2; k++)
            check_inverse(sample, k);
    }
}

/* Counts how often the tree has each byte, from its lowest one on, up to twice. */
static void count_bytes(const struct sample *sample, unsigned char *held)
{
    memset(held, 0, 2 * NEAR);
    for (int64_t i = 0; i < sample->size; i++)
        held[sample->bytes[i] - sample->node->lo] += held[sample->bytes[i] - sample->node->lo] < 2;
}

TEST(shapes_match_their_lists_of_bytes)
{
    unsigned char held[2 * NEAR];

    for (int i = 0; i < SAMPLES; i++) {
        const struct sample *sample = &samples[i];
        const struct vs_shape *shape = vs_shape_of_node(&shapes, sample->node);
        int64_t before = 0;

        assert_non_null(shape);
        assert_ptr_equal(vs_shape_of_node(&shapes, sample->node), shape);
        assert_int_equal(shape->size, sample->size);
        assert_int_equal(shape->span, sample->node->hi - sample->node->lo);
        assert_true(shape->disjoint || !sample->node->disjoint);
        count_bytes(sample, held);
        for (int64_t k = -1; shape->disjoint && k <= shape->span; k++) {
            assert_int_equal(vs_shape_below(shape, k), before);
            assert_true(k < 0 || held[k] < 2);
            if (k >= 0 && k < shape->span && held[k])
                assert_int_equal(vs_shape_place(shape, before++), k);
        }
    }
}

/* Counts the bytes that an item has in the window: those of count instances of the sample, stride
   apart. */
static void count_item(const struct vs_item *item, const struct sample *sample, int64_t count,
                       int64_t stride, unsigned char *window)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < sample->size; k++) {
            int64_t place = item->origin + i * stride + sample->bytes[k] - sample->node->lo;

            if (place >= item->lo && place < item->hi)
                window[place] = (unsigned char)vs_min(2, window[place] + 1 + item->twice);
        }
}

/* Tiles of a sample, clipped to a part of the window. */
struct tiles {
    const struct sample *sample;
    int64_t stride, lo, hi;
};

static struct tiles random_tiles(void)
{
    const struct sample *sample = &samples[below(SAMPLES)];
    int64_t lo = below(3) ? 0 : below(WINDOW);

    return (struct tiles){
        .sample = sample,
        .stride = below(2) ? between(1, 60) : sample->node->hi - sample->node->lo + below(2),
        .lo = lo,
        .hi = below(3) ? WINDOW : between(lo, WINDOW),
    };
}

/* Makes an item of tiles, some of which may be outside the window, and counts its bytes. */
static struct vs_item make_item(const struct tiles *tiles, unsigned char *window)
{
    const struct vs_shape *tile = vs_shape_of_node(&shapes, tiles->sample->node);
    struct vs_item item = {
        .shape = vs_shape_loop(&shapes, 2, tiles->stride, tile),
        .origin = between(-60, 60),
        .count = between(1, 20),
        .lo = tiles->lo,
        .hi = tiles->hi,
        .twice = below(8) == 0,
    };

    count_item(&item, tiles->sample, item.count, tiles->stride, window);
    return item;
}

/* Checks that the items are sorted by lo, and that none is empty or equals another. */
static void check_tidy(const struct vs_item *items, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const struct vs_item *a = &items[i];

        assert_true(a->lo < a->hi);
        assert_true(i == 0 || items[i - 1].lo <= a->lo);
        for (int64_t k = 0; k < i; k++) {
            const struct vs_item *b = &items[k];

            assert_false(a->shape == b->shape && a->origin == b->origin && a->lo == b->lo &&
                         a->hi == b->hi && (!vs_item_is_loop(a) || a->count == b->count));
        }
    }
}

/* A thousand shapes, each looked up twice. */
TEST(equal_shapes_are_found_again)
{
    const struct vs_shape *all[1001];

    for (int again = 0; again < 2; again++) {
        for (int64_t size = 1; size <= 1000; size++) {
            const struct vs_shape *shape = vs_shape_of_node(&shapes, vs_node_run(&arena, size));

            assert_non_null(shape);
            assert_int_equal(shape->size, size);
            assert_true(again == 0 || shape == all[size]);
            all[size] = shape;
        }
    }
}

/* Two sequences whose parts have the same shapes at the same places, one of them out of order. */
TEST(shapes_differ_if_only_one_is_disjoint)
{
    const struct vs_node *byte = vs_node_run(&arena, 1);
    const struct vs_node *loops[] = {
        vs_node_loop(&arena, 2, 4, byte),
        vs_node_shift(&arena, vs_node_loop(&arena, 2, -4, byte), 4),
    };

    for (int i = 0; i < 2; i++) {
        const struct vs_node *parts[] = {loops[i],
                                         vs_node_shift(&arena, vs_node_run(&arena, 3), 10)};
        const struct vs_node *node = vs_node_seq(&arena, 2, parts);

        assert_int_equal(node->disjoint, i == 0);
        assert_int_equal(vs_shape_of_node(&shapes, node)->disjoint, i == 0);
    }
}

TEST(coverage_of_items_matches_counts_of_bytes)
{
    for (int round = 0; round < UNIT_ROUNDS(20000); round++) {
        unsigned char window[WINDOW] = {0};
        struct vs_item items[3 * ITEMS], copies[3 * ITEMS];
        struct vs_tally tally = {0}, expected = {0};
        int64_t count = between(1, ITEMS), times = below(3) ? 1 : 3;
        struct tiles tiles = random_tiles();

        for (int64_t i = 0; i < count; i++) {
            items[i] = make_item(&tiles, window);
            if (below(2)) /* otherwise the next item may differ only in its origin */
                tiles = random_tiles();
        }
        for (int64_t i = count; i < times * count; i++)
            items[i] = items[i - count];
        for (int64_t i = 0; i < WINDOW; i++) {
            expected.covered += window[i] > 0;
            expected.many += window[i] > 1 || (times > 1 && window[i] > 0);
        }
        memcpy(copies, items, sizeof(items));
        check_tidy(copies, vs_items_tidy(copies, times * count));
        assert_int_equal(vs_cover_items(items, times * count, VS_COVER_STEPS, &tally), 0);
        assert_int_equal(tally.covered, expected.covered);
        assert_int_equal(tally.many, expected.many);
    }
}

/* Sums over such a window could overflow. */
TEST(too_long_a_window_is_refused)
{
    struct vs_tally tally = {0};
    struct vs_item item = {.shape = vs_shape_of_node(&shapes, samples[0].node),
                           .hi = INT64_C(1) << 60};

    assert_int_equal(vs_cover_items(&item, 1, VS_COVER_STEPS, &tally), -EOVERFLOW);
}

/* Lists the numbers of the etypes in the order of memory. Returns false if two overlap. */
static bool sort_etypes(const struct sample *memory, int64_t etype_size, int64_t *numbers)
{
    for (int64_t i = 0; i < memory->size; i++) {
        int64_t k = i;

        for (; k > 0 && memory->bytes[numbers[k - 1]] > memory->bytes[i]; k--)
            numbers[k] = numbers[k - 1];
        numbers[k] = i;
    }
    for (int64_t i = 1; i < memory->size; i++)
        if (memory->bytes[numbers[i]] - memory->bytes[numbers[i - 1]] < etype_size)
            return false;
    return true;
}

/* Checks the order of etypes whose origins are the bytes of two samples of the same size. Returns
   false if they have none, because etypes overlap in memory. */
static bool check_order(const struct sample *file, const struct sample *memory)
{
    int64_t in_file = between(1, 3), in_memory = between(1, 3), numbers[BYTES];
    const struct vs_both both = {file->node, vs_node_shift(&arena, memory->node, -memory->node->lo),
                                 vs_node_run(&arena, in_file), vs_node_run(&arena, in_memory)};
    struct vs_order order;
    int error = vs_order_find(&arena, &both, &order);

    if (!sort_etypes(memory, in_memory, numbers)) {
        assert_int_equal(error, -EINVAL);
        return false;
    }
    assert_int_equal(error, 0);
    for (int64_t i = 0; i < file->size; i++) {
        int64_t from = file->bytes[numbers[i]], to = memory->bytes[numbers[i]] - memory->node->lo;

        assert_int_equal(vs_node_seek(order.origins, i), from);
        for (int64_t k = 0; k < in_file; k++)
            assert_int_equal(vs_node_seek(order.file, i * in_file + k), from + k);
        for (int64_t k = 0; k < in_memory; k++)
            assert_int_equal(vs_node_seek(order.memory, i * in_memory + k), to + k);
        assert_int_equal(vs_node_seek(order.places, numbers[i]), to);
    }
    return true;
}

TEST(orders_match_sorted_etypes)
{
    int checked = 0, ordered = 0;

    for (int i = 0; i < SAMPLES; i++)
        for (int k = i % 16; k < SAMPLES; k += 16)
            if (samples[i].size == samples[k].size && samples[i].size > 3) {
                checked++;
                ordered += check_order(&samples[i], &samples[k]);
            }
    print_message("# %d of %d pairs have an order\n", ordered, checked);
    assert_true(ordered > 500 && ordered < checked);
}

/* Regular types take few pieces, and equal pieces become one list, regardless of their loops. */
TEST(orders_of_regular_types_are_short)
{
    static const int64_t lengths[] = {1000, 3000}, far[] = {0, 50000};
    static const int64_t in_file[] = {0, 1000, 2100, 3000}, in_memory[] = {0, 99, 300, 500};
    const struct vs_node *byte = vs_node_run(&arena, 1);
    const struct vs_node *file_nest =
        vs_node_loop(&arena, 5, 40, vs_node_loop(&arena, 10, 3, byte));
    /* The last byte of an inner loop and the first one of the next are adjacent. */
    const struct vs_node *memory_nest =
        vs_node_loop(&arena, 5, 19, vs_node_loop(&arena, 10, 2, byte));
    struct vs_order order;

    assert_int_equal(
        vs_order_find(&arena,
                      &(struct vs_both){vs_node_blocks(&arena, 2, lengths, 0, far, 1, 4, byte),
                                        vs_node_loop(&arena, 4000, 2, byte), byte, byte},
                      &order),
        0);
    assert_int_equal(order.pieces, 2);
    assert_int_equal(
        vs_order_find(
            &arena,
            &(struct vs_both){vs_node_blocks(&arena, 4, NULL, 1, in_file, 1, 1, file_nest),
                              vs_node_blocks(&arena, 4, NULL, 1, in_memory, 1, 1, memory_nest),
                              byte, byte},
            &order),
        0);
    assert_int_equal(order.pieces, 4);
    assert_int_equal(order.file->kind, VS_BLOCKS);
    assert_int_equal(order.memory->kind, VS_BLOCKS);
}
