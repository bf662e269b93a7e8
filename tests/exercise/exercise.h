/* SPDX-License-Identifier: MIT */
#ifndef EXERCISE_H
#define EXERCISE_H

/*
 * Private to the program exercise: its files, each with a model of its contents in memory, and the
 * operations on them. All functions end the process on a mismatch or a failed call. Offsets, sizes
 * and lengths are in bytes. Only one thread at a time uses a file.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_FILES  64
#define MAX_PATHS  8
#define MAX_LENGTH 70000 /* the longest operation: a little over 17 pages */
#define LOG_LINES  40

struct options {
    uint64_t seed;
    int64_t ops, size, etype, scatter, seconds;
    bool slices, unique, threads, keep_open, no_map;
    const char *dump;
};

/* A file, its model, and a log of operations. With --threads, a thread of its own uses it. */
struct file {
    struct run *run;
    int number;
    char *paths[MAX_PATHS];
    int fds[MAX_PATHS]; /* -1: not open; without --keep-open only current is open */
    int path_count, current;
    uint64_t random;
    uint8_t *model;
    int64_t size, capacity; /* of the model, in bytes */
    uint8_t *buffer;        /* MAX_LENGTH bytes */
    int64_t done;           /* operations done */
    char log[LOG_LINES][112];
};

struct run {
    struct options options;
    struct file files[MAX_FILES];
    int file_count;
    double end;         /* by the clock of now() */
    atomic_llong taken; /* operations taken by all threads */
};

/* Returns a random number from 0 to limit - 1, or 0 if limit is 0. */
int64_t exercise_below(struct file *file, int64_t limit);

/* Adds a line to the file's log, and counts the operation. */
__attribute__((format(printf, 2, 3))) void exercise_note(struct file *file, const char *format,
                                                         ...);

/* Prints the mismatch and the last operations on the file, and ends the process. */
__attribute__((format(printf, 2, 3), noreturn)) void exercise_wrong(struct file *file,
                                                                    const char *format, ...);

/* Does the same for a failed call, with errno. */
__attribute__((noreturn)) void exercise_failed(struct file *file, const char *call);

/* Ends the process in this way unless the call has returned 0. */
void exercise_check(struct file *file, int result, const char *call);

/* Opens the current path for reading and writing. flags are more flags of open(2). */
void exercise_open(struct file *file, int flags);

/* Closes the current path. */
void exercise_close(struct file *file);

/* Returns the descriptor of the current path. */
int exercise_fd(const struct file *file);

/* Returns the file's size as fstat reports it. */
int64_t exercise_size(struct file *file);

/* Makes the model at least size bytes long. New bytes are zeros. */
void exercise_extend(struct file *file, int64_t size);

/* Lets the model grow to the file's size, because another slice may have made the file longer. A
   file that is shorter is a mismatch. */
void exercise_follow(struct file *file);

/* Checks the size after an operation that extends the file to end. With --threads, another slice
   may have made it longer. */
void exercise_grown(struct file *file, int64_t end);

/* Compares length bytes of got with the model, starting at offset. */
void exercise_compare(struct file *file, const uint8_t *got, int64_t offset, int64_t length);

/* Reads the whole file and compares it. */
void exercise_compare_all(struct file *file);

/* Fills the buffer with bytes that are not zero, so that written bytes differ from unwritten
   ones. */
void exercise_fill(struct file *file, int64_t length);

/* Copies length bytes of the buffer into the model. */
void exercise_to_model(struct file *file, int64_t offset, int64_t length);

/* Does one random operation. */
void exercise_operation(struct file *file);

#endif
