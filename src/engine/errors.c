/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <mpi.h>

static const struct {
    int class;
    int number;
} table[] = {
    {MPI_ERR_ACCESS, EACCES},
    {MPI_ERR_AMODE, EINVAL},
    {MPI_ERR_ARG, EINVAL},
    {MPI_ERR_BAD_FILE, ENAMETOOLONG},
    {MPI_ERR_CONVERSION, ERANGE},
    {MPI_ERR_COUNT, EINVAL},
    {MPI_ERR_FILE, EBADF},
    {MPI_ERR_FILE_EXISTS, EEXIST},
    {MPI_ERR_FILE_IN_USE, EBUSY},
    {MPI_ERR_INFO_VALUE, EINVAL},
    {MPI_ERR_IO, EIO},
    {MPI_ERR_NO_MEM, ENOMEM},
    {MPI_ERR_NO_SPACE, ENOSPC},
    {MPI_ERR_NO_SUCH_FILE, ENOENT},
    {MPI_ERR_QUOTA, EDQUOT},
    {MPI_ERR_READ_ONLY, EROFS},
    {MPI_ERR_UNSUPPORTED_DATAREP, ENOTSUP},
    {MPI_ERR_UNSUPPORTED_OPERATION, ENOTSUP},
};

/*
 * ROMIO's drivers put most errors of the operating system into MPI_ERR_IO, a full disk too, and the
 * errno only into the text: it ends with what strerror(3) says. 0: it does not.
 */
static int errno_of_text(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (MPI_Error_string(mpi_error, text, &length) != MPI_SUCCESS)
        return 0;
    for (int number = 1; number <= EHWPOISON; number++) {
        const char *end = strerror(number);
        int rest = length - (int)strlen(end);

        if (rest > 0 && text[rest - 1] == ' ' && strcmp(text + rest, end) == 0)
            return number;
    }
    return 0;
}

int engine_error(int mpi_error)
{
    int class = MPI_ERR_UNKNOWN;
    int number = EIO;

    if (mpi_error == MPI_SUCCESS)
        return 0;
    MPI_Error_class(mpi_error, &class);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (table[i].class == class)
            number = table[i].number;
    if (number == EIO)
        number = errno_of_text(mpi_error);
    return number != 0 ? -number : -EIO;
}
