/* SPDX-License-Identifier: MIT */
#include "drain.h"

#include "core/file/write_plan.h"

/* So many runs are put at once. */
#define RANGES 8192

static int put_all(struct mpiio_file *file, int64_t displacement, const struct mpiio_slot *slot,
                   struct mpiio_range *ranges, size_t count, struct mpiio_counters *done)
{
    size_t first = 0;

    while (first < count) {
        int error;
        int64_t to = mpiio_write_ranges(file, slot->data, displacement, ranges + first,
                                        count - first, &error, done);

        if (error != 0)
            return error;
        while (first < count && ranges[first].start + ranges[first].length <= to)
            first++;
        /* Where one is written in part and it is not known why, the next try tells. */
        if (first < count && ranges[first].start < to) {
            ranges[first].length -= to - ranges[first].start;
            ranges[first].start = to;
        }
    }
    return 0;
}

int mpiio_drain(struct mpiio_file *file, int64_t block, const struct mpiio_slot *slot,
                struct mpiio_counters *done)
{
    struct mpiio_range ranges[RANGES];
    struct mpiio_mask_run run = {0};
    size_t count = 0;
    int error = 0;

    while (error == 0 && mpiio_slot_next_run(slot, run.end, &run)) {
        ranges[count++] = (struct mpiio_range){.start = (int64_t)run.start,
                                               .length = (int64_t)(run.end - run.start)};
        if (count == RANGES) {
            error = put_all(file, block * MPIIO_BLOCK_SIZE, slot, ranges, count, done);
            count = 0;
        }
    }
    return error != 0 ? error : put_all(file, block * MPIIO_BLOCK_SIZE, slot, ranges, count, done);
}
