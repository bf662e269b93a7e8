/* SPDX-License-Identifier: MIT */
#include "datatype.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/* Converting datatypes to viewspec(5). */

/* The predefined types, in the order of viewspec/basic.h. A type that MPI libraries lack is
   MPI_DATATYPE_NULL. */
/* clang-format off */
static const MPI_Datatype basics[] = {
    MPI_PACKED, MPI_BYTE, MPI_CHAR, MPI_UNSIGNED_CHAR, MPI_SIGNED_CHAR, MPI_WCHAR,
    MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG,
    MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE,
    MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
    MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET,
    MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
    MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION,
    MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
    MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16,
    MPI_DATATYPE_NULL, MPI_REAL4, MPI_REAL8, MPI_REAL16,
    MPI_DATATYPE_NULL, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32,
    MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX,
};
/* clang-format on */
_Static_assert(sizeof(basics) / sizeof(*basics) == VS_BASICS, "a datatype for each basic type");

/* Predefined types of two values, for MPI_MINLOC, as structs. */
static const struct pair {
    MPI_Datatype type;
    const char *first, *second; /* names of basic types */
    int displacement;           /* of the second value, in bytes */
} pairs[] = {
    {MPI_FLOAT_INT, "float", "int", 4},
    {MPI_DOUBLE_INT, "double", "int", 8},
    {MPI_LONG_INT, "long", "int", 8},
    {MPI_SHORT_INT, "short", "int", 4},
    {MPI_2INT, "int", "int", 4},
    {MPI_LONG_DOUBLE_INT, "long_double", "int", 16},
    {MPI_2INTEGER, "integer", "integer", 4},
    {MPI_2REAL, "real", "real", 4},
    {MPI_2DOUBLE_PRECISION, "double_precision", "double_precision", 8},
};

const struct vs_basic *capture_basic(MPI_Datatype type)
{
    size_t i = 0;

    while (i < VS_BASICS && (type == MPI_DATATYPE_NULL || basics[i] != type))
        i++;
    return vs_basic_at(i);
}

/* Decoding. */

__attribute__((format(printf, 2, 3))) static json_t *refuse(struct capture_decoder *decoder,
                                                            const char *format, ...)
{
    va_list args;

    if (decoder->why[0])
        return NULL;
    va_start(args, format);
    vsnprintf(decoder->why, sizeof(decoder->why), format, args);
    va_end(args);
    return NULL;
}

/* Returns a basic type, or its bytes if decoder->bytes is set. */
static json_t *basic_type(struct capture_decoder *decoder, const char *name, int64_t size)
{
    decoder->mixed = decoder->mixed || (decoder->leaf && strcmp(decoder->leaf, name) != 0);
    decoder->leaf = name;
    if (!decoder->bytes)
        return json_string(name);
    return size == 1 ? json_string("byte")
                     : json_pack("{s:s, s:I, s:s}", "type", "contiguous", "count", (json_int_t)size,
                                 "oldtype", "byte");
}

static int64_t size_of(MPI_Datatype type)
{
    MPI_Count size = 0;

    PMPI_Type_size_x(type, &size);
    return size;
}

/* Wraps the type in a resized one with the bounds that MPI reports. */
static json_t *bounded_type(MPI_Datatype type, json_t *oldtype)
{
    MPI_Aint lb = 0, extent = 0;

    PMPI_Type_get_extent(type, &lb, &extent);
    return json_pack("{s:s, s:I, s:I, s:o}", "type", "resized", "lb", (json_int_t)lb, "extent",
                     (json_int_t)extent, "oldtype", oldtype);
}

static json_t *pair_type(struct capture_decoder *decoder, MPI_Datatype type,
                         const struct pair *pair)
{
    int64_t second = strcmp(pair->second, "double_precision") == 0 ? 8 : 4;
    json_t *first = basic_type(decoder, pair->first, size_of(type) - second);
    json_t *json = json_pack("{s:s, s:[i,i], s:[i,i], s:[o,o]}", "type", "struct", "blocklengths",
                             1, 1, "displacements", 0, pair->displacement, "types", first,
                             basic_type(decoder, pair->second, second));

    return decoder->bytes ? bounded_type(type, json) : json;
}

static json_t *named_type(struct capture_decoder *decoder, MPI_Datatype type)
{
    const struct vs_basic *basic = capture_basic(type);
    char unknown[MPI_MAX_OBJECT_NAME] = "";
    int length;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i].type == type)
            return pair_type(decoder, type, &pairs[i]);
    if (basic)
        return basic_type(decoder, basic->name, size_of(type));
    if (PMPI_Type_get_name(type, unknown, &length) || !unknown[0])
        snprintf(unknown, sizeof(unknown), "0x%llx", (unsigned long long)(uintptr_t)type);
    return refuse(decoder, "viewspec(5) has no basic type for MPI's %s", unknown);
}

/* Converts a parametrized type of Fortran 90 to the basic type of its size. */
static json_t *parametrised_type(struct capture_decoder *decoder, int combiner, MPI_Datatype type)
{
    const char *kind = combiner == MPI_COMBINER_F90_INTEGER ? "integer"
                       : combiner == MPI_COMBINER_F90_REAL  ? "real"
                                                            : "complex";
    int64_t size = size_of(type);
    const struct vs_basic *basic;
    char name[32];

    snprintf(name, sizeof(name), "%s%lld", kind, (long long)size);
    basic = vs_basic_find(name);
    return basic ? basic_type(decoder, basic->name, size)
                 : refuse(decoder, "a Fortran 90 type of %lld bytes", (long long)size);
}

static void put_key(json_t *json, const char *key, int64_t value)
{
    json_object_set_new(json, key, json_integer(value));
}

static void put_list(json_t *json, const char *key, int64_t count,
                     int64_t (*take)(struct capture_contents *), struct capture_contents *contents)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < count && !contents->broken; i++)
        json_array_append_new(list, json_integer(take(contents)));
    json_object_set_new(json, key, list);
}

/* Adds the lists of indexed, hindexed and struct. Their _block forms have one length for all
   blocks. */
static void put_blocks(json_t *json, struct capture_contents *contents, bool one_length,
                       bool in_bytes)
{
    int64_t count = capture_take_count(contents);

    if (one_length)
        put_key(json, "blocklength", capture_take_count(contents));
    else
        put_list(json, "blocklengths", count, capture_take_count, contents);
    put_list(json, "displacements", count, in_bytes ? capture_take_address : capture_take_count,
             contents);
}

static void put_subarray(json_t *json, struct capture_contents *contents)
{
    int64_t dims = capture_take_int(contents);
    bool fortran;

    put_list(json, "sizes", dims, capture_take_count, contents);
    put_list(json, "subsizes", dims, capture_take_count, contents);
    put_list(json, "starts", dims, capture_take_count, contents);
    fortran = capture_take_int(contents) == MPI_ORDER_FORTRAN;
    json_object_set_new(json, "order", json_string(fortran ? "Fortran" : "C"));
}

/* Converts a constructor that has one oldtype, with its arguments. Returns NULL for others. */
static json_t *constructor_type(struct capture_contents *contents)
{
    static const char *const names[] = {
        [MPI_COMBINER_CONTIGUOUS] = "contiguous",
        [MPI_COMBINER_VECTOR] = "vector",
        [MPI_COMBINER_HVECTOR] = "hvector",
        [MPI_COMBINER_INDEXED] = "indexed",
        [MPI_COMBINER_HINDEXED] = "hindexed",
        [MPI_COMBINER_INDEXED_BLOCK] = "indexed_block",
        [MPI_COMBINER_HINDEXED_BLOCK] = "hindexed_block",
        [MPI_COMBINER_SUBARRAY] = "subarray",
        [MPI_COMBINER_RESIZED] = "resized",
    };
    size_t combiner = (size_t)contents->combiner;
    bool in_bytes = combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_HINDEXED ||
                    combiner == MPI_COMBINER_HINDEXED_BLOCK;
    json_t *json;

    if (combiner >= sizeof(names) / sizeof(*names) || !names[combiner])
        return NULL;
    json = json_pack("{s:s}", "type", names[combiner]);
    switch (contents->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        put_key(json, "count", capture_take_count(contents));
        break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        put_key(json, "count", capture_take_count(contents));
        put_key(json, "blocklength", capture_take_count(contents));
        put_key(json, "stride",
                in_bytes ? capture_take_address(contents) : capture_take_count(contents));
        break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        put_blocks(json, contents, false, in_bytes);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        put_blocks(json, contents, true, in_bytes);
        break;
    case MPI_COMBINER_SUBARRAY:
        put_subarray(json, contents);
        break;
    default:
        put_key(json, "lb", capture_take_address(contents));
        put_key(json, "extent", capture_take_address(contents));
    }
    return json;
}

/* Distributed arrays: the part that a rank owns. */

/* The maximum number of blocks of cyclic darrays in a view that are listed one by one. */
#define MAX_DEALT (1 << 21)

/* One dimension of an array that is distributed over a grid of ranks. */
struct dimension {
    int64_t gsize, distrib, darg, psize;
    int64_t coordinate; /* of the rank in the grid */
};

struct darray {
    int64_t ranks, rank, count;
    bool fortran;
    struct dimension *dims;
};

static int read_darray(struct capture_contents *contents, struct darray *darray)
{
    darray->ranks = capture_take_int(contents);
    darray->rank = capture_take_int(contents);
    darray->count = capture_take_int(contents);
    if (darray->count < 1 || darray->count > contents->int_count)
        return -1;
    darray->dims = calloc((size_t)darray->count, sizeof(*darray->dims));
    if (!darray->dims)
        return -1;
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].gsize = capture_take_count(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].distrib = capture_take_int(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].darg = capture_take_int(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].psize = capture_take_int(contents);
    darray->fortran = capture_take_int(contents) == MPI_ORDER_FORTRAN;
    return contents->broken ? -1 : 0;
}

static json_t *as_darray(const struct darray *darray, json_t *oldtype)
{
    json_t *gsizes = json_array(), *distribs = json_array(), *dargs = json_array(),
           *psizes = json_array();

    for (int64_t i = 0; i < darray->count; i++) {
        const struct dimension *dim = &darray->dims[i];
        json_array_append_new(gsizes, json_integer(dim->gsize));
        json_array_append_new(psizes, json_integer(dim->psize));
        json_array_append_new(distribs,
                              json_string(dim->distrib == MPI_DISTRIBUTE_BLOCK    ? "block"
                                          : dim->distrib == MPI_DISTRIBUTE_CYCLIC ? "cyclic"
                                                                                  : "none"));
        json_array_append_new(dargs, dim->distrib == MPI_DISTRIBUTE_NONE ||
                                             dim->darg == MPI_DISTRIBUTE_DFLT_DARG
                                         ? json_null()
                                         : json_integer(dim->darg));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:O}", "type", "darray", "gsizes", gsizes,
                     "distribs", distribs, "dargs", dargs, "psizes", psizes, "order",
                     darray->fortran ? "Fortran" : "C", "oldtype", oldtype);
}

/* Ranks number the grid with its last dimension fastest, whatever the array's order is. */
static void find_coordinates(struct darray *darray)
{
    int64_t rest = darray->rank;

    for (int64_t i = darray->count - 1; i >= 0; i--) {
        darray->dims[i].coordinate = rest % darray->dims[i].psize;
        rest /= darray->dims[i].psize;
    }
}

/* Returns the length of the blocks that are distributed cyclically. With block and none, each
   rank has one block. */
static int64_t block_length(const struct dimension *dim)
{
    if (dim->distrib == MPI_DISTRIBUTE_NONE)
        return dim->gsize;
    if (dim->darg != MPI_DISTRIBUTE_DFLT_DARG)
        return dim->darg;
    return dim->distrib == MPI_DISTRIBUTE_CYCLIC ? 1 : (dim->gsize + dim->psize - 1) / dim->psize;
}

static json_t *as_subarray(const struct darray *darray, json_t *oldtype)
{
    json_t *sizes = json_array(), *subsizes = json_array(), *starts = json_array();

    for (int64_t i = 0; i < darray->count; i++) {
        const struct dimension *dim = &darray->dims[i];
        int64_t block = block_length(dim), start = vs_min(dim->coordinate * block, dim->gsize);
        json_array_append_new(sizes, json_integer(dim->gsize));
        json_array_append_new(starts, json_integer(start));
        json_array_append_new(subsizes, json_integer(vs_min(dim->gsize - start, block)));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:O}", "type", "subarray", "sizes", sizes,
                     "subsizes", subsizes, "starts", starts, "order",
                     darray->fortran ? "Fortran" : "C", "oldtype", oldtype);
}

/* Describes one dimension: its blocks in units of oldtype, which is stolen, and its extent. */
static json_t *dealt_dimension(struct capture_decoder *decoder, const struct dimension *dim,
                               int64_t extent, json_t *oldtype)
{
    int64_t block = block_length(dim);
    json_t *lengths, *displacements;

    decoder->dealt = vs_add_capped(decoder->dealt, dim->gsize / (block * dim->psize) + 1);
    if (decoder->dealt > MAX_DEALT) {
        json_decref(oldtype);
        return refuse(decoder, "a cyclic darray for another rank with more than %d blocks",
                      MAX_DEALT);
    }
    lengths = json_array();
    displacements = json_array();
    for (int64_t at = dim->coordinate * block; at < dim->gsize; at += block * dim->psize) {
        json_array_append_new(displacements, json_integer(at));
        json_array_append_new(lengths, json_integer(vs_min(dim->gsize - at, block)));
    }
    return json_pack("{s:s, s:i, s:I, s:{s:s, s:o, s:o, s:o}}", "type", "resized", "lb", 0,
                     "extent", (json_int_t)(extent * dim->gsize), "oldtype", "type", "indexed",
                     "blocklengths", lengths, "displacements", displacements, "oldtype", oldtype);
}

static json_t *as_indexed(struct capture_decoder *decoder, const struct darray *darray,
                          int64_t extent, json_t *oldtype)
{
    json_t *json = json_incref(oldtype);

    for (int64_t i = 0; i < darray->count && json != NULL; i++) {
        const struct dimension *dim = &darray->dims[darray->fortran ? i : darray->count - 1 - i];
        json = dealt_dimension(decoder, dim, extent, json);
        extent *= dim->gsize;
    }
    return json;
}

/* Returns true if a rank has several blocks in some dimension. */
static bool is_cyclic(const struct darray *darray)
{
    for (int64_t i = 0; i < darray->count; i++)
        if (darray->dims[i].distrib == MPI_DISTRIBUTE_CYCLIC)
            return true;
    return false;
}

/*
 * Converts a distributed array (MPI 3.1, 4.1.4) over oldtype (borrowed) with that extent in bytes.
 * It remains a darray if it describes the process's own rank. For another rank, or a grid that is
 * not the file's communicator, that rank's part is written out: as a subarray, or as an indexed
 * type if it is cyclic. Returns a new reference, or NULL and decoder->why.
 */
static json_t *darray_type(struct capture_decoder *decoder, struct capture_contents *contents,
                           int64_t extent, json_t *oldtype)
{
    struct darray darray = {0};
    json_t *json = NULL;

    if (!read_darray(contents, &darray)) {
        find_coordinates(&darray);
        if (darray.ranks == decoder->ranks && darray.rank == decoder->rank)
            json = as_darray(&darray, oldtype);
        else if (!is_cyclic(&darray))
            json = as_subarray(&darray, oldtype);
        else if (!decoder->scaled)
            json = as_indexed(decoder, &darray, extent, oldtype);
        else
            refuse(decoder,
                   "a cyclic darray for rank %lld of %lld, whose extents a data representation "
                   "changes",
                   (long long)darray.rank, (long long)darray.ranks);
    }
    free(darray.dims);
    return json;
}

/* Structures, and types of all kinds. */

/*
 * Converts a struct. If its bounds in MPI differ from its data's bounds, they are written
 * explicitly: MPI libraries disagree on the bounds of types whose members have bounds of their own.
 */
static json_t *structure_type(struct capture_decoder *decoder, MPI_Datatype type,
                              struct capture_contents *contents)
{
    json_t *lengths, *displacements, *types = json_array(),
                                     *json = json_pack("{s:s}", "type", "struct");
    bool outer = decoder->bounded, marked = decoder->bytes;

    decoder->bounded = false;
    put_blocks(json, contents, false, true);
    lengths = json_object_get(json, "blocklengths");
    displacements = json_object_get(json, "displacements");
    for (MPI_Count i = 0; i < contents->type_count; i++) {
        if (contents->types[i] == MPI_LB || contents->types[i] == MPI_UB) { /* bounds of MPI-1 */
            json_array_remove(lengths, json_array_size(types));
            json_array_remove(displacements, json_array_size(types));
            marked = true;
            continue;
        }
        json_t *member = capture_decode(decoder, contents->types[i]);
        if (member == NULL)
            break;
        json_array_append_new(types, member);
    }
    json_object_set_new(json, "types", types);
    if (marked || decoder->bounded)
        json = bounded_type(type, json);
    decoder->bounded = decoder->bounded || marked || outer;
    if (decoder->why[0]) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* Converts a type that has one oldtype. */
static json_t *derived_type(struct capture_decoder *decoder, struct capture_contents *contents)
{
    json_t *oldtype = capture_decode(decoder, contents->types[0]), *json;
    MPI_Aint lb, extent = 0;

    if (oldtype == NULL || contents->combiner == MPI_COMBINER_DUP)
        return oldtype;
    if (contents->combiner == MPI_COMBINER_DARRAY) {
        PMPI_Type_get_extent(contents->types[0], &lb, &extent);
        json = darray_type(decoder, contents, extent, oldtype);
    } else {
        json = constructor_type(contents);
        if (json)
            json_object_set(json, "oldtype", oldtype);
    }
    json_decref(oldtype);
    decoder->bounded = decoder->bounded || contents->combiner == MPI_COMBINER_RESIZED ||
                       contents->combiner == MPI_COMBINER_SUBARRAY ||
                       contents->combiner == MPI_COMBINER_DARRAY;
    return json ? json : refuse(decoder, "a datatype of combiner %d", contents->combiner);
}

static json_t *decode_type(struct capture_decoder *decoder, MPI_Datatype type,
                           struct capture_contents *contents)
{
    json_t *json;

    switch (contents->combiner) {
    case MPI_COMBINER_NAMED:
        return named_type(decoder, type);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return parametrised_type(decoder, contents->combiner, type);
    case MPI_COMBINER_STRUCT:
        json = structure_type(decoder, type, contents);
        break;
    default:
        json = contents->type_count == 1
                   ? derived_type(decoder, contents)
                   : refuse(decoder, "a datatype of combiner %d", contents->combiner);
    }
    if (json && contents->broken) {
        json_decref(json);
        return refuse(decoder, "a datatype whose contents MPI does not tell (combiner %d)",
                      contents->combiner);
    }
    return json;
}

json_t *capture_decode(struct capture_decoder *decoder, MPI_Datatype type)
{
    struct capture_contents contents;
    json_t *json = NULL;
    int error;

    if (decoder->depth == CAPTURE_MAX_DEPTH)
        return refuse(decoder, "a datatype nested more than %d deep", CAPTURE_MAX_DEPTH);
    decoder->depth++;
    error = capture_contents_get(type, &contents);
    json = error ? refuse(decoder, "a datatype cannot be decoded: %s", strerror(-error))
                 : decode_type(decoder, type, &contents);
    capture_contents_free(&contents);
    decoder->depth--;
    return json || decoder->why[0] ? json : refuse(decoder, "%s", strerror(ENOMEM));
}
