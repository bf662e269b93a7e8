/* SPDX-License-Identifier: MIT */
#ifndef VIEW_PROGRESS_H
#define VIEW_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A line on a terminal that says how far long work has come. It appears after a second, is
 * renewed a few times a second and leaves nothing behind. One thread at a time.
 */
struct view_progress {
    bool wanted, visible;
    const char *unit; /* what is counted; NULL: bytes */
    int64_t total;    /* 0: not known */
    double start, shown;
};

/* Nothing is ever shown unless wanted is true and stderr is a terminal. unit is borrowed. */
void view_progress_start(struct view_progress *progress, bool wanted, const char *unit,
                         int64_t total);

/* done of total so far. Cheap enough to be called for each MiB. */
void view_progress_step(struct view_progress *progress, int64_t done);

/* Wipes the line. To be called before anything else is written to the terminal. */
void view_progress_end(struct view_progress *progress);

#endif
