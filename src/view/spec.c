/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "from.h"

/* mpiio-view spec: the spec as it was resolved, and shorthand as JSON. */

static int run_spec(const struct view_args *args, const struct vs_spec *spec)
{
    char *text = vs_spec_resolved(spec, true);

    (void)args;
    if (text == NULL) {
        view_message("%s", strerror(ENOMEM));
        return VIEW_FAILED;
    }
    puts(text);
    free(text);
    return VIEW_DONE;
}

const struct view_command view_spec = {
    .name = "spec",
    .options = VIEW_NEEDS_NO_FILE | VIEW_TAKES_SOURCE,
    .run = run_spec,
    .run_from = view_from,
    .summary = "the JSON of a view in shorthand, a spec as it is resolved, or one of a file that "
               "describes itself",
    .help =
        "Usage: mpiio-view spec SPEC\n"
        "       mpiio-view spec --view SHORTHAND\n"
        "       mpiio-view spec --from FILE [--var NAME]... [--all] [--type TYPE] [DECOMPOSITION]\n"
        "Prints a spec as JSON that can be read again: options applied, names of \"let\" that\n"
        "do not depend on the rank as numbers, the file with its whole path. Of a view in\n"
        "shorthand it prints what that is in JSON; without -f it names no file.\n"
        "\n"
        "With --from it lists the variables of a file that describes itself (netCDF, HDF5,\n"
        ".npy, MITgcm's .meta, a tile standing for all, FITS, VTK, NRRD, MetaImage, ENVI, BOV,\n"
        "Fortran records): name, type and shape, and why a variable cannot be a view. With --var\n"
        "or --all it prints a spec of variables. A DECOMPOSITION distributes those of as many\n"
        "dimensions over the ranks, as in a darray's shorthand; without one there is one rank.\n"
        "\n"
        "  --from=FILE  the file\n"
        "  --var=NAME   a variable; may be repeated\n"
        "  --all        all that can be views\n"
        "  --type=TYPE  the type of variables that are bytes, and their shape: double, 'float "
        "*x3'\n"
        "\n"
        "Examples:\n"
        "  mpiio-view spec --view 'darray 1000x1000 block,cyclic(8) on 2x2 of double at 4k'\n"
        "  mpiio-view spec --view 'scatter n of int' -D n=64 -n 4 -f data.bin > data.json\n"
        "  mpiio-view spec heat.json -n 16\n"
        "  mpiio-view spec --from ocean.nc\n"
        "  mpiio-view spec --from ocean.nc --var temp 'none,block,block on 2x2' > temp.json\n"
        "  mpiio-view spec --from snap --var record2 --type 'float *x3' 'block,none on 3'\n",
};
