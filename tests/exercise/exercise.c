/* SPDX-License-Identifier: MIT */
/*
 * Exercises files as programs do, at random, and compares them with a model in memory.
 *
 *   exercise [OPTION]... PATH[,PATH]...      each word is a slice or any file; several paths in one
 *                                            word are the same file in several mounts
 *
 *   --seed=N       seed of the random numbers; without it, a new one each time. It is printed
 *   --ops=N        operations in all (20000); 0: only --seconds limits them
 *   --seconds=S    ends after that time, even if --ops are not done
 *   --size=BYTES   the most that a file's own operations extend it to (1048576)
 *   --etype=BYTES  a file grows by whole etypes of that size (1)
 *   --scatter=B    the files are all slices of one file, whose blocks of B bytes are dealt to
 *                  them in turn: after each operation their sizes must match
 *   --slices       the files are slices: O_TRUNC alone does nothing, shortening gives EPERM
 *   --unique       mounted with -o unique: a slice that others made longer may seem shorter
 *   --threads      one thread for each file, all at once, instead of by turns
 *   --keep-open    if there are several paths: keeps the file open at all of them, and switches
 *                  between them by fsync of both; without it, by close and open
 *   --no-map       no mmap
 *   --dump=PREFIX  at the end, write the models to PREFIX0, PREFIX1, ...
 *
 * Operations: read, write, writev, mapread, mapwrite, append, grow, reserve, sync, reopen. A file
 * may grow meanwhile through another slice: bytes that were not written must be zeros. After a
 * mismatch it prints the last operations on that file. Exit status: 0 equal, 1 different or a call
 * failed, 2 usage.
 */
#include "exercise.h"
#include "options.h"
#include "../shared/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns the length of slice number if the file has size bytes. For --scatter. */
static int64_t scattered_size(const struct run *run, int number, int64_t size)
{
    int64_t block = run->options.scatter, tile = block * run->file_count;
    int64_t left = size % tile - block * number;
    return size / tile * block + (left < 0 ? 0 : left > block ? block : left);
}

/* Returns the length that the shared file must have for slice number to have size bytes. */
static int64_t needed_size(const struct run *run, int number, int64_t size)
{
    int64_t block = run->options.scatter, last = size - 1;
    return size == 0 ? 0 : (last / block * run->file_count + number) * block + last % block + 1;
}

/* Checks all slices' sizes: the shared file has the largest size that any slice needs. */
static void check_sizes(struct run *run)
{
    int64_t size = 0;
    for (int i = 0; i < run->file_count; i++) {
        int64_t need = needed_size(run, i, run->files[i].size);
        size = need > size ? need : size;
    }
    for (int i = 0; i < run->file_count; i++) {
        int64_t want = scattered_size(run, i, size), got = exercise_size(&run->files[i]);
        if (got != want)
            exercise_wrong(&run->files[i],
                           "size %" PRId64 " instead of %" PRId64 " (file %" PRId64 ")", got, want,
                           size);
    }
}

/* Takes one operation. Returns false if no more are due. */
static bool take(struct run *run)
{
    int64_t number = atomic_fetch_add(&run->taken, 1);
    return (run->options.ops == 0 || number < run->options.ops) && now() < run->end;
}

static void *run_thread(void *data)
{
    struct file *file = data;
    while (take(file->run))
        exercise_operation(file);
    return NULL;
}

static void run_threads(struct run *run)
{
    pthread_t threads[MAX_FILES];
    for (int i = 0; i < run->file_count; i++)
        if (pthread_create(&threads[i], NULL, run_thread, &run->files[i]) != 0)
            exercise_failed(&run->files[i], "pthread_create");
    for (int i = 0; i < run->file_count; i++)
        pthread_join(threads[i], NULL);
}

static void run_turns(struct run *run)
{
    uint64_t random = run->options.seed;
    while (take(run)) {
        exercise_operation(&run->files[next_random(&random) % (uint64_t)run->file_count]);
        if (run->options.scatter > 0)
            check_sizes(run);
    }
}

static void start_file(struct run *run, int number, char *paths)
{
    struct file *file = &run->files[number];
    file->run = run;
    file->number = number;
    file->random = run->options.seed + (uint64_t)number * 1000003 + 1;
    for (char *rest = NULL, *path = strtok_r(paths, ",", &rest);
         path && file->path_count < MAX_PATHS; path = strtok_r(NULL, ",", &rest))
        file->paths[file->path_count++] = path;
    file->buffer = malloc(MAX_LENGTH);
    if (!file->buffer || file->path_count == 0)
        exercise_failed(file, "start");
    for (int i = file->path_count - 1; i >= 0; i--) {
        file->fds[i] = -1;
        file->current = i;
        if (i == 0 || run->options.keep_open)
            exercise_open(file, run->options.slices ? 0 : O_CREAT);
    }

    int64_t size = exercise_size(file);
    exercise_extend(file, size);
    for (int64_t at = 0; at < size;) {
        ssize_t got = pread(exercise_fd(file), file->model + at, (size_t)(size - at), at);
        if (got <= 0)
            exercise_failed(file, "first read");
        at += got;
    }
}

/* Closes all paths. The kernel then sends delayed writes, which may make other slices longer. */
static void close_file(struct file *file)
{
    for (int i = 0; i < file->path_count; i++)
        exercise_check(file, file->fds[i] >= 0 ? close(file->fds[i]) : 0, "close");
}

/* Opens each path again and compares the whole file. Call it after all files are closed. */
static void end_file(struct file *file)
{
    for (int i = 0; i < file->path_count; i++) {
        file->current = i;
        exercise_open(file, 0);
        exercise_note(file, "the end, path %d", i);
        exercise_follow(file);
        exercise_compare_all(file);
        exercise_close(file);
    }
    if (file->run->options.dump) {
        char path[4096];
        snprintf(path, sizeof(path), "%s%d", file->run->options.dump, file->number);
        FILE *out = fopen(path, "wb");
        if (out == NULL || fwrite(file->model, 1, (size_t)file->size, out) != (size_t)file->size ||
            fclose(out) != 0)
            exercise_failed(file, path);
    }
    free(file->model);
    free(file->buffer);
}

static void parse(struct options *options, int argc, char **argv)
{
    const struct setting settings[] = {
        {"seed", (int64_t *)&options->seed, 0, INT64_MAX, NULL, NULL},
        {"ops", &options->ops, 0, INT64_MAX, NULL, NULL},
        {"seconds", &options->seconds, 0, INT64_MAX, NULL, NULL},
        {"size", &options->size, 1, INT64_MAX, NULL, NULL},
        {"etype", &options->etype, 1, INT64_MAX, NULL, NULL},
        {"scatter", &options->scatter, 0, INT64_MAX, NULL, NULL},
        {"slices", .flag = &options->slices},
        {"unique", .flag = &options->unique},
        {"threads", .flag = &options->threads},
        {"keep-open", .flag = &options->keep_open},
        {"no-map", .flag = &options->no_map},
        {"dump", .text = &options->dump},
    };

    parse_options(settings, sizeof(settings) / sizeof(*settings), argc, argv);
}

int main(int argc, char **argv)
{
    static struct run run = {
        .options = {.ops = 20000, .seconds = 3600, .size = 1048576, .etype = 1}};
    run.options.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    parse(&run.options, argc, argv);
    if (optind == argc || argc - optind > MAX_FILES) {
        fprintf(stderr, "exercise: usage: exercise [OPTION]... PATH[,PATH]...\n");
        return 2;
    }
    printf("exercise: --seed=%" PRIu64 "\n", run.options.seed);
    fflush(stdout);
    run.file_count = argc - optind;
    run.end = now() + (double)run.options.seconds;
    for (int i = 0; i < run.file_count; i++)
        start_file(&run, i, argv[optind + i]);
    if (run.options.threads)
        run_threads(&run);
    else
        run_turns(&run);

    int64_t done = 0;
    for (int i = 0; i < run.file_count; i++) {
        done += run.files[i].done;
        close_file(&run.files[i]);
    }
    for (int i = 0; i < run.file_count; i++)
        end_file(&run.files[i]);
    printf("exercise: %" PRId64 " operations on %d files, all equal\n", done, run.file_count);
    return 0;
}
