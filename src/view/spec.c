/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* mpiio-view spec: the spec as it was resolved, and shorthand as JSON. */

static int run(const struct view_args *args, const struct vs_spec *spec)
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
    .options = VIEW_NEEDS_NO_FILE,
    .run = run,
    .summary = "the JSON of a view in shorthand, or a spec as it is resolved",
    .help = "Usage: mpiio-view spec SPEC\n"
            "       mpiio-view spec --view SHORTHAND\n"
            "Prints a spec as JSON that can be read again: options applied, names of \"let\" that\n"
            "do not depend on the rank as numbers, the file with its whole path. Of a view in\n"
            "shorthand it prints what that is in JSON; without -f it names no file.\n"
            "\n"
            "Examples:\n"
            "  mpiio-view spec --view 'darray 1000x1000 block,cyclic(8) on 2x2 of double at 4k'\n"
            "  mpiio-view spec --view 'scatter n of int' -D n=64 -n 4 -f data.bin > data.json\n"
            "  mpiio-view spec heat.json -n 16\n",
};
