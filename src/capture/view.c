/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "viewspec/spec.h"

/* Converting one rank's view to viewspec(5). */

/* Omits each oldtype that is the etype, its default, and replaces other uses of the etype by its
   name. */
static void use_default(json_t *type, const json_t *etype)
{
    json_t *oldtype = json_object_get(type, "oldtype"), *types = json_object_get(type, "types");
    json_t *member;
    size_t i;

    if (json_equal(oldtype, etype))
        json_object_del(type, "oldtype");
    else if (oldtype)
        use_default(oldtype, etype);
    json_array_foreach(types, i, member) if (json_is_object(member) && json_equal(member, etype))
        json_array_set_new(types, i, json_string("etype"));
    else use_default(member, etype);
}

/* Names the array after the filetype if the program has named it (MPI_Type_set_name). */
static void add_name(const struct capture_view_args *args, json_t *view)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;

    if (PMPI_Type_get_name(args->filetype, name, &length) == MPI_SUCCESS && vs_is_label(name) &&
        strncmp(name, "MPI_", 4) != 0)
        json_object_set_new(view, "name", json_string(name));
}

/* Steals etype and filetype. Returns NULL only if memory is exhausted. */
static json_t *make_view(const struct capture_view_args *args, const char *datarep, json_t *etype,
                         json_t *filetype)
{
    json_t *view = json_pack("{s:I, s:o}", "disp", (json_int_t)args->displacement, "etype", etype);

    if (json_equal(filetype, etype)) {
        json_decref(filetype);
    } else {
        use_default(filetype, etype);
        json_object_set_new(view, "filetype", filetype);
    }
    if (strcmp(datarep, "native") != 0)
        json_object_set_new(view, "datarep", json_string(datarep));
    add_name(args, view);
    return view;
}

/* Checks that the compiled tile matches the filetype. A representation with other sizes cannot
   be compared. */
static bool is_filetype(const struct capture_view_args *args, const struct vs_view *view,
                        struct capture_tile *tile, char *why)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    MPI_Count size = 0;
    MPI_Aint lb = 0, extent = 0;

    PMPI_Type_size_x(args->filetype, &size);
    *tile =
        (struct capture_tile){.size = size, .first = facts->first, .extent = facts->tile_extent};
    PMPI_Type_get_extent(args->filetype, &lb, &extent);
    if (vs_view_facts(view)->datarep == VS_EXTERNAL32 ||
        (facts->tile_size == size && facts->tile_extent == extent))
        return true;
    snprintf(why, CAPTURE_WHY_SIZE,
             "the filetype has %lld bytes in an extent of %lld, which viewspec(5) would make %lld "
             "in %lld",
             (long long)size, (long long)extent, (long long)facts->tile_size,
             (long long)facts->tile_extent);
    return false;
}

/* Compiles the text of the view for its rank. Returns true if it matches MPI's filetype. */
static bool is_sound(const struct capture_view_args *args, const char *text,
                     struct capture_tile *tile, char *why)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;
    bool sound = false;
    char *whole;

    if (asprintf(&whole, "{\"viewspec\":1,\"file\":\"/\",\"ranks\":%d,\"view\":%s}", args->ranks,
                 text) < 0) {
        snprintf(why, CAPTURE_WHY_SIZE, "%s", strerror(ENOMEM));
        return false;
    }
    if (vs_spec_parse(whole, strlen(whole), "view", "/", NULL, &spec, &error) ||
        vs_spec_view(spec, 0, args->rank, &view, &error))
        snprintf(why, CAPTURE_WHY_SIZE, "%s", error.reason);
    else
        sound = is_filetype(args, view, tile, why);
    vs_view_unref(view);
    vs_spec_free(spec);
    free(whole);
    return sound;
}

enum etype_choice {
    AS_IT_IS,
    OWN_LEAF, /* the filetype's only basic type */
    BYTES,
};

/* Converts the view as it was set, or with another etype. Returns new text, or NULL and why. */
static char *decode_view(const struct capture_view_args *args, const char *datarep,
                         enum etype_choice choice, char *why)
{
    struct capture_decoder decoder = {.rank = args->rank,
                                      .ranks = args->ranks,
                                      .bytes = choice == BYTES,
                                      .scaled = strcmp(datarep, "native") != 0};
    json_t *etype = NULL, *filetype = capture_decode(&decoder, args->filetype), *view = NULL;
    char *text = NULL;

    if (filetype && choice == AS_IT_IS)
        etype = capture_decode(&decoder, args->etype);
    else if (filetype && choice == BYTES)
        etype = json_string("byte");
    else if (filetype && !decoder.mixed && decoder.leaf)
        etype = json_string(decoder.leaf);
    if (etype)
        view = make_view(args, datarep, etype, filetype);
    else
        json_decref(filetype);
    if (view)
        text = json_dumps(view, JSON_COMPACT);
    json_decref(view);
    if (text == NULL)
        snprintf(why, CAPTURE_WHY_SIZE, "%s", decoder.why[0] ? decoder.why : strerror(ENOMEM));
    return text;
}

/* Returns the viewspec name of a representation, or NULL. MPICH's "internal" is the native one. */
static const char *find_datarep(const char *name)
{
    if (strcasecmp(name, "native") == 0 || strcasecmp(name, "internal") == 0)
        return "native";
    return strcasecmp(name, "external32") == 0 ? "external32" : NULL;
}

char *capture_view_text(const struct capture_view_args *args, struct capture_tile *tile, char *why)
{
    const char *datarep = find_datarep(args->datarep);
    char other[CAPTURE_WHY_SIZE] = "", *text;
    int choice = AS_IT_IS, choices;

    if (datarep == NULL) {
        snprintf(why, CAPTURE_WHY_SIZE,
                 "data representation %.64s is the program's own: only native and external32 are "
                 "captured",
                 args->datarep);
        return NULL;
    }
    /* Bytes are not converted, so another etype is possible for native data only. */
    choices = strcmp(datarep, "native") == 0 ? BYTES : AS_IT_IS;
    text = decode_view(args, datarep, AS_IT_IS, why);
    while (text && !is_sound(args, text, tile, choice ? other : why)) {
        free(text);
        text = NULL;
        while (text == NULL && choice < choices)
            text = decode_view(args, datarep, (enum etype_choice)++ choice, other);
    }
    return text;
}
