/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "byte_order.h"
#include "view.h"
#include "representation.h"
#include "viewspec/spec_private.h"
#include "viewspec/text/json.h"

static struct vs_representation standard[] = {
    {.name = "native", .datarep = VS_NATIVE},
    {.name = "internal", .datarep = VS_EXTERNAL32},
    {.name = "external32", .datarep = VS_EXTERNAL32},
    {.name = "big-endian", .datarep = VS_BIG_ENDIAN},
    {.name = "little-endian", .datarep = VS_LITTLE_ENDIAN},
};

static struct vs_representation *find_standard(const char *name)
{
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
        if (strcmp(standard[i].name, name) == 0)
            return &standard[i];
    return NULL;
}

const struct vs_representation *vs_representation_native(void)
{
    return &standard[0];
}

static struct vs_representation *find_loaded(struct vs_representation *list, const json_t *value)
{
    const char *name = json_string_value(json_object_get(value, "name"));
    const char *library = json_string_value(json_object_get(value, "library"));
    while (list && (strcmp(list->name, name) != 0 || strcmp(list->library, library) != 0))
        list = list->next;
    return list;
}

/*
 * Checks that the string under key of the object at place is there, and is not empty. Returns it,
 * or NULL after recording an error.
 */
static const char *text_member(struct vs_scope *scope, const json_t *object, const char *key,
                               const struct vs_place *place)
{
    const char *text = json_string_value(vs_scope_member(scope, place, object, key, JSON_STRING));

    if (text == NULL)
        vs_refuse(scope, place, "\"%s\" is missing", key);
    else if (!text[0])
        vs_refuse(scope, VS_KEY(place, key), "the %s is empty", key);
    return scope->error->code ? NULL : text;
}

/*
 * Checks the object, and replaces the library's path in it by an absolute one. Returns 0 or a
 * negative errno.
 */
static int read_object(struct vs_scope *scope, json_t *object, const char *folder,
                       const struct vs_place *place)
{
    static const char *const keys[] = {"name", "library", NULL};
    const char *name;

    if (vs_check_keys(scope, place, object, keys) ||
        !(name = text_member(scope, object, "name", place)) ||
        !text_member(scope, object, "library", place))
        return scope->error->code;
    return find_standard(name) ? vs_refuse(scope, VS_KEY(place, "name"), "the name is taken")
                               : vs_path_settle(scope, object, "library", folder);
}

/* Makes a representation. The name and the path are in the same allocation, after the struct. */
static struct vs_representation *make(const char *name, const char *library)
{
    size_t name_size = strlen(name) + 1, library_size = strlen(library) + 1;
    struct vs_representation *made = calloc(1, sizeof(*made) + name_size + library_size);
    if (made == NULL)
        return NULL;
    made->datarep = VS_USER;
    made->references = 1;
    made->name = memcpy(made + 1, name, name_size);
    made->library = memcpy((char *)(made + 1) + name_size, library, library_size);
    return made;
}

/* Loads the representation that the object describes into the spec's list. */
static void load(struct vs_scope *scope, const json_t *object, const struct vs_place *place,
                 struct vs_spec *spec)
{
    const struct vs_overrides *overrides = spec->overrides;
    char why[sizeof(scope->error->reason) - 128] = "";
    struct vs_representation *made;
    int result;

    if (!overrides->load_datarep) {
        vs_refuse(scope, place, "user-defined data representations are not supported");
        return;
    }
    made = make(json_string_value(json_object_get(object, "name")),
                json_string_value(json_object_get(object, "library")));
    if (made == NULL) {
        vs_refuse_memory(scope);
        return;
    }
    result = overrides->load_datarep(overrides->datarep_argument, made->name, made->library,
                                     &made->user, why, sizeof(why));
    if (result) {
        free(made);
        if (result == -ENOMEM)
            vs_refuse_memory(scope);
        else
            vs_refuse(scope, place, "%s", why[0] ? why : strerror(-result));
        return;
    }
    made->unload = overrides->unload_datarep;
    made->next = spec->representations;
    spec->representations = made;
}

/* Loads the representation of a VIEW or of a per_rank entry, unless it is loaded already or there
   was an error. */
static void load_one(struct vs_scope *scope, const json_t *view, const struct vs_place *up,
                     struct vs_spec *spec)
{
    const struct vs_place *place = VS_KEY(up, "datarep");
    json_t *value = json_object_get(view, "datarep");

    if (json_is_object(value) && !scope->error->code &&
        !read_object(scope, value, spec->folder, place) &&
        !find_loaded(spec->representations, value))
        load(scope, value, place, spec);
}

/* Replaces the representation of a VIEW by that of the overrides. */
static void override(const struct vs_source *source, const struct vs_overrides *overrides)
{
    json_t *entry, *value;
    size_t index;

    value = overrides->datarep_library ? json_pack("{s:s, s:s}", "name", overrides->datarep,
                                                   "library", overrides->datarep_library)
                                       : json_string(overrides->datarep);
    if (value == NULL)
        vs_refuse(source->scope, VS_KEY(source->place, "datarep"), "the name is not valid UTF-8");
    else if (json_object_set_new(source->view, "datarep", value))
        vs_refuse_memory(source->scope);
    json_array_foreach(json_object_get(source->view, "per_rank"), index, entry)
        json_object_del(entry, "datarep");
}

void vs_representations_load(const struct vs_source *source, struct vs_spec *spec)
{
    const struct vs_place *place = VS_KEY(source->place, "per_rank");
    json_t *entries = json_object_get(source->view, "per_rank"), *entry;
    size_t index;

    if (spec->overrides->datarep)
        override(source, spec->overrides);
    load_one(source->scope, source->view, source->place, spec);
    json_array_foreach(entries, index, entry)
        load_one(source->scope, entry, VS_ITEM(place, index), spec);
}

void vs_representations_free(struct vs_representation *list)
{
    while (list) {
        struct vs_representation *next = list->next;
        vs_representation_unref(list);
        list = next;
    }
}

struct vs_representation *vs_representation_find(const struct vs_source *source,
                                                 const json_t *value, const struct vs_place *place)
{
    const char *name = value ? json_string_value(value) : "native";
    struct vs_representation *found = NULL;
    if (json_is_object(value)) {
        found = find_loaded(source->representations, value);
        atomic_fetch_add_explicit(&found->references, 1, memory_order_relaxed);
    } else if (name == NULL) {
        vs_refuse(source->scope, place, "expected the name of a data representation, got %s",
                  vs_kind_name(value));
    } else if (!(found = find_standard(name))) {
        vs_refuse(source->scope, place, "unknown data representation \"%.100s\"", name);
    }
    return found;
}

void vs_representation_unref(struct vs_representation *representation)
{
    if (representation == NULL || representation->datarep != VS_USER ||
        atomic_fetch_sub_explicit(&representation->references, 1, memory_order_acq_rel) != 1)
        return;
    if (representation->unload)
        representation->unload(representation->user);
    free(representation);
}

int64_t vs_representation_size(const struct vs_representation *representation,
                               const struct vs_basic *basic)
{
    if (representation->datarep == VS_EXTERNAL32)
        return basic->external;
    if (representation->datarep == VS_USER && basic->kind != VS_BYTES)
        return representation->user->file_size[vs_basic_number(basic)];
    return basic->size;
}

bool vs_representation_keeps(const struct vs_representation *representation,
                             const struct vs_basic *basic)
{
    switch (representation->datarep) {
    case VS_NATIVE:
        return true;
    case VS_LITTLE_ENDIAN:
    case VS_BIG_ENDIAN:
        return basic->size == 1 || representation->datarep == VS_NATIVE_ORDER;
    case VS_EXTERNAL32:
        return basic->size == 1 || (VS_NATIVE_ORDER == VS_BIG_ENDIAN &&
                                    basic->external == basic->size && !basic->extended);
    case VS_USER:
        return basic->kind == VS_BYTES;
    }
    return false;
}

bool vs_representation_aligns(const struct vs_representation *representation)
{
    return representation->datarep != VS_EXTERNAL32 && representation->datarep != VS_USER;
}
