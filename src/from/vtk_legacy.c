/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "viewspec/base/integer.h"

/* VTK's legacy files, with binary values. */

/*
 * The file consists of lines that begin with a keyword. Some of them are followed by the values of
 * an array, which are big-endian, and a newline. All text between values is part of the header.
 */

/* The limits of a line: it has fewer bytes than LINE_MAX_BYTES, and at most WORDS_MAX words. */
#define LINE_MAX_BYTES 1024
#define WORDS_MAX      8

struct reader;

/* A keyword that begins a line. */
struct keyword {
    const char *word;
    void (*read)(struct reader *r);
    const char *section; /* of its arrays, or of those that follow */
    int components;      /* of its array; 0: the line gives them */
};

struct reader {
    const struct from_source *source;
    struct from_file *file;
    int64_t at;    /* of the next byte */
    int64_t text;  /* the beginning of the text before it */
    int64_t start; /* of the line that was read last */
    char line[LINE_MAX_BYTES];
    char *words[WORDS_MAX]; /* NULL-terminated if there are fewer */
    const struct keyword *keyword;
    bool has_offsets;      /* cells are offsets and connectivity (since version 5.1) */
    int64_t dimensions[3]; /* of the points; 0: they are unstructured */
    const char *section;   /* of the attributes that follow */
    int64_t tuples;        /* in each attribute */
    int64_t fields;        /* arrays of a FIELD that have not been read yet */
};

static void fail_vtk(struct reader *r, const char *what)
{
    from_wrong(r->file, "damaged VTK file at byte %lld: %s", (long long)r->start, what);
}

/* Reads the next line. Returns false at the end of the file, or with error filled. */
static bool next_line(struct reader *r)
{
    int64_t length = -1;

    r->start = r->at;
    if (!r->file->error->code && r->at < r->source->size)
        length = r->source->read(r->source->self, r->line, sizeof(r->line), r->at);
    if (length < 0 && r->at < r->source->size)
        from_fail_code(r->file->error, (int)length, r->file->path);
    if (length <= 0)
        return false;
    char *end = memchr(r->line, '\n', (size_t)length);
    if (end == NULL && length == sizeof(r->line)) {
        fail_vtk(r, "a line has more than 1023 bytes");
        return false;
    }
    r->at += end ? end - r->line + 1 : length;
    *(end ? end : r->line + length) = '\0';
    return true;
}

/* Reads the next line that has words. */
static bool next_words(struct reader *r)
{
    char *rest = NULL;

    do {
        if (!next_line(r))
            return false;
        r->words[0] = strtok_r(r->line, " \t\r", &rest);
    } while (!r->words[0]);
    for (int i = 1; i < WORDS_MAX; i++)
        r->words[i] = r->words[i - 1] ? strtok_r(NULL, " \t\r", &rest) : NULL;
    return true;
}

/* Returns the value of a word. Returns 0 with an error if it is not a number of at least least. */
static int64_t read_number(struct reader *r, int word, int64_t least)
{
    const char *text = r->words[word];
    int64_t value;

    if (!text || !from_span_number(from_span_of(text), &value) || value < least) {
        fail_vtk(r, "expected a number");
        return 0;
    }
    return value;
}

static const struct {
    const char *name;
    char kind; /* 0: elements do not have the same size in whole bytes */
    int size;
} types[] = {
    {"unsigned_char", 'u', 1},
    {"char", 'i', 1},
    {"signed_char", 'i', 1},
    {"unsigned_short", 'u', 2},
    {"short", 'i', 2},
    {"unsigned_int", 'u', 4},
    {"int", 'i', 4},
    {"unsigned_long", 'u', 8},
    {"long", 'i', 8},
    {"float", 'f', 4},
    {"double", 'f', 8},
    {"vtkIdType", 'i', 4},
    {"vtktypeint64", 'i', 8},
    {"vtktypeuint64", 'u', 8},
    {"bit", 0, 0},
    {"string", 0, 1},
    {"utf8_string", 0, 1},
};

/* Decodes the percent-encoding of a name (%20 is a blank). */
static void decode_name(char *name)
{
    char *to = name;

    for (const char *from = name; *from; from++) {
        unsigned char hex[3] = {0};
        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
            hex[0] = (unsigned char)from[1];
            hex[1] = (unsigned char)from[2];
            char c = (char)strtol((char *)hex, NULL, 16);
            *to++ = c ? c : '?';
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Adds the variable "section/name". */
static struct from_variable *add_named(struct reader *r, const char *section, const char *name)
{
    char text[LINE_MAX_BYTES + 32];
    int length = name ? snprintf(text, sizeof(text), "%s/%s", section, name)
                      : snprintf(text, sizeof(text), "%s", section);

    return from_add(r->file, text, (size_t)length);
}

/* Ends a part of the header, and skips the values that follow. */
static void skip_values(struct reader *r, int64_t bytes)
{
    from_add_part(r->file, NULL, r->text, r->at - r->text);
    if (__builtin_add_overflow(r->at, bytes, &r->at))
        fail_vtk(r, "more than 2^63-1 bytes");
    r->text = r->at;
}

/*
 * Skips count strings. Each begins with its length in 1, 2, 4 or 8 bytes; the first two bits give
 * the number of these bytes.
 */
static void skip_strings(struct reader *r, int64_t count)
{
    skip_values(r, 0);
    for (; count > 0 && !r->file->error->code; count--) {
        unsigned char text[8] = {0};
        int64_t got = r->source->read(r->source->self, text, sizeof(text), r->at);
        int width = 8 >> (text[0] >> 6);
        uint64_t length = text[0] & 0x3f;

        for (int i = 1; i < width; i++)
            length = length << 8 | text[i];
        /* VTK stores a length in 8 bytes only if 4 are too few. */
        if (got < width || (width == 8 && length < 1 << 30) ||
            length > (uint64_t)(r->source->size - r->at - width))
            fail_vtk(r, "a string is missing");
        else
            r->at += width + (int64_t)length;
    }
    r->text = r->at;
}

/* Adds an array whose values begin here. */
static void add_array(struct reader *r, const char *section, const char *name, const char *type,
                      int64_t tuples, int64_t components)
{
    struct from_variable *variable = r->file->error->code ? NULL : add_named(r, section, name);
    size_t kind = 0, count = sizeof(types) / sizeof(*types);

    while (kind < count && strcasecmp(types[kind].name, type) != 0)
        kind++;
    if (kind == count)
        fail_vtk(r, "unknown type");
    if (variable == NULL || r->file->error->code)
        return;
    from_vtk_shape(variable, section, r->dimensions, tuples, components);
    variable->at = r->at;
    variable->size = vs_max(types[kind].size, 1);
    int64_t values = from_elements(variable);
    if (values < 0 || from_end(variable) < 0) {
        fail_vtk(r, "more than 2^63-1 bytes");
        return;
    }
    if (types[kind].kind) {
        from_set_number(variable, types[kind].kind, types[kind].size, '>');
        skip_values(r, values * variable->size);
    } else {
        from_refuse(variable, "values of type %s", type);
        if (types[kind].size)
            skip_strings(r, values);
        else
            skip_values(r, values / 8 + (values % 8 > 0));
    }
}

static const char *read_word(struct reader *r, int i)
{
    if (!r->words[i])
        fail_vtk(r, "a word is missing");
    return r->words[i] ? r->words[i] : "";
}

static void read_dimensions(struct reader *r)
{
    bool is_extent = !strcasecmp(r->words[0], "EXTENT");
    int64_t end;

    for (int d = 0; d < 3; d++)
        if (!is_extent)
            r->dimensions[d] = read_number(r, 1 + d, 0);
        else if (__builtin_sub_overflow(read_number(r, 2 + 2 * d, INT64_MIN),
                                        read_number(r, 1 + 2 * d, INT64_MIN), &end) ||
                 end < 0 || end == INT64_MAX)
            fail_vtk(r, "invalid extent");
        else
            r->dimensions[d] = end + 1;
}

static void read_points(struct reader *r)
{
    add_array(r, "Points", NULL, read_word(r, 2), read_number(r, 1, 0), 3);
}

static void read_coordinates(struct reader *r)
{
    const char name[2] = {(char)tolower((unsigned char)r->words[0][0]), '\0'};

    add_array(r, "Coordinates", name, read_word(r, 2), read_number(r, 1, 0), 1);
}

/* Reads cells. Before version 5.1, one array has the number of points and the points of each cell.
 */
static void read_cells(struct reader *r)
{
    int64_t counts[2] = {read_number(r, 1, 0), read_number(r, 2, 0)};
    const char *section = r->keyword->section;

    if (!r->has_offsets) {
        add_array(r, section, NULL, "int", counts[1], 1);
        return;
    }
    for (int i = 0; i < 2 && counts[0] > 0; i++) {
        if (!next_words(r) || strcasecmp(r->words[0], i ? "CONNECTIVITY" : "OFFSETS") != 0) {
            fail_vtk(r, i ? "expected CONNECTIVITY" : "expected OFFSETS");
            return;
        }
        add_array(r, section, i ? "connectivity" : "offsets", read_word(r, 1), counts[i], 1);
    }
}

static void read_cell_types(struct reader *r)
{
    add_array(r, "CellTypes", NULL, "int", read_number(r, 1, 0), 1);
}

static void read_section(struct reader *r)
{
    r->section = r->keyword->section;
    r->tuples = read_number(r, 1, 0);
}

static void read_field(struct reader *r)
{
    r->fields = read_number(r, 2, 0);
}

/* Reads SCALARS name type [components], and LOOKUP_TABLE name in the next line. */
static void read_scalars(struct reader *r)
{
    char name[LINE_MAX_BYTES], type[LINE_MAX_BYTES];
    int64_t components = r->words[3] ? read_number(r, 3, 1) : 1;

    decode_name(strcpy(name, read_word(r, 1)));
    strcpy(type, read_word(r, 2));
    if (r->file->error->code)
        return;
    if (!next_words(r) || strcasecmp(r->words[0], "LOOKUP_TABLE") != 0)
        fail_vtk(r, "expected LOOKUP_TABLE");
    add_array(r, r->section, name, type, r->tuples, components);
}

/* Reads COLOR_SCALARS name components, or LOOKUP_TABLE name size, which has four components. */
static void read_colors(struct reader *r)
{
    bool is_table = !strcasecmp(r->words[0], "LOOKUP_TABLE");
    int64_t count = read_number(r, 2, 0);
    char name[LINE_MAX_BYTES];

    decode_name(strcpy(name, read_word(r, 1)));
    if (is_table)
        add_array(r, "LookupTable", name, "unsigned_char", count, 4);
    else
        add_array(r, r->section, name, "unsigned_char", r->tuples, count);
}

/* Reads KEYWORD name type, or KEYWORD name components type if the keyword does not imply the number
   of components. */
static void read_attribute(struct reader *r)
{
    int64_t components = r->keyword->components;
    bool is_given = !components;
    char name[LINE_MAX_BYTES];

    if (is_given)
        components = read_number(r, 2, 1);
    decode_name(strcpy(name, read_word(r, 1)));
    add_array(r, r->section, name, read_word(r, is_given ? 3 : 2), r->tuples, components);
}

/* Reads an array of a FIELD: name components tuples type. */
static void read_array(struct reader *r)
{
    int64_t components = read_number(r, 1, 0), tuples = read_number(r, 2, 0);

    r->fields--;
    decode_name(r->words[0]);
    add_array(r, r->section, r->words[0], read_word(r, 3), tuples, components);
}

/* Skips the metadata of the previous array, up to an empty line. */
static void skip_metadata(struct reader *r)
{
    while (next_line(r) && r->line[strspn(r->line, " \t\r")])
        ;
}

static void ignore_values(struct reader *r)
{
    (void)r;
}

static const struct keyword keywords[] = {
    {"DIMENSIONS", read_dimensions, NULL, 0},
    {"EXTENT", read_dimensions, NULL, 0},
    {"ORIGIN", ignore_values, NULL, 0},
    {"SPACING", ignore_values, NULL, 0},
    {"ASPECT_RATIO", ignore_values, NULL, 0},
    {"POINTS", read_points, NULL, 0},
    {"X_COORDINATES", read_coordinates, NULL, 0},
    {"Y_COORDINATES", read_coordinates, NULL, 0},
    {"Z_COORDINATES", read_coordinates, NULL, 0},
    {"CELLS", read_cells, "Cells", 0},
    {"VERTICES", read_cells, "Verts", 0},
    {"LINES", read_cells, "Lines", 0},
    {"TRIANGLE_STRIPS", read_cells, "Strips", 0},
    {"POLYGONS", read_cells, "Polys", 0},
    {"CELL_TYPES", read_cell_types, NULL, 0},
    {"POINT_DATA", read_section, "PointData", 0},
    {"CELL_DATA", read_section, "CellData", 0},
    {"ROW_DATA", read_section, "RowData", 0},
    {"FIELD", read_field, NULL, 0},
    {"SCALARS", read_scalars, NULL, 0},
    {"COLOR_SCALARS", read_colors, NULL, 0},
    {"LOOKUP_TABLE", read_colors, NULL, 0},
    {"VECTORS", read_attribute, NULL, 3},
    {"NORMALS", read_attribute, NULL, 3},
    {"TENSORS", read_attribute, NULL, 9},
    {"TENSORS6", read_attribute, NULL, 6},
    {"GLOBAL_IDS", read_attribute, NULL, 1},
    {"PEDIGREE_IDS", read_attribute, NULL, 1},
    {"EDGE_FLAGS", read_attribute, NULL, 1},
    {"TEXTURE_COORDINATES", read_attribute, NULL, 0},
    {"METADATA", skip_metadata, NULL, 0},
};

static void read_keyword(struct reader *r)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (!strcasecmp(r->words[0], keywords[i].word)) {
            r->keyword = &keywords[i];
            r->keyword->read(r);
            return;
        }
    fail_vtk(r, "unknown keyword");
}

/* Reads the first four lines of a file: version, title, kind of values, kind of data. */
static void read_start(struct reader *r)
{
    static const char *const known[] = {"STRUCTURED_POINTS",
                                        "STRUCTURED_GRID",
                                        "RECTILINEAR_GRID",
                                        "UNSTRUCTURED_GRID",
                                        "POLYDATA",
                                        "TABLE",
                                        "FIELD"};
    bool is_known = false;

    if (!next_words(r) || !next_line(r) || !next_words(r)) {
        fail_vtk(r, "the file ends in the header");
        return;
    }
    if (!strcasecmp(r->words[0], "ASCII"))
        from_wrong(r->file, "a VTK file whose values are text (ASCII)");
    else if (strcasecmp(r->words[0], "BINARY") != 0)
        fail_vtk(r, "expected BINARY");
    if (!next_words(r)) {
        fail_vtk(r, "expected DATASET");
        return;
    }
    if (!strcasecmp(r->words[0], "FIELD")) { /* a file without a dataset */
        read_field(r);
        return;
    }
    if (strcasecmp(r->words[0], "DATASET") != 0)
        fail_vtk(r, "expected DATASET");
    const char *kind = read_word(r, 1);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        is_known = is_known || !strcasecmp(kind, known[i]);
    if (!is_known)
        from_wrong(r->file, "a VTK file of an unknown kind (%s)", kind);
}

static bool is_vtk(const struct from_bytes *head)
{
    static const char magic[] = "# vtk DataFile Version ";

    return head->length >= strlen(magic) && !memcmp(head->bytes, magic, strlen(magic));
}

static int scan_file(const struct from_source *source, struct from_file *file)
{
    struct reader r = {.source = source, .file = file, .section = "FieldData"};
    char version[32] = "";
    int64_t length = source->read(source->self, version, sizeof(version) - 1, 0);

    r.has_offsets = length > 23 && strtod(version + 23, NULL) > 5.05;
    read_start(&r);
    while (!file->error->code && next_words(&r))
        if (r.fields > 0 && strcasecmp(r.words[0], "METADATA") != 0)
            read_array(&r);
        else
            read_keyword(&r);
    if (!file->error->code && r.text < source->size)
        from_add_part(file, NULL, r.text, source->size - r.text);
    return file->error->code;
}

const struct from_format from_vtk_legacy = {
    .name = "VTK",
    .is_it = is_vtk,
    .scan = scan_file,
};
