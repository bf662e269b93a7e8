/* SPDX-License-Identifier: MIT */
/*
 * The MPI program that P19 compares with: four processes write a 4-D array of doubles to a file, or
 * read it. Each process transfers its own block, by a view made with MPI_Type_create_subarray.
 *
 *   mpiexec -n 4 bench-blocks write FILE CALL SIZE0 SIZE1 SIZE2 SIZE3
 *   mpiexec -n 4 bench-blocks read  FILE CALL SIZE0 SIZE1 SIZE2 SIZE3
 *
 * Dimensions 1 and 3 are halved. Process N has half N / 2 of dimension 1 and half N % 2 of
 * dimension 3, which varies fastest. The array is in C order. bench.h defines the values of words.
 *
 * The hints make each process an aggregator, as ROMIO does by default with one process on each of
 * four hosts. The processes transfer CALL bytes in each collective call (MPI_File_write_all or
 * read_all), until their blocks are complete. write then calls MPI_File_sync. read compares each
 * word after the clock has stopped. Prints the seconds from a barrier before the first call to a
 * barrier after the last one. Before the first barrier, memory is touched and the view is set.
 *
 * tests/mpi/patience.c is part of the program, so that processes sleep while they wait. On a
 * machine with fewer than four processors, processes that poll without a pause are several times as
 * slow.
 */
#include <stdbool.h>
#include <stdint.h>

#define BENCH_NAME "blocks"

#include "bench.h"
#include "fail.h"

enum { DIMENSIONS = 4, PROCESSES = 4 };

struct block {
    int rank;
    int sizes[DIMENSIONS], subsizes[DIMENSIONS], starts[DIMENSIONS];
    size_t words;
};

/* Returns this process's block. sizes has the sizes of the array as strings. */
static struct block make_block(char **sizes)
{
    struct block block = {.words = 1};
    int ranks;

    check("rank", MPI_Comm_rank(MPI_COMM_WORLD, &block.rank));
    check("size", MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    if (ranks != PROCESSES)
        fail("usage", "four processes are needed");
    for (int i = 0; i < DIMENSIONS; i++) {
        int parts = i % 2 == 1 ? 2 : 1;
        int part = i == 1 ? block.rank / 2 : block.rank % 2;

        block.sizes[i] = atoi(sizes[i]);
        if (block.sizes[i] < parts || block.sizes[i] % parts != 0)
            fail("usage", "SIZE must be positive, and even for a halved dimension");
        block.subsizes[i] = block.sizes[i] / parts;
        block.starts[i] = parts == 2 ? part * block.subsizes[i] : 0;
        block.words *= (size_t)block.subsizes[i];
    }
    return block;
}

/* Returns the value of word i of the block. */
static uint64_t word_of(const struct block *block, size_t i)
{
    uint64_t number = 0, stride = 1; /* of the word in the array */

    for (int d = DIMENSIONS - 1; d >= 0; d--) {
        size_t size = (size_t)block->subsizes[d];

        number += (i % size + (uint64_t)block->starts[d]) * stride;
        i /= size;
        stride *= (uint64_t)block->sizes[d];
    }
    return bench_word(number);
}

static void fill(const struct block *block, uint64_t *words)
{
    for (size_t i = 0; i < block->words; i++)
        words[i] = word_of(block, i);
}

static void compare(const struct block *block, const uint64_t *words)
{
    for (size_t i = 0; i < block->words; i++)
        if (words[i] != word_of(block, i))
            fail("wrong data", "a word does not have the value of its position");
}

static MPI_Info make_hints(void)
{
    MPI_Info info;

    check("info", MPI_Info_create(&info));
    check("hint", MPI_Info_set(info, "cb_config_list", "*:*"));
    check("hint", MPI_Info_set(info, "cb_nodes", "4"));
    return info;
}

static MPI_File open_view(const struct block *block, const char *path, bool writing)
{
    int mode = writing ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info hints = make_hints();
    MPI_Datatype type;
    MPI_File file;

    check("subarray", MPI_Type_create_subarray(DIMENSIONS, block->sizes, block->subsizes,
                                               block->starts, MPI_ORDER_C, MPI_DOUBLE, &type));
    check("commit", MPI_Type_commit(&type));
    check("open", MPI_File_open(MPI_COMM_WORLD, path, mode, hints, &file));
    check("set_view", MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", hints));
    check("free", MPI_Type_free(&type));
    check("free", MPI_Info_free(&hints));
    return file;
}

static void read_words(MPI_File file, uint64_t *words, int count)
{
    MPI_Status status;
    int got;

    check("read_all", MPI_File_read_all(file, words, count, MPI_DOUBLE, &status));
    check("count", MPI_Get_count(&status, MPI_DOUBLE, &got));
    if (got != count)
        fail("read_all", "a short read");
}

/* Transfers the block, call words in each collective call. Returns the seconds between the
   barriers. */
static double transfer(MPI_File file, const struct block *block, uint64_t *words, size_t call,
                       bool writing)
{
    double start;

    check("barrier", MPI_Barrier(MPI_COMM_WORLD));
    start = bench_now();
    for (size_t done = 0; done < block->words; done += call) {
        int count = (int)(block->words - done < call ? block->words - done : call);

        if (writing)
            check("write_all",
                  MPI_File_write_all(file, words + done, count, MPI_DOUBLE, MPI_STATUS_IGNORE));
        else
            read_words(file, words + done, count);
    }
    if (writing)
        check("sync", MPI_File_sync(file));
    check("barrier", MPI_Barrier(MPI_COMM_WORLD));
    return bench_now() - start;
}

int main(int argc, char **argv)
{
    bool writing = argc > 1 && strcmp(argv[1], "write") == 0;
    struct block block;
    long call;
    uint64_t *words;
    MPI_File file;
    double seconds;

    check("init", MPI_Init(&argc, &argv));
    if (argc != 4 + DIMENSIONS || (!writing && strcmp(argv[1], "read") != 0))
        fail("usage", "bench-blocks write|read FILE CALL SIZE0 SIZE1 SIZE2 SIZE3");
    call = strtol(argv[3], NULL, 10) / (long)sizeof(*words);
    if (call < 1)
        fail("usage", "CALL must be at least 8 bytes");
    block = make_block(argv + 4);
    words = allocate(block.words, sizeof(*words));
    fill(&block, words);
    file = open_view(&block, argv[2], writing);
    if (!writing)
        memset(words, 0xff, block.words * sizeof(*words));
    seconds = transfer(file, &block, words, (size_t)call, writing);
    if (!writing)
        compare(&block, words);
    check("close", MPI_File_close(&file));
    if (block.rank == 0)
        printf("%.9f\n", seconds);
    free(words);
    MPI_Finalize();
    return 0;
}
