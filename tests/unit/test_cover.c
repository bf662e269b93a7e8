/* SPDX-License-Identifier: MIT */

#include "random.h"
#include "spec_fixture.h"
#include "viewspec/map/cover.h"

#define MAX_PERIOD 200000

/* Appends a list of n numbers, each at least step and at most step + slack above the one before. */
static void put_rising(FILE *text, int n, int step, int slack)
{
    int value = below(slack + 1);

    for (int i = 0; i < n; i++) {
        fprintf(text, "%s%d", i ? "," : "", value);
        value += step + below(slack + 1);
    }
}

/* Appends a random type over "etype", at most depth levels deep. */
static void put_type(FILE *text, int depth)
{
    int count = 1 + below(5), length = 1 + below(3);

    if (depth == 0) {
        fprintf(text, "'etype'");
        return;
    }
    switch (below(7)) {
    case 0:
        fprintf(text, "{'type': 'contiguous', 'count': %d, 'oldtype': ", count);
        break;
    case 1:
        fprintf(text,
                "{'type': 'vector', 'count': %d, 'blocklength': %d, 'stride': %d, 'oldtype': ",
                below(4) ? count : 40, length, length + below(3));
        break;
    case 2:
        fprintf(text, "{'type': 'indexed_block', 'blocklength': %d, 'displacements': [", length);
        put_rising(text, count, length, 3);
        fprintf(text, "], 'oldtype': ");
        break;
    case 3:
        fprintf(text, "{'type': 'indexed', 'blocklengths': [");
        put_rising(text, 3, 0, 1);
        fprintf(text, "], 'displacements': [");
        put_rising(text, 3, 3, 2);
        fprintf(text, "], 'oldtype': ");
        break;
    case 4:
        fprintf(text,
                "{'type': 'subarray', 'sizes': [%d,%d], 'subsizes': [%d,%d], 'starts': "
                "['rank %% 2',%d], 'order': '%s', 'oldtype': ",
                count + 1, length + 2, count, length, below(2), below(2) ? "C" : "Fortran");
        break;
    case 5:
        fprintf(text, "{'type': 'scatter', 'blocklength': %d, 'oldtype': ", length);
        break;
    default:
        fprintf(text,
                "{'type': 'struct', 'blocklengths': [%d,1], 'displacements': [%d,4000], 'types': [",
                length, 4 * below(4));
        put_type(text, depth - 1);
        fprintf(text, ",");
        put_type(text, depth - 1);
        fprintf(text, "]}");
        return;
    }
    put_type(text, depth - 1);
    fprintf(text, "}");
}

static void put_view(FILE *text)
{
    static const char *const etypes[] = {
        "'byte'", "'int'", "{'type': 'resized', 'lb': 0, 'extent': 6, 'oldtype': 'int'}",
        "{'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': 2, 'oldtype': 'short'}"};

    fprintf(text, "{'disp': %d, 'etype': %s, 'filetype': ", 6 * below(5), etypes[below(4)]);
    put_type(text, below(4));
    if (below(4) == 0)
        fprintf(text, ", 'tiles': '%d + rank'", below(below(2) ? 3 : 40));
    fprintf(text, "}");
}

/* Appends a darray or one of the 1995 constructors. Both deal to all ranks. */
static void put_shared_view(FILE *text, int ranks)
{
    static const char *const distributions[] = {"block", "cyclic"};
    int columns = ranks % 2 ? 1 : 2;

    switch (below(3)) {
    case 0:
        fprintf(text, "{'filetype': {'type': 'hpf_cyclic', 'size': %d, 'blocklength': %d}}",
                1 + below(50), 1 + below(4));
        break;
    case 1:
        fprintf(text, "{'etype': 'int', 'filetype': {'type': 'hpf_block', 'size': %d}}",
                1 + below(50));
        break;
    default:
        fprintf(
            text,
            "{'disp': %d, 'etype': 'int', 'filetype': {'type': 'darray', 'gsizes': [%d,%d], "
            "'distribs': ['%s', '%s'], 'dargs': [null,null], 'psizes': [%d,%d], 'order': '%s'}}",
            below(40), 1 + below(20), 1 + below(20), distributions[below(2)],
            distributions[below(2)], ranks / columns, columns, below(2) ? "C" : "Fortran");
    }
}

/* Returns a random spec. The caller frees it. */
static char *random_spec(void)
{
    int ranks = 1 + below(6), kind = below(3);
    char *bytes = NULL;
    size_t size;
    FILE *text = open_memstream(&bytes, &size);

    assert_non_null(text);
    fprintf(text, "{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': ", ranks);
    if (kind == 0) {
        fprintf(text, "{'per_rank': [");
        for (int i = 0; i < ranks; i++) {
            fprintf(text, i ? "," : "");
            put_view(text);
        }
        fprintf(text, "]}");
    } else if (kind == 1) {
        put_shared_view(text, ranks);
    } else {
        put_view(text);
    }
    fprintf(text, "}");
    assert_int_equal(fclose(text), 0);
    return quoted(bytes);
}

/* Marks the bytes of [begin, begin + period) that the rank has, tile by tile. */
static void mark(const struct vs_map *map, int64_t begin, int64_t period, unsigned char *held)
{
    const struct vs_map_facts *facts = vs_map_facts(map);
    int64_t tile = (begin - facts->end) / facts->tile_extent - 1;

    for (tile = tile < 0 ? 0 : tile;
         tile < facts->tiles && facts->first + tile * facts->tile_extent < begin + period; tile++) {
        for (int64_t i = 0; i < facts->tile_size; i++) {
            int64_t place = vs_map_displacement(map, tile * facts->tile_size + i) - begin;
            if (place >= 0 && place < period && held[place] < 2)
                held[place]++;
        }
    }
}

/* Returns the lowest byte of all views. Sets *last to the end of the views that are finite. */
static int64_t find_stretch(struct vs_view *const *views, int64_t ranks, int64_t *last)
{
    int64_t begin = INT64_MAX;

    *last = 0;
    for (int64_t i = 0; i < ranks; i++) {
        const struct vs_map_facts *facts = vs_map_facts(vs_view_map(views[i]));

        if (facts->tile_size && facts->first < begin)
            begin = facts->first;
        if (facts->tile_size && facts->tiles < INT64_MAX &&
            facts->end + (facts->tiles - 1) * facts->tile_extent > *last)
            *last = facts->end + (facts->tiles - 1) * facts->tile_extent;
    }
    return begin;
}

static void compare(struct vs_view *const *views, int64_t ranks, const char *text,
                    const struct vs_cover_result *result)
{
    unsigned char *held = calloc(1, (size_t)result->period);
    int64_t begin = 0, tally[3] = {0}, last;

    assert_non_null(held);
    if (result->ends) {
        begin = find_stretch(views, ranks, &last);
        assert_true(begin + result->period >= last);
    }
    for (int64_t i = 0; i < ranks && !result->ends; i++) {
        int64_t end = vs_map_facts(vs_view_map(views[i]))->end;
        begin = end > begin ? end : begin;
    }
    for (int64_t i = 0; i < ranks; i++)
        if (vs_map_facts(vs_view_map(views[i]))->tile_size)
            mark(vs_view_map(views[i]), begin, result->period, held);
    for (int64_t i = 0; i < result->period; i++)
        tally[held[i]]++;
    free(held);
    if (tally[0] != result->none || tally[1] != result->once || tally[2] != result->many)
        fail_msg("%s: none %ld, once %ld, many %ld of %ld expected; got %ld, %ld, %ld", text,
                 (long)tally[0], (long)tally[1], (long)tally[2], (long)result->period,
                 (long)result->none, (long)result->once, (long)result->many);
}

/* Checks a random spec. Returns false if it could not be compared. */
static bool check_spec(const char *text, int *closed)
{
    struct vs_spec *spec = NULL;
    struct vs_error error = {0};
    struct vs_view *views[6] = {0};
    struct vs_cover *cover = vs_cover_new();
    struct vs_cover_result result;
    bool usable = false;

    assert_non_null(cover);
    if (!vs_spec_parse(text, strlen(text), "spec", ".", NULL, &spec, &error) &&
        !compile_views(spec, &error)) {
        for (int64_t i = 0; i < vs_spec_ranks(spec); i++) {
            views[i] = view_at(spec, 0, i);
            assert_int_equal(vs_cover_add(cover, vs_view_map(views[i]), 1), 0);
        }
        usable = !vs_cover_compute(cover, 300000, &result) && result.period <= MAX_PERIOD;
    }
    if (usable && result.period) {
        compare(views, vs_spec_ranks(spec), text, &result);
        *closed += result.method == VS_COVER_CLOSED;
    }
    unref_views(views, 6);
    vs_cover_free(cover);
    vs_spec_free(spec);
    return usable;
}

TEST(random_views)
{
    int usable = 0, closed = 0;

    start_random(20);
    for (int i = 0; i < 1000; i++) {
        char *text = random_spec();

        usable += check_spec(text, &closed);
        free(text);
    }
    print_message("# %d compared, %d of them in closed form\n", usable, closed);
    assert_true(usable > 500);
    assert_true(closed > usable / 2);
}

/* Returns the coverage by all ranks' views of a spec, which it frees. Any other error than this
   one, -E2BIG included, fails the test. */
static struct vs_cover_result cover_of(struct vs_spec *spec, int error)
{
    struct vs_cover *cover = vs_cover_new();
    struct vs_cover_result result;

    assert_non_null(cover);
    for (int64_t i = 0; i < vs_spec_ranks(spec); i++) {
        struct vs_view *view = view_at(spec, 0, i);
        assert_int_equal(vs_cover_add(cover, vs_view_map(view), 1), 0);
        vs_view_unref(view);
    }
    assert_int_equal(vs_cover_compute(cover, VS_COVER_STEPS, &result), error);
    vs_cover_free(cover);
    vs_spec_free(spec);
    return result;
}

/* A matrix of 10^12 doubles over 1024 ranks takes a few steps a rank, in either order. */
TEST(large_array_in_closed_form)
{
    static const char *const orders[] = {"C", "Fortran"};

    for (int i = 0; i < 4; i++) {
        struct vs_cover_result result = cover_of(
            spec_from("{'viewspec': 1, 'file': 'f', 'ranks': 1024, 'view': {'etype': "
                      "'double', 'filetype': {'type': 'darray', 'gsizes': [1000003,1000001], "
                      "'distribs': ['%s', 'cyclic'], 'dargs': [null,3], 'psizes': [32,32], "
                      "'order': '%s'}}}",
                      i < 2 ? "block" : "cyclic", orders[i % 2]),
            0);
        assert_int_equal(result.period, INT64_C(1000003) * 1000001 * 8);
        assert_int_equal(result.once, result.period);
        assert_int_equal(result.method, VS_COVER_CLOSED);
        assert_true(result.steps < 200000);
    }
}

static void expect_cover(int ranks, const char *keys, int64_t period, int64_t once, int64_t many)
{
    struct vs_cover_result result = cover_of(
        spec_from("{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': {%s}}", ranks, keys), 0);

    assert_int_equal(result.period, period);
    assert_int_equal(result.once, once);
    assert_int_equal(result.many, many);
    assert_int_equal(result.none, period - once - many);
}

TEST(overlaps_and_holes)
{
    expect_cover(3,
                 "'disp': '4*rank', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 16, "
                 "'oldtype': {'type': 'contiguous', 'count': 6}}",
                 16, 10, 4);
    /* Runs of 1 byte in 7 and of 1 byte in 11 overlap once in 77 bytes. */
    expect_cover(2, "'filetype': {'type': 'resized', 'lb': 0, 'extent': '7+4*rank'}", 77,
                 11 + 7 - 2, 1);
    expect_cover(1,
                 "'filetype': {'type': 'resized', 'lb': 0, 'extent': 8, 'oldtype': {'type': "
                 "'contiguous', 'count': 0}}",
                 0, 0, 0);
}

/* A tile selects one byte of the file 2^61 times. */
TEST(too_many_bytes_at_one_place_overflow)
{
    cover_of(spec_from("{'viewspec': 1, 'file': 'f', 'view': {'filetype': {'type': 'hvector', "
                       "'count': %" PRId64 ", 'blocklength': 1, 'stride': 0}}}",
                       INT64_C(1) << 61),
             -EOVERFLOW);
}
