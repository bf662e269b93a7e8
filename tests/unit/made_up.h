/* SPDX-License-Identifier: MIT */
#ifndef MADE_UP_H
#define MADE_UP_H

/* A loader of made-up data representations. It opens no library. */

#include "spec_fixture.h"
#include "viewspec/spec.h"

/* Counts of the loader's calls. */
static struct {
    int loads, unloads;
    char name[64], library[256]; /* of the last load */
} made_up;

/* The size of basic type number i in the file: 1, 2, ... 12 bytes, most not the native size. */
static inline int64_t made_up_size(size_t i)
{
    const struct vs_basic *basic = vs_basic_at(i);

    return basic->kind == VS_BYTES ? 1 : 1 + (int64_t)(i * 7 % 12);
}

/* Loads "made-up", which has all types, or "partial", which has no long. Fails for "broken",
   "silent" and "starved". */
static inline int load_made_up(void *argument, const char *name, const char *library,
                               struct vs_user_datarep **datarep, char *why, size_t why_size)
{
    struct vs_user_datarep *made;

    made_up.loads++;
    snprintf(made_up.name, sizeof(made_up.name), "%s", name);
    snprintf(made_up.library, sizeof(made_up.library), "%s", library);
    if (strcmp(name, "broken") == 0) {
        snprintf(why, why_size, "%s is no library", library);
        return -ELIBBAD;
    }
    if (strcmp(name, "silent") == 0)
        return -EACCES;
    made = strcmp(name, "starved") == 0 ? NULL : calloc(1, sizeof(*made));
    if (made == NULL)
        return -ENOMEM;
    made->library = argument;
    for (size_t i = 0; i < VS_BASICS; i++)
        made->file_size[i] = vs_basic_at(i)->kind == VS_BYTES ? 0 : made_up_size(i);
    if (strcmp(name, "partial") == 0)
        made->file_size[vs_basic_number(vs_basic_find("long"))] = 0;
    *datarep = made;
    return 0;
}

static inline void unload_made_up(struct vs_user_datarep *datarep)
{
    made_up.unloads++;
    free(datarep);
}

static const struct vs_overrides with_made_up = {
    .load_datarep = load_made_up,
    .unload_datarep = unload_made_up,
    .datarep_argument = &made_up,
};

/* Makes rank 0's view in a representation: NAME of the standard, or "made-up". */
static inline struct vs_view *view_in(const char *datarep, const char *etype)
{
    char value[128];

    snprintf(value, sizeof(value),
             strcmp(datarep, "made-up") == 0 ? "{'name': '%s', 'library': './x.so'}" : "'%s'",
             datarep);
    return view_from(0, &with_made_up,
                     "{'viewspec': 1, 'file': 'f', 'view': {'etype': %s, 'datarep': %s}}", etype,
                     value);
}

#endif
