/* SPDX-License-Identifier: MIT */
/*
 * The writer of scripts/quickstart: any number of ranks write one 2-D array of doubles, distributed
 * by blocks, to one shared file, behind a header of 64 bytes.
 *
 *     mpiexec -n 4 write_demo FILE ROWS COLUMNS
 *
 * The element at (row, column) that rank r owns has the value r * 10000 + row * 100 + column, so
 * that it shows its writer. Rank r also writes its block to rank<r>.expected.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER_BYTES 64

/* The block of one dimension that a process has in a block distribution: its start and length. */
struct block {
    int start;
    int count;
};

static void check(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "write_demo: %s: %s\n", call, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static struct block block_of(int size, int processes, int process)
{
    int length = (size + processes - 1) / processes;
    int start = process * length < size ? process * length : size;
    int end = start + length < size ? start + length : size;

    return (struct block){start, end - start};
}

/* Makes this rank's filetype: its block of the array. */
static MPI_Datatype make_filetype(const int gsizes[2], const int psizes[2])
{
    int distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int rank;
    MPI_Datatype filetype;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(MPI_Type_create_darray(psizes[0] * psizes[1], rank, 2, gsizes, distribs, dargs, psizes,
                                 MPI_ORDER_C, MPI_DOUBLE, &filetype),
          "MPI_Type_create_darray");
    check(MPI_Type_commit(&filetype), "MPI_Type_commit");
    return filetype;
}

static void write_shared(const char *path, MPI_Datatype filetype, const double *data, int count)
{
    char header[HEADER_BYTES + 1];
    int rank;
    MPI_File file;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file),
          "MPI_File_open");
    check(MPI_File_set_size(file, 0), "MPI_File_set_size");
    snprintf(header, sizeof(header), "%-63s\n", "a field of doubles");
    if (rank == 0)
        check(MPI_File_write_at(file, 0, header, HEADER_BYTES, MPI_CHAR, MPI_STATUS_IGNORE),
              "MPI_File_write_at");
    check(MPI_File_set_view(file, HEADER_BYTES, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
    check(MPI_File_write_all(file, data, count, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_write_all");
    check(MPI_File_close(&file), "MPI_File_close");
}

static void write_expected(int rank, const double *data, size_t count)
{
    char path[64];
    FILE *out;

    snprintf(path, sizeof(path), "rank%d.expected", rank);
    out = fopen(path, "wb");
    if (out == NULL || fwrite(data, sizeof(*data), count, out) != count || fclose(out) != 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, psizes[2] = {0, 0};
    double *data;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) {
        fprintf(stderr, "usage: write_demo FILE ROWS COLUMNS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    const int gsizes[2] = {atoi(argv[2]), atoi(argv[3])};
    MPI_Dims_create(ranks, 2, psizes);
    struct block rows = block_of(gsizes[0], psizes[0], rank / psizes[1]);
    struct block columns = block_of(gsizes[1], psizes[1], rank % psizes[1]);
    int count = rows.count * columns.count;

    data = calloc((size_t)count + 1, sizeof(*data));
    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; i++)
        data[i] = rank * 10000 + (rows.start + i / columns.count) * 100 + columns.start +
                  i % columns.count;

    MPI_Datatype filetype = make_filetype(gsizes, psizes);
    write_shared(argv[1], filetype, data, count);
    write_expected(rank, data, (size_t)count);
    MPI_Type_free(&filetype);
    free(data);
    MPI_Finalize();
    return 0;
}
