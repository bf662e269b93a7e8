/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SURVEY_H
#define VIEW_SURVEY_H

#include "view.h"
#include "viewspec/map/cover.h"

/* Private to mpiio-view: a summary of the ranks' parts of a view. Not thread-safe. */

/* The maximum number of groups of ranks that are listed. If there are more, only the range is
   printed. */
#define VIEW_GROUPS 8

/* A rank's part of the file, or of a tile if there is no file. INT64_MAX: beyond 2^63-2. */
struct view_share {
    int64_t bytes;  /* of the slice */
    int64_t etypes; /* etypes in the slice */
    int64_t file;   /* bytes in the file */
    int64_t runs;   /* adjacent ones merged */
    bool about;     /* runs is an upper bound, not counted one by one */
};

/* Ranks first .. last, whose parts have equal sizes. */
struct view_group {
    int64_t first, last;
    struct view_share share;
};

/* The summary. Sizes are in bytes. */
struct view_survey {
    int64_t ranks, looked_at, step; /* one of every step ranks is examined */
    int64_t file_size;              /* -1: there is no file */
    int64_t tile_min, tile_max;
    int64_t extent_min, extent_max;
    int64_t tiles_min, tiles_max; /* INT64_MAX: unlimited */
    int64_t begin;       /* lowest displacement of a first etype; INT64_MAX: there is none */
    int64_t file;        /* sum of the bytes in the file over all ranks; INT64_MAX: unknown */
    int64_t tails;       /* bytes of the file in etypes that its end truncates */
    int64_t tail_begin;  /* displacement of the lowest of those etypes */
    int64_t overlapping; /* lowest rank whose own filetype overlaps; -1: none */
    int64_t least, most; /* ranks that get the fewest and the most bytes of the file */
    struct view_share min, max;
    size_t groups; /* VIEW_GROUPS + 1: too many */
    struct view_group group[VIEW_GROUPS];
    struct vs_view *first; /* view of rank 0; a reference */
};

/*
 * Compiles the view of every rank, or of a sample if there are millions, shows progress and fills
 * survey and cover (complete if step is 1). Returns VIEW_DONE, or another status after a message on
 * stderr. In either case the caller releases the view of rank 0.
 */
int view_survey(struct view_survey *survey, const struct vs_spec *spec, size_t index,
                int64_t file_size, struct vs_cover *cover);

/*
 * Calls look with the views of ranks that are *step apart, or with that of rank 0 if all ranks
 * share it, until it returns another value than 0. If *step is 0, first sets it by the number of
 * ranks. Shows progress. Increases *step as the work grows, so that it is limited whatever the
 * views contain. Returns the value of look, or a negative errno with error filled.
 */
int view_each_rank(const struct vs_spec *spec, size_t index, int64_t *step,
                   int (*look)(void *self, int64_t rank, struct vs_view *view), void *self,
                   struct vs_error *error);

/* Returns the number of bytes at the end of the file in incomplete etypes. */
int64_t view_survey_tail(const struct view_survey *survey);

/* Private to mpiio-view check: signs that a view is not meant for its file. */

/*
 * Prints a warning on stderr for each suspicious property of a view's file. Examines the file's
 * size and some thousand of its values. If the file cannot be read, prints nothing. `view` is the
 * view's name in messages. Not thread-safe.
 */
void view_suspect(const struct view_survey *survey, const struct vs_spec *spec, size_t index,
                  const char *view, struct mpiio_store *store);

#endif
