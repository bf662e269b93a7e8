/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "byte_order.h"
#include "view.h"
#include "representation.h"
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
 * Returns the non-empty string under key of the object at place, or NULL after recording an error.
 */
static const char *text_member(const struct vs_source *source, json_t *object, const char *key,
                               const struct vs_place *place)
{
    struct vs_error *error = source->scope->error;
    struct vs_place here = {.up = place, .key = key};
    json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (value == NULL)
        vs_build_fail(source, place, "\"%s\" is missing", key);
    else if (text == NULL)
        vs_build_fail(source, &here, "expected a string, got %s", vs_kind_name(value));
    else if (!text[0])
        vs_build_fail(source, &here, "the %s is empty", key);
    return error->code ? NULL : text;
}

/*
 * Checks the object, and replaces the library's path in it by an absolute one. Returns 0 or a
 * negative errno.
 */
static int read_object(const struct vs_source *source, json_t *object, const char *folder,
                       const struct vs_place *place)
{
    static const char *const keys[] = {"name", "library", NULL};
    struct vs_error *error = source->scope->error;
    const char *name, *library;
    struct vs_place here;

    if (vs_check_keys(error, source->text, place, object, keys))
        return error->code;
    name = text_member(source, object, "name", place);
    library = name ? text_member(source, object, "library", place) : NULL;
    if (library == NULL)
        return error->code;
    here = (struct vs_place){.up = place, .key = "name"};
    if (find_standard(name))
        return vs_build_fail(source, &here, "the name is taken");
    return vs_path_settle(source->text, object, "library", folder, error);
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

static int load(const struct vs_source *source, json_t *object,
                const struct vs_overrides *overrides, const struct vs_place *place,
                struct vs_representation **list)
{
    struct vs_error *error = source->scope->error;
    char why[sizeof(error->reason) - 128] = "";
    struct vs_representation *made;
    int result;

    if (!overrides->load_datarep)
        return vs_build_fail(source, place, "user-defined data representations are not supported");
    made = make(json_string_value(json_object_get(object, "name")),
                json_string_value(json_object_get(object, "library")));
    if (made == NULL)
        return vs_fail_memory(error, source->text);
    result = overrides->load_datarep(overrides->datarep_argument, made->name, made->library,
                                     &made->user, why, sizeof(why));
    if (result) {
        free(made);
        return result == -ENOMEM
                   ? vs_fail_memory(error, source->text)
                   : vs_build_fail(source, place, "%s", why[0] ? why : strerror(-result));
    }
    made->unload = overrides->unload_datarep;
    made->next = *list;
    *list = made;
    return 0;
}

static int load_one(const struct vs_source *source, json_t *view, const struct vs_place *up,
                    const char *folder, const struct vs_overrides *overrides,
                    struct vs_representation **list)
{
    struct vs_place place = {.up = up, .key = "datarep"};
    json_t *value = json_object_get(view, "datarep");
    int error;

    if (!json_is_object(value))
        return 0;
    error = read_object(source, value, folder, &place);
    if (error || find_loaded(*list, value))
        return error;
    return load(source, value, overrides, &place, list);
}

int vs_representation_override(const struct vs_source *source, const struct vs_overrides *overrides)
{
    struct vs_place place = {.up = source->place, .key = "datarep"};
    json_t *entry, *value;
    size_t index;
    if (!overrides->datarep)
        return 0;
    value = overrides->datarep_library ? json_pack("{s:s, s:s}", "name", overrides->datarep,
                                                   "library", overrides->datarep_library)
                                       : json_string(overrides->datarep);
    if (value == NULL)
        return vs_build_fail(source, &place, "the name is not valid UTF-8");
    if (json_object_set_new(source->view, "datarep", value))
        return vs_fail_memory(source->scope->error, source->text);
    json_array_foreach(json_object_get(source->view, "per_rank"), index, entry)
        json_object_del(entry, "datarep");
    return 0;
}

int vs_representations_load(const struct vs_source *source, const char *folder,
                            const struct vs_overrides *overrides, struct vs_representation **list)
{
    struct vs_place place = {.up = source->place, .key = "per_rank"};
    json_t *entries = json_object_get(source->view, "per_rank");
    int error = load_one(source, source->view, source->place, folder, overrides, list);
    for (size_t i = 0; i < json_array_size(entries) && !error; i++) {
        struct vs_place entry = {.up = &place, .index = i};
        error = load_one(source, json_array_get(entries, i), &entry, folder, overrides, list);
    }
    return error;
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
        vs_build_fail(source, place, "expected the name of a data representation, got %s",
                      vs_kind_name(value));
    } else if (!(found = find_standard(name))) {
        vs_build_fail(source, place, "unknown data representation \"%.100s\"", name);
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
