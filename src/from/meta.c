/* SPDX-License-Identifier: MIT */
#include "meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

/*
 * A .meta file is a list of
 *
 *     name = [ value, ... ];        or { value ... };
 *
 * of which dimList tells, for each dimension, the size of the whole array and the first and the
 * last index (from 1) that the .data file has, the fastest dimension first; dataprec
 * (format in older files) gives the type; nrecords how many such arrays follow each other; fldList
 * their names. All else is left aside.
 */

#define FIELDS_MAX 4096

struct reader {
    struct from_words words;
    struct from_meta *meta;
    int numbers; /* of dimList */
    char precision[16];
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
        r->meta->list[r->numbers++] = from_words_number(&r->words);
        from_words_accept(&r->words, ',');
    }
    from_words_need(&r->words, ']');
}

static void read_records(struct reader *r)
{
    from_words_need(&r->words, '[');
    r->meta->records = from_words_number(&r->words);
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
        char name[FROM_FIELD_NAME];
        size_t length;
        if (r->meta->field_count == FIELDS_MAX) {
            from_words_fail(&r->words, "too many fields");
            return;
        }
        if (!from_words_string(&r->words, name, sizeof(name)))
            return;
        for (length = strlen(name); length && name[length - 1] == ' '; length--)
            ;
        name[length] = '\0';
        strcpy(r->meta->fields[r->meta->field_count++], name);
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
        {"dimList", read_list},     {"dataprec", read_precision}, {"format", read_precision},
        {"nrecords", read_records}, {"fldList", read_fields},
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

/* Whether what was read makes sense; the number of dimensions, the size of a value. */
static void check_meta(struct reader *r)
{
    struct from_meta *meta = r->meta;
    int64_t values = 1;

    meta->dimensions = r->numbers / 3;
    meta->size = strcmp(r->precision, "float32") ? 8 : 4;
    if (!r->numbers || r->numbers % 3)
        from_words_fail(&r->words, "dimList does not have three numbers a dimension");
    if (meta->size == 8 && strcmp(r->precision, "float64") != 0)
        from_words_fail(&r->words, "dataprec (or format) is neither float32 nor float64");
    if (meta->records < 1)
        from_words_fail(&r->words, "nrecords is not 1 or more");
    for (const int64_t *of = meta->list; of < meta->list + r->numbers; of += 3) {
        if (of[1] < 1 || of[2] < of[1] || of[0] < of[2])
            from_words_fail(&r->words, "dimList has indices that are not in the array");
        if (__builtin_mul_overflow(values, of[0], &values))
            from_words_fail(&r->words, "more than 2^63-1 values");
    }
    if (meta->records > INT32_MAX || __builtin_mul_overflow(values, 8 * meta->records, &values))
        from_words_fail(&r->words, "more than 2^63-1 bytes");
}

int from_meta(const char *text, size_t length, const char *path, struct from_meta *meta,
              struct vs_error *error)
{
    struct reader r = {.words = {.at = text, .end = text + length}, .meta = meta};

    *meta = (struct from_meta){.records = 1, .fields = calloc(FIELDS_MAX, sizeof(*meta->fields))};
    if (!meta->fields)
        return from_fail(error, -ENOMEM, path, "%s", strerror(ENOMEM));
    while (from_words_peek(&r.words))
        read_entry(&r);
    check_meta(&r);
    if (r.words.wrong)
        return from_fail(error, -EINVAL, path, "damaged .meta file at byte %zu: %s",
                         (size_t)(r.words.at - text), r.words.wrong);
    return 0;
}

void from_meta_free(struct from_meta *meta)
{
    free(meta->fields);
}

bool from_meta_is_whole(const struct from_meta *meta)
{
    for (int i = 0; i < 3 * meta->dimensions; i += 3)
        if (meta->list[i + 1] != 1 || meta->list[i + 2] != meta->list[i])
            return false;
    return true;
}
