/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TOP_MOUNTS_H
#define VIEW_TOP_MOUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mounts/look.h"

/* The mounts of this host and their statistics, .mpiio/stats.json. Not thread-safe. */

struct view_mount {
    char *place;               /* the mount point; owned */
    struct mounts_child child; /* reads the statistics */
    bool looking;              /* the child has not answered yet */
    json_t *stats;             /* the newest; owned; NULL: none yet */
    json_t *before;            /* the previous ones; owned; NULL: none yet */
    long long time;            /* of stats, as mounts_now */
    long long time_before;
    int error; /* why there are no newer ones: a negative errno; -ETIMEDOUT: no answer */
};

struct view_mounts {
    struct view_mount *list; /* owned */
    size_t count, room;
};

/*
 * Finds the mounts at places, or all readable ones if there are none, in the order of the kernel's
 * table. places has a NULL at its end, and is borrowed. Returns 0 or a negative errno; on -ENOENT,
 * *missing is the place without a mount of type fuse.mpiio. Keeps the state in mounts->list of
 * mounts that still exist.
 */
int view_mounts_find(struct view_mounts *mounts, char *const *places, const char **missing);

/* Reads the statistics of all mounts. Waits for limit ms at most. */
void view_mounts_read(struct view_mounts *mounts, int limit);

/* Frees all. A child that is blocked in a mount is left behind. */
void view_mounts_free(struct view_mounts *mounts);

/* Returns the number at a path of keys, such as "requests.read", in stats; 0 if there is none. */
int64_t view_stat(const json_t *stats, const char *path);

/* Returns the growth of that number per second since the previous statistics; 0 if there are
   none. */
double view_stat_rate(const struct view_mount *mount, const char *path);

/* Prints all statistics of the mounts in Prometheus's text format. */
void view_print_prometheus(const struct view_mounts *mounts, FILE *out);

#endif
