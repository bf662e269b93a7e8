/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/conversion.h"
#include "core/slice.h"
#include "core/store.h"
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

/*
 * What the subcommands share. They return exit statuses and print their own one-line messages on
 * stderr; nothing here is used by several threads unless it says so.
 */

enum view_status {
    VIEW_DONE = 0,
    VIEW_FAILED = 1,
    VIEW_USAGE = 2, /* wrong usage or a wrong spec */
};

/* Prints the command's name and version on stdout. */
void view_version(void);

/* "mpiio-view: TEXT" and a newline on stderr. */
__attribute__((format(printf, 1, 2))) void view_message(const char *format, ...);

/*
 * The same for a spec's error. Returns VIEW_USAGE, or VIEW_FAILED where the spec is not to blame:
 * no memory, not supported.
 */
int view_spec_failed(const struct vs_error *error);

/* The name that people see of view number index: "-" where the spec's only view has none. */
const char *view_label(const struct vs_spec *spec, size_t index);

/*
 * Opens the spec's file with flags as mpiio_store_open takes them: VIEW_DONE or, said on stderr,
 * VIEW_FAILED. The new store is the caller's.
 */
int view_open_file(const struct vs_spec *spec, int flags, struct mpiio_store **store);

/*
 * Whether the file's header (of members: each part that the spec has) is still the one that the
 * spec was made from: VIEW_DONE, also where there is no file yet, or VIEW_FAILED: said on stderr.
 */
int view_check_header(const struct vs_spec *spec);

/*
 * Compiles the view of args, opens the file with flags, and makes the slice: VIEW_DONE, or what is
 * wrong is said on stderr. Both are the caller's.
 */
int view_open_slice(const struct view_args *args, const struct vs_spec *spec, int flags,
                    struct mpiio_store **store, struct mpiio_slice **slice);

/*
 * The size of the spec's file, bytes; a negative errno where it cannot be had (-ENOENT where the
 * spec names no file), why is filled where members are to blame, and nothing is printed.
 */
int64_t view_file_size(const struct vs_spec *spec, struct vs_error *why);

/* Says on stderr why view_file_size failed. Returns VIEW_FAILED. */
int view_file_failed(const struct vs_spec *spec, int64_t size, const struct vs_error *why);

/* The number of the view that args name, or of the only one; -1 where it is said on stderr why. */
long view_choose(const struct view_args *args, const struct vs_spec *spec);

/*
 * Finds the view that args name, or the only one, and compiles it for the rank of args. VIEW_DONE,
 * or what is wrong is said on stderr. The new reference is the caller's.
 */
int view_compile(const struct view_args *args, const struct vs_spec *spec, struct vs_view **view);

/* Writes size bytes to stdout. VIEW_DONE, or VIEW_FAILED: said, but for a reader that has gone. */
int view_write_out(const char *buffer, int64_t size);

/*
 * Closes stdout and says what it could not take, but for a reader that has gone. Returns status,
 * or VIEW_FAILED.
 */
int view_close_output(int status);

/*
 * A line on a terminal that says how far long work has come. It appears after a second, is
 * renewed a few times a second and leaves nothing behind. One thread at a time.
 */
struct view_progress {
    bool wanted, visible;
    const char *unit; /* what is counted; NULL: bytes */
    int64_t total;    /* 0: not known */
    double start, shown;
};

/* Nothing is ever shown unless wanted is true and stderr is a terminal. unit is borrowed. */
void view_progress_start(struct view_progress *progress, bool wanted, const char *unit,
                         int64_t total);

/* done of total so far. Cheap enough to be called for each MiB. */
void view_progress_step(struct view_progress *progress, int64_t done);

/* Wipes the line. To be called before anything else is written to the terminal. */
void view_progress_end(struct view_progress *progress);

/* Private to mpiio-view: its subcommands, each in a source of its own. */
extern const struct view_command view_check, view_map, view_owner, view_cat, view_put, view_dump,
    view_convert, view_draw, view_capture, view_spec, view_top;

#endif
