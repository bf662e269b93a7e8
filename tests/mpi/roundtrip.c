/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes a file through MPI's file views, for comparing with slices.
 *
 *   mpiexec -n RANKS roundtrip spec  KIND FILE [DATAREP]  prints the spec whose views it sets
 *   mpiexec -n RANKS roundtrip read  KIND FILE [DATAREP]  MPI_File_read_all into rank<N>.read
 *   mpiexec -n RANKS roundtrip write KIND FILE [DATAREP]  MPI_File_write_all of the bytes
 *                                                         in rank<N>.write
 *
 * KIND: darray (2-D doubles of 37 x 53, blocks of rows and columns dealt cyclically, behind 24
 * bytes) or vector (3 doubles of every 3 * RANKS, 1000 times a tile; behind 16 bytes). A rank
 * transfers the bytes that its view selects in one tile. DATAREP: native (the default), external32.
 */
#include <stdbool.h>

#define BENCH_NAME "roundtrip"

#include "../bench/fail.h"

#define ROWS         37
#define COLUMNS      53
#define ROW_BLOCK    4
#define COLUMN_BLOCK 5
#define VECTOR_COUNT 1000
#define VECTOR_BLOCK 3

struct view {
    MPI_Offset displacement;
    MPI_Datatype filetype;
    int bytes; /* in one tile */
};

static int rank, ranks;

static void process_grid(int psizes[2])
{
    psizes[0] = psizes[1] = 0;
    check("dims_create", MPI_Dims_create(ranks, 2, psizes));
}

static struct view darray_view(void)
{
    int gsizes[2] = {ROWS, COLUMNS}, dargs[2] = {ROW_BLOCK, COLUMN_BLOCK}, psizes[2];
    int distribs[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    struct view view = {.displacement = 24};
    process_grid(psizes);
    check("create_darray", MPI_Type_create_darray(ranks, rank, 2, gsizes, distribs, dargs, psizes,
                                                  MPI_ORDER_C, MPI_DOUBLE, &view.filetype));
    return view;
}

static struct view vector_view(void)
{
    struct view view = {.displacement = 16 + rank * VECTOR_BLOCK * 8};
    MPI_Datatype vector;
    check("vector",
          MPI_Type_vector(VECTOR_COUNT, VECTOR_BLOCK, VECTOR_BLOCK * ranks, MPI_DOUBLE, &vector));
    check("create_resized",
          MPI_Type_create_resized(vector, 0, (MPI_Aint)VECTOR_COUNT * VECTOR_BLOCK * ranks * 8,
                                  &view.filetype));
    check("free", MPI_Type_free(&vector));
    return view;
}

static struct view make_view(const char *kind)
{
    struct view view = strcmp(kind, "darray") == 0 ? darray_view() : vector_view();
    check("commit", MPI_Type_commit(&view.filetype));
    check("size", MPI_Type_size(view.filetype, &view.bytes));
    return view;
}

static void print_spec(const char *kind, const char *path, const char *datarep)
{
    int psizes[2];
    process_grid(psizes);
    printf("{ \"viewspec\": 1, \"file\": \"%s\", \"ranks\": %d,\n", path, ranks);
    if (strcmp(kind, "darray") == 0)
        printf("  \"view\": { \"disp\": 24, \"etype\": \"double\", \"datarep\": \"%s\",\n"
               "            \"filetype\": { \"type\": \"darray\", \"gsizes\": [%d, %d],\n"
               "                          \"distribs\": [\"cyclic\", \"cyclic\"],\n"
               "                          \"dargs\": [%d, %d], \"psizes\": [%d, %d],\n"
               "                          \"order\": \"C\" } } }\n",
               datarep, ROWS, COLUMNS, ROW_BLOCK, COLUMN_BLOCK, psizes[0], psizes[1]);
    else
        printf("  \"view\": { \"disp\": \"16 + rank * %d\", \"etype\": \"double\",\n"
               "            \"datarep\": \"%s\",\n"
               "            \"filetype\": { \"type\": \"resized\", \"lb\": 0,\n"
               "                          \"extent\": \"%d * ranks\",\n"
               "                          \"oldtype\": { \"type\": \"vector\", \"count\": %d,\n"
               "                                       \"blocklength\": %d,\n"
               "                                       \"stride\": \"%d * ranks\" } } } }\n",
               VECTOR_BLOCK * 8, datarep, VECTOR_COUNT * VECTOR_BLOCK * 8, VECTOR_COUNT,
               VECTOR_BLOCK, VECTOR_BLOCK);
}

/* Copies data to rank<N>.<suffix>, or from it. The file has exactly that many bytes. */
static void local_file(const char *suffix, bool writing, void *data, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "rank%d.%s", rank, suffix);
    FILE *file = fopen(path, writing ? "wb" : "rb");
    if (file == NULL)
        fail(path, strerror(errno));
    size_t done = writing ? fwrite(data, 1, bytes, file) : fread(data, 1, bytes, file);
    if (done != bytes || (!writing && fgetc(file) != EOF) || fclose(file) != 0)
        fail(path, "not all bytes, or more");
}

static void transfer(const char *path, const struct view *view, const char *datarep, bool writing)
{
    MPI_File file;
    int count = view->bytes / 8, got = 0;
    double *data = allocate((size_t)count + 1, sizeof(*data));
    MPI_Status status;
    if (writing)
        local_file("write", false, data, (size_t)view->bytes);
    check("open", MPI_File_open(MPI_COMM_WORLD, path, writing ? MPI_MODE_RDWR : MPI_MODE_RDONLY,
                                MPI_INFO_NULL, &file));
    check("set_view", MPI_File_set_view(file, view->displacement, MPI_DOUBLE, view->filetype,
                                        datarep, MPI_INFO_NULL));
    if (writing)
        check("write_all", MPI_File_write_all(file, data, count, MPI_DOUBLE, &status));
    else
        check("read_all", MPI_File_read_all(file, data, count, MPI_DOUBLE, &status));
    check("get_count", MPI_Get_count(&status, MPI_DOUBLE, &got));
    if (got != count)
        fail("count", "not that of the view");
    check("close", MPI_File_close(&file));
    if (!writing)
        local_file("read", true, data, (size_t)view->bytes);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *datarep = argc == 5 ? argv[4] : "native";
    if (argc < 4 || argc > 5 || (strcmp(argv[2], "darray") != 0 && strcmp(argv[2], "vector") != 0))
        fail("usage", "roundtrip spec|read|write darray|vector FILE [DATAREP]");
    if (strcmp(argv[1], "spec") == 0) {
        if (rank == 0)
            print_spec(argv[2], argv[3], datarep);
    } else {
        struct view view = make_view(argv[2]);
        transfer(argv[3], &view, datarep, strcmp(argv[1], "write") == 0);
        check("free", MPI_Type_free(&view.filetype));
    }
    MPI_Finalize();
    return 0;
}
