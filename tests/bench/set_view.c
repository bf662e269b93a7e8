/* SPDX-License-Identifier: MIT */
/*
 * Measures one MPI_File_set_view. Run it with and without mpiio-view capture:
 *
 *   mpiexec -n 1 bench-set_view FILE
 *
 * Prints the microseconds of a call that sets a view for the first time, and of one that sets it
 * again.
 */
#include <mpi.h>
#include <stdio.h>

#define FIRST 300 /* calls; together they stay below the number of views that are captured */
#define AGAIN 10000
#define LIST  1000

static void measure(MPI_File file, const char *name, MPI_Offset from, MPI_Datatype type)
{
    double begin = MPI_Wtime(), middle;

    for (int i = 0; i < FIRST; i++)
        MPI_File_set_view(file, from + 8 * i, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    middle = MPI_Wtime();
    for (int i = 0; i < AGAIN; i++)
        MPI_File_set_view(file, from, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    printf("%s: first %.1f us, again %.1f us\n", name, (middle - begin) / FIRST * 1e6,
           (MPI_Wtime() - middle) / AGAIN * 1e6);
}

int main(int argc, char **argv)
{
    int sizes[2] = {1000, 1000}, subsizes[2] = {1000, 500}, starts[2] = {0, 500}, places[LIST];
    MPI_Datatype subarray, list;
    MPI_File file;

    MPI_Init(&argc, &argv);
    for (int i = 0; i < LIST; i++)
        places[i] = 3 * i;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &subarray);
    MPI_Type_commit(&subarray);
    MPI_Type_create_indexed_block(LIST, 1, places, MPI_DOUBLE, &list);
    MPI_Type_commit(&list);
    if (MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &file))
        return 1;
    measure(file, "subarray", 0, subarray);
    measure(file, "1000 displacements", 1 << 20, list);
    MPI_File_close(&file);
    MPI_Type_free(&subarray);
    MPI_Type_free(&list);
    MPI_Finalize();
    return 0;
}
