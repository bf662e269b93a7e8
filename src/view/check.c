/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/store_layers.h"
#include "viewspec/global.h"
#include "viewspec/members/members.h"
#include "viewspec/base/line.h"
#include "survey.h"

/* Longer texts of types are truncated: the spec has the full text. */
#define MAX_TEXT 200

/* Prints the name of a line of the report. */
static void print_label(const char *label)
{
    printf("  %-11s", label);
}

/* Prints a type. Prints nothing if the text is empty. */
static int print_type(const char *label, char *text)
{
    if (text == NULL)
        return view_failed(NULL, -ENOMEM);
    if (text[0]) {
        print_label(label);
        vs_line_clean(text);
        printf("%.*s%s\n", MAX_TEXT, text, strlen(text) > MAX_TEXT ? "..." : "");
    }
    free(text);
    return VIEW_DONE;
}

static void print_range(int64_t low, int64_t high)
{
    printf("%" PRId64, low);
    if (high != low)
        printf(" to %" PRId64, high);
}

static void print_tile(const struct view_survey *survey)
{
    print_label("tile");
    print_range(survey->tile_min, survey->tile_max);
    printf(" of ");
    print_range(survey->extent_min, survey->extent_max);
    printf(" byte%s", view_plural(survey->extent_max));
    if (survey->tiles_min < INT64_MAX) {
        bool some_end = survey->tiles_max == INT64_MAX;

        printf(", ");
        print_range(survey->tiles_min, some_end ? survey->tiles_min : survey->tiles_max);
        printf(" tile%s%s", view_plural(survey->tiles_max), some_end ? " or without end" : "");
    }
    putchar('\n');
}

/* Prints "800 bytes, 100 etypes, 1 run each". */
static void print_share(const struct view_group *group, bool has_file)
{
    const struct view_share *share = &group->share;

    if (!share->etypes) {
        printf("nothing\n");
        return;
    }
    if (share->bytes == INT64_MAX)
        printf("more than 2^63-1 bytes");
    else
        printf("%" PRId64 " byte%s", share->bytes, view_plural(share->bytes));
    if (share->bytes != share->file)
        printf(" (%" PRId64 " in the file)", share->file);
    printf(", %" PRId64 " etype%s", share->etypes, view_plural(share->etypes));
    if (share->runs < INT64_MAX)
        printf(", %s%" PRId64 " run%s", share->about ? "up to " : "", share->runs,
               view_plural(share->runs));
    printf("%s%s\n", group->first == group->last ? "" : " each", has_file ? "" : ", a tile");
}

static void print_many(const struct view_survey *survey)
{
    print_label("ranks");
    printf("%" PRId64 " ranks: ", survey->ranks);
    if (survey->max.bytes < INT64_MAX)
        print_range(survey->min.bytes, survey->max.bytes);
    else
        printf("up to more than 2^63-1");
    printf(" bytes, ");
    print_range(survey->min.etypes, survey->max.etypes);
    printf(" etypes, ");
    if (survey->max.runs < INT64_MAX) {
        print_range(survey->min.runs, survey->max.runs);
        printf(" runs%s, ", survey->max.about ? " at most" : "");
    }
    printf("%seach: least rank %" PRId64 ", most rank %" PRId64,
           survey->file_size < 0 ? "a tile, " : "", survey->least, survey->most);
    if (survey->step > 1)
        printf(" (of %" PRId64 " looked at)", survey->looked_at);
    putchar('\n');
}

static void print_ranks(const struct view_survey *survey)
{
    if (survey->groups > VIEW_GROUPS) {
        print_many(survey);
        return;
    }
    for (size_t i = 0; i < survey->groups; i++) {
        const struct view_group *group = &survey->group[i];

        print_label(i ? "" : "ranks");
        printf("%" PRId64, group->first);
        if (group->first != group->last)
            printf("-%" PRId64, group->last);
        printf(": ");
        print_share(group, survey->file_size >= 0);
    }
}

/* Prints how much of the file is in slices. If they overlap, the sum is meaningless. */
static void print_sum(const struct view_survey *survey, bool disjoint)
{
    int64_t before = survey->begin < survey->file_size ? survey->begin : survey->file_size;
    int64_t tail = view_survey_tail(survey);
    int64_t rest = survey->file_size - survey->file - before - tail;

    if (survey->file_size < 0 || survey->file == INT64_MAX)
        return;
    print_label("in all");
    if (!disjoint) {
        printf("%" PRId64 " bytes in slices, of a file of %" PRId64 "\n", survey->file,
               survey->file_size);
        return;
    }
    printf("%" PRId64 " of the file's %" PRId64 " bytes", survey->file, survey->file_size);
    const char *comma = ":";
    if (before > 0) {
        printf("%s %" PRId64 " before the first etype", comma, before);
        comma = ",";
    }
    if (rest > 0) {
        printf("%s %" PRId64 " in no slice", comma, rest);
        comma = ",";
    }
    if (tail > 0)
        printf("%s %" PRId64 " in etypes that the file's end cuts", comma, tail);
    putchar('\n');
}

/* Prints the coverage in percent. It is rounded to 100 or 0 only if it is complete or empty. */
static void print_percent(int64_t part, int64_t whole)
{
    double percent = (double)part / (double)whole * 100;

    if (part == whole || part == 0)
        printf("coverage %d %%", part ? 100 : 0);
    else if (percent < 0.01)
        printf("coverage below 0.01 %%");
    else
        printf("coverage %.2f %%", percent > 99.99 ? 99.99 : percent);
}

static void print_partition(const struct vs_cover_result *cover)
{
    if (!cover->period) {
        printf("no: no rank owns anything\n");
        return;
    }
    if (!cover->none && !cover->many)
        printf("yes: each byte is in exactly one slice");
    else
        printf("no: %" PRId64 " byte%s in no slice, %" PRId64 " in several", cover->none,
               cover->none == 1 ? " is" : "s are", cover->many);
    printf(" (%s %" PRId64 " byte%s, ", cover->ends ? "stretch" : "period", cover->period,
           view_plural(cover->period));
    print_percent(cover->period - cover->none, cover->period);
    printf(", %s)\n", cover->method == VS_COVER_CLOSED ? "closed form" : "walked");
}

/* Prints whether the ranks' slices partition the file. */
static int print_cover(const struct view_survey *survey, struct vs_cover *cover)
{
    struct vs_cover_result result;
    int failed = survey->step == 1 ? vs_cover_compute(cover, VS_COVER_STEPS, &result) : -ERANGE;

    if (failed == -ENOMEM)
        return view_failed(NULL, -ENOMEM);
    print_sum(survey, !failed && !result.many);
    print_label("partition");
    if (failed == -ERANGE)
        printf("not known: too many ranks\n");
    else if (failed == -EOVERFLOW)
        printf("not known: the ranks' extents have no common multiple below 2^60\n");
    else if (failed)
        printf("not known: too irregular\n");
    else
        print_partition(&result);
    return VIEW_DONE;
}

/* Prints sizes, separated by x; * for an unknown one, which is negative. */
static void print_sizes(const int64_t *sizes, int count)
{
    for (int d = 0; d < count; d++)
        printf(sizes[d] < 0 ? "%s*" : "%s%" PRId64, d ? " x " : "", sizes[d]);
}

/* Prints "T(time, y, x) of double, 3 x 4 x 6 in blocks of 1 x 2 x 6". */
static void print_field(const struct vs_global *global, int64_t number, int64_t records)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    const struct vs_global_field *field = &facts->field[number];
    struct vs_global_shape shape;

    vs_global_shape(global, number, facts->records ? records : 1, &shape);
    print_label(number ? "" : "array");
    printf("%s(", field->name[0] ? field->name : facts->name);
    for (int d = 0; d < shape.dimensions; d++)
        printf("%s%s", d ? ", " : "", shape.dims[d]);
    printf(") of %s, ", field->basic->name);
    print_sizes(shape.sizes, shape.dimensions);
    if (memcmp(facts->sizes, facts->block, (size_t)facts->dimensions * sizeof(*facts->sizes))) {
        printf(" in blocks of ");
        print_sizes(shape.block, shape.dimensions);
    }
    putchar('\n');
}

/* Prints the array that the ranks own together, or why there is none (mpiio-formats(7)). */
static int print_array(const struct vs_spec *spec, size_t index, int64_t file_size)
{
    struct vs_error why = {0};
    struct vs_global *global;

    if (vs_global_new(spec, index, file_size < 0 ? 0 : file_size, &global, &why)) {
        if (vs_global_is_given(spec, index)) {
            fflush(stdout);
            return view_spec_failed(&why);
        }
        print_label("array");
        /* The advice in parentheses is for those who want an array. */
        printf("none: %.*s\n",
               (int)(strstr(why.reason, " (") ? strcspn(why.reason, "(") - 1 : strlen(why.reason)),
               why.reason);
        return VIEW_DONE;
    }
    for (int64_t i = 0; i < vs_global_facts(global)->fields; i++)
        print_field(global, i, file_size < 0 ? -1 : vs_global_records(global, file_size));
    vs_global_free(global);
    return VIEW_DONE;
}

static int print_view(const struct vs_spec *spec, size_t index, const struct view_survey *survey,
                      struct vs_cover *cover)
{
    const char *name = vs_spec_view_name(spec, index);
    int status;

    printf("\nview%s%s\n", name ? " " : "", name ? name : "");
    if (print_type("etype", vs_view_etype_text(survey->first)) ||
        print_type("filetype", vs_view_filetype_text(survey->first)) ||
        print_type("in memory", vs_view_order_text(survey->first)))
        return VIEW_FAILED;
    print_label("datarep");
    printf("%s\n", vs_view_facts(survey->first)->datarep_name);
    print_tile(survey);
    status = print_array(spec, index, survey->file_size);
    if (status)
        return status;
    print_ranks(survey);
    return print_cover(survey, cover);
}

/* Prints warnings. */
static void warn_of(const struct vs_spec *spec, size_t index, struct mpiio_store *store,
                    const struct view_survey *survey)
{
    const char *name = vs_spec_view_name(spec, index);
    char view[300];

    fflush(stdout);
    snprintf(view, sizeof(view), "view%s%s", name ? " " : "", name ? name : "");
    if (survey->overlapping >= 0)
        view_message("warning: %s: the filetype of rank %" PRId64
                     " overlaps itself: its slice can be read, not written",
                     view, survey->overlapping);
    if (survey->file_size >= 0)
        view_suspect(survey, spec, index, view, store);
}

static int check_view(const struct vs_spec *spec, size_t index, struct mpiio_store *store,
                      int64_t file_size)
{
    struct view_survey survey = {0};
    struct vs_cover *cover = vs_cover_new();
    int status =
        cover ? view_survey(&survey, spec, index, file_size, cover) : view_failed(NULL, -ENOMEM);

    if (!status) {
        status = print_view(spec, index, &survey, cover);
        warn_of(spec, index, store, &survey);
    }
    vs_view_unref(survey.first);
    vs_cover_free(cover);
    return status;
}

/* Warns of members that are one file, because then the file can only be read. */
static void warn_of_twins(const struct vs_spec *spec, struct mpiio_store *store)
{
    const struct vs_members *members = vs_spec_members(spec);
    struct mpiio_member_twins twins;
    char *first, *second;

    if (mpiio_assembled_find_twins(mpiio_store_file(store), &twins) <= 0)
        return;
    first = vs_members_file(members, twins.first);
    second = vs_members_file(members, twins.second);
    fflush(stdout);
    view_message("warning: member %" PRId64 ", %s: the same file as member %" PRId64
                 ", %s: they can only be read",
                 twins.second, second ? second : "?", twins.first, first ? first : "?");
    free(first);
    free(second);
}

/* Prints how a mount treats the file's filesystem if hosts do not share its pages. */
static void print_filesystem(const struct mpiio_file *file)
{
    if (!mpiio_file_is_coherent(file))
        printf("filesystem: %s, whose clients may have page caches of their own: treated as "
               "coherence=%s (mpiio-mount(1), FILESYSTEMS)\n",
               file->filesystem->name, mpiio_coherence_name(file->coherence));
}

static void print_file(const struct vs_spec *spec, struct mpiio_store *store, int64_t size)
{
    const struct vs_members *members = vs_spec_members(spec);
    size_t views = vs_spec_view_count(spec);
    char text[40] = "", file[PATH_MAX];

    vs_line_copy(file, sizeof(file), vs_spec_file(spec), strlen(vs_spec_file(spec)));
    if (members)
        snprintf(text, sizeof(text), " of %" PRId64 " member%s", vs_members_count(members),
                 view_plural(vs_members_count(members)));
    printf("%s: %" PRId64 " byte%s%s, %" PRId64 " rank%s, %zu view%s\n", file, size,
           view_plural(size), text, vs_spec_ranks(spec), view_plural(vs_spec_ranks(spec)), views,
           view_plural((int64_t)views));
    print_filesystem(mpiio_store_file(store));
    if (members)
        warn_of_twins(spec, store);
}

static int run_check(const struct view_args *args, const struct vs_spec *spec)
{
    struct mpiio_store *store = NULL;
    struct stat st = {.st_size = -1};
    int status = view_open_file(spec, O_RDONLY, &store), error;

    (void)args;
    if (!status) {
        error = mpiio_store_stat(store, &st);
        if (error)
            status = view_failed(vs_spec_file(spec), error);
        else
            print_file(spec, store, st.st_size);
    }
    for (size_t i = 0; i < vs_spec_view_count(spec); i++) {
        int result = check_view(spec, i, store, st.st_size);
        status = status ? status : result;
    }
    mpiio_store_close(store);
    return status;
}

const struct view_command view_check = {
    .name = "check",
    .run = run_check,
    .summary = "whether a spec can be used, what each rank gets, and what is suspicious",
    .help =
        "Usage: mpiio-view check SPEC\n"
        "Checks a spec for all its ranks and reports on each view: its types; the bytes, etypes\n"
        "and runs that each rank gets; how much of the file is in slices; and whether the ranks\n"
        "partition the file. What deserves attention is a warning on stderr: slices that can't\n"
        "be written, a file that ends inside an etype, an array that does not fit it, values\n"
        "that look better in another byte order or with the array in another order, a Fortran\n"
        "record marker. Exits with 1 where the spec cannot be used.\n"
        "\n"
        "Examples:\n"
        "  mpiio-view check heat.json\n"
        "  mpiio-view check heat.json -n 16 -D rows=40 -f other.dat\n"
        "  mpiio-view check --view 'scatter 512 on 4 of double at 64' -f other.dat\n",
};
