/* SPDX-License-Identifier: MIT */
#include "buftype_types.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ETYPES 4096
#define MAX_TEXT   (1 << 17)

const struct etype etypes[ETYPES] = {
    {"\"byte\"", 1, {{0, 0, 1, 1}}, 1, 1},
    {"\"int\"", 1, {{0, 0, 4, 4}}, 4, 4},
    {"\"double\"", 1, {{0, 0, 8, 8}}, 8, 8},
    {"\"long\"", 1, {{0, 0, 4, 8}}, 4, 8},
    {"{\"type\":\"struct\",\"blocklengths\":[1,1],\"displacements\":[0,8],\"types\":[\"char\","
     "\"double\"]}",
     2,
     {{0, 0, 1, 1}, {8, 8, 8, 8}},
     16,
     16},
    {"{\"type\":\"resized\",\"lb\":0,\"extent\":11,\"oldtype\":\"int\"}",
     1,
     {{0, 0, 4, 4}},
     11,
     11},
};

unsigned seed;

int below(int bound)
{
    return (int)((unsigned)rand_r(&seed) % (unsigned)bound);
}

int64_t extent_of(const struct type *type, int side)
{
    return type->side[side].ub - type->side[side].lb;
}

char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    return text;
}

void type_free(struct type *type)
{
    free(type->text);
    free(type->side[FILE_SIDE].at);
    free(type->side[MEMORY].at);
    MPI_Type_free(&type->mpi);
}

static MPI_Datatype mpi_etype(const struct etype *etype)
{
    const MPI_Datatype basics[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_LONG};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE}, type;
    MPI_Aint displacements[2] = {0, 8};
    int lengths[2] = {1, 1};

    if (etype - etypes < 4)
        MPI_Type_dup(basics[etype - etypes], &type);
    else if (etype - etypes == 4)
        MPI_Type_create_struct(2, lengths, displacements, types, &type);
    else
        MPI_Type_create_resized(MPI_INT, 0, 11, &type);
    return type;
}

static struct type make_leaf(const struct sample *sample)
{
    const struct etype *etype = sample->etype;
    struct type type = {strdup("\"etype\""), mpi_etype(etype), 1, {{0}}};

    for (int s = 0; s < SIDES; s++) {
        type.side[s].at = calloc(1, sizeof(int64_t));
        type.side[s].ub = s == FILE_SIDE && sample->external ? etype->file_extent : etype->extent;
    }
    return type;
}

/* Makes `times` instances of old. displacements are in units of its extent, or in bytes. */
static struct type place(const struct type *old, int times, const int64_t *displacements,
                         bool bytes)
{
    struct type type = {.count = old->count * times};

    for (int s = 0; s < SIDES; s++) {
        type.side[s].at = calloc((size_t)type.count, sizeof(int64_t));
        type.side[s].lb = INT64_MAX;
        type.side[s].ub = INT64_MIN;
        for (int i = 0; i < times; i++) {
            int64_t by = displacements[i] * (bytes ? 1 : extent_of(old, s));

            for (int e = 0; e < old->count; e++)
                type.side[s].at[i * old->count + e] = by + old->side[s].at[e];
            if (by + old->side[s].lb < type.side[s].lb)
                type.side[s].lb = by + old->side[s].lb;
            if (by + old->side[s].ub > type.side[s].ub)
                type.side[s].ub = by + old->side[s].ub;
        }
    }
    return type;
}

/* Makes a list type. Takes ownership of old. */
static struct type make_list(struct type old, int times, const int64_t *displacements, bool bytes)
{
    struct type type = place(&old, times, displacements, bytes);
    MPI_Aint at[MAX_ETYPES];
    size_t used;

    type.text = malloc(MAX_TEXT);
    used = (size_t)snprintf(type.text, MAX_TEXT,
                            "{\"type\":\"%sindexed_block\",\"blocklength\":1,\"displacements\":[",
                            bytes ? "h" : "");
    for (int i = 0; i < times; i++) {
        at[i] = (MPI_Aint)(displacements[i] * (bytes ? 1 : extent_of(&old, MEMORY)));
        used += (size_t)snprintf(type.text + used, MAX_TEXT - used, "%s%" PRId64, i ? "," : "",
                                 displacements[i]);
    }
    snprintf(type.text + used, MAX_TEXT - used, "],\"oldtype\":%s}", old.text);
    MPI_Type_create_hindexed_block(times, 1, at, old.mpi, &type.mpi);
    type_free(&old);
    return type;
}

/* Makes a vector. Takes ownership of old. */
static struct type make_vector(struct type old, int times, int64_t stride, bool bytes)
{
    int64_t displacements[MAX_ETYPES];
    struct type type;

    for (int i = 0; i < times; i++)
        displacements[i] = i * stride;
    type = place(&old, times, displacements, bytes);
    type.text = text_of("{\"type\":\"%svector\",\"count\":%d,\"blocklength\":1,\"stride\":%" PRId64
                        ",\"oldtype\":%s}",
                        bytes ? "h" : "", times, stride, old.text);
    MPI_Type_create_hvector(times, 1, (MPI_Aint)(stride * (bytes ? 1 : extent_of(&old, MEMORY))),
                            old.mpi, &type.mpi);
    type_free(&old);
    return type;
}

/* Makes a resized type. Takes ownership of old. */
static struct type make_resized(struct type old, int64_t lb, int64_t extent)
{
    struct type type = old;

    type.text =
        text_of("{\"type\":\"resized\",\"lb\":%" PRId64 ",\"extent\":%" PRId64 ",\"oldtype\":%s}",
                lb, extent, old.text);
    MPI_Type_create_resized(old.mpi, lb, extent, &type.mpi);
    for (int s = 0; s < SIDES; s++) {
        type.side[s].lb = lb;
        type.side[s].ub = lb + extent;
    }
    MPI_Type_free(&old.mpi);
    free(old.text);
    return type;
}

static struct type make_subarray(struct type old, const int *part, bool fortran)
{
    int sizes[3], starts[3], times = 0;
    int64_t displacements[MAX_ETYPES], whole;
    struct type type;

    for (int d = 0; d < 3; d++) {
        sizes[d] = part[d] + below(3);
        starts[d] = below(sizes[d] - part[d] + 1);
    }
    for (int i = 0; i < part[0] * part[1] * part[2]; i++) {
        int fast = fortran ? 0 : 2, slow = 2 - fast;
        int a = i % part[fast], b = i / part[fast] % part[1], c = i / part[fast] / part[1];

        displacements[times++] = (int64_t)(c + starts[slow]) * sizes[1] * sizes[fast] +
                                 (int64_t)(b + starts[1]) * sizes[fast] + a + starts[fast];
    }
    whole = (int64_t)sizes[0] * sizes[1] * sizes[2];
    type = place(&old, times, displacements, false);
    for (int s = 0; s < SIDES; s++) {
        type.side[s].lb = 0;
        type.side[s].ub = whole * extent_of(&old, s);
    }
    type.text = text_of("{\"type\":\"subarray\",\"sizes\":[%d,%d,%d],\"subsizes\":[%d,%d,%d],"
                        "\"starts\":[%d,%d,%d],\"order\":\"%s\",\"oldtype\":%s}",
                        sizes[0], sizes[1], sizes[2], part[0], part[1], part[2], starts[0],
                        starts[1], starts[2], fortran ? "Fortran" : "C", old.text);
    MPI_Type_create_subarray(3, sizes, part, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                             old.mpi, &type.mpi);
    type_free(&old);
    return type;
}

struct type make_filetype(const struct sample *sample, const int *factors)
{
    struct type type = make_leaf(sample);
    int64_t displacements[MAX_ETYPES], at = 0;

    if (below(3) == 0)
        return make_subarray(type, (int[]){factors[2], factors[1], factors[0]}, false);
    for (int d = 0; d < 3; d++) {
        if (below(4) == 0) {
            at = below(2);
            for (int i = 0; i < factors[d]; i++, at += 1 + (below(3) == 0))
                displacements[i] = at;
            type = make_list(type, factors[d], displacements, false);
        } else {
            type = make_vector(type, factors[d], 1 + (below(3) == 0), false);
        }
    }
    return type;
}

static void shuffle(int64_t *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int other = below(i + 1);
        int64_t swap = list[i];

        list[i] = list[other];
        list[other] = swap;
    }
}

/* Makes nested loops in another order in memory. Strides are those of packed loops, or a little
   larger. */
static struct type make_nest(const struct sample *sample, const int *factors)
{
    struct type type = make_leaf(sample);
    int64_t order[3] = {0, 1, 2}, strides[3], stride = extent_of(&type, MEMORY);
    int64_t shift = 0;

    shuffle(order, 3);
    for (int i = 0; i < 3; i++) {
        int d = (int)order[i];

        strides[d] = stride;
        stride = stride * factors[d] + (below(3) == 0 ? below(9) : 0);
        if (below(12) == 0)
            stride -= below(4); /* loops may overlap */
        if (below(6) == 0 && factors[d] > 1) {
            shift += strides[d] * (factors[d] - 1);
            strides[d] = -strides[d];
        }
    }
    for (int d = 0; d < 3; d++)
        type = make_vector(type, factors[d], strides[d], true);
    return shift ? make_list(type, 1, &shift, true) : type;
}

/* Makes blocks in any order, at displacements that usually do not overlap. */
static struct type make_blocks(const struct sample *sample, const int *factors)
{
    struct type type = make_leaf(sample);
    int64_t displacements[MAX_ETYPES], room;
    int times = factors[1] * factors[2];

    type = make_vector(type, factors[0], 1 + (below(4) == 0), false);
    room = extent_of(&type, MEMORY) + below(3);
    for (int i = 0; i < times; i++)
        displacements[i] = (i + 1) * room + 3 - (below(200) == 0);
    shuffle(displacements, times);
    return make_list(type, times, displacements, true);
}

struct type make_buftype(const struct sample *sample, const int *factors)
{
    struct type type;

    switch (below(4)) {
    case 0:
        type = make_blocks(sample, factors);
        break;
    case 1:
        type = make_subarray(make_leaf(sample), factors, below(2));
        break;
    default:
        type = make_nest(sample, factors);
    }
    if (below(4) == 0)
        type = make_resized(type, below(5) - 2, extent_of(&type, MEMORY) + below(20) - 5);
    else if (below(6) == 0)
        type = make_resized(type, 0, sample->etype->extent * (1 + below(3)));
    return type;
}

void refactor(int *factors)
{
    int64_t order[3] = {factors[0], factors[1], factors[2]};

    shuffle(order, 3);
    for (int d = 0; d < 3; d++)
        factors[d] = (int)order[d];
    for (int d = 0; d < 2 && below(2); d++) {
        int divisor = 1 + below(4);

        if (factors[d] % divisor == 0) {
            factors[d] /= divisor;
            factors[d + 1] *= divisor;
        }
    }
}
