/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <inttypes.h>
#include <string.h>

#include "viewspec/element.h"

/*
 * How many bytes of the slice to show from the offset on: what --length says, else to the end of
 * the slice, else (the file is not there) to the end of the tile.
 */
static int64_t choose_length(const struct view_args *args, const struct vs_spec *spec,
                             const struct vs_view *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    int64_t file_size, end, tile;

    if (args->length >= 0)
        return args->length;
    file_size = view_file_size(spec);
    if (file_size >= 0) {
        end = vs_view_slice_size(view, file_size);
        return end > args->offset ? end - args->offset : 0;
    }
    if (!facts->tile_size)
        return 0;
    if (vs_spec_file(spec))
        view_message("%s: %s: showing one tile (--length shows more)", vs_spec_file(spec),
                     strerror((int)-file_size));
    else
        view_message("no file (-f FILE): showing one tile (--length shows more)");
    tile = facts->tile_size / vs_view_facts(view)->etype_file_size;
    tile = vs_view_end(view, tile * vs_view_facts(view)->etype_size);
    return tile - args->offset % tile;
}

/* The position of the byte at a packed offset: of its element's first or, if last, last one. */
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

/* The runs of the packed bytes [from, to), which are some. */
static void print_runs(const struct vs_view *view, int64_t from, int64_t to)
{
    int64_t start = position_of(view, from, false), end = position_of(view, to - 1, true) + 1;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_map(view), start, end - start);
    while (!ferror(stdout) && vs_runs_next(&runs, &run)) {
        int64_t offset = vs_view_offset(view, vs_elements_offset(view, run.position));
        printf("%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", offset, run.displacement, run.length);
    }
}

/* The same of the slice's bytes [from, to): no run goes on behind a gap. */
static void print_range(const struct vs_view *view, int64_t from, int64_t to)
{
    const struct vs_map *gaps = vs_view_gaps(view);
    struct vs_runs runs;
    struct vs_run run;

    from = vs_view_packed(view, from);
    to = vs_view_packed(view, to);
    if (!gaps && from < to)
        print_runs(view, from, to);
    if (!gaps)
        return;
    vs_runs_start(&runs, gaps, from, to - from);
    while (!ferror(stdout) && vs_runs_next(&runs, &run))
        print_runs(view, run.position, run.position + run.length);
}

static int run(const struct view_args *args, const struct vs_spec *spec)
{
    struct vs_view *view = NULL;
    int status = view_compile(args, spec, &view);

    if (status)
        return status;
    int64_t length = choose_length(args, spec, view);
    if (length > INT64_MAX - args->offset)
        length = INT64_MAX - args->offset;
    if (length > 0)
        print_range(view, args->offset, args->offset + length);
    vs_view_unref(view);
    return VIEW_DONE;
}

const struct view_command view_map = {
    .name = "map",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_RANGE | VIEW_NEEDS_NO_FILE,
    .run = run,
    .summary = "where each byte of a slice lies in the file",
    .help = "Usage: mpiio-view map SPEC -r RANK [-v VIEW] [--offset O] [--length L]\n"
            "Prints a line for each run of a slice: slice offset, displacement in the file and\n"
            "length in bytes, separated by tabs; adjacent runs are merged.\n"
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
