/* SPDX-License-Identifier: MIT */
#include "mitgcm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "words.h"

/*
 * A .meta file is a list of
 *
 *     name = [ value, ... ];        or { value ... };
 *
 * of which dimList tells, for each dimension, the size of the whole array and the first and the
 * last index (from 1) that the .data file has, the fastest dimension first; dataprec the type;
 * nrecords how many such arrays follow each other; fldList their names. All else is left aside.
 */

#define FIELDS_MAX 4096
#define NAME_SIZE  64

struct reader {
    struct from_words words;
    int dimensions;
    int64_t list[3 * FROM_DIMENSIONS_MAX]; /* dimList */
    int numbers;
    char precision[16];
    int64_t records;
    char (*fields)[NAME_SIZE];
    int64_t field_count;
};

/* Whatever stands up to the semicolon. */
static void skip_value(struct reader *r)
{
    char next;

    while ((next = from_words_peek(&r->words)) && next != ';')
        if (next == '\'' || next == '"')
            from_words_string(&r->words, NULL, 0);
        else
            from_words_accept(&r->words, next);
}

static void read_list(struct reader *r)
{
    from_words_need(&r->words, '[');
    while (!from_words_stopped(&r->words) && from_words_peek(&r->words) != ']') {
        if (r->numbers == 3 * FROM_DIMENSIONS_MAX) {
            from_words_fail(&r->words, "too many dimensions");
            return;
        }
        r->list[r->numbers++] = from_words_number(&r->words);
        from_words_accept(&r->words, ',');
    }
    from_words_need(&r->words, ']');
}

static void read_records(struct reader *r)
{
    from_words_need(&r->words, '[');
    r->records = from_words_number(&r->words);
    from_words_need(&r->words, ']');
}

static void read_precision(struct reader *r)
{
    from_words_need(&r->words, '[');
    from_words_string(&r->words, r->precision, sizeof(r->precision));
    from_words_need(&r->words, ']');
}

static void read_fields(struct reader *r)
{
    from_words_need(&r->words, '{');
    while (!from_words_stopped(&r->words) && from_words_peek(&r->words) != '}') {
        char name[NAME_SIZE];
        size_t length;
        if (r->field_count == FIELDS_MAX) {
            from_words_fail(&r->words, "too many fields");
            return;
        }
        if (!from_words_string(&r->words, name, sizeof(name)))
            return;
        for (length = strlen(name); length && name[length - 1] == ' '; length--)
            ;
        name[length] = '\0';
        strcpy(r->fields[r->field_count++], name);
        from_words_accept(&r->words, ',');
    }
    from_words_need(&r->words, '}');
}

static void read_entry(struct reader *r)
{
    static const struct {
        const char *name;
        void (*read)(struct reader *r);
    } entries[] = {
        {"dimList", read_list},
        {"dataprec", read_precision},
        {"nrecords", read_records},
        {"fldList", read_fields},
    };

    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
        if (from_words_accept_word(&r->words, entries[i].name)) {
            from_words_need(&r->words, '=');
            entries[i].read(r);
            from_words_need(&r->words, ';');
            return;
        }
    skip_value(r);
    from_words_need(&r->words, ';');
}

/* Whether what was read makes sense; the number of dimensions. */
static void check(struct reader *r)
{
    int64_t values = 1;

    r->dimensions = r->numbers / 3;
    if (!r->numbers || r->numbers % 3)
        from_words_fail(&r->words, "dimList does not have three numbers a dimension");
    if (strcmp(r->precision, "float32") != 0 && strcmp(r->precision, "float64") != 0)
        from_words_fail(&r->words, "dataprec is neither float32 nor float64");
    if (r->records < 1)
        from_words_fail(&r->words, "nrecords is not 1 or more");
    for (int i = 0; i < r->numbers; i += 3) {
        if (r->list[i + 1] < 1 || r->list[i + 2] < r->list[i + 1] || r->list[i] < r->list[i + 2])
            from_words_fail(&r->words, "dimList has indices that are not in the array");
        if (__builtin_mul_overflow(values, r->list[i], &values))
            from_words_fail(&r->words, "more than 2^63-1 values");
    }
    if (__builtin_mul_overflow(values, 8 * r->records, &values) || r->records > INT32_MAX)
        from_words_fail(&r->words, "more than 2^63-1 bytes");
}

/* Whether the .data file has the whole array. */
static bool is_whole(const struct reader *r)
{
    for (int i = 0; i < r->numbers; i += 3)
        if (r->list[i + 1] != 1 || r->list[i + 2] != r->list[i])
            return false;
    return true;
}

/* A variable of some records, from one on. */
static int add(const struct reader *r, struct from_file *file, const char *name, size_t length,
               int64_t first, int64_t records)
{
    struct from_variable *variable = from_add(file, name, length);
    int64_t values = 1;

    if (variable == NULL)
        return -ENOMEM;
    variable->size = strcmp(r->precision, "float32") ? 8 : 4;
    variable->etype = from_float(variable->size);
    variable->datarep = "big-endian";
    if (records > 1)
        variable->shape[variable->dimensions++] = records;
    for (int d = r->dimensions - 1; d >= 0; d--) {
        values *= r->list[3 * d];
        if (variable->dimensions < FROM_DIMENSIONS_MAX)
            variable->shape[variable->dimensions++] = r->list[3 * d];
        else
            from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    }
    variable->at = first * values * variable->size;
    if (!is_whole(r))
        from_refuse(variable, "the file has a part of the array only");
    return variable->etype ? 0 : -ENOMEM;
}

/* A variable a field, where they have names; else one, with the name of the file. */
static int add_variables(const struct reader *r, const char *path, struct from_file *file)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strrchr(name, '.');
    size_t length = strlen(path) - 5; /* without ".meta" */

    if (!(file->data = strndup(path, length + 5)))
        return -ENOMEM;
    strcpy(file->data + length, ".data");
    if (r->field_count != r->records)
        return add(r, file, name, (size_t)(end - name), 0, r->records);
    for (int64_t i = 0; i < r->records; i++)
        if (add(r, file, r->fields[i], strlen(r->fields[i]), i, 1))
            return -ENOMEM;
    return 0;
}

static bool is_it(const struct from_bytes *head)
{
    size_t length = strlen(head->path);

    return length > 5 && !strcmp(head->path + length - 5, ".meta") &&
           memmem(head->bytes, head->length, "dimList", 7);
}

static int parse(const struct from_bytes *head, struct from_file *file, struct vs_error *error)
{
    const char *text = (const char *)head->bytes;
    struct reader r = {.words = {.at = text, .end = text + head->length}, .records = 1};
    int code = 0;

    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    r.fields = calloc(FIELDS_MAX, sizeof(*r.fields));
    while (r.fields && from_words_peek(&r.words))
        read_entry(&r);
    check(&r);
    if (!r.fields)
        code = -ENOMEM;
    else if (!r.words.wrong)
        code = add_variables(&r, head->path, file) | from_add_part(file, 0, head->size);
    free(r.fields);
    if (code)
        return from_fail(error, -ENOMEM, head->path, "%s", strerror(ENOMEM));
    if (r.words.wrong)
        return from_fail(error, -EINVAL, head->path, "damaged .meta file at byte %zu: %s",
                         (size_t)(r.words.at - text), r.words.wrong);
    return 0;
}

const struct from_format from_mitgcm = {
    .name = ".meta",
    .is_it = is_it,
    .parse = parse,
};
