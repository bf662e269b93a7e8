/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "build.h"
#include "viewspec/base/integer.h"
#include "viewspec/element.h"
#include "viewspec/text/json.h"

#define MAX_NESTING 64
_Static_assert(MAX_NESTING <= VS_ELEMENT_DEPTH, "an element cursor reaches down all types");

/* A TYPE object while it is built. */
struct site {
    struct vs_builder *b;
    json_t *json;
    const struct vs_place *place;
    bool bytes; /* the stride and displacements are in bytes, not in extents of oldtype */
    const struct vs_cut *cut; /* NULL: the rank's part is made */
};

static bool failed(const struct vs_builder *b)
{
    return b->scope->error->code || b->arena->failure;
}

/* Records an error of the value under the key `name` of the object. */
#define fail_at(site, name, ...)                                                                   \
    vs_refuse((site)->b->scope, VS_KEY((site)->place, name), __VA_ARGS__)

static json_t *member(const struct site *site, const char *key)
{
    json_t *value = json_object_get(site->json, key);
    if (value == NULL)
        vs_refuse(site->b->scope, site->place, "\"%s\" is missing", key);
    return value;
}

static int64_t integer_at(struct vs_builder *b, const struct vs_place *place, json_t *value,
                          int64_t least)
{
    int64_t result = 0;
    if (vs_scope_integer(b->scope, place, value, &result))
        return 0;
    if (result < least)
        vs_refuse(b->scope, place, "%lld is less than %lld", (long long)result, (long long)least);
    return result;
}

static int64_t integer(const struct site *site, const char *key, int64_t least)
{
    json_t *value = member(site, key);
    return value ? integer_at(site->b, VS_KEY(site->place, key), value, least) : 0;
}

/* Returns the "blocklength" of a constructor that need not have one. */
static int64_t blocklength_of(const struct site *site)
{
    return json_object_get(site->json, "blocklength") ? integer(site, "blocklength", 1) : 1;
}

/* Returns the array under key. If *count < 0, any length is accepted and stored; else it is fixed.
 */
static json_t *array(const struct site *site, const char *key, int64_t *count)
{
    json_t *value = vs_scope_member(site->b->scope, site->place, site->json, key, JSON_ARRAY);
    int64_t size = (int64_t)json_array_size(value);

    if (value == NULL) {
        member(site, key);
        return NULL;
    }
    if (*count >= 0 && size != *count) {
        fail_at(site, key, "expected %lld entries, got %lld", (long long)*count, (long long)size);
        return NULL;
    }
    *count = size;
    return value;
}

static int64_t *integers(const struct site *site, const char *key, int64_t *count, int64_t least)
{
    const struct vs_place *place = VS_KEY(site->place, key);
    json_t *value = array(site, key, count);
    int64_t *result = value ? vs_arena_array(site->b->arena, *count, sizeof(*result)) : NULL;
    for (int64_t i = 0; result && i < *count && !failed(site->b); i++)
        result[i] = integer_at(site->b, VS_ITEM(place, i), json_array_get(value, (size_t)i), least);
    return failed(site->b) ? NULL : result;
}

/* Returns the index of the string under key in the words, or -1. */
static int word_at(struct vs_builder *b, const struct vs_place *place, const json_t *value,
                   const char *const *words, const char *expected)
{
    const char *text = json_string_value(value);
    for (int i = 0; text && words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    if (text)
        vs_refuse(b->scope, place, "expected %s, got \"%.100s\"", expected, text);
    else
        vs_refuse(b->scope, place, "expected %s, got %s", expected, vs_kind_name(value));
    return -1;
}

static bool fortran_order(const struct site *site)
{
    static const char *const orders[] = {"C", "Fortran", NULL};
    json_t *value = member(site, "order");
    return value && word_at(site->b, VS_KEY(site->place, "order"), value, orders,
                            "\"C\" or \"Fortran\"") == 1;
}

static struct vs_type old_type(const struct site *site)
{
    json_t *value = json_object_get(site->json, "oldtype");
    if (value)
        return vs_build_type(site->b, value, VS_KEY(site->place, "oldtype"));
    if (site->b->etype)
        return *site->b->etype;
    member(site, "oldtype");
    return (struct vs_type){0};
}

static struct vs_type make_contiguous(const struct site *site)
{
    int64_t count = integer(site, "count", 0);
    struct vs_type old = old_type(site);
    return vs_type_vector(site->b->arena, 1, count, 0, &old);
}

static struct vs_type make_vector(const struct site *site)
{
    struct vs_arena *arena = site->b->arena;
    int64_t count = integer(site, "count", 0), length = integer(site, "blocklength", 0);
    int64_t stride = integer(site, "stride", INT64_MIN);
    struct vs_type old = old_type(site);
    if (!site->bytes)
        stride = vs_mul(arena, stride, vs_type_extent(arena, &old));
    return vs_type_vector(arena, count, length, stride, &old);
}

/* Makes a list of blocks. The lengths are NULL if all blocks have the same. */
static struct vs_type make_blocks(const struct site *site, int64_t count, const int64_t *lengths,
                                  int64_t length)
{
    struct vs_arena *arena = site->b->arena;
    int64_t *displacements = integers(site, "displacements", &count, INT64_MIN);
    struct vs_type old = old_type(site);
    if (failed(site->b))
        return old;
    return vs_type_indexed(arena, count, lengths, length, displacements,
                           site->bytes ? 1 : vs_type_extent(arena, &old), &old);
}

static struct vs_type make_indexed(const struct site *site)
{
    int64_t count = -1, *lengths = integers(site, "blocklengths", &count, 0);
    return make_blocks(site, count, lengths, 0);
}

static struct vs_type make_block(const struct site *site)
{
    return make_blocks(site, -1, NULL, integer(site, "blocklength", 0));
}

static struct vs_type make_struct(const struct site *site)
{
    struct vs_builder *b = site->b;
    int64_t count = -1;
    int64_t *lengths = integers(site, "blocklengths", &count, 0);
    int64_t *displacements = integers(site, "displacements", &count, INT64_MIN);
    json_t *list = array(site, "types", &count);
    struct vs_type *types = list ? vs_arena_array(b->arena, count, sizeof(*types)) : NULL;
    const struct vs_place *place = VS_KEY(site->place, "types");
    for (int64_t i = 0; types && i < count && !failed(b); i++)
        types[i] = vs_build_type(b, json_array_get(list, (size_t)i), VS_ITEM(place, i));
    if (types == NULL || failed(b))
        return (struct vs_type){0};
    return vs_type_struct(b->arena, count, lengths, displacements, types);
}

/* Returns the lengths of an array's dimensions; there is at least one. */
static int64_t *dimensions(const struct site *site, const char *key, int64_t *count)
{
    int64_t *sizes = integers(site, key, count, 1);
    if (sizes && !*count)
        fail_at(site, key, "expected at least one dimension");
    return sizes;
}

/* Returns the part of a dimension. parts are numbered as vs_type_array expects: fastest first. */
static struct vs_part *part_at(struct vs_part *parts, int64_t dimensions, int64_t d, bool fortran)
{
    return &parts[fortran ? d : dimensions - 1 - d];
}

/* Makes the type of a rank's part of an array, and records the array in it. */
static struct vs_type part_of_array(const struct site *site, int64_t n, const int64_t *sizes,
                                    bool fortran, struct vs_part *parts, const struct vs_type *old)
{
    struct vs_arena *arena = site->b->arena;
    const struct vs_type *etype = site->b->etype;
    struct vs_type type = vs_type_array(arena, n, parts, old);
    struct vs_array *whole = vs_arena_alloc(arena, sizeof(*whole));
    int64_t *owned = vs_arena_array(arena, n, sizeof(*owned));
    int64_t etypes;

    for (int64_t d = 0; owned && d < n; d++) {
        const struct vs_part *part = part_at(parts, n, d, fortran);
        owned[d] = vs_add(arena, vs_mul(arena, part->count, part->length), part->rest);
    }
    etypes = etype && old->node ? old->node->size / etype->node->size : 0;
    if (whole)
        *whole = (struct vs_array){n, sizes, owned, fortran, vs_type_extent(arena, old), etypes};
    type.array = type.part = whole;
    return type;
}

/* Makes the box of an array that the cut demands, or the given one. */
static struct vs_type make_box(const struct site *site, int64_t n, const int64_t *sizes,
                               bool fortran, const int64_t *subsizes, const int64_t *starts)
{
    struct vs_builder *b = site->b;
    struct vs_type old = old_type(site);
    struct vs_part *parts = vs_arena_array(b->arena, n, sizeof(*parts));

    if (site->cut) {
        subsizes = site->cut->count ? site->cut->count : sizes;
        starts = site->cut->start ? site->cut->start : vs_arena_array(b->arena, n, sizeof(*starts));
    }
    for (int64_t d = 0; d < n && !failed(b); d++) {
        if (subsizes[d] > sizes[d] || starts[d] > sizes[d] - subsizes[d])
            vs_refuse(b->scope, VS_ITEM(VS_KEY(site->place, "subsizes"), d),
                      "%lld elements from %lld on exceed the size %lld", (long long)subsizes[d],
                      (long long)starts[d], (long long)sizes[d]);
        *part_at(parts, n, d, fortran) = (struct vs_part){
            .size = sizes[d], .start = starts[d], .count = 1, .length = subsizes[d]};
    }
    return failed(b) ? old : part_of_array(site, n, sizes, fortran, parts, &old);
}

static struct vs_type make_subarray(const struct site *site)
{
    int64_t n = -1;
    int64_t *sizes = dimensions(site, "sizes", &n);
    int64_t *subsizes = site->cut ? NULL : integers(site, "subsizes", &n, 0);
    int64_t *starts = site->cut ? NULL : integers(site, "starts", &n, 0);
    return make_box(site, n, sizes, fortran_order(site), subsizes, starts);
}

enum distribution { BLOCK, CYCLIC, NONE };

/* Returns the part of one dimension of a darray that belongs to the process at `place`. */
static struct vs_part distribute(const struct site *site, size_t d, int64_t size, int64_t place,
                                 int64_t places)
{
    static const char *const words[] = {"block", "cyclic", "none", NULL};
    struct vs_builder *b = site->b;
    const struct vs_place *here = VS_ITEM(VS_KEY(site->place, "distribs"), d);
    const struct vs_place *darg_place = VS_ITEM(VS_KEY(site->place, "dargs"), d);
    int kind = word_at(b, here, json_array_get(json_object_get(site->json, "distribs"), d), words,
                       "\"block\", \"cyclic\" or \"none\"");
    json_t *darg = json_array_get(json_object_get(site->json, "dargs"), d);
    int64_t length = kind == BLOCK ? (size - 1) / places + 1 : 1;
    if (kind == NONE && places != 1)
        vs_refuse(b->scope, here, "\"none\" needs 1 process in this dimension, not %lld",
                  (long long)places);
    if (kind == NONE)
        length = size;
    else if (darg && !json_is_null(darg))
        length = integer_at(b, darg_place, darg, 1);
    if (failed(b))
        return (struct vs_part){0};
    if (kind == BLOCK && length < size / places + (size % places != 0))
        vs_refuse(b->scope, darg_place, "%lld blocks of %lld do not cover %lld elements",
                  (long long)places, (long long)length, (long long)size);
    return vs_part_cyclic(size, length, place, places);
}

static void check_grid(const struct site *site, int64_t n, const int64_t *psizes)
{
    int64_t processes = 1, ranks = site->b->scope->ranks;
    bool overflow = false;
    for (int64_t d = 0; d < n; d++)
        overflow |= __builtin_mul_overflow(processes, psizes[d], &processes);
    if (overflow)
        fail_at(site, "psizes", "the product exceeds 2^63-1");
    else if (processes != ranks)
        fail_at(site, "psizes", "the product is %lld, not the number of ranks, %lld",
                (long long)processes, (long long)ranks);
}

/*
 * Makes the distribution over the ranks, for rank 0. Returns NULL unless the elements are the same
 * for all ranks and have their data inside their extent.
 */
static struct vs_dealing *dealing_of(const struct vs_builder *b, int64_t n,
                                     const struct vs_type *old)
{
    int64_t extent =
        failed(b) || b->scope->rank || b->scope->uses_rank ? 0 : vs_type_extent(b->arena, old);
    bool inside = extent > 0 && old->node && old->node->lo >= 0 && old->node->hi <= extent;
    struct vs_dealing *dealing = NULL;

    if (inside)
        dealing = vs_arena_alloc(b->arena, sizeof(*dealing) + (size_t)n * sizeof(*dealing->deals));
    if (dealing)
        *dealing = (struct vs_dealing){.dimensions = n, .extent = extent};
    return dealing;
}

static struct vs_type make_darray(const struct site *site)
{
    struct vs_builder *b = site->b;
    int64_t n = -1;
    int64_t *gsizes = dimensions(site, "gsizes", &n);
    int64_t *psizes, rank = b->scope->rank, weight = 1;
    bool fortran;
    struct vs_part *parts;
    struct vs_type old, type;
    struct vs_dealing *dealing;

    if (site->cut)
        return make_box(site, n, gsizes, fortran_order(site), NULL, NULL);
    array(site, "distribs", &n);
    if (json_object_get(site->json, "dargs"))
        array(site, "dargs", &n);
    psizes = integers(site, "psizes", &n, 1);
    fortran = fortran_order(site);
    parts = vs_arena_array(b->arena, n, sizeof(*parts));
    old = old_type(site);
    if (!failed(b))
        check_grid(site, n, psizes);
    /* The grid of processes is row-major regardless of the order of the array (MPI 3.1, 4.1.4). */
    dealing = dealing_of(b, n, &old);
    for (int64_t d = n - 1; d >= 0 && !failed(b); d--) {
        struct vs_part *part = part_at(parts, n, d, fortran);
        *part = distribute(site, (size_t)d, gsizes[d], rank % psizes[d], psizes[d]);
        if (dealing)
            dealing->deals[part - parts] =
                (struct vs_deal){gsizes[d], part->length, psizes[d], weight};
        rank /= psizes[d];
        weight *= psizes[d];
    }
    if (failed(b))
        return old;
    b->scope->uses_rank |= b->scope->ranks > 1;
    type = part_of_array(site, n, gsizes, fortran, parts, &old);
    type.dealing = dealing;
    return type;
}

static struct vs_type make_resized(const struct site *site)
{
    int64_t lb = integer(site, "lb", INT64_MIN), extent = integer(site, "extent", INT64_MIN);
    struct vs_type old = old_type(site);
    return vs_type_resized(site->b->arena, lb, extent, &old);
}

/* Distributes blocks to the ranks in rank order, over size elements. */
static struct vs_type deal(const struct site *site, int64_t size, int64_t length)
{
    struct vs_builder *b = site->b;
    int64_t *sizes = site->cut ? vs_arena_alloc(b->arena, sizeof(*sizes)) : NULL;
    struct vs_type type = {0};
    struct vs_dealing *dealing;
    struct vs_part part;

    if (sizes) {
        *sizes = size;
        return make_box(site, 1, sizes, false, NULL, NULL);
    }
    type = old_type(site);
    dealing = dealing_of(b, 1, &type);
    if (failed(b))
        return type;
    b->scope->uses_rank |= b->scope->ranks > 1;
    part = vs_part_cyclic(size, length, b->scope->rank, b->scope->ranks);
    type = vs_type_array(b->arena, 1, &part, &type);
    if (dealing)
        dealing->deals[0] = (struct vs_deal){size, length, b->scope->ranks, 1};
    type.dealing = dealing;
    return type;
}

static struct vs_type make_scatter(const struct site *site)
{
    int64_t length = blocklength_of(site);
    int64_t size = vs_mul(site->b->arena, length, site->b->scope->ranks);

    if (!site->cut)
        return deal(site, size, length);
    site->b->elements = size;
    return old_type(site);
}

static struct vs_type make_hpf_block(const struct site *site)
{
    int64_t size = integer(site, "size", 1);
    return deal(site, size, (size - 1) / site->b->scope->ranks + 1);
}

static struct vs_type make_hpf_cyclic(const struct site *site)
{
    int64_t size = integer(site, "size", 1);
    return deal(site, size, blocklength_of(site));
}

static const struct constructor {
    const char *name;
    struct vs_type (*make)(const struct site *site);
    bool bytes; /* as in struct site */
    const char *keys[8];
} constructors[] = {
    {"contiguous", make_contiguous, false, {"type", "count", "oldtype"}},
    {"vector", make_vector, false, {"type", "count", "blocklength", "stride", "oldtype"}},
    {"hvector", make_vector, true, {"type", "count", "blocklength", "stride", "oldtype"}},
    {"indexed", make_indexed, false, {"type", "blocklengths", "displacements", "oldtype"}},
    {"hindexed", make_indexed, true, {"type", "blocklengths", "displacements", "oldtype"}},
    {"indexed_block", make_block, false, {"type", "blocklength", "displacements", "oldtype"}},
    {"hindexed_block", make_block, true, {"type", "blocklength", "displacements", "oldtype"}},
    {"struct", make_struct, false, {"type", "blocklengths", "displacements", "types"}},
    {"subarray", make_subarray, false, {"type", "sizes", "subsizes", "starts", "order", "oldtype"}},
    {"darray",
     make_darray,
     false,
     {"type", "gsizes", "distribs", "dargs", "psizes", "order", "oldtype"}},
    {"resized", make_resized, false, {"type", "lb", "extent", "oldtype"}},
    {"dup", old_type, false, {"type", "oldtype"}},
    {"broadcast", old_type, false, {"type", "oldtype"}},
    {"scatter", make_scatter, false, {"type", "blocklength", "oldtype"}},
    {"hpf_block", make_hpf_block, false, {"type", "size", "oldtype"}},
    {"hpf_cyclic", make_hpf_cyclic, false, {"type", "size", "blocklength", "oldtype"}},
    {0},
};

static struct vs_type build_object(struct vs_builder *b, json_t *json, const struct vs_place *place)
{
    struct site site = {.b = b, .json = json, .place = place};
    json_t *name = member(&site, "type");
    const struct constructor *constructor = constructors;
    struct vs_type type;

    if (name == NULL)
        return (struct vs_type){0};
    if (!json_is_string(name)) {
        fail_at(&site, "type", "expected a constructor's name, got %s", vs_kind_name(name));
        return (struct vs_type){0};
    }
    while (constructor->name && strcmp(constructor->name, json_string_value(name)) != 0)
        constructor++;
    if (!constructor->name) {
        fail_at(&site, "type", "unknown constructor \"%.100s\"", json_string_value(name));
        return (struct vs_type){0};
    }
    if (vs_check_keys(b->scope, place, json, constructor->keys))
        return (struct vs_type){0};
    site.bytes = constructor->bytes;
    site.cut = b->array;
    if (constructor->make != make_resized && constructor->make != old_type)
        b->array = NULL;
    type = constructor->make(&site);
    if (!failed(b) && type.node && !type.node->monotonic && !b->blame)
        b->blame = vs_place_keep(b->arena, place);
    if (!b->scope->error->code)
        vs_check_arena(b->scope, b->arena, place);
    return type;
}

/* A named type, built as an etype or as a part of a filetype. */
struct vs_named {
    bool done; /* false: under construction */
    int depth; /* levels of objects in the type */
    struct vs_type type;
};

void vs_builder_free(struct vs_builder *b)
{
    vs_memo_free(&b->named[0]);
    vs_memo_free(&b->named[1]);
}

static struct vs_type build_named(struct vs_builder *b, const char *name, json_t *definition,
                                  const struct vs_place *place)
{
    struct vs_memo *memo = &b->named[b->etype != NULL];
    const struct vs_named *known = vs_memo_find(memo, name);
    struct vs_named *named;

    if (known) {
        if (!known->done)
            vs_refuse(b->scope, place, "type \"%.100s\" contains itself", name);
        else if (b->nesting + known->depth > MAX_NESTING)
            vs_refuse(b->scope, place, "types nest more than %d deep", MAX_NESTING);
        b->depth = known->depth;
        return known->type;
    }
    named = vs_arena_alloc(b->arena, sizeof(*named));
    if (named && !vs_memo_add(memo, name, named))
        b->arena->failure = -ENOMEM;
    if (failed(b))
        return (struct vs_type){0};
    named->type = vs_build_type(b, definition, VS_KEY(VS_KEY(NULL, "types"), name));
    named->depth = b->depth;
    named->done = true;
    return named->type;
}

/*
 * Returns true if json is the etype as the spec writes it. The comparison covers all of json, so
 * for a named type it is done only once, when its definition is built.
 */
static bool is_etype(const struct vs_builder *b, json_t *json)
{
    const char *name = json_string_value(json);
    const char *etype = b->etype_json ? json_string_value(b->etype_json) : "byte";

    if (!b->etype || b->any_leaf)
        return false;
    return name && etype ? vs_basic_find(name) == vs_basic_find(etype)
                         : json_equal(json, b->etype_json);
}

/* Reports a basic type that the user-defined representation lacks. */
static void fail_size(struct vs_builder *b, const struct vs_basic *basic,
                      const struct vs_place *place)
{
    char name[64];
    size_t i = 0;
    for (; basic->name[i] && i < sizeof(name) - 1; i++)
        name[i] = (char)toupper((unsigned char)basic->name[i]);
    name[i] = '\0';
    vs_refuse(b->scope, place, "representation \"%.100s\" has no MPI_%s", b->representation->name,
              name);
}

static struct vs_type build_name(struct vs_builder *b, json_t *json, const struct vs_place *place)
{
    const char *name = json_string_value(json);
    void *entry = b->types ? json_object_iter_at(b->types, name) : NULL;
    const struct vs_basic *basic = vs_basic_find(name);

    if (strcmp(name, "etype") == 0) {
        if (b->etype)
            return *b->etype;
        vs_refuse(b->scope, place, "\"etype\" is known only in a filetype");
        return (struct vs_type){0};
    }
    if (entry)
        return build_named(b, json_object_iter_key(entry), json_object_iter_value(entry), place);
    if (basic == NULL)
        vs_refuse(b->scope, place, "unknown type \"%.100s\"", name);
    else if (b->etype && !b->any_leaf)
        vs_refuse(b->scope, place, "the %s must be built from the etype: \"%.100s\" is not it",
                  b->whole, name);
    else if (vs_representation_size(b->representation, basic) < 1)
        fail_size(b, basic, place);
    return failed(b) ? (struct vs_type){0} : vs_type_basic(b->arena, basic, b->representation);
}

struct vs_type vs_build_type(struct vs_builder *b, json_t *json, const struct vs_place *place)
{
    struct vs_type type = {0};
    int *around, before = b->depth;

    b->scope->work++;
    if (failed(b))
        return type;
    if (is_etype(b, json))
        return *b->etype;
    around = json_is_string(json) ? &b->naming : &b->nesting;
    b->depth = 0;
    if (++*around > MAX_NESTING)
        vs_refuse(b->scope, place, "types nest more than %d deep", MAX_NESTING);
    else if (json_is_string(json))
        type = build_name(b, json, place);
    else if (json_is_object(json))
        type = build_object(b, json, place);
    else
        vs_refuse(b->scope, place, "expected a type's name or an object, got %s",
                  vs_kind_name(json));
    --*around;
    b->depth = (int)vs_max(before, b->depth + json_is_object(json));
    return type;
}
