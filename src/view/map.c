/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <inttypes.h>
#include <string.h>

/*
 * How many positions to show from the offset on: what --length says, else to the end of the slice,
 * else (the file is not there) to the end of the tile.
 */
static int64_t choose_length(const struct view_args *args, const struct vs_spec *spec,
                             const struct vs_view *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    int64_t file_size, end;

    if (args->length >= 0)
        return args->length;
    file_size = view_file_size(spec);
    if (file_size >= 0) {
        end = vs_view_positions(view, file_size);
        return end > args->offset ? end - args->offset : 0;
    }
    if (!facts->tile_size)
        return 0;
    view_message("%s: %s: showing one tile (--length shows more)", vs_spec_file(spec),
                 strerror((int)-file_size));
    return facts->tile_size - args->offset % facts->tile_size;
}

static int run(const struct view_args *args, const struct vs_spec *spec)
{
    struct vs_view *view = NULL;
    struct vs_runs runs;
    struct vs_run run;
    int status = view_compile(args, spec, &view);

    if (status)
        return status;
    if (!view_has_positions(view)) {
        vs_view_unref(view);
        return VIEW_FAILED;
    }
    int64_t length = choose_length(args, spec, view);
    if (length > INT64_MAX - args->offset)
        length = INT64_MAX - args->offset;
    vs_runs_start(&runs, vs_view_map(view), args->offset, length);
    while (!ferror(stdout) && vs_runs_next(&runs, &run))
        printf("%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", run.position, run.displacement,
               run.length);
    vs_view_unref(view);
    return VIEW_DONE;
}

const struct view_command view_map = {
    .name = "map",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_RANGE,
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
            "  mpiio-view map heat.json -r 0 --offset 1M --length 64\n",
};
