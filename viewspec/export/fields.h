/* SPDX-License-Identifier: MIT */
#ifndef VS_FIELDS_H
#define VS_FIELDS_H

#include <jansson.h>

#include "viewspec/base/arena.h"
#include "viewspec/global.h"
#include "viewspec/types/type.h"

/* Private to viewspec/: the fields of an etype, which are its parts of one basic type. */

struct vs_fields {
    struct vs_arena *arena;      /* for the results */
    const struct vs_type *etype; /* borrowed */
    int64_t etypes;              /* etypes in an element of the array */
    int64_t listed; /* private, starts at 0: values and records whose places are listed */

    /* The results. */
    int64_t count;
    struct vs_global_field *fields; /* big_endian and value_dim are not set */
    json_t **etypes_json; /* by field: an etype of the same extent that has this field only; the
                             caller releases the references */
};

/*
 * Finds the fields. Returns 0, -ENOMEM, or -E2BIG if there are more values than can be listed.
 * After a failure there are no results.
 */
int vs_fields_find(struct vs_fields *fields);

#endif
