/* SPDX-License-Identifier: MIT */
#ifndef VIEW_COMMON_H
#define VIEW_COMMON_H

#include <stdio.h>
#include "args.h"
#include "core/slice.h"
#include "core/store.h"
#include "viewspec/spec.h"

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

#endif
