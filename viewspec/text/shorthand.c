/* SPDX-License-Identifier: MIT */
#include "viewspec/shorthand.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "viewspec/basic.h"
#include "shorthand_private.h"
#include "json.h"
#include "scope.h"

#define MAX_WORD 64

/* The clauses, in the order of their values in the VIEW. */
enum { AT, OF, AS, EVERY, TILES, MEMORY, NAME, DIMS, GRID, ON, ORDER, CLAUSES };

struct reader {
    struct vs_words words;

    json_t *form;   /* the filetype, without "every" */
    json_t *places; /* JSON pointer below form -> byte offset in text */
    const char *form_at;
    json_t *values[CLAUSES]; /* by clause; NULL: omitted. "on" has the grid of ranks */
    const char *at[CLAUSES]; /* the places of the values; NULL: omitted */
    int distributed;         /* number of dimensions of a darray that are not "none" */
};

/* Moves the reference to value into object, or into array if key is NULL. */
static void put(struct reader *r, json_t *into, const char *key, json_t *value)
{
    if (key ? json_object_set_new(into, key, value) : json_array_append_new(into, value))
        vs_fail_memory(r->words.error, &r->words.text);
}

/* Records that the value at a pointer below the form (a printf format) begins at the next word. */
__attribute__((format(printf, 2, 3))) static void put_place(struct reader *r, const char *format,
                                                            ...)
{
    char pointer[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(pointer, sizeof(pointer), format, arguments);
    va_end(arguments);
    vs_words_peek(&r->words);
    put(r, r->places, pointer, json_integer(r->words.at - r->words.text.bytes));
}

/* Reads an integer into the form's member key. */
static void member(struct reader *r, const char *key)
{
    put_place(r, "/%s", key);
    put(r, r->form, key, vs_words_integer(&r->words));
}

/* Reads integers that are separated by x or commas. */
static json_t *integers(struct reader *r, const char *key)
{
    json_t *list = json_array();

    put_place(r, "/%s", key);
    do {
        put_place(r, "/%s/%zu", key, json_array_size(list));
        put(r, list, NULL, vs_words_integer(&r->words));
    } while (vs_words_accept(&r->words, 'x') || vs_words_accept(&r->words, ','));
    return list;
}

static void list_member(struct reader *r, const char *key)
{
    put(r, r->form, key, integers(r, key));
}

static void need_word(struct reader *r, const char *word)
{
    if (!vs_words_accept_word(&r->words, word))
        vs_words_expected(&r->words, word);
}

/* Reads [COUNT] TYPE. A count begins with a digit or a parenthesis. */
static json_t *read_etype(struct reader *r)
{
    char name[MAX_WORD];
    json_t *count = NULL;
    size_t length;

    if (isdigit((unsigned char)vs_words_peek(&r->words)) || *r->words.at == '(')
        count = vs_words_integer(&r->words);
    length = vs_words_length(&r->words);
    snprintf(name, sizeof(name), "%.*s", length < sizeof(name) ? (int)length : 0, r->words.at);
    if (!vs_basic_find(name))
        vs_words_expected(&r->words, "a basic type, such as double");
    else
        r->words.at += length;
    return count
               ? json_pack("{s:s, s:o, s:s}", "type", "contiguous", "count", count, "oldtype", name)
               : json_string(name);
}

/* Reads the name of a data representation, or NAME=LIBRARY, up to the next blank. */
static json_t *read_datarep(struct reader *r)
{
    size_t length;
    const char *start, *equals;

    vs_words_peek(&r->words);
    start = r->words.at;
    length = strcspn(start, " \t\n");
    equals = memchr(start, '=', length);
    if (!length || (equals && (equals == start || equals + 1 == start + length)))
        vs_words_expected(&r->words, "a data representation or NAME=LIBRARY");
    r->words.at += length;
    return equals ? json_pack("{s:s%, s:s%}", "name", start, (size_t)(equals - start), "library",
                              equals + 1, (size_t)(start + length - equals - 1))
                  : json_stringn(start, length);
}

/* Reads values that are separated by commas. */
static json_t *read_list(struct reader *r, json_t *(*read)(struct vs_words *words))
{
    json_t *list = json_array();

    do
        put(r, list, NULL, read(&r->words));
    while (vs_words_accept(&r->words, ','));
    return list;
}

static json_t *read_dims(struct reader *r)
{
    return read_list(r, vs_words_label);
}

/* Reads ORIGIN [by SPACING]. */
static json_t *read_coordinates(struct reader *r)
{
    json_t *object = json_object();

    put(r, object, "origin", read_list(r, vs_words_number));
    if (vs_words_accept_word(&r->words, "by"))
        put(r, object, "spacing", read_list(r, vs_words_number));
    return object;
}

/* Reads "C" or "Fortran". */
static json_t *order_word(struct reader *r)
{
    size_t length = vs_words_length(&r->words);
    bool c = length == 1 && strncasecmp(r->words.at, "C", 1) == 0;
    if (!c && (length != 7 || strncasecmp(r->words.at, "Fortran", 7) != 0))
        vs_words_expected(&r->words, "C or Fortran");
    r->words.at += length;
    return json_string(c ? "C" : "Fortran");
}

static json_t *read_grid(struct reader *r)
{
    return integers(r, "psizes");
}

static json_t *read_order(struct reader *r)
{
    put_place(r, "/order");
    return order_word(r);
}

/* The clauses. Those with a key are in the order of their values in the VIEW. */
static const struct clause {
    const char *word;
    json_t *(*read)(struct reader *r);        /* reads the value; NULL: read_word does */
    json_t *(*read_word)(struct vs_words *w); /* the same, if it is one word or integer */
    const char *pointer; /* the place of the value in the spec; NULL: in the form */
    const char *key;     /* of the value in the VIEW; NULL: it is elsewhere */
} clauses[CLAUSES] = {
    [AT] = {"at", NULL, vs_words_integer, "/view/disp", "disp"},
    [OF] = {"of", read_etype, NULL, "/view/etype", "etype"},
    [AS] = {"as", read_datarep, NULL, "/view/datarep", "datarep"},
    [EVERY] = {"every", NULL, vs_words_integer, "/view/filetype/extent", "filetype"},
    [TILES] = {"tiles", NULL, vs_words_integer, "/view/tiles", "tiles"},
    [MEMORY] = {"memory", order_word, NULL, "/view/memory", "memory"},
    [NAME] = {"name", NULL, vs_words_label, "/view/name", "name"},
    [DIMS] = {"dims", read_dims, NULL, "/view/dims", "dims"},
    [GRID] = {"grid", read_coordinates, NULL, "/view/grid", "grid"},
    [ON] = {"on", read_grid, NULL, "/ranks", NULL},
    [ORDER] = {"order", read_order, NULL, NULL, NULL},
};

/* Returns true if an integer may begin here, which is not the word of a clause. */
static bool at_integer(struct reader *r)
{
    char next = vs_words_peek(&r->words);
    size_t length = vs_words_length(&r->words);

    for (size_t i = 0; i < CLAUSES; i++)
        if (length == strlen(clauses[i].word) && strncmp(r->words.at, clauses[i].word, length) == 0)
            return false;
    return next != '\0';
}

static void read_contiguous(struct reader *r)
{
    if (at_integer(r))
        member(r, "count");
    else
        put(r, r->form, "count", json_integer(1));
}

static void read_vector(struct reader *r)
{
    member(r, "count");
    if (!vs_words_accept(&r->words, 'x'))
        vs_words_expected(&r->words, "x and the blocks' length");
    member(r, "blocklength");
    need_word(r, "stride");
    member(r, "stride");
}

static void read_subarray(struct reader *r)
{
    list_member(r, "sizes");
    need_word(r, "part");
    list_member(r, "subsizes");
    need_word(r, "from");
    list_member(r, "starts");
}

/* Reads block, block(N), cyclic, cyclic(N) or none. */
static bool read_distribution(struct reader *r, json_t *distribs, json_t *dargs)
{
    static const char *const names[] = {"block", "cyclic", "none"};

    put_place(r, "/distribs/%zu", json_array_size(distribs));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!vs_words_accept_word(&r->words, names[i]))
            continue;
        put(r, distribs, NULL, json_string(names[i]));
        r->distributed += i < 2;
        if (i == 2 || !vs_words_accept(&r->words, '(')) {
            put(r, dargs, NULL, json_null());
            return true;
        }
        put_place(r, "/dargs/%zu", json_array_size(dargs));
        put(r, dargs, NULL, vs_words_integer(&r->words));
        if (!vs_words_accept(&r->words, ')'))
            vs_words_expected(&r->words, "')'");
        return true;
    }
    return false;
}

static void read_darray(struct reader *r)
{
    json_t *distribs = json_array(), *dargs = json_array();
    bool wanted = true;

    list_member(r, "gsizes");
    put(r, r->form, "psizes", json_null()); /* keeps the order of the keys; set by settle_grid */
    put_place(r, "/distribs");
    put_place(r, "/dargs");
    while (read_distribution(r, distribs, dargs))
        wanted = vs_words_accept(&r->words, ',');
    if (wanted)
        vs_words_expected(&r->words, "block, cyclic or none");
    put(r, r->form, "distribs", distribs);
    put(r, r->form, "dargs", dargs);
}

static void read_scatter(struct reader *r)
{
    if (at_integer(r))
        member(r, "blocklength");
}

static void read_hpf_block(struct reader *r)
{
    member(r, "size");
}

static void read_hpf_cyclic(struct reader *r)
{
    member(r, "size");
    if (vs_words_accept_word(&r->words, "by"))
        member(r, "blocklength");
}

static void read_form(struct reader *r)
{
    static const struct {
        const char *name;
        void (*read)(struct reader *r);
    } forms[] = {
        {"contiguous", read_contiguous},
        {"vector", read_vector},
        {"subarray", read_subarray},
        {"darray", read_darray},
        {"broadcast", NULL},
        {"scatter", read_scatter},
        {"hpf_block", read_hpf_block},
        {"hpf_cyclic", read_hpf_cyclic},
    };
    vs_words_peek(&r->words);
    r->form_at = r->words.at;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        if (vs_words_accept_word(&r->words, forms[i].name)) {
            put(r, r->form, "type", json_string(forms[i].name));
            if (forms[i].read)
                forms[i].read(r);
            return;
        }
    }
    vs_words_expected(&r->words,
                      "contiguous, vector, subarray, darray, scatter, hpf_block, hpf_cyclic or "
                      "broadcast");
}

static void read_clause(struct reader *r)
{
    size_t i = 0;
    const char *start;

    vs_words_peek(&r->words);
    start = r->words.at;
    while (i < CLAUSES && !vs_words_accept_word(&r->words, clauses[i].word))
        i++;
    if (i == CLAUSES) {
        vs_words_expected(&r->words,
                          "of, at, as, every, on, order, tiles, memory, name, dims or grid");
        return;
    }
    if (r->at[i]) {
        vs_words_fail(&r->words, start, "\"%s\" is said twice", clauses[i].word);
        return;
    }
    vs_words_peek(&r->words);
    r->at[i] = r->words.at;
    r->values[i] = clauses[i].read ? clauses[i].read(r) : clauses[i].read_word(&r->words);
    if (!r->values[i])
        vs_fail_memory(r->words.error, &r->words.text);
}

/*
 * Sets a darray's grid from "on", which has a number for each dimension, or for each distributed
 * one. If only one is distributed, its number may be missing, and is that of the ranks.
 */
static void settle_grid(struct reader *r)
{
    json_t *distribs = json_object_get(r->form, "distribs"), *distribution, *psizes;
    size_t count = json_array_size(r->values[ON]), index, next = 0;

    if (count > 1 && count != (size_t)r->distributed) {
        put(r, r->form, "psizes", json_incref(r->values[ON]));
        return;
    }
    if (r->distributed > 1 && count <= 1)
        vs_words_fail(&r->words, r->form_at,
                      "%d dimensions are distributed: the grid of ranks is missing, such as on 2x2",
                      r->distributed);
    psizes = json_array();
    json_array_foreach(distribs, index, distribution)
    {
        bool none = strcmp(json_string_value(distribution), "none") == 0;

        put(r, psizes, NULL,
            none        ? json_integer(1)
            : count > 1 ? json_incref(json_array_get(r->values[ON], next++))
                        : json_string("ranks"));
    }
    put(r, r->form, "psizes", psizes);
}

/* Returns true if the value of the expression depends on the number of ranks. */
static bool uses_ranks(const char *text)
{
    for (const char *at = text; (at = strstr(at, "ranks")); at += 5)
        if ((at == text || !vs_scope_name_length(at - 1)) && !vs_scope_name_length(at + 5))
            return true;
    return false;
}

/* Returns the number of ranks in the grid; NULL if it depends on -n. */
static json_t *count_ranks(struct reader *r)
{
    char product[2048] = "";
    size_t index, used = 0;
    int64_t ranks = 1;
    bool literal = true, overflow = false;
    json_t *value;
    json_array_foreach(r->values[ON], index, value)
    {
        const char *text = json_string_value(value);
        if (text && uses_ranks(text))
            return NULL;
        literal = literal && text == NULL;
        overflow |= __builtin_mul_overflow(ranks, json_integer_value(value), &ranks);
        if (used < sizeof(product))
            used += (size_t)(text ? snprintf(product + used, sizeof(product) - used, "%s(%s)",
                                             index ? " * " : "", text)
                                  : snprintf(product + used, sizeof(product) - used,
                                             "%s%" JSON_INTEGER_FORMAT, index ? " * " : "",
                                             json_integer_value(value)));
    }
    if (used >= sizeof(product) || (literal && overflow))
        vs_words_fail(&r->words, r->at[ON], "the grid is too large");
    return literal ? json_integer(ranks) : json_string(product);
}

static void put_let(struct reader *r, json_t *root)
{
    json_t *let;

    if (!r->words.define_count)
        return;
    let = json_object();
    for (size_t i = 0; i < r->words.define_count; i++) {
        const char *define = r->words.defines[i], *equals = strchr(define, '=');
        char *name;

        if (equals == NULL || equals == define)
            continue; /* reported by the code that reads -D */
        name = strndup(define, (size_t)(equals - define));
        put(r, let, name ? name : "", name ? json_string(equals + 1) : NULL);
        free(name);
    }
    put(r, root, "let", let);
}

/* Collects the places of the spec's values. */
static json_t *all_places(struct reader *r)
{
    json_t *all = json_object(), *offset;
    const char *pointer;

    json_object_foreach(r->places, pointer, offset)
    {
        char whole[128];
        snprintf(whole, sizeof(whole), "/view/filetype%s%s", r->values[EVERY] ? "/oldtype" : "",
                 pointer);
        put(r, all, whole, json_incref(offset));
    }
    put(r, all, "/view/filetype", json_integer(r->form_at - r->words.text.bytes));
    for (size_t i = 0; i < CLAUSES; i++)
        if (r->at[i] && clauses[i].pointer)
            put(r, all, clauses[i].pointer, json_integer(r->at[i] - r->words.text.bytes));
    return all;
}

static json_t *make_view(struct reader *r)
{
    json_t *view = json_object();

    for (size_t i = 0; i < CLAUSES; i++) {
        json_t *value = i == EVERY ? r->form : r->values[i];
        if (value && clauses[i].key)
            put(r, view, clauses[i].key, json_incref(value));
    }
    if (r->values[EVERY])
        put(r, view, "filetype",
            json_pack("{s:s, s:i, s:O, s:O}", "type", "resized", "lb", 0, "extent",
                      r->values[EVERY], "oldtype", r->form));
    return view;
}

static json_t *make_spec(struct reader *r)
{
    const char *type = json_string_value(json_object_get(r->form, "type"));
    bool darray = type && strcmp(type, "darray") == 0;
    bool ordered = darray || (type && strcmp(type, "subarray") == 0);
    json_t *root = json_object(), *ranks = NULL;
    if (r->at[ORDER] && !ordered)
        vs_words_fail(&r->words, r->at[ORDER], "only a subarray and a darray have an order");
    if (ordered)
        put(r, r->form, "order", r->at[ORDER] ? json_incref(r->values[ORDER]) : json_string("C"));
    if (darray)
        settle_grid(r);
    else if (json_array_size(r->values[ON]) > 1)
        vs_words_fail(&r->words, r->at[ON],
                      "only a darray has a grid: expected the number of ranks");
    put(r, root, "viewspec", json_integer(1));
    if (r->values[ON] && (ranks = count_ranks(r)))
        put(r, root, "ranks", ranks);
    put_let(r, root);
    put(r, root, "view", make_view(r));
    return root;
}

static void read_all(struct reader *r)
{
    json_t *text = json_string(r->words.at);
    if (r->words.text.length > VS_SHORTHAND_MAX_BYTES)
        vs_words_fail(&r->words, r->words.at, "a shorthand is at most %d bytes",
                      VS_SHORTHAND_MAX_BYTES);
    else if (text == NULL)
        vs_words_fail(&r->words, r->words.at, "not valid UTF-8");
    json_decref(text);
    if (!(r->form = json_object()) || !(r->places = json_object()))
        vs_fail_memory(r->words.error, &r->words.text);
    if (!r->words.error->code)
        read_form(r);
    while (vs_words_peek(&r->words))
        read_clause(r);
}

json_t *vs_shorthand_translate(const char *text, const char *source, const struct vs_names *names,
                               const char *const *defines, size_t define_count, json_t **places,
                               struct vs_error *error)
{
    struct reader r = {
        .words = {.text = {.source = source, .bytes = text, .length = strlen(text), .names = names},
                  .at = text,
                  .ends = " \t\n",
                  .defines = defines,
                  .define_count = define_count,
                  .error = error}};
    json_t *root = NULL;
    *places = NULL;
    read_all(&r);
    if (!error->code)
        root = make_spec(&r);
    if (!error->code)
        *places = all_places(&r);
    json_decref(r.form);
    json_decref(r.places);
    for (size_t i = 0; i < CLAUSES; i++)
        json_decref(r.values[i]);
    if (!error->code)
        return root;
    json_decref(root);
    json_decref(*places);
    *places = NULL;
    return NULL;
}

char *vs_shorthand_json(const char *text, const char *source, const char *const *defines,
                        size_t define_count, struct vs_error *error)
{
    json_t *places;
    json_t *root =
        vs_shorthand_translate(text, source, NULL, defines, define_count, &places, error);
    char *json = root ? vs_pretty(root) : NULL;
    if (root && json == NULL)
        vs_fail_memory(error, &(struct vs_text){.source = source});
    json_decref(root);
    json_decref(places);
    return json;
}
