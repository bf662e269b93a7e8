/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TOP_MOUNTS_H
#define VIEW_TOP_MOUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mounts/look.h"

/* The mounts of this host and what they tell of themselves, .mpiio/stats.json. For one thread. */

struct view_mount {
    char *place; /* the mount point; owned */
    struct mounts_look
        *look;      /* under way, where the mount has not answered yet; else NULL; owned */
    json_t *stats;  /* the newest; owned; NULL: none yet */
    json_t *before; /* those before; owned; NULL: none yet */
    int64_t time;   /* of stats, ns of a clock that nobody sets */
    int64_t time_before;
    int error; /* why there are no newer ones: a negative errno; -ETIMEDOUT: no answer */
};

struct view_mounts {
    struct view_mount *list; /* owned */
    size_t count;
};

/*
 * Finds the mounts at places, or all that may be read where count is 0, in the order of the
 * kernel's table; places are borrowed. 0 or a negative errno; *missing is the place where nothing
 * of ours is mounted (-ENOENT). What mounts->list holds of those that are there still, stays.
 */
int view_mounts_find(struct view_mounts *mounts, char *const *places, size_t count,
                     const char **missing);

/* Asks all of them, and waits for limit ms at most. */
void view_mounts_read(struct view_mounts *mounts, int limit);

/* Frees all. A child that a mount keeps which does not answer is left behind. */
void view_mounts_free(struct view_mounts *mounts);

/* The number at a path of keys, such as "requests.read", in stats; 0 where there is none. */
int64_t view_stat(const json_t *stats, const char *path);

/* How much that has grown a second since the time before; 0 where there was none. */
double view_stat_rate(const struct view_mount *mount, const char *path);

/* Prints all statistics of the mounts in the text format that Prometheus reads. */
void view_print_prometheus(const struct view_mounts *mounts, FILE *out);

#endif
