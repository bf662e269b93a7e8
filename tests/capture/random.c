/* SPDX-License-Identifier: MIT */
/*
 *   mpiexec -n RANKS random SEED FILE
 *
 * An oracle for captured views: opens FILE several times, and writes and reads variables through
 * views. SEED chooses all of this. Each rank writes to rankN.viewK the bytes that its slice of the
 * K-th view must have, which it makes without MPI. Rank 0 writes the number of views to the file
 * "plan", or 0 if no spec must result. A byte of FILE depends only on its displacement.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define MAX_RANKS     16
#define MAX_VARIABLES 16
#define TILES         3
#define PIECE         8 /* bytes; a double, or a block of two ints */
#define BYTES         65536

enum kind {
    BLOCKS, /* one block of doubles a rank, of any length; empty ranks may have the default view */
    DEALT,  /* tiles of four pieces, dealt to the ranks in turn */
    PLAIN,  /* one view of doubles for all ranks, at different offsets */
};

enum ending { FINALIZE, ABORT, EXIT };

static struct variable {
    enum kind kind;
    int64_t base;
    bool by_default;      /* empty ranks have the default view */
    int count[MAX_RANKS]; /* doubles of BLOCKS; [0]: of each rank's part of PLAIN */
    int reach[MAX_RANKS]; /* tiles up to the last one accessed */
} variables[MAX_VARIABLES];

static int variable_count;
static int64_t end; /* of the last variable */
static bool alone;  /* each process opens the file on its own */
static bool plain;  /* all views are of kind PLAIN, one for each opening */
static uint64_t state;

/* Returns a random number below below, the same on all ranks. */
static int draw(int below)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (int)((state >> 33) % (uint64_t)below);
}

static unsigned char content(int64_t displacement)
{
    return (unsigned char)((uint64_t)(displacement + 1) * 0x9e3779b97f4a7c15 >> 56);
}

/* Makes the pieces of this rank's tiles first .. last - 1. Returns their size in bytes. */
static int make(const struct variable *variable, int first, int last, unsigned char *data)
{
    int pieces = variable->kind == DEALT ? 4 : 1, bytes = 0;
    int64_t at = variable->base, apart = variable->kind == DEALT ? PIECE * ranks : PIECE;

    for (int i = 0; i < rank; i++)
        at += PIECE * (variable->kind == BLOCKS ? variable->count[i] : variable->kind == DEALT);
    for (int i = first * pieces; i < last * pieces; i++)
        for (int byte = 0; byte < PIECE; byte++)
            data[bytes++] = content(at + i * apart + byte);
    return bytes;
}

static struct variable *add_variable(enum kind kind)
{
    struct variable *variable = &variables[variable_count++];
    int some = draw(ranks), sum = 0;

    *variable = (struct variable){.kind = kind, .base = end + 8, .by_default = draw(2) && !alone};
    for (int i = 0; i < ranks; i++) {
        variable->count[i] = kind == PLAIN || i == some ? 1 + draw(8) : draw(2) * draw(9);
        sum += variable->count[i];
    }
    if (kind == PLAIN)
        sum = variable->count[0] * ranks;
    end = variable->base + PIECE * (kind == DEALT ? 4 * TILES * ranks : sum);
    return variable;
}

static void use_view(MPI_File file, const struct variable *variable)
{
    int64_t at = variable->base;
    MPI_Datatype vector, type;

    for (int i = 0; i < rank && variable->kind == BLOCKS; i++)
        at += PIECE * variable->count[i];
    if (variable->kind == BLOCKS && variable->by_default && variable->count[rank] == 0) {
        set_view(file, 0, MPI_BYTE, MPI_BYTE);
    } else if (variable->kind == DEALT) {
        check(MPI_Type_vector(4, 2, 2 * ranks, MPI_INT, &vector), "MPI_Type_vector");
        check(MPI_Type_create_resized(vector, 0, 4 * PIECE * ranks, &type),
              "MPI_Type_create_resized");
        set_view(file, at + rank * PIECE, MPI_INT, type);
        check(MPI_Type_free(&vector), "MPI_Type_free");
        check(MPI_Type_free(&type), "MPI_Type_free");
    } else {
        set_view(file, at, MPI_DOUBLE, MPI_DOUBLE);
    }
}

static void pause_for(int milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL);
}

static void transfer(MPI_File file, const struct variable *variable, int first, int last,
                     bool reading, bool together)
{
    unsigned char data[BYTES], read[BYTES];
    int bytes = make(variable, first, last, data);
    MPI_Offset offset = first; /* 0, or in doubles */

    if (reading && together)
        check(MPI_File_read_all(file, read, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read_all");
    else if (reading)
        check(MPI_File_read(file, read, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    else if (together)
        check(MPI_File_write_at_all(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              "write_at_all");
    else
        check(MPI_File_write_at(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              "write_at");
    if (reading && memcmp(read, data, (size_t)bytes) != 0)
        check(MPI_ERR_IO, "what was read");
}

/* Accesses a variable by its view. If again is true, accesses it once more, maybe a shorter
   part. */
static void use(MPI_File file, struct variable *variable, bool again)
{
    bool reading = again && draw(2), together = draw(2), barrier = draw(2);
    int some = draw(ranks), first = 0, last = 0, pause = draw(3) * draw(4);

    for (int i = 0; i < ranks; i++) {
        int old = variable->reach[i], tiles = variable->count[i];
        if (variable->kind == PLAIN)
            tiles = (i + 1) * variable->count[0];
        else if (reading)
            tiles = draw(old + 1);
        else if (variable->kind == DEALT)
            tiles = i == some ? 1 + draw(TILES) : draw(TILES + 1);
        else if (again)
            tiles = draw(tiles + 1);
        variable->reach[i] = tiles > old ? tiles : old;
        if (i == rank)
            last = tiles;
    }
    if (variable->kind == PLAIN)
        first = rank * variable->count[0];
    use_view(file, variable);
    pause_for(pause * rank);
    transfer(file, variable, first, last, reading, together);
    if (barrier)
        check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static MPI_File open_it(const char *path, int mode)
{
    MPI_File file;
    MPI_Info info;

    check(MPI_Info_create(&info), "MPI_Info_create");
    /* Data sieving would write back bytes of other ranks. */
    check(MPI_Info_set(info, "romio_ds_write", "disable"), "MPI_Info_set");
    check(MPI_File_open(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, path,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | mode, info, &file),
          "MPI_File_open");
    check(MPI_Info_free(&info), "MPI_Info_free");
    return file;
}

static void open_and_use(const char *path, bool last)
{
    MPI_File file = open_it(path, 0);
    int count = plain ? 1 : 1 + draw(3), old = variable_count;

    for (int i = 0; i < count; i++) {
        int kind = plain ? PLAIN : draw(last && i + 1 == count ? 2 : 3);
        use(file, add_variable((enum kind)kind), false);
    }
    if (!plain && old && draw(2)) {
        struct variable *variable = &variables[draw(old)];
        /* A file has the data of all ranks only after all of them have closed it. */
        if (variable->kind != PLAIN)
            use(file, variable, true);
    }
    check(MPI_File_close(&file), "MPI_File_close");
}

/* Uses a file that is deleted when it is closed. */
static void use_scratch(const char *path)
{
    char scratch[256];
    MPI_File file;

    snprintf(scratch, sizeof(scratch), "%s.scratch%d", path, alone ? rank : 0);
    file = open_it(scratch, MPI_MODE_DELETE_ON_CLOSE);
    set_view(file, 8 * rank, MPI_INT, MPI_INT);
    check(MPI_File_write(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), "write");
    check(MPI_File_close(&file), "MPI_File_close");
}

static void keep_all(enum ending ending)
{
    unsigned char data[BYTES];
    int views = ending != FINALIZE && (plain || alone) ? 0 : variable_count;
    FILE *plan = rank == 0 ? fopen("plan", "w") : NULL;

    for (int i = 0; i < variable_count; i++) {
        int first = plain ? rank * variables[i].count[0] : 0;
        keep(data, (size_t)make(&variables[i], first, variables[i].reach[rank], data), i + 1);
    }
    if (rank == 0 && (plan == NULL || fprintf(plan, "%d\n", views) < 0 || fclose(plan)))
        check(MPI_ERR_IO, "plan");
}

int main(int argc, char **argv)
{
    enum ending ending;
    int openings;

    start(&argc, &argv, MPI_THREAD_SINGLE);
    state = argc == 3 && ranks <= MAX_RANKS ? strtoull(argv[1], NULL, 10) : 0;
    check(state ? MPI_SUCCESS : MPI_ERR_ARG, "arguments");
    state *= 0x9e3779b97f4a7c15;
    alone = draw(5) == 0;
    plain = !alone && draw(5) == 0;
    openings = 1 + draw(3);
    ending = draw(2) ? FINALIZE : draw(2) ? ABORT : EXIT;
    for (int i = 0; i < openings; i++)
        open_and_use(argv[2], i + 1 == openings);
    if (draw(3) == 0)
        use_scratch(argv[2]);
    keep_all(ending);
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    if (ending == ABORT)
        MPI_Abort(MPI_COMM_WORLD, 0);
    if (ending == EXIT)
        _exit(0);
    MPI_Finalize();
    return 0;
}
