/* SPDX-License-Identifier: MIT */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/complain.h"

/* The log of a running daemon: stderr, a file, or syslog. */
struct fs_log {
    const char *name; /* prefix of each line; borrowed */
    char *about;      /* the mount point, and the batch job if there is one; owned */
    int fd;           /* the file, owned, or -1 */
    bool foreground;  /* log to stderr instead of syslog if there is no file */
    atomic_int level; /* an enum mpiio_log_level; lower levels are discarded */
};

/*
 * Opens the log of the mount at mountpoint. path may be NULL. Each line in a file or in syslog
 * names the mount point, because several daemons may share them. Returns 0 or a negative errno.
 */
int fs_log_open(struct fs_log *log, const char *name, const char *mountpoint, const char *path,
                bool foreground, enum mpiio_log_level level);

void fs_log_close(struct fs_log *log);

/* Returns true if the log takes lines of that level. Thread-safe. */
static inline bool fs_log_takes(const struct fs_log *log, enum mpiio_log_level level)
{
    return (int)level >= atomic_load_explicit(&log->level, memory_order_relaxed);
}

/* Writes one line unless its level is lower than the log's. Thread-safe. */
void fs_log_line(const struct fs_log *log, enum mpiio_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the name of the log's level: "debug", "info", "warning" or "error". Thread-safe. */
const char *fs_log_level(const struct fs_log *log);

/*
 * Sets the level by its name, which need not end with a zero byte. Returns 0, or -EINVAL for an
 * unknown name. Thread-safe.
 */
int fs_log_set_level(struct fs_log *log, const char *name, size_t length);

#endif
