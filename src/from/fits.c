/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* FITS: images and binary tables. */

/*
 * The file consists of header and data units (HDUs). A header is a list of cards of 80 bytes, which
 * ends with END. Header and data are padded to multiples of 2880 bytes. Numbers are big-endian. The
 * first dimension varies fastest.
 */

#define BLOCK    2880
#define CARD     80
#define TEXT_MAX 72
#define FORM_MAX 32
/* The maximum size of a header in bytes. */
#define HEADER_MAX (1 << 24)
#define FIELDS_MAX 999
#define AXES_MAX   999

/* A unit, as its header describes it. */
struct reader {
    const struct from_source *source;
    struct from_file *file;
    int64_t at;   /* of the next card */
    int64_t unit; /* its number, from 0 */
    bool ended;   /* the file ended at the beginning of a unit */
    char kind[TEXT_MAX], name[TEXT_MAX], compression[TEXT_MAX];
    int64_t version, bits, axes, seen, groups, parameters, fields;
    int64_t shape[FROM_DIMENSIONS_MAX]; /* the fastest dimension first */
    int64_t behind;                     /* product of the lengths of all axes but the first */
    bool has_groups, is_compressed;
    char forms[FIELDS_MAX][FORM_MAX]; /* of the columns of a table */
};

/* Returns -1. */
static int64_t fail_fits(struct reader *r, const char *what)
{
    from_wrong(r->file, "damaged FITS header at byte %lld: %s", (long long)r->at - CARD, what);
    return -1;
}

static void start_unit(struct reader *r)
{
    *r = (struct reader){.source = r->source,
                         .file = r->file,
                         .at = r->at,
                         .unit = r->unit,
                         .bits = -1,
                         .axes = -1,
                         .groups = 1,
                         .behind = 1};
}

/* Copies a quoted string without its trailing blanks. Two quotes in it stand for one. */
static void read_string(struct reader *r, struct from_span value, char *text, size_t size)
{
    size_t length = 0, i = 1;

    if (!value.length || *value.at != '\'') {
        fail_fits(r, "expected a string");
        return;
    }
    for (; i < value.length; i++) {
        if (value.at[i] == '\'' && (i + 1 == value.length || value.at[++i] != '\''))
            break;
        if (length + 1 < size)
            text[length++] = value.at[i];
    }
    while (length && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
}

static void read_number(struct reader *r, struct from_span value, int64_t *number)
{
    struct from_span rest;

    from_span_split(value, "/", &value, &rest);
    if (!from_span_number(value, INT64_MIN, number))
        fail_fits(r, "expected a number");
}

static bool is_true(struct from_span value)
{
    return value.length && *value.at == 'T';
}

/* Returns the number after a key's name, as in NAXIS3, or -1 if there is none. */
static int64_t index_of(struct from_span key, const char *name)
{
    size_t length = strlen(name);
    int64_t index;

    if (key.length <= length || memcmp(key.at, name, length) != 0)
        return -1;
    key.at += length;
    key.length -= length;
    return from_span_number(key, 1, &index) ? index : -1;
}

/* Reads NAXISn. Axes come in order. */
static void read_axis(struct reader *r, int64_t axis, struct from_span value)
{
    int64_t length = 0;

    read_number(r, value, &length);
    if (length < 0 || axis > r->axes || axis != ++r->seen) {
        fail_fits(r, "an axis is unknown or out of order");
        return;
    }
    if (axis <= FROM_DIMENSIONS_MAX)
        r->shape[axis - 1] = length;
    if (axis > 1 && __builtin_mul_overflow(r->behind, length, &r->behind))
        fail_fits(r, "more than 2^63-1 values");
}

static void read_value(struct reader *r, struct from_span key, struct from_span value)
{
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"BITPIX", &r->bits},       {"NAXIS", &r->axes},     {"GCOUNT", &r->groups},
                   {"PCOUNT", &r->parameters}, {"TFIELDS", &r->fields}, {"EXTVER", &r->version}};
    int64_t axis = index_of(key, "NAXIS"), column = index_of(key, "TFORM");

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (from_span_is(key, numbers[i].key))
            read_number(r, value, numbers[i].number);
    if (axis > 0)
        read_axis(r, axis, value);
    else if (column > 0 && column <= FIELDS_MAX)
        read_string(r, value, r->forms[column - 1], FORM_MAX);
    else if (from_span_is(key, "XTENSION"))
        read_string(r, value, r->kind, sizeof(r->kind));
    else if (from_span_is(key, "EXTNAME"))
        read_string(r, value, r->name, sizeof(r->name));
    else if (from_span_is(key, "ZCMPTYPE"))
        read_string(r, value, r->compression, sizeof(r->compression));
    else if (from_span_is(key, "GROUPS"))
        r->has_groups = is_true(value);
    else if (from_span_is(key, "ZIMAGE") || from_span_is(key, "ZTABLE"))
        r->is_compressed = is_true(value);
}

/* Reads the next card. Returns false after END, at the end of the file, or with error filled. */
static bool read_card(struct reader *r, bool is_first)
{
    char text[CARD];
    int64_t got = r->file->error->code ? 0 : r->source->read(r->source->self, text, CARD, r->at);

    if (got != CARD || (is_first && memcmp(text, r->unit ? "XTENSION" : "SIMPLE  ", 8) != 0)) {
        /* After the last unit there may be other data. */
        r->ended = is_first;
        if (got < 0)
            from_fail_code(r->file->error, (int)got, r->file->path);
        if (!is_first)
            from_wrong(r->file, "damaged FITS header: the file ends in the header");
        return false;
    }
    r->at += CARD;
    struct from_span key = {text, 8}; /* it begins at the left */
    while (key.length && text[key.length - 1] == ' ')
        key.length--;
    if (from_span_is(key, "END"))
        return false;
    if (text[8] == '=' && text[9] == ' ')
        read_value(r, key, from_span_trim(text + 10, text + CARD));
    return true;
}

/* Checks the header that was read. Returns the number of bytes of its data, or -1 with error
   filled. */
static int64_t check_unit(struct reader *r)
{
    int64_t first = r->axes && r->has_groups && !r->shape[0] ? 1 : r->shape[0], bytes;

    if (r->axes < 0 || r->axes > AXES_MAX || r->seen != r->axes || r->groups < 0 ||
        r->parameters < 0 ||
        (r->bits != 8 && r->bits != 16 && r->bits != 32 && r->bits != 64 && r->bits != -32 &&
         r->bits != -64))
        return fail_fits(r, "invalid BITPIX, NAXIS, PCOUNT or GCOUNT");
    if (__builtin_mul_overflow(first, r->behind, &bytes) ||
        __builtin_add_overflow(bytes, r->parameters, &bytes) ||
        __builtin_mul_overflow(bytes, r->groups, &bytes) ||
        __builtin_mul_overflow(bytes, labs(r->bits) / 8, &bytes) || bytes > INT64_MAX - BLOCK)
        return fail_fits(r, "more than 2^63-1 bytes");
    return bytes;
}

/* Adds a variable for a unit. It is named by EXTNAME, and EXTVER if there is one; a primary unit
   without EXTNAME is PRIMARY. Without a name, or if it is taken, it is named by its number. */
static struct from_variable *add_unit(struct reader *r)
{
    char text[2 * TEXT_MAX];

    if (r->version > 0 && r->name[0])
        snprintf(text, sizeof(text), "%s,%lld", r->name, (long long)r->version);
    else
        snprintf(text, sizeof(text), "%s", r->name[0] ? r->name : r->unit ? "" : "PRIMARY");
    bool taken = !text[0];
    for (size_t i = 0; i < r->file->count; i++)
        taken = taken || !strcmp(r->file->variables[i].name, text);
    if (taken)
        snprintf(text, sizeof(text), "HDU%lld", (long long)r->unit);
    return from_add(r->file, text, strlen(text));
}

static void add_image(struct reader *r, struct from_variable *variable)
{
    int64_t size = labs(r->bits) / 8;

    from_set_number(variable, r->bits < 0 ? 'f' : r->bits == 8 ? 'u' : 'i', size, '>');
    if (r->axes > FROM_DIMENSIONS_MAX)
        from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    for (int64_t d = r->axes - 1; d >= 0 && r->axes <= FROM_DIMENSIONS_MAX; d--)
        variable->shape[variable->dimensions++] = r->shape[d];
    if (r->has_groups || r->groups != 1 || r->parameters)
        from_refuse(variable, "random groups");
}

/* Returns a column's type and its number of bytes. Returns NULL if it has no bytes, or if its form
   is unknown, and refuses the variable then. */
static json_t *column_type(struct from_variable *variable, const char *form, int64_t *bytes)
{
    static const struct {
        char code, kind;
        int size;
    } types[] = {{'L', 'S', 1}, {'A', 'S', 1}, {'B', 'u', 1}, {'X', 'u', 1},
                 {'I', 'i', 2}, {'J', 'i', 4}, {'K', 'i', 8}, {'E', 'f', 4},
                 {'D', 'f', 8}, {'C', 'c', 8}, {'M', 'c', 16}};
    int64_t count = 1;
    size_t digits = strspn(form, "0123456789");

    *bytes = 0;
    if (digits && (digits > 9 || !from_span_number((struct from_span){form, digits}, 0, &count)))
        count = -1;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types) && count >= 0; i++)
        if (types[i].code == form[digits]) {
            count = form[digits] == 'X' ? (count + 7) / 8 : count;
            *bytes = count * types[i].size;
            if (!count)
                return NULL;
            return from_several(types[i].kind == 'S' ? json_string("char")
                                                     : from_number(types[i].kind, types[i].size),
                                count);
        }
    from_refuse(variable, "a column of the form %s%s", *form ? form : "(none)",
                form[digits] == 'P' || form[digits] == 'Q' ? ", of variable length" : "");
    return NULL;
}

/* Makes each row an element, which is a structure. */
static void add_table(struct reader *r, struct from_variable *variable)
{
    json_t *row = from_struct();
    int64_t at = 0, bytes;

    variable->size = r->shape[0];
    variable->dimensions = 1;
    variable->shape[0] = r->behind;
    variable->datarep = "big-endian";
    if (r->bits != 8 || r->axes != 2 || r->groups != 1 || r->fields < 0 || r->fields > FIELDS_MAX)
        from_refuse(variable, "an invalid table");
    for (int64_t i = 0; i < r->fields && !variable->reason; i++, at += bytes) {
        json_t *type = column_type(variable, r->forms[i], &bytes);
        if (type)
            from_member(row, at, type);
    }
    if (!variable->reason && at != r->shape[0])
        from_refuse(variable, "columns have %lld bytes, and rows %lld", (long long)at,
                    (long long)r->shape[0]);
    if (!at)
        from_refuse(variable, "it has no columns");
    variable->etype = from_spaced(row, r->shape[0]);
}

static void add_variable(struct reader *r)
{
    struct from_variable *variable = add_unit(r);

    if (variable == NULL)
        return;
    variable->at = r->at;
    if (r->is_compressed)
        from_refuse(variable, "it is compressed (%s)", r->compression);
    if (!r->kind[0] || !strcmp(r->kind, "IMAGE") || !strcmp(r->kind, "IUEIMAGE"))
        add_image(r, variable);
    else if (!strcmp(r->kind, "BINTABLE") || !strcmp(r->kind, "A3DTABLE"))
        add_table(r, variable);
    else if (!strcmp(r->kind, "TABLE"))
        from_refuse(variable, "values are text");
    else
        from_refuse(variable, "an extension of the kind %s", r->kind);
    if (!variable->reason && from_end(variable) < 0)
        fail_fits(r, "more than 2^63-1 bytes");
}

/* Reads a unit. The header becomes a part of the file's, because the next unit's place depends on
   it. */
static void read_unit(struct reader *r)
{
    int64_t begin = r->at, bytes;

    start_unit(r);
    for (bool is_first = true; read_card(r, is_first); is_first = false)
        if (r->at - begin > HEADER_MAX)
            fail_fits(r, "the header is too long");
    if (r->ended || r->file->error->code || (bytes = check_unit(r)) < 0)
        return;
    r->at += (BLOCK - r->at % BLOCK) % BLOCK;
    if (r->at > r->source->size)
        from_wrong(r->file, "damaged FITS header: the file ends in the header");
    else
        from_add_part(r->file, NULL, begin, r->at - begin);
    if (r->axes > 0 || r->has_groups)
        add_variable(r);
    bytes += (BLOCK - bytes % BLOCK) % BLOCK;
    if (__builtin_add_overflow(r->at, bytes, &r->at))
        r->ended = true;
    r->unit++;
}

static bool is_fits(const struct from_bytes *head)
{
    return head->length >= 9 && !memcmp(head->bytes, "SIMPLE  =", 9);
}

static int scan_fits(const struct from_bytes *head, struct from_file *file)
{
    struct reader r = {.source = head->source, .file = file};

    while (!r.ended && !file->error->code && r.at < head->size)
        read_unit(&r);
    return file->error->code;
}

const struct from_format from_fits = {
    .name = "FITS",
    .is_it = is_fits,
    .read = scan_fits,
};
