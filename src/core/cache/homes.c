/* SPDX-License-Identifier: MIT */
#include "homes.h"

#include "slots.h"
#include "viewspec/base/integer.h"

/* A stripe unit is used if it is a multiple of this: then at most 16 stripes make up whole
   blocks. */
#define UNIT_STEP (64 << 10)

/* No filesystem exceeds these, and their product does not overflow. */
#define UNIT_MOST   ((int64_t)1 << 40)
#define FACTOR_MOST ((int64_t)1 << 20)

static bool can_follow(int64_t unit)
{
    return unit > 0 && unit <= UNIT_MOST && (unit % UNIT_STEP == 0 || MPIIO_BLOCK_SIZE % unit == 0);
}

struct mpiio_homes mpiio_homes_of(int64_t unit, int64_t factor, int nodes)
{
    struct mpiio_homes homes = {.stretch = MPIIO_HOMES_GROUP, .period = nodes, .nodes = nodes};
    int64_t whole, row;

    if (factor <= 0 || factor > FACTOR_MOST)
        factor = 0;
    else
        homes.period = factor;
    if (!can_follow(unit))
        return homes;
    /* In bytes: the shortest stretch, and one stripe on each server. */
    whole = unit / vs_gcd(unit, MPIIO_BLOCK_SIZE) * MPIIO_BLOCK_SIZE;
    row = unit * factor;
    homes.stretch = whole / MPIIO_BLOCK_SIZE;
    if (whole < row && row % whole == 0)
        homes.period = row / whole; /* each home has its own servers */
    else
        homes.stretch *= (MPIIO_HOMES_GROUP + homes.stretch - 1) / homes.stretch;
    return homes;
}
