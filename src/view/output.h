/* SPDX-License-Identifier: MIT */
#ifndef VIEW_OUTPUT_H
#define VIEW_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A file that appears under its name only when it is complete. Until then it has no name, or,
 * where the filesystem has no such files, a hidden one beside it that is removed when the command
 * ends or is ended by SIGHUP, SIGINT or SIGTERM. At most two at a time, one thread.
 */
struct view_output {
    const char *path; /* borrowed */
    char *hidden;     /* its name meanwhile; NULL: it has none */
    int fd;           /* -1: not open */
};

/*
 * Begins a file at path, empty and of mode 0600. VIEW_DONE, or what is wrong is said on stderr: a
 * folder that cannot be written to, a file of that name and not force.
 */
int view_output_open(struct view_output *output, const char *path, bool force);

/*
 * Gives it its mode, stores it on the device and gives it its name, in place of a file that is
 * there only with force. VIEW_DONE or, said on stderr, VIEW_FAILED.
 */
int view_output_commit(struct view_output *output, mode_t mode, bool force);

/* Closes it. One that was not committed is gone. */
void view_output_close(struct view_output *output);

#endif
