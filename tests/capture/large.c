/* SPDX-License-Identifier: MIT */
/*
 *   mpiexec -n RANKS large KIND FILE
 *
 * Sets views of a kind (below) on FILE that are cheap for MPI, but may be expensive to capture.
 * Reads and writes nothing.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000000

static void use(const char *path, MPI_Datatype type)
{
    MPI_File file = open_filled(path, 64);

    set_view(file, 0, MPI_BYTE, type);
    close_and_free(&file, &type);
}

/* 30 levels of structs that each contain two of the level below: 2^30 paths lead from the last
   one to a byte. */
static void shared(const char *path)
{
    MPI_Datatype type = MPI_BYTE;

    for (int level = 0; level < 30; level++) {
        MPI_Datatype types[2] = {type, type}, next;
        MPI_Aint at[2] = {0, (MPI_Aint)1 << level};

        check(MPI_Type_create_struct(2, (int[2]){1, 1}, at, types, &next),
              "MPI_Type_create_struct");
        if (type != MPI_BYTE)
            check(MPI_Type_free(&type), "MPI_Type_free");
        type = next;
    }
    use(path, type);
}

/* Returns a type of irregular blocks, which depend on seed. */
static MPI_Datatype scattered(int blocks, unsigned seed)
{
    int *at = calloc((size_t)blocks, sizeof(*at)), next = 0;
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        seed = seed * 1664525 + 1013904223;
        at[i] = next;
        next += 2 + (int)(seed >> 30);
    }
    check(MPI_Type_create_indexed_block(blocks, 1, at, MPI_BYTE, &type),
          "MPI_Type_create_indexed_block");
    free(at);
    return type;
}

static void blocks(const char *path)
{
    use(path, scattered(BLOCKS, (unsigned)rank));
}

/* More blocks than capture accepts in a view. */
static void too_many_blocks(const char *path)
{
    use(path, scattered(5 * BLOCKS, (unsigned)rank));
}

/* Several views. Each is small enough and differs from those before. */
static void large_views(const char *path)
{
    MPI_File file = open_filled(path, 64);

    for (unsigned i = 0; i < 6; i++) {
        MPI_Datatype type = scattered(BLOCKS, i);

        set_view(file, 0, MPI_BYTE, type);
        check(MPI_Type_free(&type), "MPI_Type_free");
    }
    check(MPI_File_close(&file), "MPI_File_close");
}

/* The same three views many times. */
static void often(const char *path)
{
    MPI_File file = open_filled(path, 64);
    MPI_Datatype types[3] = {scattered(10, 1), scattered(20, 2), scattered(30, 3)};

    for (int i = 0; i < 100000; i++)
        set_view(file, 0, MPI_BYTE, types[i % 3]);
    for (int i = 0; i < 3; i++)
        check(MPI_Type_free(&types[i]), "MPI_Type_free");
    check(MPI_File_close(&file), "MPI_File_close");
}

/* A large view, many times. */
static void large_often(const char *path)
{
    MPI_File file = open_filled(path, 64);
    MPI_Datatype type = scattered(BLOCKS, 1);

    for (int i = 0; i < 400; i++)
        set_view(file, 0, MPI_BYTE, type);
    check(MPI_Type_free(&type), "MPI_Type_free");
    check(MPI_File_close(&file), "MPI_File_close");
}

/* A different view each time that the file is opened. */
static void reopened(const char *path)
{
    for (int i = 1; i <= 1100; i++) {
        MPI_File file = open_with(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR);
        set_view(file, i, MPI_BYTE, MPI_BYTE);
        check(MPI_File_close(&file), "MPI_File_close");
    }
}

static const struct {
    const char *name;
    void (*run)(const char *path);
} kinds[] = {
    {"shared", shared},           {"blocks", blocks}, {"too-many-blocks", too_many_blocks},
    {"large-views", large_views}, {"often", often},   {"large-often", large_often},
    {"reopened", reopened},
};

int main(int argc, char **argv)
{
    start(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kinds[i].run(argv[2]);
    MPI_Finalize();
    return 0;
}
