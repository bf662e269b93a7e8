/* SPDX-License-Identifier: MIT */
/*
 * A data representation whose converters call MPI. In the file, values of any type with a fixed
 * size have inverted bytes. "failing" has the same layout, but its converters fail.
 */
#include <mpi.h>

MPI_Datarep_conversion_function read_conversion_fn, write_conversion_fn;
MPI_Datarep_conversion_function failing_read_conversion_fn, failing_write_conversion_fn;
MPI_Datarep_extent_function dtype_file_extent_fn;

static int invert(unsigned char *to, const unsigned char *from, MPI_Datatype datatype, int count)
{
    int size;
    int error = MPI_Type_size(datatype, &size);

    for (long i = 0; error == MPI_SUCCESS && i < (long)count * size; i++)
        to[i] = (unsigned char)~from[i];
    return error;
}

int read_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                       MPI_Offset position, void *extra_state)
{
    return position == 0 ? invert(userbuf, filebuf, datatype, count) : MPI_ERR_ARG;
}

int write_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                        MPI_Offset position, void *extra_state)
{
    return position == 0 ? invert(filebuf, userbuf, datatype, count) : MPI_ERR_ARG;
}

int failing_read_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                               MPI_Offset position, void *extra_state)
{
    return MPI_ERR_CONVERSION;
}

int failing_write_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                                MPI_Offset position, void *extra_state)
{
    return failing_read_conversion_fn(userbuf, datatype, count, filebuf, position, extra_state);
}

int dtype_file_extent_fn(MPI_Datatype datatype, MPI_Aint *file_extent, void *extra_state)
{
    int size;
    int error = MPI_Type_size(datatype, &size);

    *file_extent = size;
    return error;
}
