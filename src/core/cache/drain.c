/* SPDX-License-Identifier: MIT */
#include "drain.h"

/* So many runs are put at once. */
#define RANGES 8192

static int put_all(struct mpiio_file *file, struct mpiio_transfer *transfer,
                   struct mpiio_range *ranges, size_t count)
{
    size_t first = 0;

    while (first < count) {
        int64_t to;

        transfer->ranges = ranges + first;
        transfer->count = count - first;
        file->ops->write_ranges(file, transfer);
        if (transfer->error != 0)
            return transfer->error;
        to = (int64_t)transfer->bytes;
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
    struct mpiio_transfer transfer = {
        .position = block * MPIIO_BLOCK_SIZE, .buffer = slot->data, .done = done};
    struct mpiio_range ranges[RANGES];
    struct mpiio_mask_run run = {0};
    size_t count = 0;
    int error = 0;

    while (error == 0 && mpiio_slot_next_run(slot, run.end, &run)) {
        ranges[count++] = (struct mpiio_range){.start = (int64_t)run.start,
                                               .length = (int64_t)(run.end - run.start)};
        if (count == RANGES) {
            error = put_all(file, &transfer, ranges, count);
            count = 0;
        }
    }
    return error != 0 ? error : put_all(file, &transfer, ranges, count);
}
