/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <string.h>

#include "text.h"

/* NRRD, with the data in the same file (.nrrd) or in another one (.nhdr). */

/*
 * The header consists of a line "NRRD000N" and lines
 *
 *     field: value
 *     key:=value
 *     # comment
 *
 * It ends with an empty line, and the data follows. If a field "data file" names other files, the
 * header may end with the file. A list of names, one on each line, takes up the rest of the file.
 */

struct reader {
    struct from_brick brick;
    struct from_values values;
    int dimension;
    bool is_raw, is_detached;
    struct from_span encoding;
    int64_t files_at; /* the number of dimensions in a file; < 0: not given */
};

static const struct {
    char kind;
    int size;
    const char *names[10];
} types[] = {
    {'i', 1, {"signed char", "int8", "int8_t"}},
    {'u', 1, {"uchar", "unsigned char", "uint8", "uint8_t"}},
    {'i', 2, {"short", "short int", "signed short", "signed short int", "int16", "int16_t"}},
    {'u', 2, {"ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"}},
    {'i', 4, {"int", "signed int", "int32", "int32_t"}},
    {'u', 4, {"uint", "unsigned int", "uint32", "uint32_t"}},
    {'i',
     8,
     {"longlong", "long long", "long long int", "signed long long", "signed long long int", "int64",
      "int64_t"}},
    {'u', 8, {"ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"}},
    {'f', 4, {"float"}},
    {'f', 8, {"double"}},
    {'V', 1, {"block"}},
};

static void read_type(struct reader *r, struct from_span value)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        for (const char *const *name = types[i].names; *name; name++)
            if (from_span_is(value, *name)) {
                r->values.kind = types[i].kind;
                r->values.size = types[i].size;
            }
    if (!r->values.kind)
        from_lines_fail(&r->brick.lines, "unknown type");
}

static void read_dimension(struct reader *r, struct from_span value)
{
    int64_t number;

    if (!from_span_number(value, 1, &number) || number > FROM_DIMENSIONS_MAX)
        from_lines_fail(&r->brick.lines, "dimension must be 1 to %d", FROM_DIMENSIONS_MAX);
    else
        r->dimension = (int)number;
}

static void read_sizes(struct reader *r, struct from_span value)
{
    r->values.dimensions = from_span_numbers(value, 1, r->values.shape, FROM_DIMENSIONS_MAX);
    if (r->values.dimensions < 1)
        from_lines_fail(&r->brick.lines, "sizes must be positive numbers");
}

static void read_endian(struct reader *r, struct from_span value)
{
    r->values.order = from_span_is(value, "little") ? '<' : from_span_is(value, "big") ? '>' : 0;
    if (!r->values.order)
        from_lines_fail(&r->brick.lines, "endian must be little or big");
}

static void read_encoding(struct reader *r, struct from_span value)
{
    r->encoding = value;
    r->is_raw = from_span_is(value, "raw");
}

static void read_byte_skip(struct reader *r, struct from_span value)
{
    if (!from_span_number(value, FROM_AT_END, &r->brick.disp))
        from_lines_fail(&r->brick.lines, "byte skip must be a number of -1 or more");
}

static void read_line_skip(struct reader *r, struct from_span value)
{
    if (!from_span_number(value, 0, &r->brick.skipped))
        from_lines_fail(&r->brick.lines, "line skip must be a number of 0 or more");
}

/* Reads "name", "LIST [dimension]" or "pattern min max step [dimension]". */
static void read_data_file(struct reader *r, struct from_span value)
{
    struct from_span rest = value, word = {value.at, 0};
    int64_t numbers[4];

    r->is_detached = true;
    from_span_word(&rest, 0, &word);
    int count = from_span_numbers(rest, INT64_MIN, numbers, 4);
    if (from_span_is(word, "LIST") && (count == 0 || count == 1)) {
        r->files_at = count ? numbers[0] : -1;
        from_brick_add_list(&r->brick);
    } else if (count < 3 || !memchr(word.at, '%', word.length)) {
        from_brick_add(&r->brick, value);
    } else {
        r->files_at = count == 4 ? numbers[3] : -1;
        from_brick_add_numbered(&r->brick, word, numbers[0], numbers[1], numbers[2],
                                "data file must be a pattern with one %d, and its numbers");
    }
}

static void read_field(struct reader *r, struct from_span key, struct from_span value)
{
    static const struct {
        const char *key, *alias;
        void (*read)(struct reader *r, struct from_span value);
    } fields[] = {{"type", NULL, read_type},
                  {"dimension", NULL, read_dimension},
                  {"sizes", NULL, read_sizes},
                  {"endian", NULL, read_endian},
                  {"encoding", NULL, read_encoding},
                  {"byte skip", "byteskip", read_byte_skip},
                  {"line skip", "lineskip", read_line_skip},
                  {"data file", "datafile", read_data_file}};

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (from_span_is(key, fields[i].key) ||
            (fields[i].alias && from_span_is(key, fields[i].alias)))
            fields[i].read(r, value);
}

/* Reads up to the empty line. */
static void read_lines(struct reader *r)
{
    struct from_span line, key, value;

    while (from_lines_next(&r->brick.lines, &line) && line.length) {
        /* A key that is not a field is followed by ":=". */
        if (*line.at != '#' && from_span_split(line, ":", &key, &value) &&
            !(key.at + key.length + 1 < line.at + line.length && key.at[key.length + 1] == '='))
            read_field(r, key, value);
    }
}

/* Checks that the array consists of as many blocks of equal size as there are files. */
static void check_files(struct reader *r)
{
    int64_t files = 1, given = (int64_t)r->brick.names.count;
    int from = r->files_at < 0 ? r->values.dimensions - 1 : (int)r->files_at;

    if (given < 2 && r->files_at < 0)
        return;
    if (from < 1 || from > r->values.dimensions || r->files_at > r->values.dimensions) {
        from_lines_fail(&r->brick.lines, "the files cannot have %d dimensions", from);
        return;
    }
    for (int d = from; d < r->values.dimensions; d++)
        if (__builtin_mul_overflow(files, r->values.shape[d], &files))
            return;
    if (from < r->values.dimensions ? files != given
                                    : r->values.shape[r->values.dimensions - 1] % given)
        from_lines_fail(&r->brick.lines, "%lld data files do not make up the array",
                        (long long)given);
}

static void check_nrrd(struct reader *r)
{
    if (!r->values.kind || !r->values.dimensions || !r->encoding.length)
        from_lines_fail(&r->brick.lines, "%s is missing",
                        !r->values.kind         ? "type"
                        : !r->values.dimensions ? "sizes"
                                                : "encoding");
    else if (r->dimension != r->values.dimensions)
        from_lines_fail(&r->brick.lines, "dimension and sizes contradict each other");
    else if (r->is_raw && r->values.size > 1 && !r->values.order)
        from_lines_fail(&r->brick.lines, "endian is missing");
    else if (r->is_detached && !r->brick.names.count)
        from_lines_fail(&r->brick.lines, "the list of data files is empty");
    else
        check_files(r);
}

static void add_variable(struct reader *r)
{
    struct from_file *file = r->brick.lines.file;

    from_brick_variable(&r->brick, (struct from_span){0}, &r->values);
    if (file->count && !r->is_raw)
        from_refuse(file->variables, "encoding %.*s", (int)r->encoding.length, r->encoding.at);
    if (r->values.kind == 'V')
        r->brick.reason = "values of type block";
}

static bool is_nrrd(const struct from_bytes *head)
{
    return head->length > 8 && !memcmp(head->bytes, "NRRD000", 7);
}

/* Returns true if head has an empty line. */
static bool has_end(const struct from_bytes *head)
{
    return memmem(head->bytes, head->length, "\n\n", 2) ||
           memmem(head->bytes, head->length, "\n\r\n", 3);
}

static int parse_nrrd(const struct from_bytes *head, struct from_file *file)
{
    struct reader r = {.brick.lines = from_lines_of(head, file), .files_at = -1};
    struct from_span line;

    if (!has_end(head) && (int64_t)head->length < head->size)
        return -EAGAIN;
    from_lines_next(&r.brick.lines, &line); /* skip NRRD000N */
    read_lines(&r);
    if (!file->error->code)
        check_nrrd(&r);
    if (!r.is_detached && !has_end(head))
        from_lines_fail(&r.brick.lines, "the file ends in the header");
    r.brick.start = r.is_detached ? 0 : r.brick.lines.at - (const char *)head->bytes;
    if (!file->error->code)
        add_variable(&r);
    return from_brick_finish(&r.brick, head);
}

const struct from_format from_nrrd = {
    .name = "NRRD",
    .is_it = is_nrrd,
    .read = parse_nrrd,
};
