/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cover.h"
#include "progress.h"

/* Ranks that are looked at one by one; of more, so many that stand at equal distances. */
#define MAX_RANKS ((int64_t)4 << 20)

/* What is gathered over the ranks of a view; sizes in bytes. */
struct summary {
    int64_t looked_at;
    int64_t tile_min, tile_max;
    int64_t extent_min, extent_max;
    int64_t idle;        /* ranks that own nothing */
    int64_t slices;      /* sum of the slices' lengths, -1: no file or too long a sum */
    int64_t tails;       /* bytes of the file in etypes that its end cuts */
    int64_t tail_begin;  /* displacement of the lowest of them */
    int64_t overlapping; /* lowest rank whose own filetype overlaps; -1: none */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The bytes of an etype that begins inside the file and does not end there. */
static void add_tail(struct summary *sum, const struct vs_map *map, int64_t positions,
                     int64_t file_size)
{
    int64_t begin = vs_map_displacement(map, positions);

    if (!vs_map_facts(map)->monotonic || begin < 0 || begin >= file_size)
        return;
    sum->tails += vs_map_lower_bound(map, file_size) - positions;
    sum->tail_begin = min64(sum->tail_begin, begin);
}

/* Adds a view that copies ranks have, rank the first of them. */
static void add_rank(struct summary *sum, const struct vs_view *view, int64_t rank, int64_t copies,
                     int64_t file_size)
{
    const struct vs_map *map = vs_view_map(view);
    const struct vs_map_facts *facts = vs_map_facts(map);
    int64_t size, all;

    if (!sum->looked_at++) {
        sum->tile_min = facts->tile_size;
        sum->extent_min = facts->tile_extent;
    }
    sum->tile_min = min64(sum->tile_min, facts->tile_size);
    sum->tile_max = max64(sum->tile_max, facts->tile_size);
    sum->extent_min = min64(sum->extent_min, facts->tile_extent);
    sum->extent_max = max64(sum->extent_max, facts->tile_extent);
    sum->idle += facts->tile_size ? 0 : copies;
    if (!facts->disjoint && sum->overlapping < 0)
        sum->overlapping = rank;
    if (file_size < 0)
        return;
    size = vs_view_slice_size(view, file_size);
    if (size < 0 || __builtin_mul_overflow(size, copies, &all) || sum->slices < 0 ||
        __builtin_add_overflow(sum->slices, all, &sum->slices))
        sum->slices = -1;
    if (facts->tile_size)
        add_tail(sum, map, vs_view_positions(view, file_size), file_size);
}

/* Compiles every rank's view, or enough of them; fills sum and cover. */
static int look_at_ranks(const struct vs_spec *spec, size_t index, int64_t file_size,
                         struct summary *sum, struct vs_cover *cover)
{
    bool common = vs_spec_view_is_common(spec, index);
    int64_t ranks = vs_spec_ranks(spec), step = (ranks - 1) / MAX_RANKS + 1;
    struct vs_error error = {0};
    struct view_progress progress;
    int result = 0;

    *sum = (struct summary){
        .slices = file_size < 0 ? -1 : 0, .tail_begin = INT64_MAX, .overlapping = -1};
    view_progress_start(&progress, true, "ranks", ranks);
    for (int64_t rank = 0; rank < ranks && !result; rank += common ? ranks : step) {
        struct vs_view *view;
        result = vs_spec_view(spec, index, rank, &view, &error);
        if (result)
            break;
        add_rank(sum, view, rank, common ? ranks : 1, file_size);
        if (common || step == 1)
            result = vs_cover_add(cover, vs_view_map(view), common ? ranks : 1);
        vs_view_unref(view);
        if (rank % 1024 == 0)
            view_progress_step(&progress, rank);
    }
    view_progress_end(&progress);
    if (error.code)
        view_spec_failed(&error);
    else if (result)
        view_message("%s", strerror(-result));
    if (!common && step > 1)
        sum->slices = -1;
    return result ? VIEW_FAILED : VIEW_DONE;
}

static void print_range(const char *name, int64_t low, int64_t high)
{
    if (low == high)
        printf(", %s %" PRId64, name, low);
    else
        printf(", %s %" PRId64 "..%" PRId64, name, low, high);
}

/* Coverage in percent: 100 and 0 only where it is all and nothing. */
static void print_percent(int64_t part, int64_t whole)
{
    double percent = (double)part / (double)whole * 100;

    if (part == whole || part == 0)
        printf(", coverage %d %%", part ? 100 : 0);
    else if (percent < 0.01)
        printf(", coverage below 0.01 %%");
    else
        printf(", coverage %.2f %%", percent > 99.99 ? 99.99 : percent);
}

static int print_cover(struct vs_cover *cover, bool complete)
{
    struct vs_cover_result result;
    int status = complete ? vs_cover_compute(cover, VS_COVER_STEPS, &result) : -ERANGE;

    if (status == -ENOMEM) {
        view_message("%s", strerror(ENOMEM));
        return VIEW_FAILED;
    }
    if (status == -ERANGE)
        printf(", coverage not computed (too many ranks)");
    else if (status == -EOVERFLOW)
        printf(", coverage not computed (the ranks' extents have no common multiple below 2^60)");
    else if (status)
        printf(", coverage not computed (too irregular)");
    else if (!result.period)
        printf(", coverage 0 %%");
    else {
        print_percent(result.period - result.none, result.period);
        printf(", overlaps %" PRId64 ", holes %" PRId64 " of %" PRId64 " bytes (%s)", result.many,
               result.none, result.period,
               result.method == VS_COVER_CLOSED ? "closed form" : "walked one period");
    }
    return VIEW_DONE;
}

/* The bytes behind tail_begin are at most what the slices lack: overlapping ranks lack the same. */
static int64_t tail_size(const struct summary *sum, int64_t file_size)
{
    return sum->tails ? min64(sum->tails, file_size - sum->tail_begin) : 0;
}

static int print_view(const struct vs_spec *spec, size_t index, int64_t file_size,
                      const struct summary *sum, struct vs_cover *cover)
{
    const char *name = vs_spec_view_name(spec, index);
    int64_t ranks = vs_spec_ranks(spec);
    bool complete = sum->looked_at == ranks || vs_spec_view_is_common(spec, index);

    printf("view%s%s: ranks %" PRId64, name ? " " : "", name ? name : "", ranks);
    if (!complete)
        printf(" (%" PRId64 " looked at)", sum->looked_at);
    if (sum->idle)
        printf(" (%" PRId64 " own%s nothing)", sum->idle, sum->idle == 1 ? "s" : "");
    print_range("tile", sum->tile_min, sum->tile_max);
    print_range("extent", sum->extent_min, sum->extent_max);
    int status = print_cover(cover, complete);
    if (file_size >= 0) {
        printf(", file tail %" PRId64, tail_size(sum, file_size));
        if (sum->slices >= 0)
            printf(", slices %" PRId64 " bytes", sum->slices);
    }
    putchar('\n');
    return status;
}

/* What the line does not say well enough. */
static void warn(const struct vs_spec *spec, size_t index, const struct summary *sum,
                 int64_t file_size)
{
    const char *name = vs_spec_view_name(spec, index);
    char view[300];

    fflush(stdout);
    snprintf(view, sizeof view, "view%s%s", name ? " " : "", name ? name : "");
    if (sum->overlapping >= 0)
        view_message("warning: %s: the filetype of rank %" PRId64
                     " overlaps itself: its slice can be read, not written",
                     view, sum->overlapping);
    if (file_size >= 0 && sum->tails)
        view_message("warning: %s: the file ends inside an etype: its last %" PRId64
                     " bytes are in no slice of it",
                     view, tail_size(sum, file_size));
}

static int check_view(const struct vs_spec *spec, size_t index, int64_t file_size)
{
    struct summary sum;
    struct vs_cover *cover = vs_cover_new();
    int status = VIEW_FAILED;

    if (!cover)
        view_message("%s", strerror(ENOMEM));
    else
        status = look_at_ranks(spec, index, file_size, &sum, cover);
    if (!status) {
        status = print_view(spec, index, file_size, &sum, cover);
        warn(spec, index, &sum, file_size);
    }
    vs_cover_free(cover);
    return status;
}

static int run(const struct view_args *args, const struct vs_spec *spec)
{
    int64_t file_size = view_file_size(spec);
    size_t views = vs_spec_view_count(spec);
    int status = VIEW_DONE;

    (void)args;
    if (file_size < 0) {
        view_message("%s: %s", vs_spec_file(spec), strerror((int)-file_size));
        status = VIEW_FAILED;
    } else {
        printf("%s: %" PRId64 " bytes, %" PRId64 " rank%s, %zu view%s\n", vs_spec_file(spec),
               file_size, vs_spec_ranks(spec), vs_spec_ranks(spec) == 1 ? "" : "s", views,
               views == 1 ? "" : "s");
    }
    for (size_t i = 0; i < views; i++) {
        int result = check_view(spec, i, file_size);
        status = status ? status : result;
    }
    return status;
}

const struct view_command view_check = {
    .name = "check",
    .run = run,
    .summary = "whether a spec can be used, and what its views cover",
    .help =
        "Usage: mpiio-view check SPEC\n"
        "Checks a spec for all its ranks and prints a line for each view: ranks, tile size and\n"
        "extent in bytes; how much of a period of the file is in some slice (coverage), in\n"
        "several (overlaps) and in none (holes), and whether this was counted in closed form or "
        "by\n"
        "walking one period; the bytes at the end of the file that make up no whole etype (file\n"
        "tail); and the slices' length together. Exits with 1 where the spec cannot be used.\n"
        "\n"
        "Examples:\n"
        "  mpiio-view check heat.json\n"
        "  mpiio-view check heat.json -n 16 -D rows=40 -f other.dat\n",
};
