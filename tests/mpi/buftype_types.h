/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BUFTYPE_TYPES_H
#define TESTS_BUFTYPE_TYPES_H

/*
 * Random filetypes and buftypes over the same etypes. Each is made three times at once: as the text
 * of a spec, as MPI's type, and as the displacements of its etypes in the file and in memory.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { FILE_SIDE, MEMORY, SIDES };

/* A type: how it is written, MPI's, and the model's. */
struct type {
    char *text;
    MPI_Datatype mpi;
    int count; /* etypes */
    struct {
        int64_t *at; /* where each etype's origin lies */
        int64_t lb, ub;
    } side[SIDES];
};

/* A value of an etype: its place in both, and its sizes. */
struct value {
    int file_at, memory_at, file, memory;
};

struct etype {
    const char *text;
    int count;
    struct value values[2];
    int file_extent, extent; /* external32's, and native */
};

enum { ETYPES = 6 };

extern const struct etype etypes[ETYPES];

struct sample {
    const struct etype *etype;
    bool external, swaps; /* the representation */
    struct type filetype, buftype;
    int tiles; /* those that are looked at */
    bool ends; /* ends after the tiles of the spec */
    int64_t disp, file_size, memory_size, packed;
    struct value *values; /* of all tiles, by the file's order; places count from 0 */
    int value_count;
    unsigned char *file, *other,
        *want; /* the file's bytes, others, and the slice that shows them */
    unsigned char *replace;
    unsigned char *is_data; /* of the slice */
};

/* The state that all random numbers come from. */
extern unsigned seed;

/* A random number from 0 on, below bound. */
int below(int bound);

int64_t extent_of(const struct type *type, int side);

/* Returns the text that printf would print. The caller frees it. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

void type_free(struct type *type);

/* A type that ascends, of so many etypes: factors are its loops, the innermost first. */
struct type make_filetype(const struct sample *sample, const int *factors);

/* A type of as many etypes, in any order. */
struct type make_buftype(const struct sample *sample, const int *factors);

/* A number in three factors, in another order or other ones. */
void refactor(int *factors);

#endif
