/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* NumPy's .npy, versions 1.0, 2.0 and 3.0: one variable, with the name of the file. */

/*
 * The header of a .npy file: magic, version, length, then a dictionary in Python's syntax, with the
 * keys descr, fortran_order and shape. A descr is the name of a type, or a list of fields.
 */

static const char magic[] = "\x93NUMPY";
#define MAGIC_LENGTH 6
/* The maximum nesting depth of structures. */
#define DEPTH_MAX 16

struct reader {
    struct from_words words;
    struct from_variable *variable;
    char order; /* the byte order of the values */
};

/* An element's type. If it is NULL, the variable has the reason, or the words have the error. */
struct type {
    json_t *json;
    int64_t size;
    bool padding; /* V: bytes without a meaning */
};

static int64_t item_size(char kind, int64_t number)
{
    return kind == 'U' ? 4 * number : number;
}

static json_t *basic_type(char kind, int64_t size)
{
    if (kind == 'b')
        return size == 1 ? json_string("c_bool") : NULL;
    if (kind == 'S' || kind == 'a')
        return size > 0 ? from_several(json_string("char"), size) : NULL;
    return strchr("iufc", kind) ? from_number(kind, size) : NULL;
}

/* Reads a type's name, such as '<f8'. */
static struct type read_name(struct reader *r)
{
    struct type type = {0};
    char text[32], order, kind, *end;

    if (!from_words_string(&r->words, text, sizeof(text)))
        return type;
    order = text[0] && strchr("<>=|", text[0]) ? text[0] : '|';
    kind = text[text[0] == order];
    int64_t number = kind ? strtoll(text + (text[0] == order) + 1, &end, 10) : 0;
    type.size = number < 0 || number > INT32_MAX ? -1 : item_size(kind, number);
    if (!kind || type.size < 0) {
        from_words_fail(&r->words, "no type of NumPy's");
        return type;
    }
    type.padding = kind == 'V';
    type.json = basic_type(kind, type.size);
    if (order == '=')
        order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    if (!type.json && !type.padding)
        from_refuse(r->variable, "values of type %s", text);
    else if (!from_order(&r->order, order == '|' || type.size == 1 || kind == 'S' ? 0 : order))
        from_refuse(r->variable, "values of both byte orders");
    return type;
}

/* Reads a tuple such as (3, 4) and returns the product of its numbers. Stores them in sizes
   unless that is NULL. */
static int64_t read_numbers(struct reader *r, int64_t *sizes, int *count)
{
    int64_t product = 1;

    from_words_need(&r->words, '(');
    for (int i = 0; !from_words_accept(&r->words, ')'); i++) {
        int64_t number = from_words_number(&r->words);
        if (r->words.wrong)
            return 1;
        if (sizes && i < FROM_DIMENSIONS_MAX)
            sizes[(*count)++] = number;
        else if (sizes)
            from_refuse(r->variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
        else if (__builtin_mul_overflow(product, number, &product))
            from_words_fail(&r->words, "more than 2^63-1 values");
        if (!from_words_accept(&r->words, ',')) {
            from_words_need(&r->words, ')');
            return product;
        }
    }
    return product;
}

static struct type read_type(struct reader *r, int depth);

/* Reads a field, ('name', type) or ('name', type, (3,)), at a displacement of its structure. */
static int64_t read_field(struct reader *r, json_t *structure, int64_t at, int depth)
{
    int64_t count = 1, bytes = 0;

    from_words_need(&r->words, '(');
    if (from_words_accept(&r->words, '(')) { /* (title, name) */
        from_words_string(&r->words, NULL, 0);
        from_words_need(&r->words, ',');
        from_words_string(&r->words, NULL, 0);
        from_words_need(&r->words, ')');
    } else {
        from_words_string(&r->words, NULL, 0);
    }
    from_words_need(&r->words, ',');
    struct type type = read_type(r, depth);
    if (from_words_accept(&r->words, ',') && from_words_peek(&r->words) != ')')
        count = read_numbers(r, NULL, NULL);
    from_words_need(&r->words, ')');
    if (__builtin_mul_overflow(type.size, count, &bytes) || bytes > INT32_MAX)
        from_words_fail(&r->words, "an element of more than 2^31-1 bytes");
    if (type.json && count > 0)
        from_member(structure, at, from_several(type.json, count));
    else
        json_decref(type.json);
    return bytes;
}

static struct type read_structure(struct reader *r, int depth)
{
    struct type type = {.json = from_struct()};

    from_words_need(&r->words, '[');
    do {
        if (from_words_peek(&r->words) == ']')
            break;
        type.size += read_field(r, type.json, type.size, depth + 1);
        if (type.size > INT32_MAX)
            from_words_fail(&r->words, "an element of more than 2^31-1 bytes");
    } while (from_words_accept(&r->words, ','));
    from_words_need(&r->words, ']');
    if (!json_array_size(json_object_get(type.json, "types")))
        from_refuse(r->variable, "a structure without values");
    type.json = from_spaced(type.json, type.size);
    return type;
}

static struct type read_type(struct reader *r, int depth)
{
    if (from_words_peek(&r->words) != '[')
        return read_name(r);
    if (depth < DEPTH_MAX)
        return read_structure(r, depth);
    from_words_fail(&r->words, "structures nest too deep");
    return (struct type){0};
}

static void read_descr(struct reader *r)
{
    struct type type = read_type(r, 0);

    r->variable->etype = type.json;
    r->variable->size = type.size;
    r->variable->datarep = from_datarep(r->order);
    if (type.padding)
        from_refuse(r->variable, "bytes without a type");
    else if (!type.size)
        from_refuse(r->variable, "values without bytes");
}

static void read_dictionary(struct reader *r)
{
    char key[16];
    unsigned seen = 0;

    from_words_need(&r->words, '{');
    do {
        if (from_words_peek(&r->words) == '}')
            break;
        if (!from_words_string(&r->words, key, sizeof(key)))
            return;
        from_words_need(&r->words, ':');
        unsigned field = !strcmp(key, "descr")           ? 1
                         : !strcmp(key, "fortran_order") ? 2
                         : !strcmp(key, "shape")         ? 4
                                                         : 0;
        if (!field || seen & field)
            from_words_fail(&r->words, "no such key");
        else if (field == 1)
            read_descr(r);
        else if (field == 4)
            read_numbers(r, r->variable->shape, &r->variable->dimensions);
        else if (!(r->variable->fortran = from_words_accept_word(&r->words, "True")) &&
                 !from_words_accept_word(&r->words, "False"))
            from_words_fail(&r->words, "neither True nor False");
        seen |= field;
    } while (from_words_accept(&r->words, ','));
    from_words_need(&r->words, '}');
    if (seen != 7)
        from_words_fail(&r->words, "a key is missing");
}

static bool is_npy(const struct from_bytes *head)
{
    return head->length >= MAGIC_LENGTH && !memcmp(head->bytes, magic, MAGIC_LENGTH);
}

/* Adds a variable named after the file, without its folder and ".npy". */
static struct from_variable *add_variable(struct from_file *file)
{
    const char *name = basename(file->path);
    size_t length = strlen(name);

    if (from_has_suffix(name, ".npy"))
        length -= 4;
    return from_add(file, name, length);
}

static int parse_npy(const struct from_bytes *head, struct from_file *file)
{
    const unsigned char *bytes = head->bytes;
    size_t start = MAGIC_LENGTH + 4;

    if (head->length < start + 2)
        return -EAGAIN;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] == 2 || bytes[6] == 3) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        start += 2;
    } else if (bytes[6] != 1) {
        return from_wrong(file, "version %d of .npy is not known", bytes[6]);
    }
    if (length > head->length - start)
        return -EAGAIN;
    struct from_variable *variable = add_variable(file);
    if (variable == NULL)
        return file->error->code;
    from_add_part(file, NULL, 0, (int64_t)(start + length));
    struct reader r = {
        .variable = variable,
        .words = {.at = (const char *)bytes + start, .end = (const char *)bytes + start + length}};
    read_dictionary(&r);
    if (!r.words.wrong && from_words_peek(&r.words))
        from_words_fail(&r.words, "something follows it");
    variable->at = (int64_t)(start + length);
    if (r.words.wrong)
        return from_wrong(file, "damaged .npy header at byte %zu: %s",
                          (size_t)((const unsigned char *)r.words.at - bytes), r.words.wrong);
    if (from_elements(variable) < 0)
        return from_wrong(file, "damaged .npy header: more than 2^63-1 bytes");
    return file->error->code;
}

const struct from_format from_npy = {
    .name = ".npy",
    .is_it = is_npy,
    .read = parse_npy,
};
