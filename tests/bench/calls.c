/* SPDX-License-Identifier: MIT */
/*
 * Reads or writes a slice sequentially, in process, through libmpiio. For profilers, and to count
 * instructions (tests/bats/instructions.bats).
 *
 *   bench-calls FILE read|write DATAREP RUN CALL COUNT    COUNT calls of CALL bytes each
 *
 * The file is dealt to four slices in runs of RUN bytes (a multiple of 8); this is the first one.
 * Prints the elapsed seconds of the calls, and their processor time (user and system). counted()
 * makes the calls and does nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/slice.h"
#include "bench.h"
#include "view.h"

struct work {
    struct mpiio_slice *slice;
    bool writes;
    char *buffer;
    size_t call;
    long count;
};

static void print_spec(char *text, size_t size, const char *datarep, long run)
{
    snprintf(text, size,
             "{\"viewspec\": 1, \"file\": \"-\", \"view\": {\"etype\": \"double\","
             " \"datarep\": \"%s\", \"filetype\": {\"type\": \"resized\", \"lb\": 0,"
             " \"extent\": %ld, \"oldtype\": {\"type\": \"contiguous\","
             " \"count\": %ld}}}}",
             datarep, 4 * run, run / 8);
}

/* callgrind counts the instructions of this function by its name, so it must not be inlined. */
__attribute__((noinline)) static int counted(const struct work *work)
{
    for (long i = 0; i < work->count; i++) {
        int64_t offset = (int64_t)work->call * i;
        ssize_t did = work->writes
                          ? mpiio_slice_write(work->slice, work->buffer, work->call, offset)
                          : mpiio_slice_read(work->slice, work->buffer, work->call, offset);

        if (did != (ssize_t)work->call)
            return did < 0 ? (int)did : -ENODATA;
    }
    return 0;
}

static double processor_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int measure(struct work *work)
{
    double start, used;
    int error;

    work->buffer = aligned_alloc(4096, (work->call + 4095) / 4096 * 4096);
    if (work->buffer == NULL)
        return -ENOMEM;
    memset(work->buffer, 1, work->call);
    used = processor_seconds();
    start = bench_now();
    error = counted(work);
    if (error == 0)
        printf("%.9f %.9f\n", bench_now() - start, processor_seconds() - used);
    free(work->buffer);
    return error;
}

int main(int argc, char **argv)
{
    struct work work = {0};
    struct mpiio_store *store = NULL;
    char text[512];
    int error;

    if (argc != 7) {
        fprintf(stderr, "usage: bench-calls FILE read|write DATAREP RUN CALL COUNT\n");
        return 2;
    }
    work.writes = strcmp(argv[2], "write") == 0;
    work.call = strtoul(argv[5], NULL, 10);
    work.count = atol(argv[6]);
    print_spec(text, sizeof(text), argv[3], atol(argv[4]));
    error =
        bench_open("calls", argv[1], text, work.writes ? O_RDWR : O_RDONLY, &store, &work.slice);
    if (error == 0)
        error = measure(&work);
    if (error < 0)
        fprintf(stderr, "calls: %s\n", strerror(-error));
    mpiio_slice_free(work.slice);
    mpiio_store_close(store);
    return error < 0;
}
