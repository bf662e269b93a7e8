/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export_private.h"
#include "viewspec/types/byte_order.h"

/*
 * Files of VTK's ImageData in XML, with raw appended data, and the file of the parallel form that
 * refers to them. Elements are cells, so that the parts of neighboring ranks meet without a gap.
 * VTK's first axis varies fastest.
 */

/* The most ranks that one file refers to. */
#define RANKS_MAX 65536

/* Returns VTK's name of the type of a field's numbers, or NULL if VTK has no such type. */
static const char *type_of(const struct vs_basic *basic)
{
    static const char *const integers[] = {
        [1] = "Int8", [2] = "Int16", [4] = "Int32", [8] = "Int64"};
    static const char *const naturals[] = {
        [1] = "UInt8", [2] = "UInt16", [4] = "UInt32", [8] = "UInt64"};
    int size = basic->size / basic->parts;

    if (basic->kind == VS_FLOAT)
        return size == 4 ? "Float32" : size == 8 ? "Float64" : NULL;
    if (size > 8)
        return NULL;
    return basic->kind == VS_INTEGER || basic->kind == VS_LOGICAL ? integers[size] : naturals[size];
}

static int check(const struct vs_global *global, int64_t file_size, struct vs_error *error)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    int64_t usable = 0;

    if (facts->dimensions < 1 || facts->dimensions > 3)
        return vs_export_fail(error, "VTK's ImageData has 1 to 3 dimensions");
    if (facts->records && vs_global_records(global, file_size) != 1)
        return vs_export_fail(error, "VTK's ImageData has no records (\"tiles\" limits them)");
    for (int64_t d = 0; d < facts->dimensions; d++)
        if (facts->sizes[d] > INT32_MAX)
            return vs_export_fail(error, "VTK's ImageData has at most %d elements in a dimension",
                                  INT32_MAX);
    for (int64_t i = 0; i < facts->fields; i++)
        usable += type_of(facts->field[i].basic) != NULL;
    return usable ? 0 : vs_export_fail(error, "VTK has no type for the values");
}

/* Returns the array's dimension of an axis of VTK. */
static int64_t dimension_of(const struct vs_global_facts *facts, int64_t axis)
{
    return facts->fortran ? axis : facts->dimensions - 1 - axis;
}

/* Writes an extent. 0 to 0 is an axis that the image lacks, so nothing at all is 0 to -1. */
static void put_extent(FILE *out, const char *key, const struct vs_shown *shown)
{
    const struct vs_global_facts *facts = vs_global_facts(shown->global);
    long long extent[3][2] = {{0}};

    for (int64_t axis = 0; axis < 3; axis++) {
        if (shown->cells == 0) {
            extent[axis][1] = -1;
        } else if (axis < facts->dimensions) {
            int64_t d = dimension_of(facts, axis);

            extent[axis][0] = shown->local.start[d];
            extent[axis][1] = shown->local.start[d] + shown->local.count[d];
        }
    }
    fprintf(out, " %s=\"%lld %lld %lld %lld %lld %lld\"", key, extent[0][0], extent[0][1],
            extent[1][0], extent[1][1], extent[2][0], extent[2][1]);
}

/*
 * Writes the position of the array's lower corner, half a cell before the center of element 0, and
 * the distances of elements.
 */
static void put_grid(FILE *out, const struct vs_global_facts *facts)
{
    double origin[3] = {0}, spacing[3] = {1, 1, 1};

    for (int64_t axis = 0; axis < facts->dimensions && facts->has_grid; axis++) {
        int64_t d = dimension_of(facts, axis);

        origin[axis] = facts->origin[d] - facts->spacing[d] / 2;
        spacing[axis] = facts->spacing[d];
    }
    fprintf(out, " Origin=\"%.17g %.17g %.17g\" Spacing=\"%.17g %.17g %.17g\"", origin[0],
            origin[1], origin[2], spacing[0], spacing[1], spacing[2]);
}

/*
 * Opens the elements around the pieces of a file that shows a part of the array. kind is
 * "ImageData" or "PImageData".
 */
static void put_opening(FILE *out, const struct vs_shown *shown, const char *kind)
{
    const struct vs_global *global = shown->global;
    const struct vs_global_facts *facts = vs_global_facts(global);
    bool big = vs_export_big_endian(global, &facts->field[0]);

    fprintf(out,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" "
            "byte_order=\"%s\" header_type=\"UInt64\">\n  <%s",
            kind, big ? "BigEndian" : "LittleEndian", kind);
    put_extent(out, "WholeExtent", shown);
    put_grid(out, facts);
}

/* Writes the arrays. Those of a piece have offsets into the appended data. */
static void put_arrays(FILE *out, const struct vs_global *global, int64_t cells, bool parallel)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    int64_t offset = 0;

    for (int64_t i = 0; i < facts->fields; i++) {
        const struct vs_global_field *field = &facts->field[i];
        const char *type = type_of(field->basic);

        if (type == NULL)
            continue;
        fprintf(out, "        <%sDataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%lld\"",
                parallel ? "P" : "", type, vs_export_name(global, i),
                (long long)(field->values * field->basic->parts));
        if (!parallel)
            fprintf(out, " format=\"appended\" offset=\"%lld\"", (long long)offset);
        fputs("/>\n", out);
        offset += (int64_t)sizeof(uint64_t) + cells * field->values * field->basic->size;
    }
}

/* Returns the name of the first array, which programs show by default. */
static const char *first_name(const struct vs_global *global)
{
    int64_t i = 0;

    while (type_of(vs_global_facts(global)->field[i].basic) == NULL)
        i++;
    return vs_export_name(global, i);
}

static int add_header(const struct vs_shown *shown, struct vs_export *file)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return -ENOMEM;
    put_opening(out, shown, "ImageData");
    fputs(">\n    <Piece", out);
    put_extent(out, "Extent", shown);
    fprintf(out, ">\n      <CellData Scalars=\"%s\">\n", first_name(shown->global));
    put_arrays(out, shown->global, shown->cells, false);
    fputs("      </CellData>\n    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n_",
          out);
    if (fclose(out)) {
        free(text);
        text = NULL;
    }
    return vs_export_text(file, text, (int64_t)length);
}

/* Adds the length of an array's data, in the file's byte order, and the data. */
static int add_data(const struct vs_shown *shown, int64_t number, struct vs_export *file,
                    struct vs_error *error)
{
    const struct vs_global_field *field = &vs_global_facts(shown->global)->field[number];
    uint64_t length = (uint64_t)(shown->cells * field->values * field->basic->size);
    uint64_t stored = length;
    char *text = malloc(sizeof(stored));
    int failure;

    if (text == NULL)
        return -ENOMEM;
    if (vs_export_big_endian(shown->global, field) != (VS_NATIVE_ORDER == VS_BIG_ENDIAN))
        stored = __builtin_bswap64(stored);
    memcpy(text, &stored, sizeof(stored));
    failure = vs_export_text(file, text, sizeof(stored));
    if (!failure && length)
        failure = vs_export_field(shown, number, 1, (int64_t)length, file, error);
    return failure;
}

/* Finds the part of a rank. Fails if it is no box. */
static int show_rank(const struct vs_global *global, int64_t rank, int64_t file_size,
                     struct vs_shown *shown, struct vs_error *error)
{
    int failure = vs_export_show(global, rank, file_size, shown, error);

    if (!failure && !shown->local.box && shown->cells)
        failure = vs_export_fail(error, "the part of rank %lld is no box", (long long)rank);
    return failure;
}

static int make_rank(const struct vs_global *global, int64_t rank, int64_t file_size,
                     struct vs_export *file, struct vs_error *error)
{
    static const char end[] = "\n  </AppendedData>\n</VTKFile>\n";
    const struct vs_global_facts *facts = vs_global_facts(global);
    struct vs_shown shown;
    int failure = check(global, file_size, error);

    if (!failure)
        failure = show_rank(global, rank, file_size, &shown, error);
    if (!failure)
        failure = add_header(&shown, file);
    for (int64_t i = 0; i < facts->fields && !failure; i++)
        if (type_of(facts->field[i].basic))
            failure = add_data(&shown, i, file, error);
    return failure ? failure : vs_export_text(file, strdup(end), sizeof(end) - 1);
}

static int put_pieces(FILE *out, const struct vs_global *global, int64_t file_size, int width,
                      struct vs_error *error)
{
    int failure = 0;

    for (int64_t rank = 0; rank < vs_global_ranks(global) && !failure; rank++) {
        struct vs_shown shown;

        failure = show_rank(global, rank, file_size, &shown, error);
        if (failure || shown.cells == 0)
            continue;
        fputs("    <Piece", out);
        put_extent(out, "Extent", &shown);
        fprintf(out, " Source=\"rank%0*lld.vti\"/>\n", width, (long long)rank);
    }
    return failure;
}

static int make_all(const struct vs_global *global, int64_t file_size, int width,
                    struct vs_export *file, struct vs_error *error)
{
    struct vs_shown whole;
    char *text = NULL;
    size_t length;
    FILE *out;
    int failure = check(global, file_size, error);

    if (!failure)
        failure = vs_export_show(global, -1, file_size, &whole, error);
    if (failure)
        return failure;
    out = open_memstream(&text, &length);
    if (out == NULL)
        return -ENOMEM;
    put_opening(out, &whole, "PImageData");
    fprintf(out, " GhostLevel=\"0\">\n    <PCellData Scalars=\"%s\">\n", first_name(global));
    put_arrays(out, global, 0, true);
    fputs("    </PCellData>\n", out);
    failure = put_pieces(out, global, file_size, width, error);
    fputs("  </PImageData>\n</VTKFile>\n", out);
    if (fclose(out) || failure) {
        free(text);
        return failure ? failure : -ENOMEM;
    }
    return vs_export_text(file, text, (int64_t)length);
}

const struct vs_format vs_vtk = {
    .whole_suffix = ".pvti",
    .most = RANKS_MAX,
    .rank = make_rank,
    .all = make_all,
};
