/* SPDX-License-Identifier: MIT */
/*
 * Threads that read and write a slice concurrently, each its own part, in many ways: through their
 * own descriptors, a shared one, duplicates, streams, and child processes.
 *
 *     run-threads SEED SLICE [forks]    the slice has at least THREADS * PART bytes; children, and
 *                                       with them pages, come in the second half
 *
 * Exit status: 0, or 1 after a line that names the wrong read or write.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define PART    5000
#define STEPS   300

static const char *path;
static bool forks;
static int shared; /* a descriptor for reading, shared by all threads */

struct worker {
    unsigned seed;
    off_t place; /* of the thread's part */
    int reader, writer;
    unsigned char model[PART];
};

static void must(bool right, const char *what)
{
    if (!right) {
        fprintf(stderr, "run-threads: %s\n", what);
        exit(1);
    }
}

static int below(struct worker *worker, int limit)
{
    return rand_r(&worker->seed) % limit;
}

static int open_slice(int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    must(fd >= 0, "open");
    return fd;
}

static void fill(struct worker *worker, int start, int length)
{
    memset(worker->model + start, below(worker, 256), (size_t)length);
    must(pwrite(worker->writer, worker->model + start, (size_t)length, worker->place + start) ==
             length,
         "pwrite");
}

static bool is_there(const struct worker *worker, int fd, int start, int length)
{
    unsigned char bytes[PART];

    return pread(fd, bytes, (size_t)length, worker->place + start) == length &&
           memcmp(bytes, worker->model + start, (size_t)length) == 0;
}

static void read_here(struct worker *worker, int start, int length)
{
    unsigned char bytes[PART];
    int half = length / 2;
    struct iovec parts[] = {{.iov_base = bytes, .iov_len = (size_t)half},
                            {.iov_base = bytes + half, .iov_len = (size_t)(length - half)}};

    must(lseek(worker->reader, worker->place + start, SEEK_SET) == worker->place + start, "lseek");
    must(readv(worker->reader, parts, 2) == length, "readv");
    must(memcmp(bytes, worker->model + start, (size_t)length) == 0, "readv: wrong bytes");
    must(lseek(worker->reader, 0, SEEK_CUR) == worker->place + start + length, "where readv ends");
}

static void read_stream(struct worker *worker, int start, int length)
{
    unsigned char bytes[PART];
    FILE *stream = fopen(path, "re");

    must(stream != NULL && fseek(stream, worker->place + start, SEEK_SET) == 0, "fseek");
    must(fread(bytes, 1, (size_t)length, stream) == (size_t)length, "fread");
    must(memcmp(bytes, worker->model + start, (size_t)length) == 0, "fread: wrong bytes");
    fclose(stream);
}

static void read_in_child(const struct worker *worker, int start, int length)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0)
        _exit(is_there(worker, worker->reader, start, length) ? 0 : 1);
    must(waitpid(child, &status, 0) == child && status == 0, "a child");
}

static void open_anew(struct worker *worker)
{
    close(worker->reader);
    close(worker->writer);
    worker->writer = open_slice(O_WRONLY);
    worker->reader = open_slice(O_RDONLY);
}

static void read_duplicate(const struct worker *worker, int start, int length)
{
    int fd = dup(shared);

    must(fd >= 0 && is_there(worker, fd, start, length), "a duplicate");
    close(fd);
}

static void step(struct worker *worker, bool may_fork)
{
    int start = below(worker, PART - 1000), length = 1 + below(worker, 1000);

    switch (below(worker, may_fork ? 8 : 7)) {
    case 0:
        read_duplicate(worker, start, length);
        break;
    case 1:
        fill(worker, start, length);
        break;
    case 2:
        open_anew(worker);
        break;
    case 3:
        read_stream(worker, start, length);
        break;
    case 4:
        read_here(worker, start, length);
        break;
    case 7:
        read_in_child(worker, start, length);
        break;
    default:
        must(is_there(worker, below(worker, 2) ? shared : worker->reader, start, length), "pread");
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    worker->reader = open_slice(O_RDONLY);
    worker->writer = open_slice(O_WRONLY);
    fill(worker, 0, PART);
    for (int i = 0; i < STEPS; i++)
        step(worker, forks && i >= STEPS / 2);
    close(worker->reader);
    close(worker->writer);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];

    must(argc >= 3, "SEED and SLICE are missing");
    path = argv[2];
    forks = argc > 3;
    shared = open_slice(O_RDONLY);
    for (int i = 0; i < THREADS; i++) {
        workers[i].seed = (unsigned)atoi(argv[1]) + (unsigned)i;
        workers[i].place = (off_t)i * PART;
        must(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
