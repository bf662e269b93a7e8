/* SPDX-License-Identifier: MIT */
/*
 * Writes the file of the NAS benchmark BT-IO: P ranks own P cells each of a cube of N x N x N
 * points with five doubles each. The cells lie on diagonals: in slab c of z, rank r has part
 * (r + c) % P of y. Each step appends the cube's solution.
 *
 *     mpiexec -n P btio full FILE N STEPS       all ranks write one file, through a view
 *     mpiexec -n P btio epio PREFIX N STEPS     rank r writes PREFIX.r: 24 bytes, then its cells
 *
 * Both write the same values: a double's value is its number in the file.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "a header, 24 bytes long."

static int rank, ranks, points, steps;

static void check(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* These return how many doubles of a cell's row are adjacent in the file, and the number of the
   first one. */
static int row_length(void)
{
    return points / ranks * points * 5;
}

static long row_start(int row)
{
    int cell = row / (points / ranks), part = (rank + cell) % ranks;

    return ((long)row * points + (long)part * (points / ranks)) * points * 5;
}

/* Computes the rank's doubles of a step, row by row for each z. */
static void solve(int step, double *values)
{
    long cube = (long)points * points * points * 5;

    for (int row = 0; row < points; row++)
        for (int i = 0; i < row_length(); i++)
            *values++ = (double)(step * cube + row_start(row) + i);
}

static void write_full(const char *path, double *values)
{
    MPI_Aint *places = malloc((size_t)points * sizeof(*places));
    int *lengths = malloc((size_t)points * sizeof(*lengths));
    MPI_Aint cube = (MPI_Aint)points * points * points * 5 * (MPI_Aint)sizeof(double);
    MPI_Datatype rows, filetype;
    MPI_File file;

    for (int row = 0; row < points; row++) {
        places[row] = row_start(row) * (MPI_Aint)sizeof(double);
        lengths[row] = row_length();
    }
    check(MPI_Type_create_hindexed(points, lengths, places, MPI_DOUBLE, &rows));
    check(MPI_Type_create_resized(rows, 0, cube, &filetype));
    check(MPI_Type_commit(&filetype));
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file));
    check(MPI_File_set_view(file, 0, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL));
    for (int step = 0; step < steps; step++) {
        solve(step, values);
        check(
            MPI_File_write_all(file, values, points * row_length(), MPI_DOUBLE, MPI_STATUS_IGNORE));
    }
    check(MPI_File_close(&file));
    MPI_Type_free(&rows);
    MPI_Type_free(&filetype);
    free(places);
    free(lengths);
}

static void write_own(const char *prefix, double *values)
{
    size_t count = (size_t)points * (size_t)row_length();
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s.%d", prefix, rank);
    file = fopen(path, "w");
    if (file == NULL || fwrite(HEADER, 1, strlen(HEADER), file) != strlen(HEADER))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 0; step < steps; step++) {
        solve(step, values);
        if (fwrite(values, sizeof(*values), count, file) != count)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    double *values;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5 || (points = atoi(argv[3])) < 1 || (steps = atoi(argv[4])) < 1 || points % ranks)
        MPI_Abort(MPI_COMM_WORLD, 2);
    values = malloc((size_t)points * (size_t)row_length() * sizeof(*values));
    if (values == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (strcmp(argv[1], "full") == 0)
        write_full(argv[2], values);
    else
        write_own(argv[2], values);
    free(values);
    MPI_Finalize();
    return 0;
}
