/* SPDX-License-Identifier: MIT */
#include "exercise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns a length from 1 to MAX_LENGTH: mostly short, sometimes whole pages. */
static int64_t some_length(struct file *file)
{
    switch (exercise_below(file, 8)) {
    case 0:
        return 1 + exercise_below(file, MAX_LENGTH);
    case 1:
        return 4096 * (1 + exercise_below(file, 16));
    default:
        return 1 + exercise_below(file, 1 << (1 + exercise_below(file, 13)));
    }
}

static void op_read(struct file *file)
{
    int64_t offset = exercise_below(file, file->size + 100), length = some_length(file);
    exercise_note(file, "read %" PRId64 " +%" PRId64 " of %" PRId64, offset, length, file->size);
    ssize_t got = pread(exercise_fd(file), file->buffer, (size_t)length, offset);
    if (got < 0)
        exercise_failed(file, "pread");
    int64_t left = file->size > offset ? file->size - offset : 0;
    if (got < (length < left ? length : left))
        exercise_wrong(file, "a read of %" PRId64 " from %" PRId64 " gave %zd", length, offset,
                       got);
    if (got > left) {
        if (!file->run->options.threads && file->path_count == 1)
            exercise_wrong(file, "a read gave %zd bytes, %" PRId64 " past the end", got,
                           got - left);
        exercise_extend(file, offset + got);
    }
    exercise_compare(file, file->buffer, offset, got);
}

/* Returns an offset up to the end of the file. Sometimes it lies past the end, so that the write
   leaves a hole. */
static int64_t place_to_write(struct file *file, int64_t *length)
{
    int64_t limit = file->run->options.size;
    *length = some_length(file);
    if (*length > limit)
        *length = limit;
    int64_t offset = exercise_below(file, file->size + (exercise_below(file, 32) == 0 ? 5000 : 1));
    return offset + *length > limit ? exercise_below(file, limit - *length + 1) : offset;
}

static void op_write(struct file *file)
{
    int64_t length, offset = place_to_write(file, &length);
    bool vector = exercise_below(file, 3) == 0;
    exercise_note(file, "%s %" PRId64 " +%" PRId64 " of %" PRId64, vector ? "writev" : "write",
                  offset, length, file->size);
    exercise_fill(file, length);
    ssize_t put;
    if (vector) {
        size_t middle = (size_t)exercise_below(file, length), rest = (size_t)length - middle;
        struct iovec parts[2] = {{file->buffer, middle}, {file->buffer + middle, rest}};
        put = pwritev(exercise_fd(file), parts, 2, offset);
    } else {
        put = pwrite(exercise_fd(file), file->buffer, (size_t)length, offset);
    }
    if (put < 0)
        exercise_failed(file, "pwrite");
    if (put != length)
        exercise_wrong(file, "wrote %zd of %" PRId64, put, length);
    exercise_grown(file, offset + length);
    exercise_to_model(file, offset, length);
}

static void op_map(struct file *file)
{
    if (file->size == 0 || file->run->options.no_map)
        return;
    bool writing = exercise_below(file, 2) == 0;
    int64_t offset = exercise_below(file, file->size), length = some_length(file);
    if (length > file->size - offset)
        length = file->size - offset;
    int64_t start = offset & ~INT64_C(4095);
    size_t mapped = (size_t)(offset + length - start);
    exercise_note(file, "%s %" PRId64 " +%" PRId64 " of %" PRId64, writing ? "mapwrite" : "mapread",
                  offset, length, file->size);
    uint8_t *map = mmap(NULL, mapped, writing ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                        exercise_fd(file), start);
    if (map == MAP_FAILED)
        exercise_failed(file, "mmap");
    if (writing) {
        exercise_fill(file, length);
        memcpy(map + (offset - start), file->buffer, (size_t)length);
        exercise_to_model(file, offset, length);
        if (exercise_below(file, 2) == 0)
            exercise_check(file, msync(map, mapped, MS_SYNC), "msync");
    }
    exercise_compare(file, map + (offset - start), offset, length);
    exercise_check(file, munmap(map, mapped), "munmap");
}

/* Finds the appended data. If another thread has moved the end meanwhile, zeros precede it. */
static void find_appended(struct file *file, int64_t length)
{
    int64_t old = file->size, at = old, size = exercise_size(file);
    uint8_t byte = 0;
    for (; at < size && byte == 0; at += byte == 0)
        if (pread(exercise_fd(file), &byte, 1, at) < 0)
            exercise_failed(file, "pread");
    if (at + length > size)
        exercise_wrong(file, "what was appended to %" PRId64 " is not there (size %" PRId64 ")",
                       old, size);
    exercise_extend(file, size);
    exercise_to_model(file, at, length);
}

static void op_append(struct file *file)
{
    int64_t length = 1 + exercise_below(file, 2000), end = file->size + length;
    if (end > file->run->options.size)
        return;
    exercise_note(file, "append +%" PRId64 " of %" PRId64, length, file->size);
    exercise_fill(file, length);
    int fd = open(file->paths[file->current], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        exercise_failed(file, "open for appending");
    ssize_t put = write(fd, file->buffer, (size_t)length);
    if (put < 0)
        exercise_failed(file, "write with O_APPEND");
    if (put != length)
        exercise_wrong(file, "appended %zd of %" PRId64, put, length);
    exercise_check(file, close(fd), "close");
    if (file->run->options.threads) {
        find_appended(file, length);
    } else {
        int64_t at = file->size;
        exercise_grown(file, end);
        exercise_to_model(file, at, length);
    }
}

static void op_grow(struct file *file)
{
    int64_t limit = file->run->options.size;
    if (file->size >= limit)
        return;
    int64_t size = file->size + 1 +
                   exercise_below(file, limit - file->size < 2000 ? limit - file->size : 2000);
    bool reserve = exercise_below(file, 2) == 0;
    exercise_note(file, "%s to %" PRId64 " of %" PRId64, reserve ? "reserve" : "grow", size,
                  file->size);
    if (reserve) {
        int64_t offset = exercise_below(file, size);
        if (fallocate(exercise_fd(file), 0, offset, size - offset) != 0) {
            if (errno != EOPNOTSUPP)
                exercise_failed(file, "fallocate");
            return;
        }
    } else if (ftruncate(exercise_fd(file), size) != 0) {
        /* Another slice may have made this one longer than size already, visibly or not. */
        const struct options *options = &file->run->options;
        if (errno != EPERM ||
            !(options->unique || (options->threads && exercise_size(file) > size)))
            exercise_failed(file, "ftruncate");
        exercise_follow(file);
        return;
    }
    exercise_grown(file, size);
}

static void op_shrink(struct file *file)
{
    if (!file->run->options.slices || file->size == 0)
        return;
    int64_t size = exercise_below(file, file->size);
    exercise_note(file, "shrink to %" PRId64 " of %" PRId64, size, file->size);
    /* Otherwise truncation could cut bytes that the kernel still holds dirty. */
    if (file->run->options.unique)
        exercise_check(file, fsync(exercise_fd(file)), "fsync");
    if (ftruncate(exercise_fd(file), size) == 0)
        exercise_wrong(file, "a slice could be made shorter");
    if (errno != EPERM)
        exercise_failed(file, "ftruncate to less, not EPERM");
}

/* Syncs one time in four. */
static void op_sync(struct file *file)
{
    if (exercise_below(file, 4) != 0)
        return;
    bool data = exercise_below(file, 2) == 0;
    exercise_note(file, data ? "fdatasync" : "fsync");
    exercise_check(file, data ? fdatasync(exercise_fd(file)) : fsync(exercise_fd(file)), "fsync");
}

/* Switches to another path, with the close and open that close-to-open consistency requires. */
static void op_reopen(struct file *file)
{
    const struct options *options = &file->run->options;
    int next = (int)exercise_below(file, file->path_count);
    bool truncates = options->slices && exercise_below(file, 2) == 0;
    exercise_note(file, "reopen at path %d%s", next, truncates ? ", O_TRUNC" : "");
    if (options->keep_open && file->path_count > 1) {
        exercise_check(file, fsync(exercise_fd(file)), "fsync");
        file->current = next;
        exercise_check(file, fsync(exercise_fd(file)), "fsync of the other path");
    } else {
        exercise_close(file);
        file->current = next;
        if (truncates) {
            /* Opening with O_TRUNC alone must change nothing. */
            exercise_open(file, O_TRUNC);
            exercise_close(file);
        }
        exercise_open(file, 0);
    }
    exercise_follow(file);
    if (exercise_below(file, 4) == 0)
        exercise_compare_all(file);
}

void exercise_operation(struct file *file)
{
    static void (*const operations[])(struct file *) = {
        op_read, op_read, op_read, op_read,   op_write, op_write,  op_write,  op_write,
        op_map,  op_map,  op_map,  op_append, op_grow,  op_shrink, op_reopen, op_sync,
    };

    exercise_follow(file);
    operations[exercise_below(file, sizeof(operations) / sizeof(*operations))](file);
}
