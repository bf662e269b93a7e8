/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SURVEY_H
#define VIEW_SURVEY_H

#include "view.h"
#include "viewspec/map/cover.h"

/* Private to mpiio-view: what the ranks of a view get, summed up. One thread at a time. */

/* Groups of ranks that are told apart; of more, only the range of what they get. */
#define VIEW_GROUPS 8

/* What a rank gets: of the file, or of a tile where there is none. */
struct view_share {
    int64_t bytes;  /* of the slice; -1: beyond 2^63-1 */
    int64_t etypes; /* in it */
    int64_t file;   /* bytes in the file */
    int64_t runs;   /* merged where they touch */
    bool about;     /* runs were not counted one by one: at most so many */
};

/* Ranks first .. last that get the same. */
struct view_group {
    int64_t first, last;
    struct view_share share;
};

/* Sizes in bytes. */
struct view_survey {
    int64_t ranks, looked_at, step; /* ranks at this distance are looked at */
    int64_t file_size;              /* -1: there is no file */
    int64_t tile_min, tile_max;
    int64_t extent_min, extent_max;
    int64_t tiles_min, tiles_max; /* INT64_MAX: without end */
    int64_t begin;       /* lowest displacement of a first etype; INT64_MAX: there is none */
    int64_t file;        /* sum of the shares' bytes in the file; -1: not known */
    int64_t tails;       /* bytes of the file in etypes that its end cuts */
    int64_t tail_begin;  /* displacement of the lowest of them */
    int64_t overlapping; /* lowest rank whose own filetype overlaps; -1: none */
    int64_t least, most; /* ranks that get the least and the most bytes */
    struct view_share min, max;
    size_t groups; /* VIEW_GROUPS + 1: too many */
    struct view_group group[VIEW_GROUPS];
    struct vs_view *first; /* rank 0's; a reference */
};

/*
 * Compiles the view of every rank, or of enough of them where there are millions, shows progress
 * and fills survey and cover (complete where step is 1). VIEW_DONE, or what is wrong is said on
 * stderr. view_survey_free is due in either case.
 */
int view_survey(struct view_survey *survey, const struct vs_spec *spec, size_t index,
                int64_t file_size, struct vs_cover *cover);

void view_survey_free(struct view_survey *survey);

/* Returns the distance between ranks that are examined if all views differ. */
int64_t view_rank_step(int64_t ranks);

/*
 * Starts zeroed. Keeps what looking at ranks takes within bounds, whatever their views consist of:
 * told of each view that was looked at, makes *step, the distance to the next rank, larger in time.
 */
struct view_pace {
    int64_t work; /* since the step was made larger */
    int slower;   /* times that it was */
};
void view_pace(struct view_pace *pace, const struct vs_view *view, int64_t *step);

/* Bytes at the end of the file in etypes that are not whole. */
int64_t view_survey_tail(const struct view_survey *survey);

/* Private to mpiio-view check: what about a file looks as if its view were not meant for it. */

/*
 * Says on stderr, each in a line, what is suspicious about the file of a view. Looks at the file's
 * size and at some thousand of its values, wherever they are; a file that cannot be read tells
 * nothing. `view` is what messages call the view. Not thread-safe.
 */
void view_suspect(const struct view_survey *survey, const struct vs_spec *spec, size_t index,
                  const char *view);

#endif
