/* SPDX-License-Identifier: MIT */
/*
 * The benchmark of DONIO (D'Azevedo and Romine, 1994, section 6), in C, with processes of one
 * machine. It writes the element-to-vertex list of a grid of NX x NY x NZ points. The elements of a
 * column (x, y) are adjacent in the file. An element has 8 vertex numbers of 4 bytes each. Columns
 * are dealt to the processes in turn. A process seeks to each of its columns and writes it with one
 * call. Then all processes read their columns back.
 *
 *   donio FILE NX NY NZ PROCESSES [dsync]     dsync: open the file for writing with O_DSYNC
 *
 * Prints six times in seconds, between barriers: wopen write wclose ropen read rclose. Creates the
 * file if it does not exist. Checks the bytes after the clock has stopped. Exits with 1 if they are
 * wrong.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define VERTICES 8
#define MAX_NZ   1024
#define TIMES    6

struct job {
    const char *path;
    int points[3]; /* x, y, z */
    int processes, flags;
};

struct column {
    int32_t vertices[MAX_NZ][VERTICES];
};

/* The memory that all processes share. */
struct shared {
    pthread_barrier_t barrier;
    double times[TIMES];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Returns the number of the vertex at (x, y, z). All numbers start at 1. */
static int32_t vertex(const struct job *job, int x, int y, int z)
{
    return z + (x - 1) * job->points[2] + (y - 1) * job->points[2] * job->points[0];
}

static void fill_column(const struct job *job, int x, int y, struct column *column)
{
    static const int dx[VERTICES] = {0, 1, 1, 0, 0, 1, 1, 0};
    static const int dy[VERTICES] = {0, 0, 1, 1, 0, 0, 1, 1};
    static const int dz[VERTICES] = {0, 0, 0, 0, 1, 1, 1, 1};
    for (int z = 1; z < job->points[2]; z++)
        for (int i = 0; i < VERTICES; i++)
            column->vertices[z - 1][i] = vertex(job, x + dx[i], y + dy[i], z + dz[i]);
}

/* Moves a column by lseek and read or write, as the program of 1994 does. */
static void move_column(int fd, const struct job *job, int x, int y, struct column *column,
                        bool writing)
{
    int elements = job->points[2] - 1;
    size_t bytes = (size_t)elements * sizeof(column->vertices[0]);
    off_t offset = ((off_t)(x - 1) + (off_t)(y - 1) * (job->points[0] - 1)) * (off_t)bytes;
    if (lseek(fd, offset, SEEK_SET) != offset)
        fail("donio: lseek");
    ssize_t moved = writing ? write(fd, column, bytes) : read(fd, column, bytes);
    if (moved != (ssize_t)bytes)
        fail(writing ? "donio: write" : "donio: read");
}

static void each_column(int fd, const struct job *job, int me, bool writing)
{
    struct column column;
    for (int y = 1; y < job->points[1]; y++) {
        for (int x = 1; x < job->points[0]; x++) {
            if ((x + (y - 1) * (job->points[0] - 1)) % job->processes != me)
                continue;
            if (writing)
                fill_column(job, x, y, &column);
            move_column(fd, job, x, y, &column, writing);
        }
    }
}

/* Waits for all processes. The first one records the time since its last call. */
static void lap(struct shared *shared, int me, int index, double *last)
{
    pthread_barrier_wait(&shared->barrier);
    double time = bench_now();
    if (me == 0 && index >= 0)
        shared->times[index] = time - *last;
    *last = time;
}

static void check_file(const struct job *job)
{
    int fd = open(job->path, O_RDONLY | O_CLOEXEC);
    size_t bytes = (size_t)(job->points[2] - 1) * sizeof(int32_t[VERTICES]);
    if (fd < 0)
        fail(job->path);
    for (int y = 1; y < job->points[1]; y++) {
        for (int x = 1; x < job->points[0]; x++) {
            struct column want, got;
            fill_column(job, x, y, &want);
            move_column(fd, job, x, y, &got, false);
            if (memcmp(&want, &got, bytes) != 0) {
                fprintf(stderr, "donio: wrong data in column %d, %d\n", x, y);
                exit(1);
            }
        }
    }
    close(fd);
}

static void run_process(const struct job *job, struct shared *shared, int me)
{
    double last;
    lap(shared, me, -1, &last);
    int fd = open(job->path, O_WRONLY | O_CREAT | O_CLOEXEC | job->flags, 0666);
    if (fd < 0)
        fail(job->path);
    lap(shared, me, 0, &last);
    each_column(fd, job, me, true);
    lap(shared, me, 1, &last);
    if (close(fd) != 0)
        fail("donio: close");
    lap(shared, me, 2, &last);

    fd = open(job->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(job->path);
    lap(shared, me, 3, &last);
    each_column(fd, job, me, false);
    lap(shared, me, 4, &last);
    if (close(fd) != 0)
        fail("donio: close");
    lap(shared, me, 5, &last);
}

static void make_barrier(struct shared *shared, unsigned processes)
{
    pthread_barrierattr_t attributes;
    if (pthread_barrierattr_init(&attributes) != 0 ||
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&shared->barrier, &attributes, processes) != 0)
        fail("donio: barrier");
}

/* Waits for all processes. If one fails, the others would wait for it, so kills them. Returns
   how many failed. */
static int wait_all(pid_t *pids, int count)
{
    int bad = 0, status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        bad += failed;
        for (int i = 0; i < count; i++)
            if (pids[i] == pid)
                pids[i] = 0;
            else if (failed && pids[i] != 0)
                kill(pids[i], SIGKILL);
    }
    return bad;
}

int main(int argc, char **argv)
{
    struct job job = {0};
    pid_t pids[64];
    if (argc == 6 || (argc == 7 && strcmp(argv[6], "dsync") == 0)) {
        job.path = argv[1];
        job.processes = atoi(argv[5]);
        job.flags = argc == 7 ? O_DSYNC : 0;
        for (int i = 0; i < 3; i++)
            job.points[i] = atoi(argv[2 + i]);
    }
    if (job.processes < 1 || job.processes > 64 || job.points[0] < 2 || job.points[1] < 2 ||
        job.points[2] < 2 || job.points[2] > MAX_NZ) {
        fprintf(stderr, "usage: donio FILE NX NY NZ PROCESSES [dsync]\n");
        return 2;
    }
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail("donio: mmap");
    make_barrier(shared, (unsigned)job.processes);
    for (int i = 0; i < job.processes; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            fail("donio: fork");
        if (pids[i] == 0) {
            run_process(&job, shared, i);
            _exit(0);
        }
    }
    if (wait_all(pids, job.processes) != 0)
        return 1;
    check_file(&job);
    for (int i = 0; i < TIMES; i++)
        printf("%.6f%c", shared->times[i], i < TIMES - 1 ? ' ' : '\n');
    return 0;
}
