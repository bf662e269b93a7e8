/* SPDX-License-Identifier: MIT */
#include "typetree.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tt_block {
    struct tt_block *next;
    _Alignas(16) char bytes[];
};

void *tt_alloc(struct tt_pool *pool, size_t size)
{
    struct tt_block *block = calloc(1, sizeof(*block) + size);
    if (block == NULL)
        abort();
    block->next = pool->blocks;
    pool->blocks = block;
    return block->bytes;
}

void tt_free(struct tt_pool *pool)
{
    while (pool->blocks) {
        struct tt_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
}

const struct tt_basic tt_basics[] = {
    {"byte", 1, 1, 1, MPI_BYTE},
    {"char", 1, 1, 1, MPI_CHAR},
    {"short", 2, 2, 2, MPI_SHORT},
    {"int", 4, 4, 4, MPI_INT},
    {"double", 8, 8, 8, MPI_DOUBLE},
    {"float", 4, 4, 4, MPI_FLOAT},
    {"long", 8, 4, 8, MPI_LONG},
    {"long_long_int", 8, 8, 8, MPI_LONG_LONG_INT},
    {"unsigned_char", 1, 1, 1, MPI_UNSIGNED_CHAR},
    {"signed_char", 1, 1, 1, MPI_SIGNED_CHAR},
    {"unsigned_short", 2, 2, 2, MPI_UNSIGNED_SHORT},
    {"unsigned", 4, 4, 4, MPI_UNSIGNED},
    {"unsigned_long", 8, 4, 8, MPI_UNSIGNED_LONG},
    {"unsigned_long_long", 8, 8, 8, MPI_UNSIGNED_LONG_LONG},
    {"wchar", 4, 2, 4, MPI_WCHAR},
    {"c_bool", 1, 1, 1, MPI_C_BOOL},
    {"int8_t", 1, 1, 1, MPI_INT8_T},
    {"int16_t", 2, 2, 2, MPI_INT16_T},
    {"int32_t", 4, 4, 4, MPI_INT32_T},
    {"int64_t", 8, 8, 8, MPI_INT64_T},
    {"uint8_t", 1, 1, 1, MPI_UINT8_T},
    {"uint16_t", 2, 2, 2, MPI_UINT16_T},
    {"uint32_t", 4, 4, 4, MPI_UINT32_T},
    {"uint64_t", 8, 8, 8, MPI_UINT64_T},
    {"aint", 8, 8, 8, MPI_AINT},
    {"count", 8, 8, 8, MPI_COUNT},
    {"offset", 8, 8, 8, MPI_OFFSET},
    {"c_complex", 8, 8, 4, MPI_C_COMPLEX},
    {"c_float_complex", 8, 8, 4, MPI_C_FLOAT_COMPLEX},
    {"c_double_complex", 16, 16, 8, MPI_C_DOUBLE_COMPLEX},
    {"long_double", 16, 16, 16, MPI_LONG_DOUBLE},
    {"integer", 4, 4, 4, MPI_INTEGER},
    {"real", 4, 4, 4, MPI_REAL},
    {"double_precision", 8, 8, 8, MPI_DOUBLE_PRECISION},
    {"complex", 8, 8, 4, MPI_COMPLEX},
    {"double_complex", 16, 16, 8, MPI_DOUBLE_COMPLEX},
    {"character", 1, 1, 1, MPI_CHARACTER},
    {"logical", 4, 4, 4, MPI_LOGICAL},
    {"packed", 1, 1, 1, MPI_PACKED},
};
const int tt_basic_count = sizeof(tt_basics) / sizeof(tt_basics[0]);

bool tt_is_same_basic(int one, int other)
{
    return tt_basics[one].mpi == tt_basics[other].mpi;
}

int64_t tt_value(struct tt_int value, int rank)
{
    return value.base + value.step * rank;
}

/* Prints an integer as an expression. In every spec "let" has zero = 0, two = 2 and mine = rank. */
static void print_int(FILE *out, struct tt_int value)
{
    int64_t base = value.base, step = value.step;

    if (step == 0) {
        int64_t half = base / 2;
        switch (value.form % 8) {
        case 5:
            fprintf(out, "\"%" PRId64 "\"", base);
            return;
        case 6:
            fprintf(out, "\" (%" PRId64 ")*two + %" PRId64 "\"", half, base - 2 * half);
            return;
        case 7:
            fprintf(out, "\"max(%" PRId64 ",zero+%" PRId64 ")\"", base - 1, base);
            return;
        default:
            fprintf(out, "%" PRId64, base);
            return;
        }
    }
    switch (value.form % 3) {
    case 0:
        fprintf(out, "\"%" PRId64 "+rank*%" PRId64 "\"", base, step);
        return;
    case 1:
        fprintf(out, "\"%" PRId64 " * mine - (0 - %" PRId64 ")\"", step, base);
        return;
    default:
        fprintf(out, "\"%" PRId64 "+(rank*two+zero)/2*%" PRId64 "\"", base, step);
    }
}

static void print_key(FILE *out, const char *key, struct tt_int value)
{
    fprintf(out, ", \"%s\": ", key);
    print_int(out, value);
}

static void print_array(FILE *out, const char *key, const struct tt_int *values, int count)
{
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        print_int(out, values[i]);
    }
    fputc(']', out);
}

static void print_basic(FILE *out, const struct tt_type *type)
{
    const char *name = tt_basics[type->basic].name;
    const char *prefix = type->form % 4 == 1 ? "MPI_" : type->form % 4 == 2 ? "mpi_" : "";

    fprintf(out, "\"%s", prefix);
    for (; *name; name++)
        fputc(type->form % 4 == 1 || type->form % 4 == 3 ? toupper(*name) : *name, out);
    fputc('"', out);
}

static const char *const kind_names[TT_KINDS] = {
    [TT_CONTIGUOUS] = "contiguous",
    [TT_VECTOR] = "vector",
    [TT_HVECTOR] = "hvector",
    [TT_INDEXED] = "indexed",
    [TT_HINDEXED] = "hindexed",
    [TT_INDEXED_BLOCK] = "indexed_block",
    [TT_HINDEXED_BLOCK] = "hindexed_block",
    [TT_STRUCT] = "struct",
    [TT_SUBARRAY] = "subarray",
    [TT_DARRAY] = "darray",
    [TT_RESIZED] = "resized",
    [TT_DUP] = "dup",
    [TT_BROADCAST] = "broadcast",
    [TT_SCATTER] = "scatter",
    [TT_HPF_BLOCK] = "hpf_block",
    [TT_HPF_CYCLIC] = "hpf_cyclic",
};

static void print_type(FILE *out, const struct tt_type *type);

static void print_struct_types(FILE *out, const struct tt_type *type)
{
    fputs(", \"types\": [", out);
    for (int i = 0; i < type->n; i++) {
        fputs(i ? ", " : "", out);
        print_type(out, type->types[i]);
    }
    fputc(']', out);
}

static void print_grid(FILE *out, const struct tt_type *type)
{
    static const char *const names[] = {"block", "cyclic", "none"};

    print_array(out, "gsizes", type->sizes, type->dims);
    fputs(", \"distribs\": [", out);
    for (int i = 0; i < type->dims; i++)
        fprintf(out, "%s\"%s\"", i ? ", " : "", names[type->distribs[i]]);
    fputs("], \"dargs\": [", out);
    for (int i = 0; i < type->dims; i++) {
        fputs(i ? ", " : "", out);
        if (type->dargs[i])
            fprintf(out, "%d", type->dargs[i]);
        else
            fputs("null", out);
    }
    fputs("], \"psizes\": [", out);
    for (int i = 0; i < type->dims; i++)
        fprintf(out, "%s%d", i ? ", " : "", type->psizes[i]);
    fputc(']', out);
}

static void print_keys(FILE *out, const struct tt_type *type)
{
    switch (type->kind) {
    case TT_CONTIGUOUS:
        print_key(out, "count", type->count);
        break;
    case TT_VECTOR:
    case TT_HVECTOR:
        print_key(out, "count", type->count);
        print_key(out, "blocklength", type->length);
        print_key(out, "stride", type->stride);
        break;
    case TT_INDEXED:
    case TT_HINDEXED:
    case TT_STRUCT:
        print_array(out, "blocklengths", type->lengths, type->n);
        print_array(out, "displacements", type->displs, type->n);
        break;
    case TT_INDEXED_BLOCK:
    case TT_HINDEXED_BLOCK:
        print_key(out, "blocklength", type->length);
        print_array(out, "displacements", type->displs, type->n);
        break;
    case TT_SUBARRAY:
        print_array(out, "sizes", type->sizes, type->dims);
        print_array(out, "subsizes", type->subsizes, type->dims);
        print_array(out, "starts", type->starts, type->dims);
        break;
    case TT_DARRAY:
        print_grid(out, type);
        break;
    case TT_RESIZED:
        print_key(out, "lb", type->lb);
        print_key(out, "extent", type->extent);
        break;
    case TT_HPF_BLOCK:
        print_key(out, "size", type->size);
        break;
    case TT_HPF_CYCLIC:
        print_key(out, "size", type->size);
        /* fall through */
    case TT_SCATTER:
        if (type->length.base != 1 || type->form % 2)
            print_key(out, "blocklength", type->length);
        break;
    default:
        break;
    }
}

static void print_type(FILE *out, const struct tt_type *type)
{
    if (type->kind == TT_BASIC) {
        print_basic(out, type);
        return;
    }
    if (type->kind == TT_NAMED) {
        fprintf(out, "\"%s\"", type->name);
        return;
    }
    if (type->kind == TT_ETYPE) {
        if (type->old)
            print_type(out, type->old);
        else
            fputs("\"etype\"", out);
        return;
    }
    fprintf(out, "{\"type\": \"%s\"", kind_names[type->kind]);
    print_keys(out, type);
    if (type->kind == TT_SUBARRAY || type->kind == TT_DARRAY)
        fprintf(out, ", \"order\": \"%s\"", type->fortran ? "Fortran" : "C");
    if (type->kind == TT_STRUCT) {
        print_struct_types(out, type);
    } else if (type->old->kind != TT_ETYPE || type->old->old || type->form % 2) {
        fputs(", \"oldtype\": ", out);
        print_type(out, type->old);
    }
    fputc('}', out);
}

static void print_over(FILE *out, const struct tt_view *view, int rank)
{
    const char *comma = "";

    fputc('{', out);
    if (view->over[rank].has_disp) {
        fputs("\"disp\": ", out);
        print_int(out, view->over[rank].disp);
        comma = ", ";
    }
    if (view->over[rank].etype) {
        fprintf(out, "%s\"etype\": ", comma);
        print_type(out, view->over[rank].etype);
        comma = ", ";
    }
    if (view->over[rank].filetype) {
        fprintf(out, "%s\"filetype\": ", comma);
        print_type(out, view->over[rank].filetype);
    }
    fputc('}', out);
}

static void print_view(FILE *out, const struct tt_view *view, int ranks)
{
    fputs("{\"disp\": ", out);
    print_int(out, view->disp);
    fputs(", \"etype\": ", out);
    print_type(out, view->etype);
    if (view->filetype) {
        fputs(", \"filetype\": ", out);
        print_type(out, view->filetype);
    }
    if (view->datarep)
        fprintf(out, ", \"datarep\": \"%s\"", view->datarep);
    if (view->per_rank) {
        fputs(", \"per_rank\": [", out);
        for (int i = 0; i < ranks; i++) {
            fputs(i ? ", " : "", out);
            print_over(out, view, i);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

void tt_print_spec(FILE *out, const struct tt_spec *spec)
{
    fprintf(out,
            "{\"viewspec\": 1, \"file\": \"data.bin\", \"ranks\": %d, "
            "\"let\": {\"zero\": 0, \"two\": \"1+1\", \"mine\": \"rank\"}",
            spec->ranks);
    if (spec->named_count > 0) {
        fputs(", \"types\": {", out);
        for (int i = 0; i < spec->named_count; i++) {
            fprintf(out, "%s\"%s\": ", i ? ", " : "", spec->named[i]->name);
            print_type(out, spec->named[i]->old);
        }
        fputc('}', out);
    }
    if (spec->view_count == 1) {
        fputs(", \"view\": ", out);
        print_view(out, &spec->views[0], spec->ranks);
    } else {
        fputs(", \"views\": {", out);
        for (int i = 0; i < spec->view_count; i++) {
            fprintf(out, "%s\"%s\": ", i ? ", " : "", spec->views[i].name);
            print_view(out, &spec->views[i], spec->ranks);
        }
        fputc('}', out);
    }
    fputs("}\n", out);
}
