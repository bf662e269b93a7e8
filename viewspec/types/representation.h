/* SPDX-License-Identifier: MIT */
#ifndef VS_REPRESENTATION_H
#define VS_REPRESENTATION_H

/* Private to viewspec/: data representations (MPI 3.1, 13.7), including user-defined ones. */

#include <stdatomic.h>
#include <stdbool.h>

#include <jansson.h>

#include "viewspec/base/place.h"
#include "viewspec/spec.h"

/* Immutable, except for the reference count of user-defined ones: the last reference unloads them.
 */
struct vs_representation {
    enum vs_datarep datarep;
    const char *name;
    struct vs_user_datarep *user; /* VS_USER only, like the members below */
    const char *library;          /* absolute path */
    void (*unload)(struct vs_user_datarep *user);
    atomic_int references;
    struct vs_representation *next; /* in the spec's list */
};

struct vs_source;
struct vs_spec;

/*
 * Replaces the representation of a VIEW and its per_rank entries by that of the overrides, if there
 * is one. Then loads the user-defined representations in them, unless the spec's list has them
 * already, and makes the path of each library absolute in the JSON. Records errors in the scope.
 */
void vs_representations_load(const struct vs_source *source, struct vs_spec *spec);

void vs_representations_free(struct vs_representation *list);

/*
 * Returns a new reference to the representation of a "datarep" (NULL: absent) at place.
 * User-defined ones are looked up in the source's list. Returns NULL after recording an error.
 */
struct vs_representation *vs_representation_find(const struct vs_source *source,
                                                 const json_t *value, const struct vs_place *place);

void vs_representation_unref(struct vs_representation *representation); /* NULL is allowed */

const struct vs_representation *vs_representation_native(void);

/* Returns the size of a basic type in the file; not positive if the representation lacks it. */
int64_t vs_representation_size(const struct vs_representation *representation,
                               const struct vs_basic *basic);

/* Returns true if basic's bytes in the file are the native ones. */
bool vs_representation_keeps(const struct vs_representation *representation,
                             const struct vs_basic *basic);

/* Returns true if structs are aligned as in memory. */
bool vs_representation_aligns(const struct vs_representation *representation);

#endif
