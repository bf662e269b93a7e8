/* SPDX-License-Identifier: MIT */
/* Tests filetypes made of accesses. The library that reads all specs reads them back, and the
   result is compared with an array of the accessed bytes. */

#include "capture_fixture.h"

#define BYTES 8192
#define RANKS 12

/* Checks that the view has one tile, which selects exactly the marked bytes, in order. */
static void assert_selects(const json_t *json, const bool *bytes)
{
    struct vs_view *view = first_view(spec_of_view(json, 1), 0);
    const struct vs_map *map = vs_view_map(view);
    int64_t position = 0;

    assert_int_equal(json_integer_value(json_object_get(json, "tiles")), 1);
    for (int64_t i = 0; i < BYTES; i++)
        if (bytes[i])
            assert_int_equal(vs_map_displacement(map, position++), i);
    assert_int_equal(vs_map_facts(map)->tile_size, position);
    vs_view_unref(view);
}

static void add(struct capture_extents *extents, bool *bytes, int64_t offset, int64_t length)
{
    if (offset + length > BYTES)
        return;
    capture_extents_add(extents, offset, length);
    memset(bytes + offset, 1, (size_t)length);
}

/* Adds the accesses of a loop nest. Some of its loops run backwards. */
static void add_nest(struct capture_extents *extents, bool *bytes, int64_t unit)
{
    int64_t length = (1 + draw(6)) * unit, base = draw(64) * unit, count[3], stride[3];

    for (int i = 0; i < 3; i++) {
        count[i] = 1 + draw(5);
        stride[i] = (i ? count[i - 1] * stride[i - 1] : length) + draw(4) * unit;
    }
    for (int64_t i = 0; i < count[0] * count[1] * count[2]; i++) {
        int64_t x = i % count[0], y = i / count[0] % count[1], z = i / count[0] / count[1];
        if (stride[1] % 16 == 0)
            z = count[2] - 1 - z;
        add(extents, bytes, base + x * stride[0] + y * stride[1] + z * stride[2], length);
    }
}

/* Adds accesses to records of several fields. */
static void add_records(struct capture_extents *extents, bool *bytes, int64_t unit)
{
    int64_t fields = 1 + draw(4), records = 1 + draw(8), base = draw(64) * unit;

    for (int64_t i = 0; i < records * fields; i++)
        add(extents, bytes, base + (i / fields * 40 + i % fields * (i % fields + 1)) * unit, unit);
}

/* Adds accesses to random blocks. */
static void add_blocks(struct capture_extents *extents, bool *bytes, int64_t unit)
{
    for (int64_t i = draw(20); i >= 0; i--)
        add(extents, bytes, draw(BYTES / unit) * unit, (1 + draw(9)) * unit);
}

TEST(filetypes_select_what_was_accessed)
{
    static const char *const etypes[] = {"byte", "short", "int", "double"};

    for (int round = 0; round < 3000; round++) {
        struct capture_extents extents = {0};
        bool bytes[BYTES] = {false};
        int64_t kind = draw(4), unit = (int64_t)1 << kind, limit = draw(4) ? BYTES : draw(BYTES);
        int which = 1 + (int)draw(7);
        for (int64_t times = draw(3); times >= 0; times--) {
            if (which & 1)
                add_nest(&extents, bytes, unit);
            if (which & 2)
                add_records(&extents, bytes, unit);
            if (which & 4)
                add_blocks(&extents, bytes, unit);
        }
        capture_extents_finish(&extents, limit);
        memset(bytes + limit, 0, (size_t)(BYTES - limit));
        bool fits = capture_shape_fits(extents.list, extents.count, unit);
        assert_true(fits || limit < BYTES);
        json_t *view = capture_shape(extents.list, extents.count, fits ? etypes[kind] : "byte",
                                     fits ? unit : 1);
        assert_selects(view, bytes);
        json_decref(view);
        capture_extents_free(&extents);
    }
}

/* Adds a rank's box of an array of shorts, row by row. Returns its view. */
static json_t *box(const int64_t *sizes, const int64_t *starts, const int64_t *counts, bool *bytes)
{
    struct capture_extents extents = {0};
    json_t *view;

    for (int64_t z = 0; z < counts[0]; z++)
        for (int64_t y = 0; y < counts[1]; y++)
            add(&extents, bytes,
                10 + (((starts[0] + z) * sizes[1] + starts[1] + y) * sizes[2] + starts[2]) * 2,
                counts[2] * 2);
    capture_extents_finish(&extents, INT64_MAX);
    view = capture_shape(extents.list, extents.count, "short", 2);
    capture_extents_free(&extents);
    return view;
}

/* Boxes of a grid of ranks. Some boxes do not fit the grid. Their subarrays select the same
   bytes. */
TEST(subarrays_select_the_same)
{
    static bool bytes[RANKS][BYTES];
    json_t *views[RANKS];
    int subarrays = 0;

    for (int round = 0; round < 500; round++) {
        int64_t grid[3] = {1 + draw(3), 1 + draw(2), 1 + draw(2)}, part[3], sizes[3], starts[3];
        int64_t ranks = grid[0] * grid[1] * grid[2];
        memset(bytes, 0, sizeof(bytes));
        for (int i = 0; i < 3; i++) {
            part[i] = 1 + draw(5);
            sizes[i] = part[i] * grid[i] + draw(2);
        }
        for (int64_t rank = 0; rank < ranks; rank++) {
            starts[0] = rank / grid[2] / grid[1] * part[0];
            starts[1] = rank / grid[2] % grid[1] * part[1];
            starts[2] = rank % grid[2] * part[2] + (draw(30) == 0);
            views[rank] = box(sizes, starts, part, bytes[rank]);
        }
        capture_subarrays(views, (size_t)ranks);
        for (int64_t rank = 0; rank < ranks; rank++) {
            const json_t *type = json_object_get(views[rank], "filetype");
            subarrays += json_object_get(type, "subsizes") != NULL;
            assert_selects(views[rank], bytes[rank]);
            json_decref(views[rank]);
        }
    }
    assert_true(subarrays > 500);
}

/* Repeated accesses are kept once. Accesses that are too irregular are given up. */
TEST(memory_is_bounded)
{
    struct capture_extents extents = {0};
    int64_t offset = 0;

    for (int64_t i = 0; i < 3000000; i++)
        capture_extents_add(&extents, i * i % 1009 * 10, 7);
    capture_extents_finish(&extents, INT64_MAX);
    assert_false(extents.given_up);
    assert_int_equal(capture_pieces(extents.list, extents.count), 505);
    capture_extents_free(&extents);
    for (int64_t i = 0; i < 3000000; i++, offset += 2 + draw(1000))
        capture_extents_add(&extents, offset, 1);
    assert_true(extents.given_up);
    assert_true(extents.room <= 1 << 20);
    capture_extents_free(&extents);
    capture_extents_add(&extents, INT64_MAX - 3, 2);
    assert_true(extents.given_up);
}
