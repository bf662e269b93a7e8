/* SPDX-License-Identifier: MIT */
/*
 * Cases in which MPI libraries are known to read the wrong bytes, fail or need memory for each
 * block of a view. Each is checked against MPI_Pack or against the standard's text.
 */
#include <inttypes.h>
#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/spec.h"
#include "tap.h"

/* Returns the view of rank in a spec with this "ranks" and "view". Returns NULL after a comment
   if the library refuses it. */
static struct vs_view *view_of(int64_t ranks, int64_t rank, const char *body)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;
    char text[4096], message[1400];

    snprintf(text, sizeof(text),
             "{\"viewspec\": 1, \"file\": \"f\", \"ranks\": %" PRId64 ", \"view\": %s}", ranks,
             body);
    if (vs_spec_parse(text, strlen(text), "spec", "/", NULL, &spec, &error) ||
        vs_spec_view(spec, 0, rank, &view, &error))
        printf("# %s\n# %s\n", text, vs_error_text(&error, message, sizeof(message)));
    vs_spec_free(spec);
    return view;
}

#define TILES 3
#define ROOM  65536

/* Returns true if the first TILES tiles of view are the bytes that MPI_Pack takes. Frees type
   and view. */
static bool packs_alike(struct vs_view *view, MPI_Datatype type)
{
    static unsigned char file[ROOM], slice[ROOM], packed[ROOM];
    struct vs_runs runs;
    struct vs_run run;
    int at = 0;

    if (view == NULL)
        return false;
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    MPI_Type_commit(&type);
    for (int i = 0; i < ROOM; i++)
        file[i] = (unsigned char)(i * 7 + i / 256);
    vs_runs_start(&runs, vs_view_map(view), 0, TILES * facts->tile_size);
    while (vs_runs_next(&runs, &run))
        memcpy(slice + run.position, file + run.displacement, (size_t)run.length);
    MPI_Pack(file, TILES, type, packed, ROOM, &at, MPI_COMM_SELF);
    bool same = at == TILES * facts->tile_size && !memcmp(slice, packed, (size_t)at);
    MPI_Type_free(&type);
    vs_view_unref(view);
    return same;
}

/* Returns two placed instances of a subarray of ints with another extent. */
static MPI_Datatype nested(void)
{
    MPI_Datatype subarray, resized, made;

    MPI_Type_create_subarray(2, (int[]){4, 4}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_INT,
                             &subarray);
    MPI_Type_create_resized(subarray, 0, 96, &resized);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 2}, resized, &made);
    MPI_Type_free(&subarray);
    MPI_Type_free(&resized);
    return made;
}

#define NESTED                                                                                     \
    "{\"type\": \"indexed\", \"blocklengths\": [1, 1], \"displacements\": [0, 2], \"oldtype\": "   \
    "{\"type\": \"resized\", \"lb\": 0, \"extent\": 96, \"oldtype\": {\"type\": \"subarray\", "    \
    "\"sizes\": [4, 4], \"subsizes\": [2, 3], \"starts\": [1, 1], \"order\": \"C\"}}}"

static void over_nested(const char *name, const char *keys, MPI_Datatype made)
{
    char body[1024];

    snprintf(body, sizeof(body),
             "{\"etype\": \"int\", \"filetype\": {\"type\": \"%s\", %s, \"oldtype\": " NESTED "}}",
             name, keys);
    ok(packs_alike(view_of(1, 0, body), made), "%s over indexed over resized over subarray", name);
}

/* Checks every list constructor over a nested type. prop_types has them over simpler ones. */
static void lists(void)
{
    MPI_Datatype old = nested(), made;

    MPI_Type_indexed(2, (int[]){1, 2}, (int[]){1, 3}, old, &made);
    over_nested("indexed", "\"blocklengths\": [1, 2], \"displacements\": [1, 3]", made);
    MPI_Type_create_hindexed(2, (int[]){2, 1}, (MPI_Aint[]){8, 1000}, old, &made);
    over_nested("hindexed", "\"blocklengths\": [2, 1], \"displacements\": [8, 1000]", made);
    MPI_Type_create_indexed_block(3, 1, (int[]){0, 2, 5}, old, &made);
    over_nested("indexed_block", "\"blocklength\": 1, \"displacements\": [0, 2, 5]", made);
    MPI_Type_create_hindexed_block(2, 2, (MPI_Aint[]){4, 1000}, old, &made);
    over_nested("hindexed_block", "\"blocklength\": 2, \"displacements\": [4, 1000]", made);
    MPI_Type_vector(2, 2, 3, old, &made);
    over_nested("vector", "\"count\": 2, \"blocklength\": 2, \"stride\": 3", made);
    MPI_Type_free(&old);
}

static int64_t place(int64_t ranks, int64_t rank, const char *body, int64_t position)
{
    struct vs_view *view = view_of(ranks, rank, body);
    int64_t displacement = view ? vs_map_displacement(vs_view_map(view), position) : -2;

    vs_view_unref(view);
    return displacement;
}

static void large_darray(void)
{
    static const char body[] =
        "{\"filetype\": {\"type\": \"darray\", \"gsizes\": [4, 65536, 65536], "
        "\"distribs\": [\"block\", \"none\", \"none\"], \"dargs\": [null, null, null], "
        "\"psizes\": [2, 1, 1], \"order\": \"C\"}}";
    static const char columns[] =
        "{\"etype\": \"double\", \"filetype\": {\"type\": \"darray\", \"gsizes\": [1000000, "
        "1000000], \"distribs\": [\"cyclic\", \"cyclic\"], \"dargs\": [3, null], \"psizes\": "
        "[1000, 1000], \"order\": \"Fortran\"}}";

    ok(place(2, 1, body, 0) == INT64_C(8589934592),
       "darray of 16 GiB: rank 1 begins in the middle");
    ok(place(2, 1, body, INT64_C(8589934591)) == INT64_C(17179869183), "and ends at its end");
    ok(place(2, 0, body, INT64_C(8589934592)) == INT64_C(17179869184), "its second tile follows");
    /* rank = 1000 * row + column of the grid. Rows are dealt in threes. */
    ok(place(1000000, 999999, columns, 0) == 8 * (INT64_C(999) * 1000000 + 2997),
       "10^12 doubles over 10^6 ranks: the last rank's first element");
}

static void end_of_file(void)
{
    static const char body[] = "{\"etype\": \"int\", \"disp\": 4, \"filetype\": {\"type\": "
                               "\"resized\", \"lb\": 0, \"extent\": 16, \"oldtype\": {\"type\": "
                               "\"contiguous\", \"count\": 2}}}";
    static const struct {
        int64_t file, slice;
    } cases[] = {{0, 0},  {4, 0},   {7, 0},   {8, 4},   {11, 4},     {12, 8},     {20, 8},
                 {23, 8}, {24, 12}, {28, 16}, {36, 16}, {1004, 504}, {1008, 504}, {1016, 508}};
    struct vs_view *view = view_of(1, 0, body);

    for (size_t i = 0; view && i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t size = vs_view_slice_size(view, cases[i].file);
        ok(size == cases[i].slice,
           "a file of %" PRId64 " bytes with holes: the slice has %" PRId64 " bytes", cases[i].file,
           cases[i].slice);
        if (size != cases[i].slice)
            printf("# got %" PRId64 "\n", size);
    }
    vs_view_unref(view);
}

/* Returns the bytes of heap in use. */
static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void many_blocks(const char *name, const char *body, int64_t position, int64_t displacement)
{
    size_t before = heap();
    struct vs_view *view = view_of(1000000, 999999, body);
    size_t used = heap() - before;
    const struct vs_map *map = view ? vs_view_map(view) : NULL;

    ok(view && vs_map_displacement(map, position) == displacement, "%s: a far byte", name);
    ok(view && vs_map_find(map, displacement) == position, "%s: and back", name);
    ok(used < 64 * 1024, "%s: in less than 64 KiB of memory", name);
    printf("# %zu bytes\n", used);
    ok(heap() - before < 64 * 1024, "%s: seeking needs none", name);
    vs_view_unref(view);
}

static void large_views(void)
{
    many_blocks("64 M blocks",
                "{\"etype\": \"double\", \"filetype\": {\"type\": \"vector\", \"count\": 67108864, "
                "\"blocklength\": 1, \"stride\": 2}}",
                INT64_C(8) * 60000000 + 3, INT64_C(16) * 60000000 + 3);
    many_blocks("10^6 ranks, 10^12 elements",
                "{\"etype\": \"double\", \"filetype\": {\"type\": \"hpf_cyclic\", \"size\": "
                "1000000000000}}",
                INT64_C(8) * 999999 + 1, INT64_C(8) * (INT64_C(999999) * 1000000 + 999999) + 1);
}

static void empty_views(void)
{
    static const char *const bodies[] = {
        "{\"etype\": \"int\", \"filetype\": {\"type\": \"contiguous\", \"count\": 0}}",
        "{\"etype\": \"int\", \"filetype\": {\"type\": \"indexed\", \"blocklengths\": [0, 0], "
        "\"displacements\": [3, 1]}}",
        "{\"etype\": \"int\", \"filetype\": {\"type\": \"resized\", \"lb\": 0, \"extent\": 64, "
        "\"oldtype\": {\"type\": \"vector\", \"count\": 0, \"blocklength\": 1, \"stride\": 1}}}",
        "{\"etype\": \"int\", \"filetype\": {\"type\": \"darray\", \"gsizes\": [3], \"distribs\": "
        "[\"block\"], \"dargs\": [null], \"psizes\": [4], \"order\": \"C\"}}",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct vs_view *view = view_of(4, 3, bodies[i]);
        struct vs_runs runs;
        struct vs_run run;
        bool good = view && vs_map_facts(vs_view_map(view))->tile_size == 0 &&
                    vs_view_slice_size(view, 0) == 0 && vs_view_slice_size(view, 1 << 20) == 0 &&
                    vs_map_displacement(vs_view_map(view), 0) == -1 &&
                    vs_map_find(vs_view_map(view), 0) == -1;
        if (view) {
            vs_runs_start(&runs, vs_view_map(view), 0, 1000);
            good = good && !vs_runs_next(&runs, &run);
        }
        ok(good, "a rank that owns nothing (%zu)", i + 1);
        vs_view_unref(view);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    lists();
    large_darray();
    end_of_file();
    large_views();
    empty_views();
    MPI_Finalize();
    return tap_end();
}
