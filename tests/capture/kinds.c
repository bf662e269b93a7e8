/* SPDX-License-Identifier: MIT */
/*
 *   mpiexec -n RANKS kinds KIND FILE
 *
 * Sets views of a kind (below) on FILE and reads or writes whole tiles through them. The file ends
 * with the last tile. Every rank prints a line on stdout and exits with status 3.
 */
#include "program.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEADER 24 /* bytes in front of a view */
#define TILES  2

/* A type of two bytes that viewspec(5) lacks. */
#ifdef OPEN_MPI
#define UNKNOWN MPI_LOGICAL2
#else
#define UNKNOWN MPIX_C_FLOAT16
#endif

static MPI_Datatype darray_of(int size, int of, MPI_Datatype oldtype)
{
    int gsizes[2] = {13, 17}, dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 3}, psizes[2] = {0, 0};
    int distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype type;

    check(MPI_Dims_create(size, 2, psizes), "MPI_Dims_create");
    check(MPI_Type_create_darray(size, of, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, oldtype,
                                 &type),
          "MPI_Type_create_darray");
    return type;
}

/* A matrix of 12 x (5 * ranks) doubles. Each rank has a slab of columns. */
static MPI_Datatype subarray(int order)
{
    int sizes[2] = {12, 5 * ranks}, subsizes[2] = {12, 5}, starts[2] = {0, 5 * rank};
    MPI_Datatype type;

    check(MPI_Type_create_subarray(2, sizes, subsizes, starts, order, MPI_FLOAT, &type),
          "MPI_Type_create_subarray");
    return type;
}

/* Blocks of ints, dealt in turn. The displacement selects the rank's. */
static MPI_Datatype dealt_ints(void)
{
    MPI_Datatype vector, type;

    check(MPI_Type_vector(8, 2, 2 * ranks, MPI_INT, &vector), "MPI_Type_vector");
    check(MPI_Type_create_resized(vector, 0, (MPI_Aint)16 * ranks * 4, &type),
          "MPI_Type_create_resized");
    check(MPI_Type_free(&vector), "MPI_Type_free");
    return type;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    check(MPI_Type_get_extent(type, &lb, &extent), "MPI_Type_get_extent");
    return extent;
}

static MPI_File open_for(const char *path, MPI_Datatype filetype)
{
    return open_filled(path, HEADER + TILES * extent_of(filetype));
}

static void darray(const char *path)
{
    MPI_Datatype type = darray_of(ranks, rank, MPI_DOUBLE);
    MPI_File file = open_for(path, type);

    check(MPI_Type_set_name(type, "density"), "MPI_Type_set_name");
    set_view(file, HEADER, MPI_DOUBLE, type);
    write_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

/* Rank 0 closes a file that is closed already, which MPI refuses, while another one is open. */
static void closed_twice(const char *path)
{
    MPI_File closed = MPI_FILE_NULL;
    MPI_Datatype type = darray_of(ranks, rank, MPI_DOUBLE);
    MPI_File file = open_for(path, type);

    if (rank == 0 && MPI_File_close(&closed) == MPI_SUCCESS)
        check(MPI_ERR_OTHER, "MPI_File_close");
    set_view(file, HEADER, MPI_DOUBLE, type);
    write_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

static void fortran_order(const char *path)
{
    MPI_Datatype type = subarray(MPI_ORDER_FORTRAN);
    MPI_File file = open_for(path, type);

    set_view(file, HEADER, MPI_FLOAT, type);
    read_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

/* Two indexed types over a vector, the second of another length on each rank. */
static void nested(const char *path)
{
    int lengths[2] = {1, 2}, places[2] = {0, 3}, one[1] = {1 + rank}, first[1] = {0};
    int blocks[2] = {1, 1};
    MPI_Aint displacements[2] = {8, 640};
    MPI_Datatype vector, parts[2], record, type;
    MPI_File file;

    check(MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &vector), "MPI_Type_vector");
    check(MPI_Type_indexed(2, lengths, places, vector, &parts[0]), "MPI_Type_indexed");
    check(MPI_Type_indexed(1, one, first, vector, &parts[1]), "MPI_Type_indexed");
    check(MPI_Type_create_struct(2, blocks, displacements, parts, &record),
          "MPI_Type_create_struct");
    check(MPI_Type_create_resized(record, 0, 1600, &type), "MPI_Type_create_resized");
    file = open_for(path, type);
    set_view(file, HEADER, MPI_DOUBLE, type);
    read_tiles(file, type, TILES, 1);
    check(MPI_File_close(&file), "MPI_File_close");
    check(MPI_Type_free(&vector), "MPI_Type_free");
    check(MPI_Type_free(&parts[0]), "MPI_Type_free");
    check(MPI_Type_free(&parts[1]), "MPI_Type_free");
    check(MPI_Type_free(&record), "MPI_Type_free");
    check(MPI_Type_free(&type), "MPI_Type_free");
}

/*
 * A darray and a subarray by turns, then the first one again, with the default view between them.
 * After reopening, the first one again and a third one.
 */
static void changing(const char *path)
{
    MPI_Datatype types[2] = {darray_of(ranks, rank, MPI_DOUBLE), subarray(MPI_ORDER_C)};
    MPI_Datatype third = dealt_ints();
    MPI_File file = open_for(path, types[0]);

    for (int i = 0; i < 4; i++) {
        set_view(file, HEADER, i % 2 ? MPI_FLOAT : MPI_DOUBLE, types[i % 2]);
        read_tiles(file, types[i % 2], 1, 1 + i % 2);
        set_view(file, 0, MPI_BYTE, MPI_BYTE);
    }
    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(MPI_COMM_WORLD, path, MPI_MODE_RDONLY);
    set_view(file, HEADER, MPI_DOUBLE, types[0]);
    set_view(file, HEADER + rank * 8, MPI_INT, third);
    read_tiles(file, third, 1, 3);
    check(MPI_File_close(&file), "MPI_File_close");
    check(MPI_Type_free(&types[0]), "MPI_Type_free");
    check(MPI_Type_free(&types[1]), "MPI_Type_free");
    check(MPI_Type_free(&third), "MPI_Type_free");
}

/* Adjacent variables. One is written in part, one by the shared file pointer. The others are
   written in full, among them the last one of each time that the file is open. */
static void variables(const char *path)
{
    MPI_Datatype type = dealt_ints();
    MPI_Aint extent = extent_of(type);
    MPI_File file = open_filled(path, 0);
    int number = rank;

    set_view(file, HEADER + rank * 8, MPI_INT, type);
    write_tiles(file, type, 5, 1);
    set_view(file, HEADER + rank * 8 + 5 * extent, MPI_INT, type);
    write_tiles(file, type, 1, 2);
    set_view(file, HEADER + rank * 8 + 6 * extent, MPI_INT, type);
    check(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
    set_view(file, HEADER + rank * 8 + 7 * extent, MPI_INT, type);
    write_tiles(file, type, 2, 4);
    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
    set_view(file, HEADER + 9 * extent, MPI_INT, MPI_INT);
    check(MPI_File_write_at(file, 0, &number, rank == 0, MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_write_at");
    check(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_write_ordered");
    set_view(file, HEADER + rank * 8 + 10 * extent, MPI_INT, type);
    write_tiles(file, type, 3, 6);
    close_and_free(&file, &type);
}

/* A filetype of ints over an etype of bytes. The standard forbids it, but MPICH accepts it. */
static void other_etype(const char *path)
{
    MPI_Datatype type = dealt_ints();
    MPI_File file = open_for(path, type);

    set_view(file, HEADER + rank * 8, MPI_BYTE, type);
    read_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

/* A struct of a char and an int over bytes. The filetype has more than one basic type. */
static void mixed(const char *path)
{
    int lengths[2] = {3, 1};
    MPI_Aint displacements[2] = {0, 4};
    MPI_Datatype members[2] = {MPI_CHAR, MPI_INT}, pair, type;
    MPI_File file;

    check(MPI_Type_create_struct(2, lengths, displacements, members, &pair),
          "MPI_Type_create_struct");
    check(MPI_Type_vector(5, 1, ranks, pair, &type), "MPI_Type_vector");
    file = open_filled(path, HEADER + 5 * 8 * ranks);
    set_view(file, HEADER + 8 * rank, MPI_BYTE, type);
    read_tiles(file, type, 1, 1);
    check(MPI_File_close(&file), "MPI_File_close");
    check(MPI_Type_free(&pair), "MPI_Type_free");
    check(MPI_Type_free(&type), "MPI_Type_free");
}

/* Each process opens the file by itself, with its own rank's part of a darray. */
static void alone(const char *path)
{
    MPI_Datatype type = darray_of(ranks, rank, MPI_DOUBLE);
    MPI_File file = open_for(path, type);

    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
    set_view(file, HEADER, MPI_DOUBLE, type);
    read_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

/* Each half of the processes opens the file by itself. Both openings have the same name in DIR
   of -o. */
static void halves(const char *path)
{
    MPI_Datatype type;
    MPI_Comm half;
    MPI_File file;
    int of, size;

    check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half), "MPI_Comm_split");
    MPI_Comm_rank(half, &of);
    MPI_Comm_size(half, &size);
    type = darray_of(size, of, rank % 2 ? MPI_INT : MPI_DOUBLE);
    file = open_for(path, type);
    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(half, path, MPI_MODE_RDONLY);
    set_view(file, HEADER, rank % 2 ? MPI_INT : MPI_DOUBLE, type);
    read_tiles(file, type, TILES, 1);
    check(MPI_File_close(&file), "MPI_File_close");
    check(MPI_Comm_free(&half), "MPI_Comm_free");
    check(MPI_Type_free(&type), "MPI_Type_free");
}

/* The file is still open when the program ends. */
static void unclosed(const char *path)
{
    MPI_Datatype type = darray_of(ranks, rank, MPI_DOUBLE);
    MPI_File file = open_for(path, type);

    set_view(file, HEADER, MPI_DOUBLE, type);
    read_tiles(file, type, TILES, 1);
    check(MPI_Type_free(&type), "MPI_Type_free");
}

/* Adjacent independent writes, without a barrier. Higher ranks write later. */
static void write_late(const char *path, int header)
{
    struct timespec pause = {.tv_nsec = 50000000L * rank};
    MPI_File file = open_filled(path, 0);
    char data[80];

    memset(data, 'a' + rank, sizeof(data));
    set_view(file, header + 80 * rank, MPI_BYTE, MPI_BYTE);
    nanosleep(&pause, NULL);
    check(MPI_File_write(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write");
    keep(data, sizeof(data), 1);
    check(MPI_File_close(&file), "MPI_File_close");
}

static void late(const char *path)
{
    write_late(path, 100);
}

/* Rank 0 sets the view that a file has when it is opened. */
static void late_default(const char *path)
{
    write_late(path, 0);
}

static void write_doubles(MPI_File file, int count, int view)
{
    double data[16];

    for (int i = 0; i < count; i++)
        data[i] = 100 * rank + i;
    check(MPI_File_write_all(file, data, count, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_write_all");
    keep(data, sizeof(double) * (size_t)count, view);
}

/*
 * Three views with parts of different sizes: 5 + rank doubles; none on rank 1, whose view is the
 * default view; 3 doubles and, after reopening, 4. Rank 0 never has more than 3, and has its first
 * view again.
 */
static void sizes(const char *path)
{
    MPI_Offset own = rank * (9 + rank) / 2 * 8, all = ranks * (9 + ranks) / 2 * 8;
    MPI_Offset third = rank == 0 ? 0 : all + 64 * ranks + rank * 32;
    MPI_Datatype type = rank == 1 ? MPI_BYTE : MPI_DOUBLE;
    MPI_File file = open_filled(path, 0);

    set_view(file, own, MPI_DOUBLE, MPI_DOUBLE);
    write_doubles(file, 5 + rank, 1);
    set_view(file, rank == 1 ? 0 : all + rank * 64, type, type);
    write_doubles(file, rank == 1 ? 0 : 8, 2);
    set_view(file, third, MPI_DOUBLE, MPI_DOUBLE);
    write_doubles(file, 3, 3);
    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
    set_view(file, third, MPI_DOUBLE, MPI_DOUBLE);
    write_doubles(file, rank == 0 ? 2 : 4, rank == 0 ? 4 : 3);
    check(MPI_File_close(&file), "MPI_File_close");
}

/* A view that all ranks share. Each rank accesses two tiles, the last one a tile and a half. */
static void partial(const char *path)
{
    MPI_Datatype type = dealt_ints();
    MPI_File file = open_filled(path, 1 << 16);
    int data[32] = {0};

    set_view(file, HEADER, MPI_INT, type);
    check(MPI_File_write_all(file, data, rank == ranks - 1 ? 24 : 32, MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_write_all");
    close_and_free(&file, &type);
}

/*
 * A view of all bytes behind the header, the same on all ranks. Each rank writes a part. After
 * reopening, a darray follows. With a single process, that process has the darray.
 */
static void plain_then(const char *path, MPI_Comm comm, int of, int size)
{
    MPI_Datatype type = darray_of(size, of, MPI_DOUBLE);
    MPI_File file = open_filled(path, 0);
    double data[10];

    for (int i = 0; i < 10; i++)
        data[i] = 10 * rank + i;
    set_view(file, HEADER, MPI_DOUBLE, MPI_DOUBLE);
    check(MPI_File_write_at_all(file, 10 * rank, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all");
    check(MPI_File_close(&file), "MPI_File_close");
    file = open_with(comm, path, MPI_MODE_RDWR);
    set_view(file, HEADER + 80 * ranks, MPI_DOUBLE, type);
    if (comm != MPI_COMM_SELF || rank == 0)
        write_tiles(file, type, TILES, 1);
    close_and_free(&file, &type);
}

static void plain_then_darray(const char *path)
{
    plain_then(path, MPI_COMM_WORLD, rank, ranks);
}

static void plain_then_alone(const char *path)
{
    plain_then(path, MPI_COMM_SELF, 0, 1);
}

/* Exits early with status 0. One file is closed, another one is not. */
static void aborted(const char *path)
{
    char other[256];

    darray(path);
    snprintf(other, sizeof(other), "%s.open", path);
    set_view(open_filled(other, 64), 8 * rank, MPI_INT, MPI_INT);
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    MPI_Abort(MPI_COMM_WORLD, 0);
}

/* Each rank exits as soon as it can, and mpiexec then kills the others. */
static void exits(const char *path)
{
    darray(path);
    _exit(0);
}

static void temporary(const char *path)
{
    MPI_File file =
        open_with(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    set_view(file, 0, MPI_INT, MPI_INT);
    check(MPI_File_close(&file), "MPI_File_close");
}

/* Views that cannot be captured: one that MPI refuses, and a type that viewspec(5) does not
   support. */
static void refused(const char *path)
{
    MPI_File file = open_filled(path, 64);
    MPI_Datatype type;

    if (MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such", MPI_INFO_NULL) == MPI_SUCCESS)
        check(MPI_ERR_OTHER, "MPI_File_set_view");
    check(MPI_Type_contiguous(4, UNKNOWN, &type), "MPI_Type_contiguous");
    set_view(file, HEADER, UNKNOWN, type);
    close_and_free(&file, &type);
}

/* 1200 views. One is the default view. */
static void many(const char *path)
{
    MPI_File file = open_filled(path, 64);

    for (int i = 0; i < 1200; i++)
        set_view(file, i, MPI_BYTE, MPI_BYTE);
    check(MPI_File_close(&file), "MPI_File_close");
}

struct thread {
    pthread_t id;
    MPI_Comm comm;
    char path[256];
};

static void *open_and_close(void *argument)
{
    struct thread *thread = argument;

    for (int i = 0; i < 20; i++) {
        MPI_File file = open_with(thread->comm, thread->path, MPI_MODE_CREATE | MPI_MODE_RDWR);
        for (int j = 1; j <= 10; j++)
            check(MPI_File_set_view(file, 100 * j, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
                  "MPI_File_set_view");
        check(MPI_File_close(&file), "MPI_File_close");
    }
    return NULL;
}

/* Four threads with a file each: PATH.0 .. PATH.3. */
static void threads(const char *path)
{
    struct thread all[4];

    /* The first call of MPI-IO initializes ROMIO. If several threads make it at once, one of
       them aborts. */
    MPI_File_delete(path, MPI_INFO_NULL);
    for (int i = 0; i < 4; i++) {
        snprintf(all[i].path, sizeof(all[i].path), "%s.%d", path, i);
        check(MPI_Comm_dup(MPI_COMM_WORLD, &all[i].comm), "MPI_Comm_dup");
    }
    for (int i = 0; i < 4; i++)
        check(pthread_create(&all[i].id, NULL, open_and_close, &all[i]), "pthread_create");
    for (int i = 0; i < 4; i++) {
        pthread_join(all[i].id, NULL);
        check(MPI_Comm_free(&all[i].comm), "MPI_Comm_free");
    }
}

static const struct {
    const char *name;
    void (*run)(const char *path);
} kinds[] = {
    {"many", many},
    {"threads", threads},
    {"darray", darray},
    {"closed-twice", closed_twice},
    {"fortran-order", fortran_order},
    {"nested", nested},
    {"changing", changing},
    {"alone", alone},
    {"other-etype", other_etype},
    {"mixed", mixed},
    {"halves", halves},
    {"unclosed", unclosed},
    {"refused", refused},
    {"temporary", temporary},
    {"variables", variables},
    {"late", late},
    {"late-default", late_default},
    {"sizes", sizes},
    {"partial", partial},
    {"plain-then-darray", plain_then_darray},
    {"plain-then-alone", plain_then_alone},
    {"aborted", aborted},
    {"exits", exits},
};

int main(int argc, char **argv)
{
    bool threaded = argc == 3 && strcmp(argv[1], "threads") == 0;

    start(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kinds[i].run(argv[2]);
    printf("rank %d of %d is done\n", rank, ranks);
    MPI_Finalize();
    return 3;
}
