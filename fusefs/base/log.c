/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "viewspec/line.h"

int fs_log_open(struct fs_log *log, const char *name, const char *path, bool foreground)
{
    *log = (struct fs_log){.name = name, .fd = -1, .foreground = foreground};
    if (path != NULL) {
        log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (log->fd < 0)
            return -errno;
    } else if (!foreground) {
        openlog(name, LOG_PID, LOG_DAEMON);
    }
    return 0;
}

void fs_log_close(struct fs_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

void fs_log_error(const struct fs_log *log, const char *format, ...)
{
    char text[2048];
    char when[32];
    struct tm tm;
    time_t now = time(NULL);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    vs_line_clean(text);
    if (log->fd >= 0) {
        gmtime_r(&now, &tm);
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        dprintf(log->fd, "%s %s[%d]: %s\n", when, log->name, (int)getpid(), text);
    } else if (log->foreground) {
        fprintf(stderr, "%s: %s\n", log->name, text);
    } else {
        syslog(LOG_ERR, "%s", text);
    }
}
