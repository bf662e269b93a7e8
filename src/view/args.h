/* SPDX-License-Identifier: MIT */
#ifndef VIEW_ARGS_H
#define VIEW_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/conversion.h"
#include "number.h"
#include "viewspec/spec.h"

/* The command line of a subcommand. */

/* Options that a subcommand takes beside -n, -f, -D and --help. */
enum view_options {
    VIEW_TAKES_RANK = 1,    /* -r RANK (required) and -v VIEW */
    VIEW_TAKES_RANGE = 2,   /* --offset and --length */
    VIEW_TAKES_PLACE = 4,   /* a displacement behind SPEC */
    VIEW_TAKES_OFFSET = 8,  /* --offset alone */
    VIEW_TAKES_FORMAT = 16, /* --format and --fields */
    VIEW_TAKES_TARGET = 32, /* --to and -o (both required), --force and --spec */
    VIEW_TAKES_NARROW = 64,
    VIEW_TAKES_PICTURE = 256,  /* -v VIEW, --offset, --svg, --window, --width and --color */
    VIEW_TAKES_SOURCE = 512,   /* --from, --var and --all, and a decomposition in place of SPEC */
    VIEW_NEEDS_NO_FILE = 1024, /* runs without the shared file, too: vs_spec_file may be NULL */
    VIEW_BY_FILE = 2048,       /* the order in memory does not matter */
};

/* A subcommand's command line. Strings are borrowed from argv. */
struct view_args {
    const char *spec;      /* its path, or what messages call a view in shorthand */
    const char *shorthand; /* a view in shorthand instead of a spec; NULL: none */
    const char *file;      /* NULL: the spec's own */
    const char *members;   /* with shorthand: the members' names; NULL: none */
    const char *pieces;    /* where they lie; NULL: as the view */
    const char *missing;   /* as in struct vs_overrides; NULL: the spec's */
    const char **defines;  /* owned */
    size_t define_count;
    int64_t ranks; /* 0: the spec's own */
    int64_t rank;
    const char *view; /* NULL: not named */
    int64_t offset;   /* bytes; 0 without the option */
    int64_t length;   /* bytes; -1 without the option */
    int64_t place;    /* displacement, bytes */
    enum view_format format;
    const char *fields;      /* NULL: none */
    const char *to;          /* NAME or NAME=LIBRARY */
    const char *output;      /* path of a new file */
    const char *output_spec; /* path of its spec; NULL: none */
    enum mpiio_narrow narrow;
    bool force;
    bool offset_given;
    const char *svg;   /* path of a new file; NULL: the picture goes to stdout as text */
    int64_t window;    /* bytes; 0 without the option */
    int64_t width;     /* columns; 0 without the option */
    const char *color; /* "always", "auto" or "never" */
    const char *from;  /* a file that describes itself, instead of a spec; NULL: none */
    const char **vars; /* names of its variables, owned */
    size_t var_count;
    bool all;                  /* all of them */
    const char *type;          /* for variables of bytes: "TYPE [SHAPE]"; NULL: keep them bytes */
    const char *decomposition; /* how ranks share them; NULL: they do not */
};

struct view_command {
    const char *name;
    unsigned options; /* enum view_options */
    int (*run)(const struct view_args *args, const struct vs_spec *spec);
    int (*run_from)(
        const struct view_args *args);   /* instead of run, with --from; NULL: not taken */
    int (*start)(int argc, char **argv); /* instead of run: takes its arguments as they are */
    const char *summary;                 /* one line */
    const char *help;                    /* usage, options of its own, examples */
};

/* The overrides of args, which they borrow from. */
struct vs_overrides view_overrides(const struct view_args *args);

/* Parses a subcommand's arguments (argv[0] is its name), prints help, loads the spec, runs it. */
int view_run(const struct view_command *command, int argc, char **argv);

#endif
