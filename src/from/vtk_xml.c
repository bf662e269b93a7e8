/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/* VTK's XML formats, and the shape of arrays of all of VTK's formats. */

void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components)
{
    bool is_cell = !strcmp(section, "CellData");
    int64_t product = is_cell || !strcmp(section, "PointData") || !strcmp(section, "Points");
    int64_t size[3];

    for (int d = 0; d < 3; d++) {
        size[d] = is_cell ? vs_max(points[d] - 1, 1) : points[d];
        product = points[d] > 0 ? vs_mul_capped(product, size[d]) : 0;
    }
    bool is_grid = product && product == tuples;
    for (int d = 2; d >= 0 && is_grid; d--)
        variable->shape[variable->dimensions++] = size[d];
    if (!is_grid)
        variable->shape[variable->dimensions++] = tuples;
    if (components != 1)
        variable->shape[variable->dimensions++] = components;
}

/* VTK's XML files with raw appended data: .vti, .vtr, .vts, .vtu and .vtp. */

/*
 * The file is XML up to <AppendedData encoding="raw">. Blocks follow after a "_". A block has its
 * number of bytes and the values of an array. A DataArray gives the offset of its block from the
 * first one. The section of the XML that it is in gives its meaning.
 */

#define CHUNK       ((size_t)1 << 16)
#define XML_BYTES   ((int64_t)1 << 28)
#define NAME_LENGTH 512
/* The "_" must be within this many bytes. */
#define BLANKS_MAX 256

/* The properties of a variable in the XML except its type. */
struct array {
    int64_t offset; /* of its block */
    int64_t components;
    int64_t points[3]; /* of the piece along x, y and z; 0: it is not a grid */
    char section[16];  /* PointData, ... */
};

struct reader {
    const struct from_source *source;
    struct from_file *file;
    XML_Parser parser;
    char order;
    int header; /* bytes of the number in front of a block */
    bool is_compressed;
    struct array piece;   /* the properties that arrays of the piece and section share */
    int64_t pieces;       /* begun so far */
    int64_t unnamed;      /* arrays of the section without a name */
    struct array *arrays; /* one for each variable; owned */
    size_t room;
    int64_t xml; /* bytes of the XML; 0: <AppendedData> has not been read yet */
    bool is_raw;
};

static void fail_xml(struct reader *r, const char *what)
{
    from_wrong(r->file, "damaged VTK file at line %lu: %s",
               (unsigned long)XML_GetCurrentLineNumber(r->parser), what);
    XML_StopParser(r->parser, XML_FALSE);
}

static const char *attribute_of(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (!strcmp(attributes[0], name))
            return attributes[1];
    return NULL;
}

/* Returns the value of an attribute, or otherwise if there is none. Fails if it is less than least.
 */
static int64_t number_of(struct reader *r, const char **attributes, const char *name, int64_t least,
                         int64_t otherwise)
{
    const char *text = attribute_of(attributes, name);
    int64_t value = otherwise;

    if (text && !from_span_number(from_span_of(text), least, &value)) {
        fail_xml(r, "an attribute is not a number, or too small");
        return least;
    }
    return value;
}

static void read_file(struct reader *r, const char **attributes)
{
    const char *order = attribute_of(attributes, "byte_order");
    const char *header = attribute_of(attributes, "header_type");

    r->order = order && !strcmp(order, "BigEndian") ? '>' : '<';
    r->header = header && !strcmp(header, "UInt64") ? 8 : 4;
    r->is_compressed = attribute_of(attributes, "compressor");
    if (order && r->order == '<' && strcmp(order, "LittleEndian") != 0)
        fail_xml(r, "byte_order must be LittleEndian or BigEndian");
    if (header && r->header == 4 && strcmp(header, "UInt32") != 0)
        fail_xml(r, "header_type must be UInt32 or UInt64");
}

/* Reads a piece. It is a grid if it has an extent. */
static void read_piece(struct reader *r, const char **attributes)
{
    const char *extent = attribute_of(attributes, "Extent");
    int64_t ends[6], *points = r->piece.points;

    r->pieces++;
    memset(points, 0, sizeof(r->piece.points));
    if (extent && from_span_numbers(from_span_of(extent), INT64_MIN, ends, 6) != 6) {
        fail_xml(r, "Extent must be six numbers");
        return;
    }
    for (int d = 0; d < 3 && extent; d++)
        if (__builtin_sub_overflow(ends[2 * d + 1], ends[2 * d], &points[d]) ||
            __builtin_add_overflow(points[d], 1, &points[d]) || points[d] < 0) {
            fail_xml(r, "invalid Extent");
            return;
        }
}

static const struct {
    const char *name;
    char kind;
    int size;
} types[] = {{"Int8", 'i', 1},    {"UInt8", 'u', 1},  {"Int16", 'i', 2}, {"UInt16", 'u', 2},
             {"Int32", 'i', 4},   {"UInt32", 'u', 4}, {"Int64", 'i', 8}, {"UInt64", 'u', 8},
             {"Float32", 'f', 4}, {"Float64", 'f', 8}};

/* Returns the reason why an array cannot be a view, or NULL if its values are a block of bytes. */
static const char *reason_of(const struct reader *r, const char **attributes)
{
    const char *format = attribute_of(attributes, "format");

    if (format == NULL || !strcmp(format, "ascii"))
        return "values are text";
    if (strcmp(format, "appended") != 0)
        return "values are encoded in base64";
    return r->is_compressed ? "values are compressed" : NULL;
}

/* Adds the variable "section/name". place_array sets its displacement after all of the XML has been
 * read.
 */
static struct from_variable *add_named(struct reader *r, const char **attributes)
{
    const char *name = attribute_of(attributes, "Name"), *section = r->piece.section;
    char text[NAME_LENGTH], piece[32] = "", number[32];

    if (!VS_LIST_ROOM(r->arrays, r->file->count, r->room))
        return NULL;
    r->arrays[r->file->count] = r->piece;
    if (r->pieces > 1)
        snprintf(piece, sizeof(piece), "Piece%lld/", (long long)r->pieces);
    if (name == NULL || !*name) {
        snprintf(number, sizeof(number), "%lld", (long long)r->unnamed++);
        name = number;
    }
    if (!strcmp(section, "Points"))
        snprintf(text, sizeof(text), "%sPoints", piece);
    else
        snprintf(text, sizeof(text), "%s%s/%s", piece, section, name);
    return from_add(r->file, text, strlen(text));
}

static void read_array(struct reader *r, const char **attributes)
{
    const char *type = attribute_of(attributes, "type"), *reason = reason_of(r, attributes);
    struct from_variable *variable = add_named(r, attributes);

    if (variable == NULL) {
        from_no_memory(r->file);
        XML_StopParser(r->parser, XML_FALSE);
        return;
    }
    struct array *array = &r->arrays[r->file->count - 1];
    array->components = number_of(r, attributes, "NumberOfComponents", 0, 1);
    array->offset = number_of(r, attributes, "offset", 0, -1);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types) && type; i++)
        if (!strcmp(types[i].name, type))
            from_set_number(variable, types[i].kind, types[i].size, r->order);
    if (reason)
        from_refuse(variable, "%s", reason);
    else if (array->offset < 0)
        from_refuse(variable, "it has no offset");
    else if (!variable->etype)
        from_refuse(variable, "values of type %s", type ? type : "unknown");
}

static void start_element(void *self, const char *name, const char **attributes)
{
    static const char *const sections[] = {"FieldData",   "PointData", "CellData", "Points",
                                           "Coordinates", "Cells",     "Verts",    "Lines",
                                           "Strips",      "Polys"};
    struct reader *r = self;

    if (!strcmp(name, "VTKFile")) {
        read_file(r, attributes);
    } else if (!strcmp(name, "Piece")) {
        read_piece(r, attributes);
    } else if (!strcmp(name, "DataArray") || !strcmp(name, "Array") ||
               !strcmp(name, "StringArray")) {
        read_array(r, attributes);
    } else if (!strcmp(name, "AppendedData")) {
        const char *encoding = attribute_of(attributes, "encoding");
        r->is_raw = encoding && !strcmp(encoding, "raw");
        r->xml = XML_GetCurrentByteIndex(r->parser) + XML_GetCurrentByteCount(r->parser);
        XML_StopParser(r->parser, XML_FALSE);
    }
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
        if (!strcmp(name, sections[i])) {
            snprintf(r->piece.section, sizeof(r->piece.section), "%s", name);
            r->unnamed = 0;
        }
}

/* Refuses a document type, because it could define entities. VTK files have none. */
static void refuse_doctype(void *self, const char *name, const char *system, const char *public,
                           int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    fail_xml(self, "it has a document type");
}

/* Parses the XML with expat, up to <AppendedData> or its end. */
static void read_xml(struct reader *r)
{
    int64_t at = 0, length = 1;
    enum XML_Status status = XML_STATUS_OK;

    while (!r->file->error->code && !r->xml && length > 0 && status == XML_STATUS_OK) {
        void *chunk = XML_GetBuffer(r->parser, CHUNK);
        length = chunk ? r->source->read(r->source->self, chunk, CHUNK, at) : -ENOMEM;
        if (length < 0) {
            from_fail_code(r->file->error, (int)length, r->file->path);
            return;
        }
        at += length;
        status = XML_ParseBuffer(r->parser, (int)length, length == 0);
        if (at > XML_BYTES && !r->xml)
            fail_xml(r, "the XML does not end");
    }
    if (status != XML_STATUS_OK && !r->xml)
        fail_xml(r, XML_ErrorString(XML_GetErrorCode(r->parser)));
    if (!r->file->error->code && !r->file->count)
        from_wrong(r->file, "a VTK file without arrays of its own");
}

/* Returns the displacement of the first block, after a "_", or -1 with error filled. */
static int64_t find_blocks(struct reader *r)
{
    unsigned char text[BLANKS_MAX];
    int64_t length = r->source->read(r->source->self, text, sizeof(text), r->xml);

    for (int64_t i = 0; i < length; i++)
        if (text[i] == '_')
            return r->xml + i + 1;
        else if (!strchr(" \t\r\n", text[i]) || !text[i])
            break;
    from_wrong(r->file, "damaged VTK file: AppendedData does not begin with _");
    return -1;
}

/* Reads the number of bytes of a block. If there is none, refuses the variable and returns false.
 */
static bool read_block(struct reader *r, struct from_variable *variable, int64_t at, int64_t *bytes)
{
    unsigned char text[8];

    if (r->source->read(r->source->self, text, (size_t)r->header, at) != r->header) {
        from_refuse(variable, "its block begins behind the end of the file");
        return false;
    }
    uint64_t value = from_load(text, r->header, r->order == '>');
    *bytes = (int64_t)value;
    if (value > INT64_MAX)
        from_refuse(variable, "its block has more than 2^63-1 bytes");
    return value <= INT64_MAX;
}

/* Sets the displacement of a variable in its block, and its shape from the size of the block. */
static void place_array(struct reader *r, struct from_variable *variable, const struct array *array,
                        int64_t blocks)
{
    int64_t at = 0, bytes = 0, tuple = 0;

    if (variable->reason)
        return;
    if (!r->is_raw) {
        from_refuse(variable, "values are encoded in base64");
        return;
    }
    if (__builtin_add_overflow(blocks, array->offset, &at) || at > INT64_MAX - r->header ||
        at > r->source->size) {
        from_refuse(variable, "its block begins behind the end of the file");
        return;
    }
    if (!read_block(r, variable, at, &bytes))
        return;
    variable->part = (struct from_part){at, r->header, NULL};
    variable->at = at + r->header;
    if (__builtin_mul_overflow(array->components, variable->size, &tuple) || !tuple ||
        bytes % tuple)
        from_refuse(variable, "its block of %lld bytes is not a multiple of a tuple",
                    (long long)bytes);
    else
        from_vtk_shape(variable, array->section, array->points, bytes / tuple, array->components);
    if (from_end(variable) < 0)
        from_refuse(variable, "its block ends behind byte 2^63-1");
}

static bool is_vtk_xml(const struct from_bytes *head)
{
    size_t i = 0;

    while (i < head->length && strchr(" \t\r\n", head->bytes[i]) && head->bytes[i])
        i++;
    return i < head->length && head->bytes[i] == '<' &&
           memmem(head->bytes, head->length, "<VTKFile", 8);
}

static int scan_file(const struct from_bytes *head, struct from_file *file)
{
    struct reader r = {.source = head->source,
                       .file = file,
                       .piece = {.section = "FieldData"},
                       .parser = XML_ParserCreate(NULL)};
    int64_t blocks = 0;

    if (r.parser == NULL)
        return from_no_memory(file);
    XML_SetUserData(r.parser, &r);
    XML_SetStartElementHandler(r.parser, start_element);
    XML_SetStartDoctypeDeclHandler(r.parser, refuse_doctype);
    read_xml(&r);
    if (!file->error->code && r.xml)
        blocks = r.is_raw ? find_blocks(&r) : r.xml;
    for (size_t i = 0; i < file->count && !file->error->code; i++)
        place_array(&r, &file->variables[i], &r.arrays[i], blocks);
    if (!file->error->code)
        from_add_part(file, NULL, 0, blocks ? blocks : head->size);
    free(r.arrays);
    XML_ParserFree(r.parser);
    return file->error->code;
}

const struct from_format from_vtk_xml = {
    .name = "VTK XML",
    .is_it = is_vtk_xml,
    .read = scan_file,
};
