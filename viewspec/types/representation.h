/* SPDX-License-Identifier: MIT */
#ifndef VS_REPRESENTATION_H
#define VS_REPRESENTATION_H

/* Private to viewspec/: data representations (MPI 3.1, 13.7), the user's own included. */

#include <stdatomic.h>
#include <stdbool.h>

#include <jansson.h>

#include "viewspec/base/place.h"
#include "viewspec/spec.h"

/* Immutable, but for the count of those of the user's: the last reference unloads them. */
struct vs_representation {
    enum vs_datarep datarep;
    const char *name;
    struct vs_user_datarep *user; /* VS_USER only, as the rest is */
    const char *library;          /* absolute path */
    void (*unload)(struct vs_user_datarep *user);
    atomic_int references;
    struct vs_representation *next; /* in the spec's list */
};

struct vs_source;

/*
 * Lays overrides->datarep, if there is one, over a VIEW and its per_rank entries. Returns 0 or a
 * negative errno, noted in the scope.
 */
int vs_representation_override(const struct vs_source *source,
                               const struct vs_overrides *overrides);

/*
 * Reads the user's representations in a VIEW and its per_rank entries: the path of a library
 * becomes absolute in the JSON, counted from folder, and the representation is loaded unless it is
 * in *list. The references in *list are the caller's, also after an error. Returns 0 or a negative
 * errno, noted in the scope.
 */
int vs_representations_load(const struct vs_source *source, const char *folder,
                            const struct vs_overrides *overrides, struct vs_representation **list);

void vs_representations_free(struct vs_representation *list);

/*
 * What a "datarep" (NULL: left out) at place stands for; those of the user's are in the source's
 * list. A new reference, or NULL with the error noted.
 */
struct vs_representation *vs_representation_find(const struct vs_source *source,
                                                 const json_t *value, const struct vs_place *place);

void vs_representation_unref(struct vs_representation *representation); /* NULL is allowed */

const struct vs_representation *vs_representation_native(void);

/* The size of a basic type in the file; not positive: the representation has no such type. */
int64_t vs_representation_size(const struct vs_representation *representation,
                               const struct vs_basic *basic);

/* Whether basic's bytes in the file are the native ones. */
bool vs_representation_keeps(const struct vs_representation *representation,
                             const struct vs_basic *basic);

/* Whether structs are aligned as in memory. */
bool vs_representation_aligns(const struct vs_representation *representation);

#endif
