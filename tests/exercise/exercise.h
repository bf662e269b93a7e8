/* SPDX-License-Identifier: MIT */
#ifndef EXERCISE_H
#define EXERCISE_H

/*
 * Private to the program exercise: its files, each with a model in memory of what it holds, and the
 * operations on them. All functions end the process at a mismatch or a failed call. Offsets, sizes
 * and lengths are in bytes. A file is used by one thread at a time.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_FILES  64
#define MAX_PATHS  8
#define MAX_LENGTH 70000 /* of one operation, bytes: a little over 17 pages */
#define LOG_LINES  40

struct options {
    uint64_t seed;
    int64_t ops, size, etype, scatter;
    double seconds;
    bool slices, unique, threads, keep_open, no_map;
    const char *dump;
};

/* One file, its model, and what was done to it. A thread of its own with --threads. */
struct file {
    struct run *run;
    int number;
    char *paths[MAX_PATHS];
    int fds[MAX_PATHS]; /* -1: not open; only current is, but with --keep-open */
    int path_count, current;
    uint64_t random;
    uint8_t *model;
    int64_t size, capacity; /* of the model, bytes */
    uint8_t *buffer;        /* MAX_LENGTH bytes */
    int64_t done;           /* operations */
    char log[LOG_LINES][112];
};

struct run {
    struct options options;
    struct file files[MAX_FILES];
    int file_count;
    double end;         /* by the clock of now() */
    atomic_llong taken; /* operations, by all */
};

/* The next of a series of numbers that look random (splitmix64). */
uint64_t exercise_random(uint64_t *state);

/* A random number from 0 to limit - 1; 0 for a limit of 0. */
int64_t exercise_below(struct file *file, int64_t limit);

/* Puts a line into the file's log, and counts the operation. */
__attribute__((format(printf, 2, 3))) void exercise_note(struct file *file, const char *format,
                                                         ...);

/* Says what is wrong, prints the last operations on the file, and ends the process. */
__attribute__((format(printf, 2, 3), noreturn)) void exercise_wrong(struct file *file,
                                                                    const char *format, ...);

/* The same for a call that failed, with errno. */
__attribute__((noreturn)) void exercise_failed(struct file *file, const char *call);

/* Opens the current path for reading and writing, with more flags of open(2). */
void exercise_open(struct file *file, int flags);

/* The descriptor at the current path. */
int exercise_fd(const struct file *file);

/* The file's size as fstat tells. */
int64_t exercise_size(struct file *file);

/* Makes the model at least as long as size, with zeros behind what it was. */
void exercise_extend(struct file *file, int64_t size);

/* The file may have grown through another slice, and the model follows; it never shrinks. */
void exercise_follow(struct file *file);

/* After an operation that makes the file end at end or later: the size must be just that. */
void exercise_grown(struct file *file, int64_t end);

/* Compares length bytes of got with the model from offset on. */
void exercise_compare(struct file *file, const uint8_t *got, int64_t offset, int64_t length);

/* Reads all of the file and compares. */
void exercise_compare_all(struct file *file);

/* Fills the buffer with bytes that are not zero, so that written bytes differ from unwritten
   ones. */
void exercise_fill(struct file *file, int64_t length);

/* Puts length bytes of the buffer into the model. */
void exercise_to_model(struct file *file, int64_t offset, int64_t length);

/* One operation, at random. */
void exercise_operation(struct file *file);

#endif
