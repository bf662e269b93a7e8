/* SPDX-License-Identifier: MIT */
/*
 * A program that is unaware of the mount and uses the file in MPI's atomic mode, for
 * tests/cluster/atomic.py:
 *     atomic_peer FILE DISPLACEMENT WORDS CALLS ID
 * Once a file "go" exists, it alternately writes the same stamp to all words of 8 bytes, and reads
 * them all. It prints a line for each call, as atomic.py does.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <mpi.h>

static void check(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static long long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Prints the stamp of even words and that of odd ones, or reports that words differ. */
static void report(long long start, long long end, const uint64_t *words, int count)
{
    for (int i = 2; i < count; i++) {
        if (words[i] != words[i % 2]) {
            printf("torn %d %" PRIu64 " %" PRIu64 "\n", i, words[i], words[i % 2]);
            return;
        }
    }
    printf("read %lld %lld %" PRIu64 " %" PRIu64 "\n", start, end, words[0], words[1]);
}

static void call(MPI_File file, MPI_Offset place, uint64_t *words, int count, uint64_t stamp)
{
    long long start, end;

    for (int i = 0; i < count; i++)
        words[i] = stamp;
    start = now();
    if (stamp != 0)
        check(MPI_File_write_at(file, place, words, count, MPI_UINT64_T, MPI_STATUS_IGNORE));
    else
        check(MPI_File_read_at(file, place, words, count, MPI_UINT64_T, MPI_STATUS_IGNORE));
    end = now();
    if (stamp != 0)
        printf("write %lld %lld %" PRIu64 " %" PRIu64 "\n", start, end, stamp, stamp);
    else
        report(start, end, words, count);
}

int main(int argc, char **argv)
{
    MPI_File file;
    uint64_t *words;
    int count;

    check(MPI_Init(&argc, &argv));
    if (argc != 6)
        MPI_Abort(MPI_COMM_WORLD, 2);
    count = atoi(argv[3]);
    words = calloc((size_t)count, sizeof(*words));
    if (words == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    check(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    check(MPI_File_set_atomicity(file, 1));
    while (access("go", F_OK) != 0)
        usleep(1000);
    for (int i = 1; i <= atoi(argv[4]); i++)
        call(file, atoll(argv[2]), words, count,
             i % 2 == 0 ? 0 : (uint64_t)atoi(argv[5]) * 1000000 + (uint64_t)i);
    check(MPI_File_close(&file));
    free(words);
    MPI_Finalize();
    return 0;
}
