/* SPDX-License-Identifier: MIT */
/* Finds the members that hold a range, with many members over many blocks. Each member's own map
   gives the expected answer. */
#include "random_views.h"
#include "viewspec/map/assembly.h"

#define MEMBERS 400

static struct vs_view *views[MEMBERS];
static int64_t bytes[MEMBERS];

/* Returns how many positions lie before the first displacement that is not below place, limited
   to the bytes that the member has. */
static int64_t below_place(int member, int64_t place)
{
    int64_t position = vs_map_lower_bound(vs_view_map(views[member]), place);

    return position < bytes[member] ? position : bytes[member];
}

static void check_range(struct vs_assembly *assembly, int64_t start, int64_t end)
{
    struct vs_assembly_part *parts;
    size_t count, found = 0;

    assert_int_equal(vs_assembly_parts(assembly, start, end, &parts, &count), 0);
    for (int i = 0; i < MEMBERS; i++) {
        int64_t position = below_place(i, start), behind = below_place(i, end);

        if (position == behind)
            continue;
        assert_true(found < count);
        assert_int_equal(parts[found].member, i);
        assert_int_equal(parts[found].position, position);
        assert_int_equal(parts[found].length, behind - position);
        assert_int_equal(vs_assembly_place(assembly, (size_t)i, position),
                         vs_map_displacement(vs_view_map(views[i]), position));
        found++;
    }
    assert_int_equal(found, count);
    free(parts);
}

/* Deals runs to the members: in rounds over all of them, or a block each, or in between. */
static struct vs_assembly *deal(int64_t run, int64_t rounds)
{
    struct vs_assembly *assembly = vs_assembly_new(false);

    for (int i = 0; i < MEMBERS; i++) {
        views[i] = make_vector(100 + i * run, run, MEMBERS * run);
        bytes[i] = run * rounds - (i == MEMBERS - 1 ? below((int)run) : 0);
        assert_int_equal(vs_assembly_add(assembly, views[i], bytes[i]), 0);
    }
    vs_assembly_finish(assembly, 0);
    return assembly;
}

TEST(test_parts)
{
    static const int64_t runs[] = {8, 1000, 70000, 3 << 20};

    for (int kind = 0; kind < 4; kind++) {
        struct vs_assembly_fault fault;
        struct vs_assembly *assembly;
        int64_t size;

        srand((unsigned)kind);
        assembly = deal(runs[kind], 1 + below(20));
        size = vs_assembly_size(assembly);
        assert_int_equal(vs_assembly_check(assembly, &fault), 0);
        assert_int_equal(fault.kind, VS_ASSEMBLY_SOUND);
        for (int i = 0; i < 300; i++) {
            int64_t block = (int64_t)((double)rand() / RAND_MAX * (double)(size >> 20)) << 20;
            int64_t start = block + below(1 << 20), end = start + 1 + below(1 << 20);

            /* Usually within one block; sometimes across the borders of blocks of all sizes. */
            if (below(4) && end > block + VS_ASSEMBLY_BLOCK)
                end = block + VS_ASSEMBLY_BLOCK;
            check_range(assembly, start, end);
        }
        check_range(assembly, 0, size);
        unref_views(views, MEMBERS);
        vs_assembly_free(assembly);
    }
}

/* Tests that of three members which hold the same byte, the first two are named. */
TEST(test_overlap)
{
    static const int places[] = {0, 50, 200, 50, 45};
    struct vs_assembly *assembly = vs_assembly_new(false);
    struct vs_assembly_fault fault;

    for (int i = 0; i < 5; i++) {
        views[i] = make_vector(places[i], 10, 1000);
        assert_int_equal(vs_assembly_add(assembly, views[i], 10), 0);
    }
    vs_assembly_finish(assembly, 0);
    assert_int_equal(vs_assembly_check(assembly, &fault), 0);
    assert_int_equal(fault.kind, VS_ASSEMBLY_OVERLAP);
    assert_int_equal(fault.displacement, 50);
    assert_int_equal(fault.member, 1);
    assert_int_equal(fault.other, 3);
    vs_assembly_free(assembly);
    unref_views(views, 5);
}
