/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <string.h>

#include "text.h"

/* ITK's MetaImage, with the data in the same file (.mha) or in another one (.mhd). */

/*
 * The header consists of lines "Key = Value". The last key is ElementDataFile. Its value is LOCAL
 * if the data follows; the name of a file; LIST if names follow, one on each line; or a pattern of
 * names with the first number, the last one and the step.
 */

struct reader {
    struct from_brick brick;
    struct from_values values;
    int64_t dimensions, header;
    bool is_big, is_binary, is_compressed, has_data, is_local;
};

/* MET_LONG has 4 bytes on every machine. */
static const struct {
    const char *name;
    char kind;
    int size;
} types[] = {{"CHAR", 'i', 1},  {"UCHAR", 'u', 1},     {"SHORT", 'i', 2},      {"USHORT", 'u', 2},
             {"INT", 'i', 4},   {"UINT", 'u', 4},      {"LONG", 'i', 4},       {"ULONG", 'u', 4},
             {"FLOAT", 'f', 4}, {"LONG_LONG", 'i', 8}, {"ULONG_LONG", 'u', 8}, {"DOUBLE", 'f', 8}};

/* Reads MET_TYPE or MET_TYPE_ARRAY. */
static void read_type(struct reader *r, struct from_span value)
{
    static const char start[] = "MET_", end[] = "_ARRAY";
    size_t skipped = strlen(start), cut = strlen(end);

    if (value.length > skipped && !memcmp(value.at, start, skipped)) {
        value.at += skipped;
        value.length -= skipped;
    }
    if (value.length > cut && !memcmp(value.at + value.length - cut, end, cut))
        value.length -= cut;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (from_span_is(value, types[i].name)) {
            r->values.kind = types[i].kind;
            r->values.size = types[i].size;
        }
    if (!r->values.kind)
        from_lines_fail(&r->brick.lines, "unknown ElementType");
}

static bool is_true(struct from_span value)
{
    return value.length && (*value.at == 'T' || *value.at == 't' || *value.at == '1');
}

static void read_sizes(struct reader *r, struct from_span value)
{
    r->values.dimensions = from_span_numbers(value, 1, r->values.shape, FROM_DIMENSIONS_MAX - 1);
    if (r->values.dimensions < 1)
        from_lines_fail(&r->brick.lines, "DimSize must be a list of positive numbers");
}

/* Adds the files that a pattern names. By default min and step are 1, and the array's last
   dimension determines max. */
static void read_pattern(struct reader *r, struct from_span pattern, const int64_t *numbers,
                         int count)
{
    static const char wrong[] = "ElementDataFile must be a pattern with one %d, and its numbers";
    int64_t min = count > 0 ? numbers[0] : 1, max = count > 1 ? numbers[1] : min;
    int64_t files = r->values.dimensions > 0 ? r->values.shape[r->values.dimensions - 1] : 1;

    if (count < 2 && __builtin_add_overflow(min, files - 1, &max))
        from_lines_fail(&r->brick.lines, "%s", wrong);
    else
        from_brick_add_numbered(&r->brick, pattern, min, max, count > 2 ? numbers[2] : 1, wrong);
}

static void read_data_file(struct reader *r, struct from_span value)
{
    struct from_span rest = value, word = {value.at, 0};
    int64_t numbers[3];

    r->has_data = true;
    from_span_word(&rest, 0, &word);
    int count = from_span_numbers(rest, INT64_MIN, numbers, 3);
    r->is_local = from_span_is(value, "LOCAL");
    if (r->is_local)
        return;
    if (from_span_is(word, "LIST") && (count == 0 || count == 1)) {
        from_brick_add_list(&r->brick);
        if (!r->brick.names.count)
            from_lines_fail(&r->brick.lines, "the list of data files is empty");
    } else if (count >= 0 && word.length && memchr(word.at, '%', word.length)) {
        read_pattern(r, word, numbers, count);
    } else {
        from_brick_add(&r->brick, value);
    }
}

static void read_entry(struct reader *r, struct from_span key, struct from_span value)
{
    const struct {
        const char *key;
        int64_t *number, least;
    } numbers[] = {{"NDims", &r->dimensions, 1},
                   {"ElementNumberOfChannels", &r->values.components, 1},
                   {"HeaderSize", &r->header, FROM_AT_END}};
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {{"BinaryData", &r->is_binary},
                 {"BinaryDataByteOrderMSB", &r->is_big},
                 {"ElementByteOrderMSB", &r->is_big},
                 {"CompressedData", &r->is_compressed}};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (from_span_is(key, numbers[i].key) &&
            !from_span_number(value, numbers[i].least, numbers[i].number))
            from_lines_fail(&r->brick.lines, "%s must be a number of at least %d", numbers[i].key,
                            (int)numbers[i].least);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (from_span_is(key, flags[i].key))
            *flags[i].flag = is_true(value);
    if (from_span_is(key, "DimSize"))
        read_sizes(r, value);
    else if (from_span_is(key, "ElementType"))
        read_type(r, value);
    else if (from_span_is(key, "ElementDataFile"))
        read_data_file(r, value);
}

static void read_lines(struct reader *r)
{
    struct from_span line, key, value;

    while (!r->has_data && from_lines_next(&r->brick.lines, &line))
        if (from_span_split(line, "=:", &key, &value))
            read_entry(r, key, value);
    if (!r->has_data || !r->values.kind || !r->values.dimensions)
        from_lines_fail(&r->brick.lines, "%s is missing",
                        !r->has_data      ? "ElementDataFile"
                        : !r->values.kind ? "ElementType"
                                          : "DimSize");
    else if (r->dimensions != r->values.dimensions)
        from_lines_fail(&r->brick.lines, "NDims and DimSize contradict each other");
}

static void add_variable(struct reader *r)
{
    size_t files = r->brick.names.count;

    r->values.order = r->is_big ? '>' : '<';
    from_brick_variable(&r->brick, (struct from_span){0}, &r->values);
    r->brick.reason = r->is_compressed ? "the image is compressed"
                      : r->is_binary   ? NULL
                                       : "values are text";
    if (files > 1 && r->brick.bytes % (int64_t)files)
        from_lines_fail(&r->brick.lines, "%zu data files do not make up the image", files);
}

static bool is_metaimage(const struct from_bytes *head)
{
    static const char *const starts[] = {"ObjectType", "NDims", "Comment"};

    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (head->length > strlen(starts[i]) &&
            !memcmp(head->bytes, starts[i], strlen(starts[i])) &&
            memmem(head->bytes, head->length, "ElementDataFile", 15))
            return true;
    return false;
}

/* Returns true if head has the line of ElementDataFile, or the whole file. */
static bool is_enough(const struct from_bytes *head)
{
    const unsigned char *line = memmem(head->bytes, head->length, "ElementDataFile", 15);

    return (int64_t)head->length == head->size ||
           (line && memchr(line, '\n', head->length - (size_t)(line - head->bytes)));
}

static int parse_metaimage(const struct from_bytes *head, struct from_file *file)
{
    struct reader r = {
        .brick.lines = from_lines_of(head, file), .values = {.components = 1}, .is_binary = true};

    if (!is_enough(head))
        return -EAGAIN;
    read_lines(&r);
    if (!file->error->code && !r.is_local && (int64_t)head->length < head->size) {
        from_paths_free(&r.brick.names);
        return -EAGAIN;
    }
    if (!file->error->code) {
        r.brick.disp = r.header;
        r.brick.start = r.is_local && !r.header ? r.brick.lines.at - (const char *)head->bytes : 0;
        add_variable(&r);
    }
    return from_brick_finish(&r.brick, head);
}

const struct from_format from_metaimage = {
    .name = "MetaImage",
    .is_it = is_metaimage,
    .read = parse_metaimage,
};
