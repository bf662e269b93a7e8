/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "core/cache/slots.h"
#include "core/cache/homes.h"

#define BLOCK MPIIO_BLOCK_SIZE

#define NODES_MOST 40

static int home_at(const struct mpiio_homes *stripes, int64_t displacement)
{
    return mpiio_homes_node(stripes, displacement / BLOCK);
}

/* Checks that the nodes are homes of 4 MiB each, in turn. */
static void assert_in_turn(const struct mpiio_homes *stripes)
{
    for (int64_t block = 0; block < 300; block++)
        assert_int_equal(mpiio_homes_node(stripes, block), block / 4 % stripes->nodes);
}

TEST(test_unknown)
{
    for (int nodes = 1; nodes <= 9; nodes++) {
        /* Units that are unknown or negative, or whose whole blocks are whole stripes only every
           64 GiB or more. */
        const struct mpiio_homes homes[] = {
            mpiio_homes_of(0, 0, nodes),
            mpiio_homes_of(-1, -1, nodes),
            mpiio_homes_of(65537, 0, nodes),
            mpiio_homes_of(3000000, 0, nodes),
            mpiio_homes_of(INT64_MAX, INT64_MAX, nodes),
        };

        for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
            assert_in_turn(&homes[i]);
    }
}

/* Checks that one home stores a whole stripe. Looks at bytes at the edges of the stripe and of
   its blocks. */
static void check_stripe(const struct mpiio_homes *stripes, int64_t stripe, int64_t unit)
{
    int64_t start = stripe * unit, end = start + unit;
    int home = home_at(stripes, start);

    assert_in_range(home, 0, stripes->nodes - 1);
    assert_int_equal(home_at(stripes, end - 1), home);
    for (int64_t edge = start / BLOCK * BLOCK + BLOCK; edge < end; edge += BLOCK)
        assert_int_equal(home_at(stripes, edge), home);
}

/* Counts the blocks of each home among the first blocks. Returns how many homes have any. */
static int count_homes(const struct mpiio_homes *stripes, int64_t blocks, int64_t *of_home)
{
    int homes = 0;

    memset(of_home, 0, NODES_MOST * sizeof(*of_home));
    for (int64_t block = 0; block < blocks; block++)
        of_home[mpiio_homes_node(stripes, block)]++;
    for (int node = 0; node < stripes->nodes; node++)
        homes += of_home[node] > 0;
    return homes;
}

static void check_units(int64_t unit, int64_t factor, int nodes)
{
    struct mpiio_homes stripes = mpiio_homes_of(unit, factor, nodes);
    int64_t blocks = stripes.stretch * stripes.period, of_home[NODES_MOST], least = INT64_MAX;
    int homes = count_homes(&stripes, blocks, of_home);

    for (int64_t stripe = 0; stripe < 200; stripe++)
        check_stripe(&stripes, stripe, unit);
    assert_true(homes <= nodes && (factor == 0 || homes <= factor));
    if (factor == 0)
        assert_int_equal(homes, nodes);
    /* The numbers of stretches differ by at most one among the nodes that are homes. */
    for (int node = 0; node < nodes; node++)
        if (of_home[node] > 0)
            least = of_home[node] < least ? of_home[node] : least;
    for (int node = 0; node < nodes; node++)
        assert_true(of_home[node] <= least + stripes.stretch);
    /* Stretches are only short if the servers' stripes require it. */
    if (factor <= 1 || unit * factor <= BLOCK)
        assert_true(stripes.stretch >= 4);
}

/* Checks that only one node writes to each server. Stripes are whole blocks. */
static void check_servers(int64_t unit, int64_t factor, int nodes)
{
    struct mpiio_homes stripes = mpiio_homes_of(unit, factor, nodes);
    bool seen[NODES_MOST] = {false};
    int homes = 0;

    for (int64_t stripe = 0; stripe < 4 * factor; stripe++) {
        int home = home_at(&stripes, stripe * unit);

        assert_int_equal(home, home_at(&stripes, stripe % factor * unit));
        homes += !seen[home];
        seen[home] = true;
    }
    assert_int_equal(homes, factor < nodes ? factor : nodes);
}

TEST(test_followed)
{
    srandom(5);
    for (int i = 0; i < 3000; i++) {
        int nodes = (int)(1 + random() % NODES_MOST);
        int64_t factor = random() % 3 == 0 ? 0 : 1 + random() % 50;
        int64_t unit = random() % 4 == 0 ? BLOCK >> random() % 21 : (1 + random() % 300) << 16;

        check_units(unit, factor, nodes);
        if (factor > 0)
            check_servers((1 + random() % 20) * BLOCK, factor, nodes);
    }
    check_units((int64_t)4 << 30, 0, 3);
    check_servers((int64_t)4 << 30, 1000, 3);
}

/* Checks the homes of the stripes of some servers. Each home has a set of adjacent servers, and is
   step nodes after the one before. */
static void check_sets(int64_t unit, int64_t servers, int nodes, int64_t set, int64_t step)
{
    struct mpiio_homes stripes = mpiio_homes_of(unit, servers, nodes);

    for (int64_t stripe = 0; stripe < 100; stripe++)
        assert_int_equal(home_at(&stripes, stripe * unit), stripe % servers / set * step);
}

TEST(test_sets)
{
    check_sets(512 << 10, 8, 4, 2, 1);
    /* 1.5 MiB: two stripes are three blocks, so two of the six servers are a set. */
    check_sets(3 << 19, 6, 3, 2, 1);
    /* Few servers and many nodes: the homes are far apart. */
    check_sets(8 << 20, 2, 6, 1, 3);
}
