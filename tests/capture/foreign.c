/* SPDX-License-Identifier: MIT */
/*
 * An MPI library with an ABI that capture does not know, whose handles are pointers, and a program
 * that uses it, in one file. It checks that all arguments arrive at MPI unchanged.
 */
#include <stdint.h>
#include <stdio.h>

#define POINTER ((void *)(intptr_t)0x123456789abcdef0)

int MPI_File_open(void *comm, const char *name, int mode, void *info, void **file);
int MPI_File_set_view(void *file, long long displacement, void *etype, void *filetype,
                      const char *datarep, void *info);
int MPI_File_write_at(void *file, long long offset, const void *data, int count, void *type,
                      void *status);
int MPI_File_close(void **file);

#ifdef LIBRARY
int MPI_File_open(void *comm, const char *name, int mode, void *info, void **file)
{
    *file = POINTER;
    return comm == POINTER && name[0] == 'f' && mode == 5 && info == POINTER ? 0 : 1;
}

int MPI_File_set_view(void *file, long long displacement, void *etype, void *filetype,
                      const char *datarep, void *info)
{
    return file == POINTER && displacement == 1LL << 40 && etype == POINTER &&
                   filetype == POINTER && datarep[0] == 'n' && info == POINTER
               ? 0
               : 1;
}

int MPI_File_write_at(void *file, long long offset, const void *data, int count, void *type,
                      void *status)
{
    return file == POINTER && offset == 1LL << 41 && data == POINTER && count == -7 &&
                   type == POINTER && status == POINTER
               ? 0
               : 1;
}

int MPI_File_close(void **file)
{
    int whole = *file == POINTER;

    *file = NULL;
    return whole ? 0 : 1;
}
#else
int main(void)
{
    void *file;
    int opened = MPI_File_open(POINTER, "f", 5, POINTER, &file);
    int set = MPI_File_set_view(file, 1LL << 40, POINTER, POINTER, "native", POINTER);
    int written = MPI_File_write_at(file, 1LL << 41, POINTER, -7, POINTER, POINTER);

    printf("%d %d %d %d\n", opened, set, written, MPI_File_close(&file));
    return 0;
}
#endif
