/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for specs. Any text is either refused with a position and a reason, or it makes
 * views with sound maps: positions and displacements are inverses, runs are where the map has them,
 * sizes grow with the file, owners own their bytes, the counts of a cover add up, and the files for
 * other programs have the lengths that they claim.
 *
 * With FUZZ_SHORTHAND the text is a view in shorthand, and its resolved text must be a spec.
 */

#include "fuzz_global.h"
#include "viewspec/map/cover.h"
#include "viewspec/element.h"
#include "viewspec/npy.h"
#include "viewspec/types/ranks.h"

/* Checks a position and its displacement. If ordered, a buftype orders the view, and any
   position of an equal displacement may be found. */
static void check_position(const struct vs_map *map, int64_t position, bool ordered)
{
    const struct vs_map_facts *facts = vs_map_facts(map);
    int64_t displacement = vs_map_displacement(map, position);

    if (position < 0 || position >= facts->limit) {
        CHECK(displacement == -1);
        return;
    }
    CHECK(displacement >= facts->displacement);
    int64_t steps = 2000, found = vs_map_find_within(map, displacement, &steps);
    int64_t bound = vs_map_lower_bound(map, displacement);
    CHECK(bound <= position);
    if (found == VS_FIND_GAVE_UP && !facts->disjoint)
        found = bound;
    else
        CHECK(found >= 0 && (ordered || found <= position) &&
              vs_map_displacement(map, found) == displacement);
    CHECK(vs_map_displacement(map, bound) >= displacement);
    if (facts->disjoint)
        CHECK(found == position);
    if (facts->disjoint && facts->monotonic)
        CHECK(bound == position);
}

static void check_runs(const struct vs_map *map, int64_t position, int64_t length)
{
    struct vs_runs runs;
    struct vs_run run;
    int64_t at = position;

    vs_runs_start(&runs, map, position, length);
    for (int i = 0; i < 50 && vs_runs_next(&runs, &run); i++) {
        CHECK(run.position == at && run.length > 0);
        CHECK(run.displacement == vs_map_displacement(map, run.position));
        CHECK(run.displacement + run.length - 1 ==
              vs_map_displacement(map, run.position + run.length - 1));
        at += run.length;
    }
    CHECK(at <= position + length);
}

/* Checks that elements are adjacent, starting with the one that contains offset, and that they
   advance at the rate of etypes. */
static void check_elements(const struct vs_view *view, int64_t offset, int64_t length)
{
    const struct vs_view_facts *facts = vs_view_facts(view);
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int64_t at = -1, position = -1;

    vs_elements_start(&cursor, view, offset, length);
    for (int i = 0; i < 50 && vs_elements_next(&cursor, &run); i++) {
        CHECK(run.count > 0 && run.native > 0 && run.file > 0);
        CHECK(i == 0 ? run.offset <= offset && run.offset + run.native > offset
                     : run.offset == at && run.position == position);
        if (run.offset % facts->etype_size == 0)
            CHECK(run.position == run.offset / facts->etype_size * facts->etype_file_size);
        at = run.offset + run.count * run.native;
        position = run.position + run.count * run.file;
    }
    CHECK(at < 0 || at > offset);
}

/* Checks that packed offsets and slice offsets ascend together. */
static void check_gaps(const struct vs_view *view)
{
    const struct vs_map *gaps = vs_view_gaps(view);

    for (int64_t packed = 0; gaps && packed < 200 && packed < vs_map_facts(gaps)->limit; packed++) {
        int64_t offset = vs_view_offset(view, packed);
        CHECK(offset >= packed && vs_view_packed(view, offset) == packed);
        CHECK(vs_view_packed(view, offset + 1) == packed + 1);
        CHECK(vs_view_end(view, packed + 1) > offset && vs_view_end(view, packed) <= offset);
    }
}

static void check_view(const struct vs_view *view)
{
    static const int64_t sizes[] = {0, 1, 7, 100, 4096, 1 << 20, INT64_C(1) << 40, INT64_MAX};
    const struct vs_map *map = vs_view_map(view);
    const struct vs_map_facts *facts = vs_map_facts(map);
    bool ordered = vs_view_has_order(view);
    int64_t last = 0;

    CHECK(facts->limit >= 0 && facts->tile_size >= 0);
    check_position(map, -1, ordered);
    check_position(map, facts->limit, ordered);
    check_position(map, INT64_MAX, ordered);
    for (int i = 0; i < 40; i++)
        check_position(map, i, ordered);
    for (int shift = 6; shift < 63; shift++)
        check_position(map, INT64_C(1) << shift, ordered);
    if (facts->limit > 0)
        check_position(map, facts->limit - 1, ordered);
    check_runs(map, 0, 1000);
    check_runs(map, facts->tile_size / 2, 1000);
    if (facts->limit > 100)
        check_runs(map, facts->limit - 100, 100);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_elements(view, sizes[i], 1000);
        int64_t shown = vs_view_positions(view, sizes[i]);
        CHECK(shown >= last && shown <= facts->limit);
        CHECK(shown % vs_view_facts(view)->etype_file_size == 0);
        last = shown;
    }
    check_gaps(view);
}

/* Checks that the rank is found as an owner of the first byte of its slice. */
static void check_owner(const struct vs_spec *spec, size_t index, int64_t rank,
                        const struct vs_view *view)
{
    struct vs_owner_query query = {.spec = spec, .index = index, .file_size = -1};
    struct vs_error error = {0};
    struct vs_owner owner;

    query.displacement = vs_map_displacement(vs_view_map(view), 0);
    if (query.displacement < 0)
        return;
    int rc = vs_owner_next(&query, rank, rank + 1, &owner, &error);
    CHECK(rc == -E2BIG || (rc == 1 && owner.rank == rank));
    if (rc == 1 && (vs_map_facts(vs_view_map(view))->disjoint || !vs_view_has_order(view)))
        CHECK(owner.offset == vs_view_offset(view, 0));
}

/* Checks that the view accepts the header that it makes for the whole slice. */
static void check_npy(struct vs_view *view)
{
    struct vs_npy *npy = NULL;
    int64_t size = vs_view_slice_size(view, INT64_C(1) << 20);

    CHECK(vs_npy_new(view, &npy) == 0);
    char *header = malloc((size_t)vs_npy_length(npy));
    CHECK(header && size >= 0);
    vs_npy_header(npy, size, header);
    int64_t reported = vs_npy_size(npy, header);
    CHECK(reported >= 0 && reported <= size);
    free(header);
    vs_npy_free(npy);
}

static void check_cover(struct vs_cover *cover)
{
    struct vs_cover_result result;

    if (vs_cover_compute(cover, 20000, &result) == 0)
        CHECK(result.once >= 0 && result.many >= 0 && result.none >= 0 &&
              result.once + result.many + result.none == result.period);
}

#ifdef FUZZ_SHORTHAND
static int parse(const uint8_t *data, size_t size, struct vs_spec **spec, struct vs_error *error)
{
    static const char *const defines[] = {"n=5", "m=n*2"};
    static const struct vs_overrides overrides = {
        .file = "/f", .defines = defines, .define_count = 2};
    char *text = strndup((const char *)data, size);

    CHECK(text);
    int rc = vs_spec_parse_shorthand(text, "fuzz", "/", &overrides, spec, error);
    CHECK(!rc || (error->line > 0 && error->column > 0));
    free(text);
    return rc;
}

static void check_resolved(const char *text)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;

    CHECK(vs_spec_parse(text, strlen(text), "fuzz", "/", NULL, &spec, &error) == 0);
    char *again = vs_spec_resolved(spec, true);
    CHECK(strcmp(text, again) == 0);
    free(again);
    vs_spec_free(spec);
}
#else
static int parse(const uint8_t *data, size_t size, struct vs_spec **spec, struct vs_error *error)
{
    return vs_spec_parse((const char *)data, size, "fuzz", "/", NULL, spec, error);
}

static void check_resolved(const char *text)
{
    CHECK(text);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    int rc = parse(data, size, &spec, &error);

    if (rc) {
        CHECK(error.code == rc && error.reason[0] && spec == NULL);
        return 0;
    }
    for (size_t v = 0; v < vs_spec_view_count(spec); v++) {
        int64_t ranks = vs_spec_ranks(spec);
        const int64_t tried[] = {0, 1, ranks / 2, ranks - 1};
        struct vs_cover *cover = vs_cover_new();
        CHECK(cover);
        for (int i = 0; i < 4; i++) {
            struct vs_error problem = {0};
            struct vs_view *view = NULL;
            if (tried[i] >= ranks)
                continue;
            rc = vs_spec_view(spec, v, tried[i], &view, &problem);
            CHECK(rc ? problem.code == rc && problem.reason[0] : view != NULL);
            if (!rc) {
                check_view(view);
                check_npy(view);
                check_owner(spec, v, tried[i], view);
                CHECK(vs_cover_add(cover, vs_view_map(view), 1) == 0);
            }
            vs_view_unref(view);
        }
        check_cover(cover);
        vs_cover_free(cover);
        check_global(spec, v);
    }
    char *text = vs_spec_resolved(spec, true);
    check_resolved(text);
    free(text);
    vs_spec_free(spec);
    return 0;
}
