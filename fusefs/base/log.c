/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "viewspec/base/line.h"

/* Names and priorities of the levels, by enum mpiio_log_level. */
static const struct severity {
    const char *name;
    int priority; /* of syslog */
} severities[] = {
    [MPIIO_LOG_DEBUG] = {"debug", LOG_DEBUG},
    [MPIIO_LOG_INFO] = {"info", LOG_INFO},
    [MPIIO_LOG_WARNING] = {"warning", LOG_WARNING},
    [MPIIO_LOG_ERROR] = {"error", LOG_ERR},
};

const char *fs_log_level(const struct fs_log *log)
{
    return severities[atomic_load(&log->level)].name;
}

int fs_log_set_level(struct fs_log *log, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(severities) / sizeof(*severities); i++) {
        if (strlen(severities[i].name) == length && memcmp(name, severities[i].name, length) == 0) {
            atomic_store(&log->level, (int)i);
            return 0;
        }
    }
    return -EINVAL;
}

/* Returns the batch system's number of the job that runs this process, or NULL. */
static const char *job_number(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    const char *number = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && number == NULL; i++)
        number = getenv(names[i]);
    return number != NULL && *number != '\0' ? number : NULL;
}

/* Returns a new string such as "/mnt/field (job 4711)", or NULL if out of memory. */
static char *describe(const char *mountpoint)
{
    const char *job = job_number();
    char *text;

    if (job == NULL)
        return strdup(mountpoint);
    return asprintf(&text, "%s (job %s)", mountpoint, job) >= 0 ? text : NULL;
}

int fs_log_open(struct fs_log *log, const char *name, const char *mountpoint, const char *path,
                bool foreground, enum mpiio_log_level level)
{
    *log = (struct fs_log){.name = name, .fd = -1, .foreground = foreground, .level = (int)level};
    log->about = describe(mountpoint);
    if (log->about == NULL)
        return -ENOMEM;
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
    free(log->about);
    log->about = NULL;
}

void fs_log_line(const struct fs_log *log, enum mpiio_log_level level, const char *format, ...)
{
    char text[2048], line[PATH_MAX + 2304];
    char when[32];
    struct tm tm;
    time_t now = time(NULL);
    va_list arguments;

    if (!fs_log_takes(log, level))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(line, sizeof(line), "%s: %s", log->about != NULL ? log->about : "no mount yet", text);
    vs_line_clean(text);
    vs_line_clean(line);
    if (log->fd >= 0) {
        gmtime_r(&now, &tm);
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        dprintf(log->fd, "%s %s %s[%d]: %s\n", when, severities[level].name, log->name,
                (int)getpid(), line);
    } else if (log->foreground) {
        fprintf(stderr, "%s: %s\n", log->name, text);
    } else {
        syslog(severities[level].priority, "%s", line);
    }
}
