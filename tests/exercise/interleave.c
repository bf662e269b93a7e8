/* SPDX-License-Identifier: MIT */
/*
 * Four concurrent writers of one file, each with its own runs. Two write the file itself with
 * pwrite, and two write slices. A tile of the file is four runs of 8 bytes. Run i of writer w is
 * at byte (4 i + w) * 8 of the file, and at byte 8 i of slice w. Writers 0 and 1 are the plain
 * ones, 2 and 3 write slices.
 *
 *   interleave [OPTION]... FILE SLICE2 SLICE3
 *
 *   --runs=N        runs of each writer (65536)
 *   --updates=N     updates of each writer at least (1000000); it continues until all have as many
 *   --batch=N       a slice writer writes 1 to N adjacent runs in a call (1)
 *   --seed=N        seed of the random numbers
 *   --grow          the file starts empty and all write their runs in order, so that all make it
 *                   grow
 *   --follow        implies --grow; a slice writer only writes inside the file, closely behind the
 *                   writers that make it grow
 *   --until-killed  continues until a write to a slice fails (its daemon was killed). Acknowledged
 *                   bytes must be in the file. Without the option, such a failure is an error
 *
 * Afterwards each run of FILE must hold its owner's last write, or with --until-killed the write
 * that failed. Prints a summary. Exit status: 0 all correct, 1 not, 2 usage.
 */
#include "options.h"
#include "../shared/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS   4
#define RUN       ((int64_t)8)
#define MAX_BATCH 4096

struct options {
    int64_t runs, updates, batch;
    uint64_t seed;
    bool grow, follow, until_killed;
    const char *paths[WRITERS];
};

/* Memory that the writers and their parent share. WRITERS * runs of each struct run follow. */
struct run {
    uint64_t acknowledged; /* the word of the last successful call; 0: none */
    uint64_t tried;        /* the word of the last call */
};

struct shared {
    atomic_int unfinished; /* writers that have done fewer than --updates */
    atomic_bool stop;
    atomic_int failed[WRITERS]; /* errno */
    atomic_llong updates[WRITERS];
    atomic_llong calls[WRITERS];
    struct run runs[];
};

struct writer {
    const struct options *options;
    struct shared *shared;
    struct run *runs; /* those of this writer */
    int number, fd;
    uint64_t random, count;
};

/* Writes runs [first, first + count), which are adjacent in a slice. Returns false on an error. */
static bool write_runs(struct writer *writer, int64_t first, int64_t count)
{
    uint64_t words[MAX_BATCH];
    bool plain = writer->number < 2;
    int64_t offset = plain ? (first * WRITERS + writer->number) * RUN : first * RUN;
    struct run *runs = writer->runs + first;
    if (count < 1 || count > MAX_BATCH)
        return false;
    for (int64_t i = 0; i < count; i++) {
        words[i] = (uint64_t)(writer->number + 1) << 56 | ++writer->count;
        runs[i].tried = words[i];
    }
    atomic_signal_fence(memory_order_seq_cst);
    ssize_t put = pwrite(writer->fd, words, (size_t)(count * RUN), offset);
    if (put != count * RUN) {
        atomic_store(&writer->shared->failed[writer->number], put < 0 ? errno : EIO);
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        runs[i].acknowledged = words[i];
    atomic_fetch_add(&writer->shared->updates[writer->number], count);
    atomic_fetch_add(&writer->shared->calls[writer->number], 1);
    return true;
}

/*
 * For --follow: returns how many of the runs from first on lie inside the file. Waits until some
 * do, or until the plain writers have finished.
 */
static int64_t runs_inside(struct writer *writer, int64_t first)
{
    struct shared *shared = writer->shared;
    int64_t runs = writer->options->runs;
    for (;;) {
        bool ended =
            atomic_load(&shared->updates[0]) == runs && atomic_load(&shared->updates[1]) == runs;
        struct stat st;
        if (stat(writer->options->paths[0], &st) != 0 || ended || atomic_load(&shared->stop))
            return runs - first;
        int64_t inside = st.st_size / (WRITERS * RUN) - first;
        if (inside >= 16 || (inside > 0 && inside == runs - first))
            return inside;
    }
}

/* For --follow: returns the run that a plain writer writes next. It writes each group of 64 runs
   from the last to the first, so that the file grows in leaps. */
static int64_t leap(int64_t done, int64_t runs)
{
    int64_t start = done / 64 * 64, count = runs - start < 64 ? runs - start : 64;
    return start + count - 1 - (done - start);
}

/* Returns the next run to write: a random one, or the one behind the last write. */
static int64_t next_run(struct writer *writer, int64_t done, int64_t *count)
{
    const struct options *options = writer->options;
    int64_t first =
        options->grow ? done : (int64_t)(next_random(&writer->random) % (uint64_t)options->runs);
    *count = writer->number < 2
                 ? 1
                 : 1 + (int64_t)(next_random(&writer->random) % (uint64_t)options->batch);
    if (options->follow && writer->number < 2)
        first = leap(done, options->runs);
    if (options->follow && writer->number >= 2) {
        int64_t inside = runs_inside(writer, first);
        if (*count > inside)
            *count = inside;
    }
    if (*count > options->runs - first)
        *count = options->runs - first;
    return first;
}

static int write_all(struct writer *writer)
{
    const struct options *options = writer->options;
    struct shared *shared = writer->shared;
    bool finished = false;
    for (int64_t done = 0; !atomic_load(&shared->stop);) {
        if (!finished && done >= options->updates && !options->until_killed) {
            finished = true;
            if (atomic_fetch_sub(&shared->unfinished, 1) == 1)
                atomic_store(&shared->stop, true);
        }
        if (options->grow && done == options->runs)
            break;
        int64_t count, first = next_run(writer, done, &count);
        if (!write_runs(writer, first, count)) {
            atomic_store(&shared->stop, true);
            return 1;
        }
        done += count;
    }
    return close(writer->fd) != 0 && !options->until_killed;
}

static int run_writer(const struct options *options, struct shared *shared, int number)
{
    struct writer writer = {.options = options,
                            .shared = shared,
                            .runs = shared->runs + number * options->runs,
                            .number = number,
                            .random = options->seed * WRITERS + (uint64_t)number};
    writer.fd = open(options->paths[number], O_WRONLY | O_CLOEXEC);
    if (writer.fd < 0) {
        atomic_store(&shared->failed[number], errno);
        atomic_store(&shared->stop, true);
        return 1;
    }
    return write_all(&writer);
}

/* Compares the file with the words that the writers recorded. Returns how many runs are wrong. */
static int64_t check(const struct options *options, struct shared *shared)
{
    int64_t wrong = 0, size = options->runs * WRITERS * RUN;
    uint64_t *words = calloc((size_t)size, 1);
    int fd = open(options->paths[0], O_RDONLY | O_CLOEXEC);
    if (words == NULL || fd < 0) {
        perror("interleave: the file");
        exit(1);
    }
    for (int64_t at = 0, got = 1; at < size && got > 0; at += got)
        got = pread(fd, (char *)words + at, (size_t)(size - at), at);
    close(fd);
    for (int64_t i = 0; i < options->runs * WRITERS; i++) {
        const struct run *run = &shared->runs[i % WRITERS * options->runs + i / WRITERS];
        if (words[i] == run->acknowledged || (options->until_killed && words[i] == run->tried))
            continue;
        if (wrong++ < 10)
            fprintf(stderr,
                    "interleave: run %" PRId64 " of writer %" PRId64 ": %016" PRIx64
                    " instead of %016" PRIx64 "\n",
                    i / WRITERS, i % WRITERS, words[i], run->acknowledged);
    }
    free(words);
    return wrong;
}

/* Prints what each writer did. Returns true if one failed that should not have. */
static bool report(const struct options *options, struct shared *shared)
{
    bool bad = false, killed = false;
    for (int i = 0; i < WRITERS; i++) {
        int code = atomic_load(&shared->failed[i]);
        printf("interleave: writer %d: %lld updates in %lld calls%s%s\n", i,
               atomic_load(&shared->updates[i]), atomic_load(&shared->calls[i]),
               code ? ", then " : "", code ? strerror(code) : "");
        killed |= i >= 2 && code != 0;
        bad |= code != 0 && (i < 2 || !options->until_killed);
    }
    return bad || (options->until_killed && !killed);
}

static void parse(struct options *options, int argc, char **argv)
{
    const struct setting settings[] = {
        {"runs", &options->runs, 1, 1 << 24, NULL, NULL},
        {"updates", &options->updates, 0, INT64_C(1) << 40, NULL, NULL},
        {"batch", &options->batch, 1, MAX_BATCH, NULL, NULL},
        {"seed", (int64_t *)&options->seed, 0, INT64_MAX, NULL, NULL},
        {"grow", .flag = &options->grow},
        {"follow", .flag = &options->follow},
        {"until-killed", .flag = &options->until_killed},
    };

    parse_options(settings, sizeof(settings) / sizeof(*settings), argc, argv);
    options->grow |= options->follow;
    if (argc - optind != 3) {
        fprintf(stderr, "interleave: usage: interleave [OPTION]... FILE SLICE2 SLICE3\n");
        exit(2);
    }
    for (int i = 0; i < WRITERS; i++)
        options->paths[i] = argv[optind + (i < 2 ? 0 : i - 1)];
    if (options->grow)
        options->updates = options->runs;
}

int main(int argc, char **argv)
{
    struct options options = {.runs = 65536, .updates = 1000000, .batch = 1, .seed = 1};
    parse(&options, argc, argv);
    size_t size = sizeof(struct shared) + (size_t)(options.runs * WRITERS) * sizeof(struct run);
    struct shared *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = open(options.paths[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int64_t length = options.grow ? 0 : options.runs * WRITERS * RUN;
    if (shared == MAP_FAILED || fd < 0 || ftruncate(fd, length) != 0 || close(fd) != 0) {
        perror("interleave: start");
        return 1;
    }
    atomic_store(&shared->unfinished, WRITERS);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < WRITERS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(run_writer(&options, shared, i));
        if (pid < 0) {
            perror("interleave: fork");
            atomic_store(&shared->stop, true);
        }
    }
    int status, bad = 0;
    while (wait(&status) > 0)
        bad |= !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && !options.until_killed);
    bad |= report(&options, shared);
    int64_t lost = check(&options, shared);
    printf("interleave: %" PRId64 " of %" PRId64 " runs wrong\n", lost, options.runs * WRITERS);
    return lost > 0 || bad;
}
