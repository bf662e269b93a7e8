/* SPDX-License-Identifier: MIT */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdbool.h>

/* Where a running daemon writes what went wrong: stderr, a file, or syslog. */
struct fs_log {
    const char *name; /* what lines begin with; borrowed */
    char *about;      /* the mount point, and the batch job if there is one; owned */
    int fd;           /* the file, owned, or -1 */
    bool foreground;  /* without a file: stderr instead of syslog */
};

/*
 * Opens the log of what is mounted at a mount point; path may be NULL. A file and syslog, which
 * several daemons may share, have the mount point in each line. Returns 0 or a negative errno.
 */
int fs_log_open(struct fs_log *log, const char *name, const char *mountpoint, const char *path,
                bool foreground);

void fs_log_close(struct fs_log *log);

/* Writes one line, of LOG_ERR. Local, thread-safe. */
void fs_log_error(const struct fs_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
