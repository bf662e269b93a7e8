/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <string.h>

/* mpiio-view: runs the subcommand, or lists the subcommands. */

static const struct view_command *const commands[] = {
    &view_check,   &view_map,  &view_owner,   &view_cat,  &view_put, &view_dump,
    &view_convert, &view_draw, &view_capture, &view_spec, &view_top,
};

static int print_help(void)
{
    printf("Usage: mpiio-view SUBCOMMAND [OPTION]... SPEC ...\n"
           "Looks at the slices that MPI file views select of a shared file, without a mount.\n"
           "\n"
           "Subcommands:\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        printf("  %-9s%s\n", commands[i]->name, commands[i]->summary);
    printf("\n"
           "  -h, --help     this text; mpiio-view SUBCOMMAND --help says more\n"
           "  -V, --version  the version\n"
           "\n"
           "Examples:\n"
           "  mpiio-view capture -- mpiexec -n 4 ./solver     specs of its views\n"
           "  mpiio-view check heat.json                      does the spec fit the file?\n"
           "  mpiio-view map heat.json -r 2 | head            where rank 2's bytes are\n"
           "  mpiio-view owner heat.json 1M                   whose byte that is\n"
           "  mpiio-view cat heat.json -r 2 | od -A d -t f8   rank 2's bytes\n"
           "  mpiio-view put heat.json -r 2 < piece           new ones\n"
           "Without a spec, with a view in words (viewspec(5), SHORTHAND):\n"
           "  mpiio-view cat --view 'scatter 512 on 4 of double at 64' -f data.bin -r 2\n"
           "  mpiio-view spec --view 'darray 100x100 block,block on 2x2 of double'   as JSON\n"
           "\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage or wrong spec.\n");
    return VIEW_DONE;
}

static int run_subcommand(int argc, char **argv)
{
    if (argc < 2) {
        view_message("a subcommand is missing (see mpiio-view --help)");
        return VIEW_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print_help();
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        view_version();
        return VIEW_DONE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (!strcmp(argv[1], commands[i]->name))
            return view_run(commands[i], argc - 1, argv + 1);
    view_message("%s: no such subcommand (see mpiio-view --help)", argv[1]);
    return VIEW_USAGE;
}

int main(int argc, char **argv)
{
    return view_close_output(run_subcommand(argc, argv));
}
