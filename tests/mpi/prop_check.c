/* SPDX-License-Identifier: MIT */
#include "prop_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/element.h"
#include "prop_oracle.h"

const char *const prop_group_names[PROP_GROUPS] = {
    [PROP_VERDICT] = "legal specs are accepted, others refused",
    [PROP_FACTS] = "size, extent and the other facts of a map",
    [PROP_ELEMENTS] = "elements of random ranges",
    [PROP_DISPLACEMENT] = "displacement of every byte",
    [PROP_BATCHES] = "batches of random ranges",
    [PROP_RUNS] = "runs of random ranges, each as long as it can be",
    [PROP_INVERSE] = "position of every byte of the file",
    [PROP_SIZES] = "length of the slice for random file sizes",
    [PROP_BOUNDS] = "sizes and bounds against MPI_Type_get_extent",
    [PROP_PACK] = "bytes against MPI_Pack",
    [PROP_UNPACK] = "bytes against MPI_Unpack",
    [PROP_SLICE] = "slices in all representations, read and written at random places",
};

bool prop_fail(struct prop_state *state, enum prop_group group, const char *format, ...)
{
    va_list arguments;

    if (!state->failed) {
        state->failed = true;
        state->group = group;
        va_start(arguments, format);
        vsnprintf(state->problem, sizeof(state->problem), format, arguments);
        va_end(arguments);
    }
    return false;
}

bool prop_fits(const struct tt_spec *spec, uint64_t random)
{
    struct tt_model model;
    bool fits = true;

    for (int v = 0; v < spec->view_count && fits; v++) {
        for (int rank = 0; rank < spec->ranks && fits; rank++) {
            uint64_t state = random;
            tt_model(&model, spec, &spec->views[v], rank, &state);
            fits = model.verdict != TT_TOO_BIG && model.disp < 1000 && model.tile_extent < 30000 &&
                   model.high < 30000;
            tt_model_free(&model);
        }
    }
    return fits;
}

static bool increasing(const struct tt_model *model)
{
    for (int64_t p = 1; p < model->positions; p++)
        if (model->displacements[p] <= model->displacements[p - 1])
            return false;
    return true;
}

/* Returns the number of a tile's runs, with adjacent ones merged. */
static int64_t tile_runs(const struct tt_model *model)
{
    int64_t runs = model->tile_size > 0;

    for (int64_t p = 1; p < model->tile_size; p++)
        runs += model->tile[p] != model->tile[p - 1] + 1;
    return runs;
}

static bool twice(const int64_t *displacements, int64_t count)
{
    static unsigned char seen[200000];
    bool found = false;
    int64_t low = INT64_MAX;

    for (int64_t p = 0; p < count; p++)
        low = displacements[p] < low ? displacements[p] : low;
    memset(seen, 0, sizeof(seen));
    for (int64_t p = 0; p < count && !found; p++) {
        int64_t at = displacements[p] - low;
        if (at < (int64_t)sizeof(seen))
            found = seen[at]++;
    }
    return found;
}

static bool same(struct prop_state *state, const char *what, int64_t got, int64_t expected)
{
    if (got == expected)
        return true;
    return prop_fail(state, PROP_FACTS, "%s is %" PRId64 ", expected %" PRId64, what, got,
                     expected);
}

static void check_facts(struct prop_state *state, const struct tt_model *model,
                        const struct vs_view *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    const struct vs_view_facts *more = vs_view_facts(view);

    state->done[PROP_FACTS]++;
    same(state, "displacement", facts->displacement, model->disp);
    same(state, "tile_size", facts->tile_size, model->tile_size);
    same(state, "etype_file_size", more->etype_file_size, model->etype_size);
    same(state, "etype_size", more->etype_size, model->etype_native);
    same(state, "etype_extent", more->etype_extent, tt_extent(&model->etype));
    if (model->tile_size == 0)
        return;
    same(state, "tile_extent", facts->tile_extent, model->tile_extent);
    same(state, "first", facts->first, model->disp + model->low);
    same(state, "end", facts->end, model->disp + model->high);
    if (facts->tile_runs < tile_runs(model) || facts->tile_runs > model->tile_size)
        prop_fail(state, PROP_FACTS, "tile_runs is %" PRId64 ", there are %" PRId64,
                  facts->tile_runs, tile_runs(model));
    bool up = increasing(model), overlap = twice(model->displacements, model->positions);
    if ((facts->monotonic && facts->disjoint) != up)
        prop_fail(state, PROP_FACTS, "monotonic %d disjoint %d, but the bytes do%s increase",
                  facts->monotonic, facts->disjoint, up ? "" : " not");
    if (facts->disjoint && overlap)
        prop_fail(state, PROP_FACTS, "disjoint, but a byte is held twice");
    state->overlapping += overlap;
}

/* Checks the elements of a range. Walks the etype's own list of basic types again and again. */
static void check_elements(struct prop_state *state, const struct tt_model *model,
                           const struct vs_view *view, int64_t from, int64_t length)
{
    const struct tt_map *etype = &model->etype;
    struct vs_element_cursor cursor;
    struct vs_elements run, one;
    int64_t offset = 0, position = 0, i = 0;

    state->done[PROP_ELEMENTS]++;
    vs_elements_start(&cursor, view, from, length);
    while (vs_elements_next(&cursor, &run)) {
        for (bool first = true; run.count > 0; i++) {
            const struct tt_basic *basic = &tt_basics[etype->entries[i % etype->count].basic];
            int file = tt_basic_size(&model->etype_env, (int)(basic - tt_basics));
            if (offset + basic->size > from) {
                bool good = run.basic == vs_basic_find(basic->name) && run.native == basic->size &&
                            run.file == file && offset < from + length;
                if (!good || (first && (run.offset != offset || run.position != position))) {
                    prop_fail(state, PROP_ELEMENTS,
                              "range %" PRId64 "+%" PRId64 ": element %" PRId64 " is not %s", from,
                              length, i, basic->name);
                    return;
                }
                int64_t inside = position + (int64_t)i % file;
                if (!vs_elements_find(view, inside, &one) || one.offset != offset ||
                    one.position != position || one.basic != run.basic) {
                    prop_fail(state, PROP_ELEMENTS,
                              "position %" PRId64 " is not in element %" PRId64, inside, i);
                    return;
                }
                first = false;
                run.count--;
            }
            offset += basic->size;
            position += file;
        }
    }
    if (offset < from + length)
        prop_fail(state, PROP_ELEMENTS, "range %" PRId64 "+%" PRId64 " ends at %" PRId64, from,
                  length, offset);
}

static void check_element_ranges(struct prop_state *state, const struct tt_model *model,
                                 const struct vs_view *view, uint64_t *random)
{
    int64_t end = 3 * model->etype_native;

    check_elements(state, model, view, 0, end);
    for (int i = 0; i < 4 && !state->failed; i++) {
        int64_t from = (int64_t)(tt_random(random) % (uint64_t)end);
        check_elements(state, model, view, from,
                       1 + (int64_t)(tt_random(random) % (uint64_t)(end - from)));
    }
}

static void check_displacements(struct prop_state *state, const struct tt_model *model,
                                const struct vs_map *map)
{
    if (vs_map_displacement(map, -1) != -1)
        prop_fail(state, PROP_DISPLACEMENT, "position -1 has a displacement");
    if (vs_map_displacement(map, vs_map_facts(map)->limit) != -1)
        prop_fail(state, PROP_DISPLACEMENT, "the position at the limit has a displacement");
    for (int64_t p = 0; p < model->positions; p++) {
        int64_t got = vs_map_displacement(map, p);
        state->done[PROP_DISPLACEMENT]++;
        if (got != model->displacements[p]) {
            prop_fail(state, PROP_DISPLACEMENT,
                      "position %" PRId64 " is at %" PRId64 ", expected %" PRId64, p, got,
                      model->displacements[p]);
            return;
        }
    }
}

/* Returns true if a run of the map has the model's displacements. */
static bool run_holds(const struct tt_model *model, int64_t position, int64_t displacement,
                      int64_t length)
{
    if (position < 0 || length < 1 || position + length > model->positions)
        return false;
    for (int64_t i = 0; i < length; i++)
        if (model->displacements[position + i] != displacement + i)
            return false;
    return true;
}

static void check_batches(struct prop_state *state, const struct tt_model *model,
                          const struct vs_map *map, int64_t from, int64_t length)
{
    struct vs_cursor cursor;
    struct vs_batch batch;
    int64_t at = from;

    state->done[PROP_BATCHES]++;
    vs_cursor_start(&cursor, map, from, length);
    while (vs_cursor_batch(&cursor, &batch)) {
        bool good = batch.position == at && batch.count >= 1;
        for (int64_t i = 0; good && i < batch.count; i++) {
            good = at + batch.length <= from + length &&
                   run_holds(model, at, batch.displacement + i * batch.stride, batch.length);
            at += batch.length;
        }
        if (!good) {
            prop_fail(state, PROP_BATCHES,
                      "range %" PRId64 "+%" PRId64 ": batch at %" PRId64 " displacement %" PRId64
                      " length %" PRId64 " count %" PRId64 " stride %" PRId64 " is wrong",
                      from, length, batch.position, batch.displacement, batch.length, batch.count,
                      batch.stride);
            return;
        }
    }
    if (at != from + length)
        prop_fail(state, PROP_BATCHES, "range %" PRId64 "+%" PRId64 " ends at %" PRId64, from,
                  length, at);
}

static void check_runs(struct prop_state *state, const struct tt_model *model,
                       const struct vs_map *map, int64_t from, int64_t length)
{
    struct vs_runs runs;
    struct vs_run run, last = {.displacement = -1};
    int64_t at = from;

    state->done[PROP_RUNS]++;
    vs_runs_start(&runs, map, from, length);
    while (vs_runs_next(&runs, &run)) {
        if (run.position != at || at + run.length > from + length ||
            !run_holds(model, run.position, run.displacement, run.length)) {
            prop_fail(state, PROP_RUNS,
                      "range %" PRId64 "+%" PRId64 ": run at %" PRId64 " displacement %" PRId64
                      " length %" PRId64 " is wrong",
                      from, length, run.position, run.displacement, run.length);
            return;
        }
        if (at > from && last.displacement + last.length == run.displacement)
            prop_fail(state, PROP_RUNS, "runs at %" PRId64 " and %" PRId64 " are not merged",
                      last.position, run.position);
        at += run.length;
        last = run;
    }
    if (at != from + length)
        prop_fail(state, PROP_RUNS, "range %" PRId64 "+%" PRId64 " ends at %" PRId64, from, length,
                  at);
}

static void check_ranges(struct prop_state *state, const struct tt_model *model,
                         const struct vs_map *map, uint64_t *random)
{
    check_batches(state, model, map, 0, model->positions);
    check_runs(state, model, map, 0, model->positions);
    for (int i = 0; i < 12 && !state->failed; i++) {
        int64_t from = (int64_t)(tt_random(random) % (uint64_t)(model->positions + 1));
        int64_t length = (int64_t)(tt_random(random) % (uint64_t)(model->positions - from + 1));
        if (i % 3 == 0 && length > 9)
            length = (int64_t)(tt_random(random) % 9);
        check_batches(state, model, map, from, length);
        check_runs(state, model, map, from, length);
    }
}

static void check_inverse(struct prop_state *state, const struct tt_model *model,
                          const struct vs_map *map)
{
    static int64_t lowest[TT_MAX_FILE];
    int64_t bound = 0;

    for (int64_t d = 0; d < model->file_size; d++)
        lowest[d] = -1;
    for (int64_t p = model->positions - 1; p >= 0; p--)
        if (model->displacements[p] < model->file_size)
            lowest[model->displacements[p]] = p;
    for (int64_t d = 0; d < model->file_size && !state->failed; d++) {
        int64_t found = vs_map_find(map, d), at = vs_map_lower_bound(map, d);
        while (model->displacements[bound] < d)
            bound++;
        state->done[PROP_INVERSE]++;
        if (found != lowest[d])
            prop_fail(state, PROP_INVERSE,
                      "byte %" PRId64 " found at position %" PRId64 ", expected %" PRId64, d, found,
                      lowest[d]);
        if (at != bound)
            prop_fail(state, PROP_INVERSE,
                      "lower bound of byte %" PRId64 " is %" PRId64 ", expected %" PRId64, d, at,
                      bound);
    }
}

static void check_sizes(struct prop_state *state, const struct tt_model *model,
                        const struct vs_view *view, uint64_t *random)
{
    for (int i = 0; i < 24 && !state->failed; i++) {
        int64_t size = (int64_t)(tt_random(random) % (uint64_t)(model->file_size + 1));
        size = i == 0 ? 0 : i == 1 ? model->file_size : size;
        int64_t expected = model->positions > 0 ? tt_model_shown(model, size) : 0;
        int64_t got = vs_view_positions(view, size), slice = vs_view_slice_size(view, size);
        state->done[PROP_SIZES]++;
        if (got != expected)
            prop_fail(state, PROP_SIZES,
                      "a file of %" PRId64 " bytes shows %" PRId64 " positions, expected %" PRId64,
                      size, got, expected);
        if (slice != expected / model->etype_size * model->etype_native)
            prop_fail(state, PROP_SIZES, "a file of %" PRId64 " bytes has a slice of %" PRId64,
                      size, slice);
    }
}

static void check_empty(struct prop_state *state, const struct vs_map *map)
{
    struct vs_cursor cursor;
    struct vs_batch batch;

    vs_cursor_start(&cursor, map, 0, 100);
    if (vs_cursor_batch(&cursor, &batch))
        prop_fail(state, PROP_BATCHES, "an empty slice has a batch");
    if (vs_map_displacement(map, 0) != -1 || vs_map_find(map, 0) != -1 ||
        vs_map_lower_bound(map, 0) != vs_map_facts(map)->limit)
        prop_fail(state, PROP_INVERSE, "an empty slice shows a byte");
}

static void count_kinds(struct prop_state *state, const struct tt_type *type)
{
    if (type == NULL)
        return;
    state->kinds[type->kind]++;
    count_kinds(state, type->old);
    for (int i = 0; type->kind == TT_STRUCT && i < type->n; i++)
        count_kinds(state, type->types[i]);
}

static void check_legal(struct prop_state *state, struct tt_model *model,
                        const struct vs_view *view, uint64_t *random)
{
    const struct vs_map *map = vs_view_map(view);

    count_kinds(state, model->etype_type);
    count_kinds(state, model->filetype_type);
    check_facts(state, model, view);
    if (!state->failed)
        check_element_ranges(state, model, view, random);
    if (!state->failed)
        check_sizes(state, model, view, random);
    if (model->tile_size == 0) {
        check_empty(state, map);
        return;
    }
    if (!state->failed)
        check_displacements(state, model, map);
    if (!state->failed)
        check_ranges(state, model, map, random);
    if (!state->failed)
        check_inverse(state, model, map);
    if (!state->failed && !model->env.external)
        prop_check_mpi(state, model, map, random);
}

static void check_view(struct prop_state *state, const struct tt_spec *spec,
                       const struct vs_spec *loaded, int index, int rank, uint64_t *random)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;
    struct tt_model model;
    char text[1400];

    tt_model(&model, spec, &spec->views[index], rank, random);
    int rc = vs_spec_view(loaded, (size_t)index, rank, &view, &error);
    state->done[PROP_VERDICT]++;
    state->legal += model.verdict == TT_LEGAL;
    state->illegal += model.verdict == TT_ILLEGAL;
    state->unsure += model.verdict == TT_UNSURE;
    if (rc && model.verdict == TT_LEGAL)
        prop_fail(state, PROP_VERDICT, "view %d rank %d is legal, but refused: %s", index, rank,
                  vs_error_text(&error, text, sizeof(text)));
    if (!rc && model.verdict == TT_ILLEGAL)
        prop_fail(state, PROP_VERDICT, "view %d rank %d is accepted, but: %s", index, rank,
                  model.broken);
    if (rc && rc != -22)
        prop_fail(state, PROP_VERDICT, "view %d rank %d: error %d", index, rank, rc);
    if (!rc && model.verdict == TT_LEGAL && !state->failed)
        check_legal(state, &model, view, random);
    if (!rc && model.verdict == TT_LEGAL && !state->failed)
        prop_check_slice(state, &model, view, random);
    vs_view_unref(view);
    tt_model_free(&model);
}

/* Checks that a text was refused for a reason: one of its views must be wrong. */
static void check_refused(struct prop_state *state, const struct tt_spec *spec,
                          const struct vs_error *error, uint64_t *random)
{
    bool legal = true;
    struct tt_model model;
    char text[1400];

    state->done[PROP_VERDICT]++;
    for (int v = 0; v < spec->view_count; v++) {
        for (int rank = 0; rank < spec->ranks; rank++) {
            tt_model(&model, spec, &spec->views[v], rank, random);
            legal = legal && model.verdict == TT_LEGAL;
            state->illegal += model.verdict == TT_ILLEGAL;
            tt_model_free(&model);
        }
    }
    if (legal)
        prop_fail(state, PROP_VERDICT, "a legal spec was refused: %s",
                  vs_error_text(error, text, sizeof(text)));
}

void prop_check_spec(struct prop_state *state, struct tt_spec *spec, uint64_t random)
{
    struct vs_error error = {0};
    struct vs_spec *loaded = NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        abort();
    tt_print_spec(out, spec);
    fclose(out);
    state->trees++;
    if (vs_spec_parse(text, length, "tree", "/tmp", NULL, &loaded, &error)) {
        check_refused(state, spec, &error, &random);
        free(text);
        return;
    }
    for (int v = 0; v < spec->view_count; v++)
        for (int rank = 0; rank < spec->ranks && !state->failed; rank++)
            check_view(state, spec, loaded, v, rank, &random);
    vs_spec_free(loaded);
    free(text);
}
