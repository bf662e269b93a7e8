/* SPDX-License-Identifier: MIT */
/*
 * Measures reads of 8 bytes at random offsets of a view, in process, through libmpiio.
 *
 *   seek FILE RUNS COUNT    COUNT reads of a view of RUNS runs, 8 of 16, all in one tile
 *
 * Prints the seconds of the reads. bench.h describes the file. Exits with 1 if bytes are wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/slice.h"
#include "../shared/random.h"
#include "bench.h"
#include "view.h"

static int open_slice(const char *path, long long runs, struct mpiio_store **store,
                      struct mpiio_slice **slice)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{\"viewspec\": 1, \"file\": \"-\", \"view\": {\"etype\": \"double\","
             " \"filetype\": {\"type\": \"vector\", \"count\": %lld,"
             " \"blocklength\": 1, \"stride\": 2}}}",
             runs);
    return bench_open("seek", path, text, O_RDONLY, store, slice);
}

static int read_random(struct mpiio_slice *slice, uint64_t runs, long long count)
{
    uint64_t state = 1;
    for (long long i = 0; i < count; i++) {
        uint64_t element = next_random(&state) % runs, word = 0;
        ssize_t got = mpiio_slice_read(slice, &word, sizeof(word), (int64_t)(element * 8));
        if (got < 0)
            return (int)got;
        if (got != sizeof(word) || word != bench_word(2 * element)) {
            fprintf(stderr, "seek: wrong data in element %" PRIu64 "\n", element);
            return -EIO;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    long long runs = argc == 4 ? atoll(argv[2]) : 0, count = argc == 4 ? atoll(argv[3]) : 0;
    if (runs < 1 || count < 1) {
        fprintf(stderr, "usage: seek FILE RUNS COUNT\n");
        return 2;
    }
    struct mpiio_store *store = NULL;
    struct mpiio_slice *slice = NULL;
    int rc = open_slice(argv[1], runs, &store, &slice);
    if (rc == 0) {
        double start = bench_now();
        rc = read_random(slice, (uint64_t)runs, count);
        if (rc == 0)
            printf("%.9f\n", bench_now() - start);
    }
    if (rc < 0)
        fprintf(stderr, "seek: %s\n", strerror(-rc));
    mpiio_slice_free(slice);
    mpiio_store_close(store);
    return rc < 0;
}
