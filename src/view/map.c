/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "core/store_layers.h"
#include "viewspec/element.h"
#include "viewspec/members/members.h"

/*
 * Returns how many bytes of the slice to show from the offset on: as in --length, or else up to the
 * end of the slice, or of the tile if the file does not exist.
 */
static int64_t choose_length(const struct view_args *args, const struct vs_spec *spec,
                             const struct vs_view *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    int64_t file_size, end, tile;
    struct vs_error why = {0};

    if (args->length >= 0)
        return args->length;
    file_size = view_file_size(spec, &why);
    if (file_size >= 0) {
        end = vs_view_slice_size(view, file_size);
        return end > args->offset ? end - args->offset : 0;
    }
    if (!facts->tile_size)
        return 0;
    if (why.code)
        view_message("%s: showing one tile (--length shows more)", why.reason);
    else if (vs_spec_file(spec))
        view_message("%s: %s: showing one tile (--length shows more)", vs_spec_file(spec),
                     strerror((int)-file_size));
    else
        view_message("no file (-f FILE): showing one tile (--length shows more)");
    tile = facts->tile_size / vs_view_facts(view)->etype_file_size;
    tile = vs_view_end(view, tile * vs_view_facts(view)->etype_size);
    return tile - args->offset % tile;
}

/* Returns the position of the byte at a packed offset: of the first byte of its element or, if
   last is true, of the last one. */
static int64_t position_of(const struct vs_view *view, int64_t offset, bool last)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    vs_elements_start(&cursor, view, offset, 1);
    if (!vs_elements_next(&cursor, &run))
        return INT64_MAX - 1;
    if (run.native == run.file)
        return run.position + offset - run.offset;
    return last ? run.position + run.file - 1 : run.position;
}

/* Prints a run. If it lies in members (else NULL), splits it where the member changes. */
static int print_run(const struct vs_view *view, struct vs_run run, struct mpiio_store *members)
{
    struct mpiio_member_place place;
    struct stat st = {0};
    int error = members ? mpiio_store_stat(members, &st) : 0;

    while (!error && run.length > 0) {
        place = (struct mpiio_member_place){.member = -1, .length = run.length};
        if (run.displacement < st.st_size)
            error = mpiio_assembled_find(mpiio_store_file(members), run.displacement, &place);
        if (place.length > run.length)
            place.length = run.length;
        printf("%" PRId64 "\t%" PRId64 "\t%" PRId64,
               vs_view_offset(view, vs_elements_offset(view, run.position)), run.displacement,
               place.length);
        if (members == NULL)
            printf("\n");
        else if (place.member < 0)
            printf("\t-\t-\n");
        else
            printf("\t%" PRId64 "\t%" PRId64 "\n", place.member, place.displacement);
        run.position += place.length;
        run.displacement += place.length;
        run.length -= place.length;
    }
    return error ? view_failed(NULL, error) : VIEW_DONE;
}

/* Prints the runs of the packed bytes [from, to), which must not be empty. */
static int print_runs(const struct vs_view *view, struct mpiio_store *members, int64_t from,
                      int64_t to)
{
    int64_t start = position_of(view, from, false), end = position_of(view, to - 1, true) + 1;
    struct vs_runs runs;
    struct vs_run run;
    int status = VIEW_DONE;

    vs_runs_start(&runs, vs_view_map(view), start, end - start);
    while (!status && !ferror(stdout) && vs_runs_next(&runs, &run))
        status = print_run(view, run, members);
    return status;
}

/* Does the same for the slice's bytes [from, to). A gap always ends a run. */
static int print_range(const struct vs_view *view, struct mpiio_store *members, int64_t from,
                       int64_t to)
{
    const struct vs_map *gaps = vs_view_gaps(view);
    struct vs_runs runs;
    struct vs_run run;
    int status = VIEW_DONE;

    from = vs_view_packed(view, from);
    to = vs_view_packed(view, to);
    if (gaps == NULL)
        return from < to ? print_runs(view, members, from, to) : VIEW_DONE;
    vs_runs_start(&runs, gaps, from, to - from);
    while (!status && !ferror(stdout) && vs_runs_next(&runs, &run))
        status = print_runs(view, members, run.position, run.position + run.length);
    return status;
}

/* Opens the members of the spec's file. Returns NULL if it has none, or they cannot be
   assembled. */
static struct mpiio_store *open_members(const struct vs_spec *spec)
{
    struct mpiio_store *store = NULL;
    struct vs_error why = {0};

    if (vs_spec_members(spec) && mpiio_store_open_spec(spec, O_RDONLY, &store, &why))
        return NULL;
    return store;
}

static int run_map(const struct view_args *args, const struct vs_spec *spec)
{
    struct mpiio_store *members;
    struct vs_view *view = NULL;
    int status = view_compile(args, spec, &view);

    if (status)
        return status;
    int64_t length = choose_length(args, spec, view);
    if (length > INT64_MAX - args->offset)
        length = INT64_MAX - args->offset;
    members = open_members(spec);
    if (length > 0)
        status = print_range(view, members, args->offset, args->offset + length);
    mpiio_store_close(members);
    vs_view_unref(view);
    return status;
}

const struct view_command view_map = {
    .name = "map",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_RANGE | VIEW_NEEDS_NO_FILE,
    .run = run_map,
    .summary = "where each byte of a slice lies in the file",
    .help = "Usage: mpiio-view map SPEC -r RANK [-v VIEW] [--offset O] [--length L]\n"
            "Prints a line for each run of a slice: slice offset, displacement in the file and\n"
            "length in bytes, separated by tabs; adjacent runs are merged. Where the file is\n"
            "assembled from members, the member's number and the displacement in it follow, and\n"
            "runs end with members; - stands for both in a hole.\n"
            "\n"
            "  -r, --rank=RANK  whose slice\n"
            "  -v, --view=VIEW  which view, where the spec has several\n"
            "  --offset=O       begin at slice offset O (default 0)\n"
            "  --length=L       show L bytes, behind the end of the file too (default: to the end\n"
            "                   of the slice; where there is no file, to the end of the tile)\n"
            "\n"
            "Examples:\n"
            "  mpiio-view map heat.json -r 2 | head\n"
            "  mpiio-view map heat.json -r 0 --offset 1M --length 64\n"
            "  mpiio-view map -v 'darray 6x6 block,cyclic(2) on 2x2 of int' -r 1\n",
};
