/* SPDX-License-Identifier: MIT */
#ifndef VIEW_OUTPUT_H
#define VIEW_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

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

#endif
