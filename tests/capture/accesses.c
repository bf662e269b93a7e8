/* SPDX-License-Identifier: MIT */
/*
 * Programs whose views do not show which rank has which bytes: accesses KIND FILE. Each rank writes
 * the bytes that it has accessed to rankN.view1, in the file's order.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define BYTES (1 << 20)

/* The form of MPI_File_write_at for large counts, if the library has it. */
#if MPI_VERSION >= 4
#define WRITE_AT_LARGE MPI_File_write_at_c
#else
#define WRITE_AT_LARGE MPI_File_write_at
#endif

static unsigned char data[BYTES]; /* the file's bytes, where this rank has accessed them */
static bool touched[BYTES];
static MPI_File file;

/* Makes bytes that depend only on their offset, because ranks may overwrite each other's. */
static void *fill(int64_t offset, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        data[offset + i] = (unsigned char)((uint64_t)(offset + i) * 0x9e3779b97f4a7c15 >> 56);
        touched[offset + i] = true;
    }
    return data + offset;
}

static void put_values(int64_t offset, int count, MPI_Datatype type, int size)
{
    check(
        MPI_File_write_at(file, offset, fill(offset, size * count), count, type, MPI_STATUS_IGNORE),
        "MPI_File_write_at");
}

static void put(int64_t offset, int bytes)
{
    put_values(offset, bytes, MPI_BYTE, 1);
}

static void put_doubles(int64_t offset, int count)
{
    put_values(offset, count, MPI_DOUBLE, 8);
}

static void segments(void)
{
    for (int segment = 0; segment < 8; segment++)
        for (int part = 0; part < 5; part++)
            put_doubles((segment * ranks + rank) * 4000 + part * 800, 100);
}

/* A 2 x 2 grid of blocks of 30 rows of 20 doubles. The last block comes first. */
static void rows(void)
{
    for (int row = 29; row >= 0; row--)
        put_doubles(((rank / 2 * 30 + row) * 40 + rank % 2 * 20) * 8, 20);
}

/* 2 x 2 x 1 blocks of 6 x 5 x 4 ints; the file has 12 x 10 x 8. */
static void cube(void)
{
    for (int z = 0; z < 6; z++)
        for (int y = 0; y < 5; y++)
            put_values((((rank / 2 * 6 + z) * 10 + rank % 2 * 5 + y) * 8 + 2) * 4, 4, MPI_INT, 4);
}

/* Uses the individual file pointer. In memory the ints lie apart. */
static void pointer(void)
{
    int apart[200];
    MPI_Datatype type;

    check(MPI_Type_vector(100, 1, 2, MPI_INT, &type), "MPI_Type_vector");
    check(MPI_Type_commit(&type), "MPI_Type_commit");
    for (int round = 0; round < 10; round++) {
        int64_t offset = (round * ranks + rank) * 800;
        for (int half = 0; half < 2; half++) {
            fill(offset + half * 400, 400);
            for (int i = 0; i < 100; i++)
                memcpy(&apart[2 * i], &data[offset + half * 400 + 4 * i], 4);
            if (!half)
                check(MPI_File_seek(file, offset, MPI_SEEK_SET), "MPI_File_seek");
            check(MPI_File_write(file, apart, 1, type, MPI_STATUS_IGNORE), "MPI_File_write");
        }
    }
    check(MPI_Type_free(&type), "MPI_Type_free");
}

/* Two fields of each record. The program writes them repeatedly. */
static void fields(void)
{
    for (int round = 0; round < 20; round++)
        for (int record = 0; record < 500; record++) {
            put((record * ranks + rank) * 100, 40);
            put((record * ranks + rank) * 100 + 60, 20);
        }
}

/* Rank r has r + 1 blocks, except that the third rank has none. */
static void uneven(void)
{
    for (int i = 0; i <= rank && rank != 2; i++)
        put_doubles((rank * 10 + i * i) * 64, 3);
}

/* Uses every routine that writes, for a part each. */
static void ways(void)
{
    MPI_Request request;
    int64_t at[8];

    for (int i = 0; i < 8; i++)
        fill(at[i] = (i * ranks + rank) * 1000, 1000);
    check(MPI_File_write_at_all(file, at[0], data + at[0], 1000, MPI_BYTE, MPI_STATUS_IGNORE), "0");
    check(MPI_File_iwrite_at(file, at[1], data + at[1], 1000, MPI_BYTE, &request), "1");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(MPI_File_write_at_all_begin(file, at[2], data + at[2], 1000, MPI_BYTE), "2");
    check(MPI_File_write_at_all_end(file, data + at[2], MPI_STATUS_IGNORE), "2");
    check(MPI_File_iwrite_at_all(file, at[3], data + at[3], 1000, MPI_BYTE, &request), "3");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    MPI_File_seek(file, at[4], MPI_SEEK_SET);
    check(MPI_File_write_all(file, data + at[4], 1000, MPI_BYTE, MPI_STATUS_IGNORE), "4");
    MPI_File_seek(file, at[5], MPI_SEEK_SET);
    check(MPI_File_iwrite(file, data + at[5], 1000, MPI_BYTE, &request), "5");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    MPI_File_seek(file, at[6], MPI_SEEK_SET);
    check(MPI_File_write_all_begin(file, data + at[6], 1000, MPI_BYTE), "6");
    check(MPI_File_write_all_end(file, data + at[6], MPI_STATUS_IGNORE), "6");
    check(WRITE_AT_LARGE(file, at[7], data + at[7], 1000, MPI_BYTE, MPI_STATUS_IGNORE), "7");
}

/* A view of all bytes behind a header, the same on all ranks. Offsets count doubles. */
static void header(void)
{
    int64_t offset = 24 + rank * 100 * 8;

    set_view(file, 24, MPI_DOUBLE, MPI_DOUBLE);
    check(MPI_File_write_at_all(file, rank * 100, fill(offset, 800), 100, MPI_DOUBLE,
                                MPI_STATUS_IGNORE),
          "MPI_File_write_at_all");
}

/* Blocks of any length at any place. Some overlap. */
static void irregular(void)
{
    unsigned seed = (unsigned)rank + 1;

    for (int i = 0; i < 300; i++) {
        seed = seed * 1664525 + 1013904223;
        put((seed >> 8) % (BYTES - 1000), (int)(seed % 999) + 1);
    }
}

/* More blocks than a filetype may have, without a stride. */
static void hopeless(void)
{
    int64_t offset = 0;

    for (unsigned i = 0; i < 110000; i++, offset += 2 + (i * i * 2654435761u >> 28 & 7))
        put(offset, 1);
}

/* Only reads. The last rank asks for more than the file has. */
static void reads(void)
{
    static unsigned char buffer[100000];
    int64_t end = BYTES / 4 * (rank + 1);

    for (int64_t offset = BYTES / 4 * rank; offset < end; offset += (int64_t)sizeof(buffer)) {
        int64_t length = rank + 1 < ranks && offset + (int64_t)sizeof(buffer) > end
                             ? end - offset
                             : (int64_t)sizeof(buffer);
        check(MPI_File_read_at(file, offset, buffer, (int)length, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_read_at");
        length = offset + length > end ? end - offset : length;
        memcpy(data + offset, buffer, (size_t)length);
        memset(touched + offset, 1, (size_t)length);
    }
}

static void untouched(void)
{
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"segments", segments},   {"rows", rows},         {"cube", cube},   {"pointer", pointer},
    {"fields", fields},       {"uneven", uneven},     {"ways", ways},   {"header", header},
    {"irregular", irregular}, {"hopeless", hopeless}, {"reads", reads}, {"self", segments},
    {"untouched", untouched},
};

/* Keeps the accessed bytes, packed. */
static void keep_touched(void)
{
    size_t used = 0;

    for (size_t i = 0; i < BYTES; i++)
        if (touched[i])
            data[used++] = data[i];
    keep(data, used, 1);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    start(&argc, &argv, MPI_THREAD_SINGLE);
    comm = argc == 3 && strcmp(argv[1], "self") == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD;
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            file = open_with(comm, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR);
            kinds[i].run();
            check(MPI_File_close(&file), "MPI_File_close");
        }
    keep_touched();
    MPI_Finalize();
    return 3;
}
