/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "text.h"

/* ENVI's images: a .hdr file beside the data. */

/* The maximum number of bands that are listed one by one. */
#define BANDS_MAX 4096

enum interleave { BSQ, BIL, BIP };

struct reader {
    struct from_brick brick;
    int64_t samples, line_count, bands, type, order, interleave;
    struct from_span names; /* of the bands, separated by commas */
};

static const struct {
    int64_t code;
    char kind;
    int size;
} types[] = {{1, 'u', 1},  {2, 'i', 2},  {3, 'i', 4},  {4, 'f', 4},  {5, 'f', 8}, {6, 'c', 8},
             {9, 'c', 16}, {12, 'u', 2}, {13, 'u', 4}, {14, 'i', 8}, {15, 'u', 8}};

static void read_interleave(struct reader *r, struct from_span value)
{
    static const char *const names[] = {"bsq", "bil", "bip"};

    for (int i = BSQ; i <= BIP; i++)
        if (from_span_is(value, names[i]))
            r->interleave = i;
    if (r->interleave < 0)
        from_lines_fail(&r->brick.lines, "interleave must be bsq, bil or bip");
}

/* Records why the image is refused: it is compressed, or has bytes around frames or lines. */
static void read_other(struct reader *r, struct from_span key, struct from_span value)
{
    static const struct {
        const char *key, *reason;
    } others[] = {{"file compression", "the image is compressed"},
                  {"major frame offsets", "there are bytes around each frame"},
                  {"minor frame offsets", "there are bytes around each line"}};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        for (size_t j = 0; j < value.length && from_span_is(key, others[i].key); j++)
            if (value.at[j] >= '1' && value.at[j] <= '9')
                r->brick.reason = others[i].reason;
}

/* Extends a value that begins with "{" to the matching "}", which may be on a later line, and
   removes both. */
static void join_lines(struct reader *r, struct from_span *value)
{
    struct from_span line = *value, rest;

    if (!value->length || *value->at != '{')
        return;
    while (!memchr(line.at, '}', line.length))
        if (!from_lines_next(&r->brick.lines, &line)) {
            from_lines_fail(&r->brick.lines, "a { has no }");
            return;
        }
    rest = (struct from_span){value->at + 1, (size_t)(line.at + line.length - value->at) - 1};
    from_span_split(rest, "}", value, &rest);
}

static void read_entry(struct reader *r, struct from_span key, struct from_span value)
{
    const struct {
        const char *key;
        int64_t *number, least;
    } numbers[] = {{"samples", &r->samples, 1}, {"lines", &r->line_count, 1},
                   {"bands", &r->bands, 1},     {"header offset", &r->brick.disp, 0},
                   {"data type", &r->type, 0},  {"byte order", &r->order, 0}};

    join_lines(r, &value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (from_span_is(key, numbers[i].key)) {
            if (!from_span_number(value, numbers[i].least, numbers[i].number))
                from_lines_fail(&r->brick.lines, "%s must be a number of at least %d",
                                numbers[i].key, (int)numbers[i].least);
            return;
        }
    if (from_span_is(key, "interleave"))
        read_interleave(r, value);
    else if (from_span_is(key, "band names"))
        r->names = value;
    else
        read_other(r, key, value);
}

static void read_lines(struct reader *r)
{
    struct from_span line, key, value;

    from_lines_next(&r->brick.lines, &line); /* skip "ENVI" */
    while (from_lines_next(&r->brick.lines, &line))
        if (line.length && *line.at != ';' && from_span_split(line, "=", &key, &value))
            read_entry(r, key, value);
    if (r->samples < 0 || r->line_count < 0 || r->bands < 0 || r->type < 0 || r->interleave < 0)
        from_lines_fail(&r->brick.lines, "%s is missing",
                        r->samples < 0      ? "samples"
                        : r->line_count < 0 ? "lines"
                        : r->bands < 0      ? "bands"
                        : r->type < 0       ? "data type"
                                            : "interleave");
    if (r->order != 0 && r->order != 1)
        from_lines_fail(&r->brick.lines, "byte order must be 0 or 1");
}

/* Finds the data file. It has the header's name without .hdr, or with another suffix instead. */
static void find_data(struct reader *r)
{
    static const char *const suffixes[] = {"", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip"};
    struct from_file *file = r->brick.lines.file;
    const char *path = file->path;
    int length = (int)strlen(path);
    bool has_suffix =
        length > 4 && path[length - 5] != '/' && !strcasecmp(path + length - 4, ".hdr");
    struct stat st;

    if (has_suffix)
        length -= 4;
    for (size_t i = has_suffix ? 0 : 1; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        char *text = NULL;
        if (asprintf(&text, "%.*s%s", length, path, suffixes[i]) < 0)
            text = NULL;
        if (text && (stat(text, &st) || S_ISDIR(st.st_mode))) {
            free(text);
            continue;
        }
        if (from_paths_add(&r->brick.names, text))
            from_no_memory(file);
        return;
    }
    r->brick.reason =
        "there is no data file beside it (of the same name, alone or with .img, .dat, "
        ".raw, .bsq, .bil or .bip)";
}

/* Adds the whole image, in the order of the file. */
static void add_whole(struct reader *r, char kind, int size)
{
    struct from_values values = {
        .kind = kind, .size = size, .order = r->order ? '>' : '<', .dimensions = 3};
    const int64_t shapes[][3] = {[BSQ] = {r->samples, r->line_count, r->bands},
                                 [BIL] = {r->samples, r->bands, r->line_count},
                                 [BIP] = {r->bands, r->samples, r->line_count}};

    memcpy(values.shape, shapes[r->interleave], sizeof(shapes[0]));
    from_brick_variable(&r->brick, (struct from_span){0}, &values);
}

/* Adds a band, whose values may be interleaved with other bands. */
static void add_band(struct reader *r, char kind, int size, int64_t band, struct from_span name)
{
    struct from_variable *variable = from_add(r->brick.lines.file, name.at, name.length);
    int64_t bands = r->bands;

    if (variable == NULL)
        return;
    from_set_number(variable, kind, size, r->order ? '>' : '<');
    variable->dimensions = 2;
    variable->shape[0] = r->line_count;
    variable->shape[1] = r->samples;
    if (r->interleave == BSQ) {
        variable->at = band * r->line_count * r->samples * size;
    } else if (r->interleave == BIL) {
        variable->at = band * r->samples * size;
        variable->stride = bands > 1 ? bands * r->samples * size : 0;
    } else {
        variable->at = band * size;
        variable->size = bands * size;
        variable->gap = (bands - 1) * size;
        if (bands > 1)
            variable->etype = from_spaced(variable->etype, bands * size);
    }
}

static bool is_taken(const struct from_file *file, struct from_span name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strlen(file->variables[i].name) == name.length &&
            !memcmp(file->variables[i].name, name.at, name.length))
            return true;
    return false;
}

/* Adds each band under its own name, or its number counted from 1. */
static void add_bands(struct reader *r, char kind, int size)
{
    for (int64_t band = 0; band < r->bands && r->bands <= BANDS_MAX; band++) {
        struct from_span name = r->names, rest = {NULL, 0};
        char number[48];

        if (from_span_split(r->names, ",", &name, &rest))
            r->names = rest;
        else
            r->names.length = 0;
        if (!name.length || is_taken(r->brick.lines.file, name)) {
            snprintf(number, sizeof(number), "band%lld", (long long)band + 1);
            name = from_span_of(number);
            for (int more = 2; is_taken(r->brick.lines.file, name); more++) {
                snprintf(number, sizeof(number), "band%lld-%d", (long long)band + 1, more);
                name = from_span_of(number);
            }
        }
        add_band(r, kind, size, band, name);
    }
}

static void add_variables(struct reader *r)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i].code == r->type) {
            add_whole(r, types[i].kind, types[i].size);
            if (!r->brick.lines.file->error->code)
                add_bands(r, types[i].kind, types[i].size);
            return;
        }
    from_lines_fail(&r->brick.lines, "unknown data type %lld", (long long)r->type);
}

static bool is_envi(const struct from_bytes *head)
{
    return head->length > 4 && !memcmp(head->bytes, "ENVI", 4) &&
           strchr("\r\n \t", head->bytes[4]) && head->bytes[4];
}

static int parse_envi(const struct from_bytes *head, struct from_file *file)
{
    struct reader r = {.brick.lines = from_lines_of(head, file),
                       .samples = -1,
                       .line_count = -1,
                       .bands = -1,
                       .type = -1,
                       .interleave = -1,
                       .names = {(const char *)head->bytes, 0}};

    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    read_lines(&r);
    if (!file->error->code)
        find_data(&r);
    if (!file->error->code)
        add_variables(&r);
    return from_brick_finish(&r.brick, head);
}

const struct from_format from_envi = {
    .name = "ENVI",
    .is_it = is_envi,
    .read = parse_envi,
};
