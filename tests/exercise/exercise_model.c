/* SPDX-License-Identifier: MIT */
#include "exercise.h"
#include "../shared/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t exercise_below(struct file *file, int64_t limit)
{
    return limit > 0 ? (int64_t)(next_random(&file->random) % (uint64_t)limit) : 0;
}

void exercise_note(struct file *file, const char *format, ...)
{
    char *line = file->log[file->done % LOG_LINES];
    int used = snprintf(line, sizeof(file->log[0]), "%" PRId64 " ", file->done);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof(file->log[0]) - (size_t)used, format, args);
    va_end(args);
    file->done++;
}

void exercise_wrong(struct file *file, const char *format, ...)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    va_list args;
    pthread_mutex_lock(&once);
    va_start(args, format);
    fprintf(stderr, "exercise: %s: ", file->paths[file->current]);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n  seed %" PRIu64 "; the last operations on file %d:\n",
            file->run->options.seed, file->number);
    int64_t first = file->done > LOG_LINES ? file->done - LOG_LINES : 0;
    for (int64_t i = first; i < file->done; i++)
        fprintf(stderr, "  %s\n", file->log[i % LOG_LINES]);
    fflush(NULL);
    _exit(1);
}

void exercise_failed(struct file *file, const char *call)
{
    exercise_wrong(file, "%s: %s", call, strerror(errno));
}

void exercise_check(struct file *file, int result, const char *call)
{
    if (result != 0)
        exercise_failed(file, call);
}

int exercise_fd(const struct file *file)
{
    return file->fds[file->current];
}

void exercise_extend(struct file *file, int64_t size)
{
    if (size > file->capacity) {
        int64_t capacity = size * 2;
        uint8_t *model = realloc(file->model, (size_t)capacity);
        if (model == NULL)
            exercise_failed(file, "realloc");
        file->model = model;
        file->capacity = capacity;
    }
    if (size > file->size) {
        memset(file->model + file->size, 0, (size_t)(size - file->size));
        file->size = size;
    }
}

int64_t exercise_size(struct file *file)
{
    struct stat st;
    exercise_check(file, fstat(exercise_fd(file), &st), "fstat");
    return st.st_size;
}

void exercise_follow(struct file *file)
{
    int64_t size = exercise_size(file);
    if (size < file->size)
        exercise_wrong(file, "size %" PRId64 ", it was %" PRId64, size, file->size);
    exercise_extend(file, size);
}

void exercise_grown(struct file *file, int64_t end)
{
    const struct options *options = &file->run->options;
    int64_t whole = (end + options->etype - 1) / options->etype * options->etype;
    int64_t want = whole > file->size ? whole : file->size, size = exercise_size(file);
    if (size < want || (size > want && !options->threads))
        exercise_wrong(file, "size %" PRId64 " instead of %" PRId64, size, want);
    exercise_extend(file, size);
}

void exercise_compare(struct file *file, const uint8_t *got, int64_t offset, int64_t length)
{
    if (memcmp(got, file->model + offset, (size_t)length) == 0)
        return;
    int64_t first = 0, differing = 0;
    for (int64_t i = length - 1; i >= 0; i--) {
        if (got[i] != file->model[offset + i]) {
            first = i;
            differing++;
        }
    }
    exercise_wrong(file,
                   "%" PRId64 " of %" PRId64 " bytes from %" PRId64 " differ, first at %" PRId64
                   " (page %" PRId64 "): %02x instead of %02x; size %" PRId64,
                   differing, length, offset, offset + first, (offset + first) / 4096, got[first],
                   file->model[offset + first], file->size);
}

void exercise_compare_all(struct file *file)
{
    for (int64_t offset = 0; offset < file->size;) {
        ssize_t got = pread(exercise_fd(file), file->buffer, MAX_LENGTH, offset);
        if (got < 0)
            exercise_failed(file, "pread");
        if (got == 0)
            exercise_wrong(file, "ends at %" PRId64 " instead of %" PRId64, offset, file->size);
        if (offset + got > file->size)
            exercise_extend(file, offset + got); /* the file grew meanwhile */
        exercise_compare(file, file->buffer, offset, got);
        offset += got;
    }
}

void exercise_fill(struct file *file, int64_t length)
{
    for (int64_t i = 0; i < length; i += 8) {
        uint64_t word = next_random(&file->random) | UINT64_C(0x0101010101010101);
        memcpy(file->buffer + i, &word, (size_t)(length - i < 8 ? length - i : 8));
    }
}

void exercise_to_model(struct file *file, int64_t offset, int64_t length)
{
    exercise_extend(file, offset + length);
    memcpy(file->model + offset, file->buffer, (size_t)length);
}

void exercise_open(struct file *file, int flags)
{
    int fd = open(file->paths[file->current], O_RDWR | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        exercise_failed(file, "open");
    file->fds[file->current] = fd;
}

void exercise_close(struct file *file)
{
    exercise_check(file, close(exercise_fd(file)), "close");
    file->fds[file->current] = -1;
}
