/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

int rank, ranks;

void check(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", rank, call, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void start(int *argc, char ***argv, int level)
{
    int provided;

    check(MPI_Init_thread(argc, argv, level, &provided), "MPI_Init_thread");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static unsigned char *make_bytes(size_t bytes, unsigned seed)
{
    unsigned char *data = malloc(bytes + 1);

    check(data ? MPI_SUCCESS : MPI_ERR_NO_MEM, "malloc");
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (unsigned char)(seed >> 24);
    }
    return data;
}

MPI_File open_with(MPI_Comm comm, const char *path, int mode)
{
    MPI_File file;

    check(MPI_File_open(comm, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
    return file;
}

MPI_File open_filled(const char *path, MPI_Offset bytes)
{
    unsigned char *data = make_bytes((size_t)bytes, 1);
    MPI_File file = open_with(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR);

    if (rank == 0)
        check(MPI_File_write_at(file, 0, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_at");
    check(MPI_File_sync(file), "MPI_File_sync");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    check(MPI_File_sync(file), "MPI_File_sync");
    free(data);
    return file;
}

void set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype)
{
    check(MPI_Type_commit(&etype), "MPI_Type_commit");
    check(MPI_Type_commit(&filetype), "MPI_Type_commit");
    check(MPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
}

static int bytes_of(MPI_Datatype filetype, int tiles)
{
    int bytes;

    check(MPI_Type_size(filetype, &bytes), "MPI_Type_size");
    return bytes * tiles;
}

void read_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view)
{
    int bytes = bytes_of(filetype, tiles);
    unsigned char *data = make_bytes((size_t)bytes, 2);

    check(MPI_File_read_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_all");
    keep(data, (size_t)bytes, view);
    free(data);
}

void write_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view)
{
    int bytes = bytes_of(filetype, tiles);
    unsigned char *data = make_bytes((size_t)bytes, (unsigned)rank + 3);

    check(MPI_File_write_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_all");
    keep(data, (size_t)bytes, view);
    free(data);
}

void close_and_free(MPI_File *file, MPI_Datatype *type)
{
    check(MPI_File_close(file), "MPI_File_close");
    check(MPI_Type_free(type), "MPI_Type_free");
}

void keep(const void *data, size_t bytes, int view)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "rank%d.view%d", rank, view);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file))
        check(MPI_ERR_IO, path);
}
