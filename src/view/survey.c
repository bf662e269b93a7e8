/* SPDX-License-Identifier: MIT */
#include "survey.h"

#include "viewspec/base/integer.h"

/* Up to MAX_RANKS ranks are all examined. Of more, about SOME_RANKS are sampled at equal
   distances. */
#define MAX_RANKS  ((int64_t)4 << 20)
#define SOME_RANKS ((int64_t)256 << 10)
/* After this much work (vs_view_facts), ever fewer ranks are examined, so that the total is at
   most twice as much. */
#define MAX_WORK ((int64_t)1 << 27)
/* The maximum number of increases of the distance between ranks: enough to exceed their number. */
#define MAX_SLOWER 16
/* The maximum number of runs that are counted one by one: of one tile, and of all ranks. */
#define TILE_RUNS  65536
#define TOTAL_RUNS ((int64_t)8 << 20)

static int64_t count_joined(const struct vs_map *map, int64_t length)
{
    struct vs_runs runs;
    struct vs_run run;
    int64_t count = 0;

    vs_runs_start(&runs, map, 0, length);
    while (vs_runs_next(&runs, &run))
        count++;
    return count;
}

/*
 * Counts the runs of the first positions of a map. Tiles are alike, so it counts the runs of one
 * tile, two tiles, and one with the rest after the last whole one. If a tile has too many runs, the
 * result is an estimate.
 */
static void count_runs(const struct vs_map *map, int64_t positions, int64_t *budget,
                       struct view_share *share)
{
    const struct vs_map_facts *facts = vs_map_facts(map);
    int64_t tiles, rest, one;

    share->runs = positions > 0;
    if (positions <= 0 || (facts->tile_runs == 1 && facts->tile_size == facts->tile_extent))
        return;
    tiles = positions / facts->tile_size;
    rest = positions % facts->tile_size;
    if (facts->tile_runs > TILE_RUNS || *budget < 4 * facts->tile_runs) {
        share->runs =
            vs_add_capped(vs_mul_capped(tiles, facts->tile_runs), vs_min(rest, facts->tile_runs));
        share->about = true;
        return;
    }
    *budget -= 4 * facts->tile_runs;
    if (tiles <= 2) {
        share->runs = count_joined(map, positions);
        return;
    }
    one = count_joined(map, facts->tile_size);
    share->runs = vs_mul_capped(tiles - 1, count_joined(map, 2 * facts->tile_size) - one);
    share->runs = vs_add_capped(share->runs, count_joined(map, facts->tile_size + rest));
}

static struct view_share share_of(const struct vs_view *view, int64_t file_size, int64_t *budget)
{
    const struct vs_view_facts *facts = vs_view_facts(view);
    const struct vs_map *map = vs_view_map(view);
    struct view_share share = {.file = file_size < 0 ? vs_map_facts(map)->tile_size
                                                     : vs_view_positions(view, file_size)};

    share.etypes = share.file / facts->etype_file_size;
    share.bytes = vs_mul_capped(share.etypes, facts->etype_size);
    if (share.bytes > 0 && share.bytes < INT64_MAX)
        share.bytes = vs_view_end(view, share.bytes);
    count_runs(map, share.file, budget, &share);
    return share;
}

static bool same_share(const struct view_share *a, const struct view_share *b)
{
    return a->bytes == b->bytes && a->etypes == b->etypes && a->file == b->file &&
           a->runs == b->runs && a->about == b->about;
}

static void add_group(struct view_survey *survey, const struct view_share *share, int64_t rank,
                      int64_t copies)
{
    size_t count = survey->groups;

    if (count > VIEW_GROUPS)
        return;
    if (count > 0 && same_share(&survey->group[count - 1].share, share)) {
        survey->group[count - 1].last = rank + copies - 1;
        return;
    }
    if (count < VIEW_GROUPS)
        survey->group[count] = (struct view_group){rank, rank + copies - 1, *share};
    survey->groups++;
}

static void add_share(struct view_survey *survey, const struct view_share *share, int64_t rank,
                      int64_t copies)
{
    if (share->file < survey->min.file)
        survey->least = rank;
    if (share->file > survey->max.file)
        survey->most = rank;
    survey->min.file = vs_min(survey->min.file, share->file);
    survey->min.bytes = vs_min(survey->min.bytes, share->bytes);
    survey->min.etypes = vs_min(survey->min.etypes, share->etypes);
    survey->min.runs = vs_min(survey->min.runs, share->runs);
    survey->max.file = vs_max(survey->max.file, share->file);
    survey->max.bytes = vs_max(survey->max.bytes, share->bytes);
    survey->max.etypes = vs_max(survey->max.etypes, share->etypes);
    survey->max.runs = vs_max(survey->max.runs, share->runs);
    survey->max.about = survey->max.about || share->about;
    survey->file = vs_add_capped(survey->file, vs_mul_capped(share->file, copies));
    add_group(survey, share, rank, copies);
}

/* Adds the bytes of an etype that begins inside the file and does not end there. */
static void add_tail(struct view_survey *survey, const struct vs_map *map, int64_t positions)
{
    int64_t begin = vs_map_displacement(map, positions);

    if (!vs_map_facts(map)->monotonic || begin < 0 || begin >= survey->file_size)
        return;
    survey->tails += vs_map_lower_bound(map, survey->file_size) - positions;
    survey->tail_begin = vs_min(survey->tail_begin, begin);
}

/* Adds a view of `copies` ranks, of which rank is the first. */
static void add_rank(struct view_survey *survey, struct vs_view *view, int64_t rank, int64_t copies,
                     int64_t *budget)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    struct view_share share = share_of(view, survey->file_size, budget);

    if (!survey->first)
        survey->first = vs_view_ref(view);
    add_share(survey, &share, rank, copies);
    survey->tile_min = vs_min(survey->tile_min, facts->tile_size);
    survey->tile_max = vs_max(survey->tile_max, facts->tile_size);
    survey->extent_min = vs_min(survey->extent_min, facts->tile_extent);
    survey->extent_max = vs_max(survey->extent_max, facts->tile_extent);
    survey->tiles_min = vs_min(survey->tiles_min, facts->tiles);
    survey->tiles_max = vs_max(survey->tiles_max, facts->tiles);
    if (!facts->disjoint && survey->overlapping < 0)
        survey->overlapping = rank;
    if (facts->tile_size) {
        survey->begin = vs_min(survey->begin, facts->first);
        if (survey->file_size >= 0)
            add_tail(survey, vs_view_map(view), share.file);
    }
    survey->looked_at++;
}

/* The work of examining ranks. Initialize it with zeros. */
struct pace {
    int64_t work; /* since the last increase of the step */
    int slower;   /* number of increases */
};

/* Counts the work on a view, and increases the step if there was too much. */
static void slow_down(struct pace *pace, const struct vs_view *view, int64_t *step)
{
    pace->work += vs_view_facts(view)->work;
    if (pace->work <= MAX_WORK >> pace->slower)
        return;
    pace->work = 0;
    if (pace->slower < MAX_SLOWER) {
        pace->slower++;
        *step *= 4;
    }
}

int view_each_rank(const struct vs_spec *spec, size_t index, int64_t *step,
                   int (*look)(void *self, int64_t rank, struct vs_view *view), void *self,
                   struct vs_error *error)
{
    bool common = vs_spec_view_is_common(spec, index);
    int64_t ranks = vs_spec_ranks(spec);
    struct view_progress progress;
    struct pace pace = {0};
    int result = 0;

    if (*step == 0)
        *step = common || ranks <= MAX_RANKS ? 1 : (ranks - 1) / SOME_RANKS + 1;
    view_progress_start(&progress, true, "ranks", ranks);
    for (int64_t rank = 0; rank < ranks && !result; rank += common ? ranks : *step) {
        struct vs_view *view;
        result = vs_spec_view(spec, index, rank, &view, error);
        if (result)
            break;
        result = look(self, rank, view);
        if (!common)
            slow_down(&pace, view, step);
        vs_view_unref(view);
        if (rank % 1024 == 0)
            view_progress_step(&progress, rank);
    }
    view_progress_end(&progress);
    return result;
}

/* The examination of all ranks. */
struct look {
    struct view_survey *survey;
    int64_t copies; /* ranks that share a view */
    int64_t budget; /* runs that may still be counted */
    struct vs_cover *cover;
};

static int look_at(void *self, int64_t rank, struct vs_view *view)
{
    struct look *look = self;

    add_rank(look->survey, view, rank, look->copies, &look->budget);
    return look->survey->step == 1 ? vs_cover_add(look->cover, vs_view_map(view), look->copies) : 0;
}

int view_survey(struct view_survey *survey, const struct vs_spec *spec, size_t index,
                int64_t file_size, struct vs_cover *cover)
{
    int64_t ranks = vs_spec_ranks(spec);
    bool common = vs_spec_view_is_common(spec, index);
    struct look look = {survey, common ? ranks : 1, TOTAL_RUNS, cover};
    struct vs_error error = {0};

    *survey = (struct view_survey){.ranks = ranks,
                                   .file_size = file_size,
                                   .tile_min = INT64_MAX,
                                   .extent_min = INT64_MAX,
                                   .extent_max = INT64_MIN,
                                   .tiles_min = INT64_MAX,
                                   .min = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, false},
                                   .begin = INT64_MAX,
                                   .tail_begin = INT64_MAX,
                                   .overlapping = -1};
    int result = view_each_rank(spec, index, &survey->step, look_at, &look, &error);
    if (error.code)
        view_spec_failed(&error);
    else if (result)
        view_failed(NULL, result);
    if (survey->step > 1) {
        survey->file = INT64_MAX;
        survey->groups = VIEW_GROUPS + 1;
    }
    return result ? VIEW_FAILED : VIEW_DONE;
}

/* The result is at most the range that slices lack: ranks that overlap lack the same bytes. */
int64_t view_survey_tail(const struct view_survey *survey)
{
    return survey->tails ? vs_min(survey->tails, survey->file_size - survey->tail_begin) : 0;
}
