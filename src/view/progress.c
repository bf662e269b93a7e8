/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/sizes.h"

#define FIRST_SHOWN 1.0 /* seconds */
#define RENEWED     0.2

/* Seconds. */
static double now(void)
{
    return (double)mpiio_clock() / 1000;
}

void view_progress_start(struct view_progress *progress, bool wanted, const char *unit,
                         int64_t total)
{
    memset(progress, 0, sizeof(*progress));
    progress->wanted = wanted && isatty(STDERR_FILENO);
    progress->unit = unit;
    progress->total = total;
    if (progress->wanted)
        progress->start = progress->shown = now();
}

void view_progress_step(struct view_progress *progress, int64_t done)
{
    char text[MPIIO_SIZE_TEXT], rate[MPIIO_SIZE_TEXT], percent[16] = "";

    if (!progress->wanted)
        return;
    double time = now();
    if (time - progress->start < FIRST_SHOWN || time - progress->shown < RENEWED)
        return;
    int64_t speed = (int64_t)((double)done / (time - progress->start));
    if (progress->total > 0 && done <= progress->total)
        snprintf(percent, sizeof(percent), ", %d %%",
                 (int)((double)done / (double)progress->total * 100));
    if (progress->unit)
        fprintf(stderr, "\rmpiio-view: %" PRId64 " %s%s, %" PRId64 "/s\033[K", done, progress->unit,
                percent, speed);
    else
        fprintf(stderr, "\rmpiio-view: %s%s, %s/s\033[K", mpiio_format_size(done, text), percent,
                mpiio_format_size(speed, rate));
    fflush(stderr);
    progress->shown = time;
    progress->visible = true;
}

void view_progress_end(struct view_progress *progress)
{
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = progress->wanted = false;
}
