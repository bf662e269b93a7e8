/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BUFTYPE_TYPES_H
#define TESTS_BUFTYPE_TYPES_H

/*
 * Random filetypes and buftypes over the same etypes. Each is made in three forms at once: as the
 * text of a spec, as MPI's type, and as the displacements of its etypes in the file and in memory.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { FILE_SIDE, MEMORY, SIDES };

/* A type in three forms: a spec's text, MPI's type, and the model's. */
struct type {
    char *text;
    MPI_Datatype mpi;
    int count; /* etypes */
    struct {
        int64_t *at; /* the displacement of each etype's origin */
        int64_t lb, ub;
    } side[SIDES];
};

/* A value of an etype: its displacements and sizes in the file and in memory. */
struct value {
    int file_at, memory_at, file, memory;
};

struct etype {
    const char *text;
    int count;
    struct value values[2];
    int file_extent, extent; /* in external32, and native */
};

enum { ETYPES = 6 };

extern const struct etype etypes[ETYPES];

struct sample {
    const struct etype *etype;
    bool external, swaps; /* the representation */
    struct type filetype, buftype;
    int tiles; /* tiles that are checked */
    bool ends; /* the view ends after the tiles of the spec */
    int64_t disp, file_size, memory_size, packed;
    struct value *values; /* of all tiles, in the file's order; displacements count from 0 */
    int value_count;
    unsigned char *file, *other,
        *want; /* the file's bytes, other bytes, and the slice that shows them */
    unsigned char *replace;
    unsigned char *is_data; /* by byte of the slice */
};

/* The state of all random numbers. */
extern unsigned seed;

/* Returns a random number from 0 to bound - 1. */
int below(int bound);

int64_t extent_of(const struct type *type, int side);

/* Returns the text that printf would print. The caller frees it. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

void type_free(struct type *type);

/* Makes an ascending type of as many etypes as the product of factors. These are its loops,
   innermost first. */
struct type make_filetype(const struct sample *sample, const int *factors);

/* Makes a type of as many etypes, in any order. */
struct type make_buftype(const struct sample *sample, const int *factors);

/* Replaces three factors by others with the same product, or reorders them. */
void refactor(int *factors);

#endif
