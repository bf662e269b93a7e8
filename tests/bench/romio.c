/* SPDX-License-Identifier: MIT */
/*
 * The peer that scripts/bench compares with: an MPI program that reads and writes the slices which
 * mpiio-viewfs shows, in process, by its MPI library's file views. One process reads; its rank is
 * an argument. All processes of the job write.
 *
 *   romio read FILE RUN RANKS RANK BYTES CALL   reads BYTES of rank RANK's slice, CALL bytes a
 *                                               call: runs of RUN bytes, tile of RANKS * RUN
 *   romio sum  FILE RUN RANKS RANK BYTES CALL   the same; prints bench_sum instead of the time
 *   romio seek FILE RUNS COUNT                  COUNT reads of 8 bytes each at random offsets of a
 *                                               view of RUNS runs, 8 of 16, all in one tile
 *   romio write     FILE RUN BYTES CALL         each rank of the job writes BYTES of its slice, a
 *   romio write_all FILE RUN BYTES CALL         tile has as many runs as there are ranks; then
 *                                               MPI_File_sync. Words as in bench.h
 *
 * Prints the seconds of the reads, or of the writes with the sync, or prints the sum. Every size is
 * in bytes and a multiple of 8.
 */
#include <inttypes.h>
#include <stdbool.h>

#define BENCH_NAME "romio"

#include "../shared/random.h"
#include "bench.h"
#include "fail.h"

struct pattern {
    const char *path;
    long long run, ranks, rank, bytes, call;
};

static MPI_File open_view(MPI_Comm comm, const char *path, int mode, MPI_Offset displacement,
                          MPI_Datatype filetype)
{
    MPI_File file;
    check("open", MPI_File_open(comm, path, mode, MPI_INFO_NULL, &file));
    check("set_view",
          MPI_File_set_view(file, displacement, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL));
    return file;
}

static void read_words(MPI_File file, uint64_t *words, int count)
{
    MPI_Status status;
    int got = 0;
    check("read", MPI_File_read(file, words, count, MPI_DOUBLE, &status));
    check("count", MPI_Get_count(&status, MPI_DOUBLE, &got));
    if (got != count)
        fail("read", "a short read");
}

static MPI_Datatype strided_type(long long run, long long ranks)
{
    MPI_Datatype block, tile;
    check("contiguous", MPI_Type_contiguous((int)(run / 8), MPI_DOUBLE, &block));
    check("resized", MPI_Type_create_resized(block, 0, run * ranks, &tile));
    check("commit", MPI_Type_commit(&tile));
    check("free", MPI_Type_free(&block));
    return tile;
}

static void read_slice(const struct pattern *p, bool sum)
{
    MPI_Datatype tile = strided_type(p->run, p->ranks);
    MPI_File file = open_view(MPI_COMM_SELF, p->path, MPI_MODE_RDONLY, p->rank * p->run, tile);
    uint64_t *words = allocate(1, (size_t)p->call);
    memset(words, 0, (size_t)p->call); /* so that page faults are not measured */

    uint64_t total = 0;
    double start = bench_now();
    for (long long done = 0; done < p->bytes; done += p->call) {
        long long length = p->bytes - done < p->call ? p->bytes - done : p->call;
        read_words(file, words, (int)(length / 8));
        if (sum)
            total += bench_sum(words, (uint64_t)length / 8, (uint64_t)done / 8);
    }
    double seconds = bench_now() - start;
    if (sum)
        printf("%" PRIu64 "\n", total);
    else
        printf("%.9f\n", seconds);

    free(words);
    check("close", MPI_File_close(&file));
    check("free", MPI_Type_free(&tile));
}

/* Returns the words of this rank's slice, all made before the clock starts. */
static uint64_t *slice_words(const struct pattern *p)
{
    uint64_t *words = allocate(1, (size_t)p->bytes);
    uint64_t in_run = (uint64_t)p->run / 8;
    for (uint64_t i = 0; i < (uint64_t)p->bytes / 8; i++)
        words[i] =
            bench_word((i / in_run * (uint64_t)p->ranks + (uint64_t)p->rank) * in_run + i % in_run);
    return words;
}

static void write_slices(struct pattern *p, bool collective)
{
    int rank, ranks;
    check("rank", MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check("size", MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    p->rank = rank;
    p->ranks = ranks;
    MPI_Datatype tile = strided_type(p->run, p->ranks);
    uint64_t *words = slice_words(p);
    MPI_File file =
        open_view(MPI_COMM_WORLD, p->path, MPI_MODE_RDWR | MPI_MODE_CREATE, p->rank * p->run, tile);

    check("barrier", MPI_Barrier(MPI_COMM_WORLD));
    double start = bench_now();
    for (long long done = 0; done < p->bytes; done += p->call) {
        int count = (int)((p->bytes - done < p->call ? p->bytes - done : p->call) / 8);
        const uint64_t *from = words + done / 8;
        check("write", collective
                           ? MPI_File_write_all(file, from, count, MPI_DOUBLE, MPI_STATUS_IGNORE)
                           : MPI_File_write(file, from, count, MPI_DOUBLE, MPI_STATUS_IGNORE));
    }
    check("sync", MPI_File_sync(file));
    check("barrier", MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        printf("%.9f\n", bench_now() - start);
    check("close", MPI_File_close(&file));
    check("free", MPI_Type_free(&tile));
    free(words);
}

static void read_random(const char *path, long long runs, long long count)
{
    MPI_Datatype filetype;
    check("vector", MPI_Type_vector((int)runs, 1, 2, MPI_DOUBLE, &filetype));
    check("commit", MPI_Type_commit(&filetype));
    MPI_File file = open_view(MPI_COMM_SELF, path, MPI_MODE_RDONLY, 0, filetype);

    uint64_t state = 1;
    double start = bench_now();
    for (long long i = 0; i < count; i++) {
        uint64_t element = next_random(&state) % (uint64_t)runs, word = 0;
        MPI_Status status;
        check("read_at",
              MPI_File_read_at(file, (MPI_Offset)element, &word, 1, MPI_DOUBLE, &status));
        if (word != bench_word(2 * element))
            fail("wrong data", "a word does not have the value of its position");
    }
    printf("%.9f\n", bench_now() - start);

    check("close", MPI_File_close(&file));
    check("free", MPI_Type_free(&filetype));
}

/* Parses a decimal size or count of at least least. */
static long long number(const char *text, long long least)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < least)
        fail("wrong number", text);
    return value;
}

int main(int argc, char **argv)
{
    check("init", MPI_Init(&argc, &argv));
    if (argc == 8 && (!strcmp(argv[1], "read") || !strcmp(argv[1], "sum"))) {
        struct pattern p = {.path = argv[2],
                            .run = number(argv[3], 8),
                            .ranks = number(argv[4], 1),
                            .rank = number(argv[5], 0),
                            .bytes = number(argv[6], 8),
                            .call = number(argv[7], 8)};
        read_slice(&p, !strcmp(argv[1], "sum"));
    } else if (argc == 6 && !strncmp(argv[1], "write", 5)) {
        struct pattern p = {.path = argv[2],
                            .run = number(argv[3], 8),
                            .bytes = number(argv[4], 8),
                            .call = number(argv[5], 8)};
        write_slices(&p, !strcmp(argv[1], "write_all"));
    } else if (argc == 5 && !strcmp(argv[1], "seek")) {
        read_random(argv[2], number(argv[3], 1), number(argv[4], 1));
    } else {
        fail("usage", "romio read|sum FILE RUN RANKS RANK BYTES CALL, romio seek FILE RUNS COUNT, "
                      "romio write|write_all FILE RUN BYTES CALL");
    }
    MPI_Finalize();
    return 0;
}
