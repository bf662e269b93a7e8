/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "text.h"
#include "viewspec/base/integer.h"

/* Bricks of values (BOV), as VisIt and VAPOR read them: a .bov file beside the data. */

/*
 * The header consists of lines "KEY: value". One file has all values. If DATA_FILE has a %d, each
 * file has a part of the array, of the size in DATA_BRICKLETS. Parts are numbered along x first.
 */

struct reader {
    struct from_brick brick;
    struct from_values values;
    int64_t parts[3]; /* x first, like values.shape */
    struct from_span file, variable;
};

static void read_sizes(struct reader *r, struct from_span value, int64_t *sizes)
{
    int count = from_span_numbers(value, 1, sizes, 3);

    if (count < 1)
        from_lines_fail(&r->brick.lines, "expected one to three positive numbers");
    /* VisIt accepts fewer than three sizes for a plane or a line. */
    for (int d = count; count > 0 && d < 3; d++)
        sizes[d] = 1;
}

static void read_type(struct reader *r, struct from_span value)
{
    static const struct {
        const char *name;
        char kind;
        int size;
    } types[] = {{"BYTE", 'u', 1},  {"CHAR", 'u', 1}, {"SHORT", 'i', 2}, {"INT", 'i', 4},
                 {"FLOAT", 'f', 4}, {"REAL", 'f', 4}, {"DOUBLE", 'f', 8}};

    /* Accept longer words, such as INTEGER and FLOATS. */
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (value.length >= strlen(types[i].name) &&
            from_span_is((struct from_span){value.at, strlen(types[i].name)}, types[i].name)) {
            r->values.kind = types[i].kind;
            r->values.size = types[i].size;
            return;
        }
    from_lines_fail(&r->brick.lines, "unknown DATA_FORMAT");
}

static struct from_span unquoted_value(struct from_span value)
{
    if (value.length > 1 && *value.at == '"' && value.at[value.length - 1] == '"')
        return (struct from_span){value.at + 1, value.length - 2};
    return value;
}

static void read_entry(struct reader *r, struct from_span key, struct from_span value)
{
    if (from_span_is(key, "DATA_FILE")) {
        r->file = unquoted_value(value);
    } else if (from_span_is(key, "VARIABLE")) {
        r->variable = unquoted_value(value);
    } else if (from_span_is(key, "DATA_SIZE")) {
        read_sizes(r, value, r->values.shape);
    } else if (from_span_is(key, "DATA_BRICKLETS")) {
        read_sizes(r, value, r->parts);
    } else if (from_span_is(key, "DATA_FORMAT")) {
        read_type(r, value);
    } else if (from_span_is(key, "DATA_ENDIAN")) {
        r->values.order = from_span_is(value, "BIG") ? '>' : '<';
        if (r->values.order == '<' && !from_span_is(value, "LITTLE"))
            from_lines_fail(&r->brick.lines, "DATA_ENDIAN must be LITTLE or BIG");
    } else if (from_span_is(key, "BYTE_OFFSET")) {
        if (!from_span_number(value, 0, &r->brick.disp))
            from_lines_fail(&r->brick.lines, "BYTE_OFFSET must be a number of 0 or more");
    } else if (from_span_is(key, "DATA_COMPONENTS")) {
        r->values.components = 2;
        if (!from_span_is(value, "COMPLEX") && !from_span_number(value, 1, &r->values.components))
            from_lines_fail(&r->brick.lines, "DATA_COMPONENTS must be a positive number");
    } else if (from_span_is(key, "HAS_BOUNDARY") && from_span_is(value, "true")) {
        r->brick.reason = "its parts overlap (HAS_BOUNDARY)";
    }
}

static void read_lines(struct reader *r)
{
    struct from_span line, key, value;

    while (from_lines_next(&r->brick.lines, &line))
        if (line.length && *line.at != '#' && from_span_split(line, ":", &key, &value))
            read_entry(r, key, value);
    if (!r->file.length || !r->values.shape[0] || !r->values.kind)
        from_lines_fail(&r->brick.lines, "%s is missing",
                        !r->file.length       ? "DATA_FILE"
                        : !r->values.shape[0] ? "DATA_SIZE"
                                              : "DATA_FORMAT");
}

/* Returns the view of the members. Each is a subarray of the whole, whose x counts bytes. */
static json_t *view_of(const struct reader *r, const int64_t *counts)
{
    int64_t element = r->values.components * r->values.size;
    const int64_t *size = r->values.shape, *part = r->parts;

    return json_pack(
        "{s:{s:s, s:[I,I,I], s:[I,I,I], s:[o,o,o], s:s}, s:i}", "filetype", "type", "subarray",
        "sizes", (json_int_t)size[2], (json_int_t)size[1], (json_int_t)(size[0] * element),
        "subsizes", (json_int_t)part[2], (json_int_t)part[1], (json_int_t)(part[0] * element),
        "starts", json_sprintf("rank / %" PRId64 " * %" PRId64, counts[0] * counts[1], part[2]),
        json_sprintf("rank / %" PRId64 " %% %" PRId64 " * %" PRId64, counts[0], counts[1], part[1]),
        json_sprintf("rank %% %" PRId64 " * %" PRId64, counts[0], part[0] * element), "order", "C",
        "tiles", 1);
}

/* Adds the files that a pattern names, one for each part. */
static void add_parts(struct reader *r)
{
    int64_t counts[3], files = 1;

    for (int d = 0; d < 3; d++) {
        if (!r->parts[d] || r->values.shape[d] % r->parts[d]) {
            from_lines_fail(&r->brick.lines, "DATA_BRICKLETS must divide DATA_SIZE if DATA_FILE "
                                             "is a pattern");
            return;
        }
        counts[d] = r->values.shape[d] / r->parts[d];
        files = vs_mul_capped(files, counts[d]);
    }
    from_brick_add_numbered(&r->brick, r->file, 0, files - 1, 1,
                            "DATA_FILE is not a pattern with one %d, or names too many files");
    if (!r->brick.lines.file->error->code && files > 1 && !(r->brick.view = view_of(r, counts)))
        from_no_memory(r->brick.lines.file);
}

static void add_variable(struct reader *r)
{
    from_brick_variable(&r->brick, r->variable, &r->values);
    if (r->file.length > 3 && !memcmp(r->file.at + r->file.length - 3, ".gz", 3))
        r->brick.reason = "the data file is compressed";
    if (memchr(r->file.at, '%', r->file.length))
        add_parts(r);
    else
        from_brick_add(&r->brick, r->file);
}

/* Returns true if a line of the text begins with the key. */
static bool has_key(const struct from_bytes *head, const char *key)
{
    const unsigned char *at = memmem(head->bytes, head->length, key, strlen(key));

    return at && (at == head->bytes || at[-1] == '\n');
}

static bool is_bov(const struct from_bytes *head)
{
    return has_key(head, "DATA_FILE:") && has_key(head, "DATA_SIZE:");
}

static int parse_bov(const struct from_bytes *head, struct from_file *file)
{
    const char own_order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    struct reader r = {.brick.lines = from_lines_of(head, file),
                       .values = {.dimensions = 3, .components = 1, .order = own_order}};

    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    read_lines(&r);
    if (!file->error->code)
        add_variable(&r);
    return from_brick_finish(&r.brick, head);
}

const struct from_format from_bov = {
    .name = "BOV",
    .is_it = is_bov,
    .read = parse_bov,
};
