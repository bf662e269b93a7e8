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

/* An array without a name. */
#define NAMELESS (-1)

/* A keyword that begins a line. The other fields describe the array of read_line. */
struct keyword {
    const char *word;
    void (*read)(struct reader *r);
    const char *section; /* of its arrays, or of those that follow; NULL: the current one */
    int name;            /* number of the word that is the name; or NAMELESS */
    const char *type;    /* NULL: word number type_at is the type */
    int type_at;
    int tuples_at;  /* number of a word; 0: as in the current section */
    int components; /* or if components_at is not 0, the least number in that word */
    int components_at;
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

    if (!text || !from_span_number(from_span_of(text), least, &value)) {
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
        unsigned char c;
        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
            sscanf(from + 1, "%2hhx", &c);
            *to++ = c ? (char)c : '?';
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

        text[0] &= 0x3f;
        uint64_t length = from_load(text, width, true);
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

/*
 * Reads a line with the description of an array, whose values follow. SCALARS may lack the number
 * of components, and has a second line: LOOKUP_TABLE name.
 */
static void read_line(struct reader *r)
{
    static char one[] = "1";
    const struct keyword *keyword = r->keyword;
    bool is_scalars = !strcmp(keyword->word, "SCALARS");
    char name[LINE_MAX_BYTES] = "", type[LINE_MAX_BYTES];
    int64_t tuples = r->tuples, components = keyword->components;

    if (is_scalars && !r->words[keyword->components_at])
        r->words[keyword->components_at] = one;
    if (keyword->components_at)
        components = read_number(r, keyword->components_at, keyword->components);
    if (keyword->tuples_at)
        tuples = read_number(r, keyword->tuples_at, 0);
    if (keyword->name != NAMELESS)
        decode_name(strcpy(name, read_word(r, keyword->name)));
    strcpy(type, keyword->type ? keyword->type : read_word(r, keyword->type_at));
    if (is_scalars && (!next_words(r) || strcasecmp(r->words[0], "LOOKUP_TABLE") != 0))
        fail_vtk(r, "expected LOOKUP_TABLE");
    add_array(r, keyword->section ? keyword->section : r->section,
              keyword->name == NAMELESS ? NULL : name, type, tuples, components);
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

static void read_section(struct reader *r)
{
    r->section = r->keyword->section;
    r->tuples = read_number(r, 1, 0);
}

static void read_field(struct reader *r)
{
    r->fields = read_number(r, 2, 0);
}

/* Reads an array of a FIELD: name components tuples type. */
static void read_array(struct reader *r)
{
    static const struct keyword array = {
        .word = "", .type_at = 3, .tuples_at = 2, .components_at = 1};

    r->fields--;
    r->keyword = &array;
    read_line(r);
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
    {.word = "DIMENSIONS", .read = read_dimensions},
    {.word = "EXTENT", .read = read_dimensions},
    {.word = "ORIGIN", .read = ignore_values},
    {.word = "SPACING", .read = ignore_values},
    {.word = "ASPECT_RATIO", .read = ignore_values},
    {"POINTS", read_line, "Points", NAMELESS, NULL, 2, 1, 3, 0},
    {"X_COORDINATES", read_line, "Coordinates/x", NAMELESS, NULL, 2, 1, 1, 0},
    {"Y_COORDINATES", read_line, "Coordinates/y", NAMELESS, NULL, 2, 1, 1, 0},
    {"Z_COORDINATES", read_line, "Coordinates/z", NAMELESS, NULL, 2, 1, 1, 0},
    {.word = "CELLS", .read = read_cells, .section = "Cells"},
    {.word = "VERTICES", .read = read_cells, .section = "Verts"},
    {.word = "LINES", .read = read_cells, .section = "Lines"},
    {.word = "TRIANGLE_STRIPS", .read = read_cells, .section = "Strips"},
    {.word = "POLYGONS", .read = read_cells, .section = "Polys"},
    {"CELL_TYPES", read_line, "CellTypes", NAMELESS, "int", 0, 1, 1, 0},
    {.word = "POINT_DATA", .read = read_section, .section = "PointData"},
    {.word = "CELL_DATA", .read = read_section, .section = "CellData"},
    {.word = "ROW_DATA", .read = read_section, .section = "RowData"},
    {.word = "FIELD", .read = read_field},
    {"SCALARS", read_line, NULL, 1, NULL, 2, 0, 1, 3},
    {"COLOR_SCALARS", read_line, NULL, 1, "unsigned_char", 0, 0, 0, 2},
    {"LOOKUP_TABLE", read_line, "LookupTable", 1, "unsigned_char", 0, 2, 4, 0},
    {"VECTORS", read_line, NULL, 1, NULL, 2, 0, 3, 0},
    {"NORMALS", read_line, NULL, 1, NULL, 2, 0, 3, 0},
    {"TENSORS", read_line, NULL, 1, NULL, 2, 0, 9, 0},
    {"TENSORS6", read_line, NULL, 1, NULL, 2, 0, 6, 0},
    {"GLOBAL_IDS", read_line, NULL, 1, NULL, 2, 0, 1, 0},
    {"PEDIGREE_IDS", read_line, NULL, 1, NULL, 2, 0, 1, 0},
    {"EDGE_FLAGS", read_line, NULL, 1, NULL, 2, 0, 1, 0},
    {"TEXTURE_COORDINATES", read_line, NULL, 1, NULL, 3, 0, 1, 2},
    {.word = "METADATA", .read = skip_metadata},
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

static int scan_file(const struct from_bytes *head, struct from_file *file)
{
    const struct from_source *source = head->source;
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
    .read = scan_file,
};
