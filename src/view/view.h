/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/conversion.h"
#include "core/slice.h"
#include "core/store.h"
#include "viewspec/basic.h"
#include "viewspec/spec.h"

/* Native values as text. */

enum view_format { VIEW_TEXT, VIEW_CSV, VIEW_JSON };

/* The maximum number of characters of a value. */
#define VIEW_VALUE_TEXT 128

/*
 * Writes a value of a basic type, native, at any address, so that it can be read back. bare: a
 * part of a string, whose quotes the caller writes. Returns the end of the text, which is not
 * terminated. Thread-safe.
 *
 *   integers   decimal
 *   reals      the shortest decimal that reads back as the same number, with a point or an
 *              exponent; inf and nan (in JSON strings) with their signs
 *   complex    real and imaginary part, as two values; in JSON an array
 *   logical    false for 0, else true
 *   bytes      two hexadecimal digits (in JSON a string)
 *   char       what is visible as it is; the rest and the backslash as a backslash and three octal
 *              digits; in CSV in quotes; in JSON a string of one character U+0000 .. U+00FF
 */
char *view_write_value(char *text, enum view_format format, bool bare, const struct vs_basic *basic,
                       const void *value);

/* The command line of a subcommand. */

/* Options that a subcommand takes in addition to --help and, if it takes a spec, -n, -f, -D, ... */
enum view_options {
    VIEW_TAKES_RANK = 1,    /* -r RANK (required) and -v VIEW */
    VIEW_TAKES_RANGE = 2,   /* --offset and --length */
    VIEW_TAKES_PLACE = 4,   /* a displacement after SPEC */
    VIEW_TAKES_OFFSET = 8,  /* --offset alone */
    VIEW_TAKES_FORMAT = 16, /* --format and --fields */
    VIEW_TAKES_TARGET = 32, /* --to and -o (both required), --force and --spec */
    VIEW_TAKES_NARROW = 64,
    VIEW_TAKES_MOUNTS = 128,   /* mount points in place of SPEC; -d, -c, --prometheus and -o */
    VIEW_TAKES_PICTURE = 256,  /* -v VIEW, --offset, --svg, --window, --width and --color */
    VIEW_TAKES_SOURCE = 512,   /* --from, --var and --all, and a decomposition in place of SPEC */
    VIEW_NEEDS_NO_FILE = 1024, /* also runs without the shared file: vs_spec_file may be NULL */
    VIEW_BY_FILE = 2048,       /* the order in memory does not matter */
    VIEW_TAKES_COMMAND = 4096, /* a command in place of SPEC, and -o */
};

/* A subcommand's command line. Strings are borrowed from argv. */
struct view_args {
    const char *spec;      /* its path, or the name of a view in shorthand in messages */
    const char *shorthand; /* a view in shorthand instead of a spec; NULL: none */
    const char *file;      /* NULL: the spec's own */
    const char *members;   /* with shorthand: the members' names; NULL: none */
    const char *pieces;    /* the members' positions; NULL: given by the view */
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
    bool all;                  /* all variables */
    const char *type;          /* for variables of bytes: "TYPE [SHAPE]"; NULL: keep them bytes */
    const char *decomposition; /* of the variables among ranks; NULL: none */
    double interval;           /* seconds */
    int64_t rounds;            /* number of tables to print; 0: until a signal */
    bool prometheus;
    char **operands; /* all of them, with a NULL at the end; borrowed from argv */
};

/* Uses a slice of a file, whose path is for messages. Returns an exit status. */
typedef int view_slice_user(const struct view_args *args, const char *file,
                            struct mpiio_store *store, struct mpiio_slice *slice);

struct view_command {
    const char *name;
    unsigned options; /* enum view_options */
    /* spec is NULL if the subcommand takes none, and with --from. */
    int (*run)(const struct view_args *args, const struct vs_spec *spec);
    view_slice_user *use; /* instead of run: uses the slice of args, */
    int flags;            /* whose file is opened with these flags */
    const char *summary;  /* one line */
    const char *help;     /* usage, specific options, examples */
};

/* Returns the overrides of args, which borrow from args. */
struct vs_overrides view_overrides(const struct view_args *args);

/*
 * Reports wrong usage on stderr: "mpiio-view: COMMAND: WHAT: WHY (see mpiio-view COMMAND --help)",
 * without WHY if that is empty. Returns VIEW_USAGE.
 */
int view_usage(const struct view_command *command, const char *what, const char *why);

/*
 * Functions that the subcommands share. They return exit statuses and print their own one-line
 * messages on stderr. They are not thread-safe unless stated otherwise.
 */

enum view_status {
    VIEW_DONE = 0,
    VIEW_FAILED = 1,
    VIEW_USAGE = 2, /* wrong usage or a wrong spec */
};

/* Returns the ending of a noun after that number: "" or "s". */
static inline const char *view_plural(int64_t number)
{
    return number == 1 ? "" : "s";
}

/* Prints "mpiio-view: TEXT" and a newline on stderr. */
__attribute__((format(printf, 1, 2))) void view_message(const char *format, ...);

/* Prints "SUBJECT: " and the text of a negative errno in the same way; NULL: only the text. Returns
   VIEW_FAILED. */
int view_failed(const char *subject, int64_t error);

/*
 * Prints a spec's error in the same way. Returns VIEW_USAGE, or VIEW_FAILED if the spec is not the
 * cause: no memory, not supported.
 */
int view_spec_failed(const struct vs_error *error);

/* Returns the displayed name of view number index: "-" if the spec's only view has none. */
const char *view_label(const struct vs_spec *spec, size_t index);

/*
 * Opens the spec's file with the flags of mpiio_store_open. Returns VIEW_DONE, or VIEW_FAILED after
 * a message on stderr. The caller owns the new store.
 */
int view_open_file(const struct vs_spec *spec, int flags, struct mpiio_store **store);

/*
 * Checks that the file's header (of members: each part that the spec has) is unchanged since the
 * spec was made from it. Returns VIEW_DONE, also if there is no file yet, or VIEW_FAILED after a
 * message on stderr.
 */
int view_check_header(const struct vs_spec *spec);

/*
 * Compiles the view of args, opens the file with flags, makes the slice, and calls use with it.
 * Returns the status of use, or another one after a message on stderr.
 */
int view_use_slice(const struct view_args *args, const struct vs_spec *spec, int flags,
                   view_slice_user *use);

/*
 * Returns the size of the spec's file in bytes, or a negative errno (-ENOENT if the spec names no
 * file). Fills why if members are the cause. Prints nothing.
 */
int64_t view_file_size(const struct vs_spec *spec, struct vs_error *why);

/* Reports on stderr why view_file_size failed. Returns VIEW_FAILED. */
int view_file_failed(const struct vs_spec *spec, int64_t size, const struct vs_error *why);

/* Returns the index of the view that args name, or of the only one; -1 after a message on
   stderr. */
long view_choose(const struct view_args *args, const struct vs_spec *spec);

/*
 * Finds the view that args name, or the only one, and compiles it for the rank of args. Returns
 * VIEW_DONE, or another status after a message on stderr. The caller owns the new reference.
 */
int view_compile(const struct view_args *args, const struct vs_spec *spec, struct vs_view **view);

/* Writes size bytes to stdout. Returns VIEW_DONE, or VIEW_FAILED after a message. A reader that
   has exited is not reported. */
int view_write_out(const char *buffer, int64_t size);

/*
 * Closes stdout and reports a write error, unless the reader has exited. Returns status, or
 * VIEW_FAILED.
 */
int view_close_output(int status);

/*
 * A progress line on the terminal for long operations. It appears after a second, is updated a few
 * times a second and is erased at the end. Not thread-safe.
 */
struct view_progress {
    bool wanted, visible;
    const char *unit; /* the unit of the count; NULL: bytes */
    int64_t total;    /* 0: unknown */
    double start, shown;
};

/* Starts the progress. Shows nothing unless wanted is true and stderr is a terminal. unit is
   borrowed. */
void view_progress_start(struct view_progress *progress, bool wanted, const char *unit,
                         int64_t total);

/* Reports that done of total is complete. Cheap enough to be called for each MiB. */
void view_progress_step(struct view_progress *progress, int64_t done);

/* Erases the line. Call it before anything else is written to the terminal. */
void view_progress_end(struct view_progress *progress);

/*
 * A file that appears under its name only when it is complete. Until then it has no name. If the
 * filesystem does not support that, it has a hidden name in the same folder, which is removed when
 * the command exits or receives SIGHUP, SIGINT or SIGTERM. At most two at a time. Not thread-safe.
 */
struct view_output {
    const char *path; /* borrowed */
    char *hidden;     /* its temporary name; NULL: none */
    int fd;           /* -1: not open */
};

/*
 * Creates an empty file of mode 0600 for path. Returns VIEW_DONE, or another status after a message
 * on stderr: the folder is not writable, or the file exists and force is false.
 */
int view_output_open(struct view_output *output, const char *path, bool force);

/*
 * Sets its mode, stores it on the device and gives it its name. Replaces an existing file only with
 * force. Returns VIEW_DONE, or VIEW_FAILED after a message on stderr.
 */
int view_output_commit(struct view_output *output, mode_t mode, bool force);

/* Closes it. A file that was not committed is removed. */
void view_output_close(struct view_output *output);

/* Conversion of a file. */

/* A file and the new file to convert it to; all borrowed. */
struct view_sweep {
    const struct vs_spec *spec, *target; /* the same views in two representations */
    struct mpiio_store *from, *to;       /* to is empty and writable */
    const char *output;                  /* name of the new file, for messages */
    enum mpiio_narrow narrow;
};

/*
 * Writes all slices of `spec` in `from` as slices of `target` to `to`. Also copies bytes outside
 * the slices: those before all views and, if all representations have the native sizes, the rest,
 * too. Returns VIEW_DONE, or another status after a message on stderr: VIEW_USAGE if both
 * representations cannot have these views, else VIEW_FAILED. The new file is then unusable.
 */
int view_sweep(const struct view_sweep *files);

/* Private to mpiio-view: its subcommands, each in a source of its own. */
extern const struct view_command view_check, view_map, view_owner, view_cat, view_put, view_dump,
    view_convert, view_draw, view_capture, view_spec, view_top;

#endif
