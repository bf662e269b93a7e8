/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "viewspec/base/line.h"

#define MAX_REASONS 16

static _Atomic uint64_t counts[RUN_COUNTS];
static atomic_int out = -1;

/* Why slices were not granted. */
static struct {
    char text[64];
    unsigned count;
} reasons[MAX_REASONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void run_stats_add(enum run_count which, size_t number)
{
    atomic_fetch_add_explicit(&counts[which], number, memory_order_relaxed);
}

void run_stats_fell_back(enum run_count why)
{
    run_stats_add(RUN_FELL_BACK, 1);
    run_stats_add(why, 1);
}

void run_stats_refused(const char *why)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < MAX_REASONS - 1 && *reasons[i].text && strcmp(reasons[i].text, why) != 0)
        i++;
    snprintf(reasons[i].text, sizeof(reasons[i].text), "%s", why);
    reasons[i].count++;
    pthread_mutex_unlock(&lock);
}

void run_stats_start(void)
{
    const char *wanted = getenv("MPIIO_RUN_STATS");
    int error = errno;

    run_stats_stop();
    if (wanted != NULL && *wanted && strcmp(wanted, "0") != 0)
        out = run_raise(RUN_NEXT(fcntl)(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    errno = error;
}

void run_stats_stop(void)
{
    int error = errno, fd = atomic_exchange(&out, -1);

    if (fd >= 0) {
        run_lower(fd);
        RUN_NEXT(close)(fd);
    }
    errno = error;
}

void run_stats_forget(void)
{
    for (size_t i = 0; i < RUN_COUNTS; i++)
        atomic_store(&counts[i], 0);
    memset(reasons, 0, sizeof(reasons));
    pthread_mutex_init(&lock, NULL);
}

static unsigned long long count_of(enum run_count which)
{
    return atomic_load(&counts[which]);
}

/* A line to print. Text that does not fit is truncated. */
struct line {
    char text[4096];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    size_t room = sizeof(line->text) - 1 - line->length; /* one is for the newline */
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        line->length += (size_t)length < room ? (size_t)length : room - 1;
}

void run_stats_print(void)
{
    struct line line = {.length = 0};

    if (out < 0 || count_of(RUN_OPENS) == 0)
        return;
    add(&line,
        "mpiio-run: %s[%d]: slices=%llu granted=%llu reads=%llu read_bytes=%llu "
        "writes=%llu write_bytes=%llu fell_back=%llu (taken_back=%llu "
        "not_given=%llu failed=%llu flags=%llu limited=%llu short=%llu)",
        program_invocation_short_name, (int)getpid(), count_of(RUN_OPENS), count_of(RUN_GRANTED),
        count_of(RUN_READS), count_of(RUN_READ_BYTES), count_of(RUN_WRITES),
        count_of(RUN_WRITE_BYTES), count_of(RUN_FELL_BACK), count_of(RUN_TAKEN_BACK),
        count_of(RUN_NOT_GIVEN), count_of(RUN_FAILED), count_of(RUN_FLAGS), count_of(RUN_LIMITED),
        count_of(RUN_SHORT));
    for (size_t i = 0; i < MAX_REASONS && *reasons[i].text; i++)
        add(&line, "; not granted: %s: %u", reasons[i].text, reasons[i].count);
    /* The program's name and the daemon's reasons may contain any bytes. */
    vs_line_clean(line.text);
    line.length = strlen(line.text);
    line.text[line.length++] = '\n';
    if (write(out, line.text, line.length) == (ssize_t)line.length)
        atomic_store(&counts[RUN_OPENS], 0);
}
