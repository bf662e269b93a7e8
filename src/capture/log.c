/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/base/line.h"

/*
 * Opens the log. On another host the path may belong to another user, or be a link to another file
 * of this user. So the log must be a regular file that this user owns, with a single name.
 */
int capture_log_open(void)
{
    const char *path = getenv(CAPTURE_LOG_VARIABLE);
    struct stat st;
    int log =
        path && *path ? open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;

    if (log < 0 ||
        (fstat(log, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1))
        return log;
    close(log);
    return -1;
}

bool capture_log_append(int log, const char *line)
{
    size_t length = strlen(line);

    return write(log, line, length) == (ssize_t)length;
}

void capture_say_aloud(const char *format, ...)
{
    char text[2 * PATH_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    vs_line_clean(text);
    fprintf(stderr, "mpiio-capture: %s\n", text);
}

void capture_say(const char *format, ...)
{
    char text[PIPE_BUF - 32], line[PIPE_BUF];
    va_list args;
    int log = capture_log_open();

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    vs_line_clean(text);
    snprintf(line, sizeof(line), "say\t%s\n", text);
    if (log < 0 || !capture_log_append(log, line))
        capture_say_aloud("%s", text);
    if (log >= 0)
        close(log);
}

void capture_process(char *text, size_t size)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(text, size, "%s:%ld", host, (long)getpid());
}

void capture_note(const char *note, const char *path)
{
    char process[300], line[PATH_MAX + 320];
    int log = capture_log_open();

    if (log < 0)
        return;
    capture_process(process, sizeof(process));
    snprintf(line, sizeof(line), "%s\t%s\t%s\n", note, process, path);
    capture_log_append(log, line);
    close(log);
}
