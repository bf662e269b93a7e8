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
    struct from_lines lines;
    struct from_brick brick;
    int64_t dimensions, channels, header;
    int sizes;
    int64_t shape[FROM_DIMENSIONS_MAX]; /* the fastest dimension first */
    char kind;
    int size;
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
            r->kind = types[i].kind;
            r->size = types[i].size;
        }
    if (!r->kind)
        from_lines_fail(&r->lines, "unknown ElementType");
}

static bool is_true(struct from_span value)
{
    return value.length && (*value.at == 'T' || *value.at == 't' || *value.at == '1');
}

static void read_sizes(struct reader *r, struct from_span value)
{
    r->sizes = from_span_numbers(value, r->shape, FROM_DIMENSIONS_MAX - 1);
    for (int d = 0; d < r->sizes; d++)
        if (r->shape[d] < 1)
            r->sizes = -1;
    if (r->sizes < 1)
        from_lines_fail(&r->lines, "DimSize must be a list of positive numbers");
}

/* Adds the files that a pattern names. By default min and step are 1, and the array's last
   dimension determines max. */
static int read_pattern(struct reader *r, struct from_span pattern, const int64_t *numbers,
                        int count)
{
    int64_t min = count > 0 ? numbers[0] : 1, max = count > 1 ? numbers[1] : min, code;
    int64_t files = r->sizes > 0 ? r->shape[r->sizes - 1] : 1;

    if (count < 2 && __builtin_add_overflow(min, files - 1, &max))
        code = -EINVAL;
    else
        code = from_brick_add_numbered(&r->brick, pattern, min, max, count > 2 ? numbers[2] : 1);
    if (code == -EINVAL)
        from_lines_fail(&r->lines,
                        "ElementDataFile must be a pattern with one %%d, and its numbers");
    return code == -EINVAL ? 0 : (int)code;
}

static int read_data_file(struct reader *r, struct from_span value)
{
    struct from_span rest = value, word = {value.at, 0}, line;
    int64_t numbers[3];
    int code = 0;

    r->has_data = true;
    from_span_word(&rest, 0, &word);
    int count = from_span_numbers(rest, numbers, 3);
    r->is_local = from_span_is(value, "LOCAL");
    if (r->is_local)
        return 0;
    if (from_span_is(word, "LIST") && (count == 0 || count == 1)) {
        while (!code && from_lines_next(&r->lines, &line))
            if (line.length)
                code = from_brick_add(&r->brick, line);
        if (!code && !r->brick.count)
            from_lines_fail(&r->lines, "the list of data files is empty");
        return code;
    }
    if (count >= 0 && word.length && memchr(word.at, '%', word.length))
        return read_pattern(r, word, numbers, count);
    return from_brick_add(&r->brick, value);
}

static int read_entry(struct reader *r, struct from_span key, struct from_span value)
{
    const struct {
        const char *key;
        int64_t *number, least;
    } numbers[] = {{"NDims", &r->dimensions, 1},
                   {"ElementNumberOfChannels", &r->channels, 1},
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
            (!from_span_number(value, numbers[i].number) || *numbers[i].number < numbers[i].least))
            from_lines_fail(&r->lines, "%s must be a number of at least %d", numbers[i].key,
                            (int)numbers[i].least);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (from_span_is(key, flags[i].key))
            *flags[i].flag = is_true(value);
    if (from_span_is(key, "DimSize"))
        read_sizes(r, value);
    else if (from_span_is(key, "ElementType"))
        read_type(r, value);
    else if (from_span_is(key, "ElementDataFile"))
        return read_data_file(r, value);
    return 0;
}

static int read_lines(struct reader *r)
{
    struct from_span line, key, value;
    int code = 0;

    while (!code && !r->has_data && from_lines_next(&r->lines, &line))
        if (from_span_split(line, "=:", &key, &value))
            code = read_entry(r, key, value);
    if (!r->has_data || !r->kind || !r->sizes)
        from_lines_fail(&r->lines, "%s is missing",
                        !r->has_data ? "ElementDataFile"
                        : !r->kind   ? "ElementType"
                                     : "DimSize");
    else if (r->dimensions != r->sizes)
        from_lines_fail(&r->lines, "NDims and DimSize contradict each other");
    return code;
}

static int add_variable(struct reader *r)
{
    struct from_variable *variable = from_brick_variable(&r->brick);

    if (variable == NULL)
        return -ENOMEM;
    variable->size = r->size;
    variable->etype = from_number(r->kind, r->size);
    variable->datarep = r->size == 1 ? NULL : r->is_big ? "big-endian" : "little-endian";
    for (int d = r->sizes - 1; d >= 0; d--)
        variable->shape[variable->dimensions++] = r->shape[d];
    if (r->channels > 1)
        variable->shape[variable->dimensions++] = r->channels;
    if (r->is_compressed)
        from_refuse(variable, "the image is compressed");
    if (!r->is_binary)
        from_refuse(variable, "values are text");
    int64_t values = from_elements(variable);
    if (values < 0)
        from_lines_fail(&r->lines, "more than 2^63-1 bytes");
    r->brick.bytes = values * r->size;
    if (r->brick.count > 1 && r->brick.bytes % (int64_t)r->brick.count)
        from_lines_fail(&r->lines, "%zu data files do not make up the image", r->brick.count);
    return variable->etype ? 0 : -ENOMEM;
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

static int parse_metaimage(const struct from_bytes *head, struct from_file *file,
                           struct vs_error *error)
{
    const char *text = (const char *)head->bytes;
    struct reader r = {.lines = from_lines_of(head, "MetaImage", error),
                       .brick = {.path = head->path, .file = file},
                       .channels = 1,
                       .is_binary = true};

    if (!is_enough(head))
        return -EAGAIN;
    int code = read_lines(&r);
    if (!code && !error->code && !r.is_local && (int64_t)head->length < head->size) {
        from_brick_free(&r.brick);
        return -EAGAIN;
    }
    if (!code && !error->code) {
        r.brick.disp = r.header;
        r.brick.start = r.is_local && !r.header ? r.lines.at - text : 0;
        code = add_variable(&r);
    }
    return from_brick_finish(&r.brick, code, r.lines.at - text, head->size, error);
}

const struct from_format from_metaimage = {
    .name = "MetaImage",
    .is_it = is_metaimage,
    .parse = parse_metaimage,
};
