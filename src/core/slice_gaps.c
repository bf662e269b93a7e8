/* SPDX-License-Identifier: MIT */
#include "slice_gaps.h"

#include <string.h>

static bool is_clear(const char *bytes, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/*
 * No packed byte lies before its place, as places ascend and the last one is at most the buffer's
 * end: moved one run after the other, none is lost.
 */
void mpiio_gaps_spread(const struct vs_view *view, int64_t offset, size_t length, int64_t start,
                       size_t count, char *buffer)
{
    const char *packed = buffer + (length - count);
    int64_t done = 0;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, (int64_t)count);
    while (vs_runs_next(&runs, &run)) {
        int64_t place = run.displacement - offset;

        memset(buffer + done, 0, (size_t)(place - done));
        memmove(buffer + place, packed + (run.position - start), (size_t)run.length);
        done = place + run.length;
    }
    memset(buffer + done, 0, length - (size_t)done);
}

void mpiio_gaps_collect(const struct vs_view *view, int64_t offset, const char *buffer,
                        int64_t start, size_t count, char *packed)
{
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, (int64_t)count);
    while (vs_runs_next(&runs, &run))
        memcpy(packed + (run.position - start), buffer + (run.displacement - offset),
               (size_t)run.length);
}

bool mpiio_gaps_are_clear(const struct vs_view *view, int64_t offset, size_t length,
                          const char *buffer)
{
    int64_t start = vs_view_packed(view, offset);
    int64_t count = vs_view_packed(view, offset + (int64_t)length) - start, done = 0;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, count);
    while (vs_runs_next(&runs, &run)) {
        int64_t place = run.displacement - offset;

        if (!is_clear(buffer + done, place - done))
            return false;
        done = place + run.length;
    }
    return is_clear(buffer + done, (int64_t)length - done);
}

int64_t mpiio_gaps_needed(const struct vs_view *view, int64_t size)
{
    int64_t packed = vs_view_packed(view, size);

    return vs_view_end(view, packed) < size ? packed + 1 : packed;
}

int64_t mpiio_gaps_next(const struct vs_view *view, int64_t offset, int64_t end)
{
    int64_t start = vs_view_packed(view, offset);
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, INT64_MAX - start);
    if (!vs_runs_next(&runs, &run) || run.displacement > offset)
        return offset;
    return run.displacement + run.length < end ? run.displacement + run.length : end;
}
