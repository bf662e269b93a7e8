/* SPDX-License-Identifier: MIT */
/*
 *   mpiexec -n RANKS hdf5 FILE
 *
 * Parallel HDF5 writes a dataset of 30 x (4 * RANKS) doubles collectively. Each rank writes every
 * other row of its four columns, and then the rows between. So HDF5 sets views twice.
 */
#include "program.h"

#include <hdf5.h>

#define ROWS    30
#define COLUMNS 4

static void write_rows(hid_t dataset, hid_t how, int first, int view)
{
    hsize_t start[2] = {(hsize_t)first, (hsize_t)(COLUMNS * rank)}, stride[2] = {2, 1};
    hsize_t count[2] = {ROWS / 2, COLUMNS};
    hid_t place = H5Dget_space(dataset), memory = H5Screate_simple(2, count, NULL);
    double data[ROWS / 2 * COLUMNS];

    for (int i = 0; i < ROWS / 2 * COLUMNS; i++)
        data[i] = rank * 1000 + view * 100000 + i;
    H5Sselect_hyperslab(place, H5S_SELECT_SET, start, stride, count, NULL);
    check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, place, how, data) < 0 ? MPI_ERR_IO : 0,
          "H5Dwrite");
    keep(data, sizeof(data), view);
    H5Sclose(memory);
    H5Sclose(place);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, MPI_THREAD_SINGLE);
    hsize_t sizes[2] = {ROWS, (hsize_t)(COLUMNS * ranks)};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), how = H5Pcreate(H5P_DATASET_XFER);
    hid_t timeless = H5Pcreate(H5P_DATASET_CREATE); /* so that two runs make equal files */
    H5Pset_obj_track_times(timeless, false);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(argv[argc - 1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(2, sizes, NULL);
    hid_t dataset =
        H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, timeless, H5P_DEFAULT);
    check(dataset < 0 ? MPI_ERR_IO : 0, "H5Dcreate2");
    write_rows(dataset, how, 0, 1);
    write_rows(dataset, how, 1, 2);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(how);
    H5Pclose(timeless);
    H5Pclose(access);
    MPI_Finalize();
    return 0;
}
