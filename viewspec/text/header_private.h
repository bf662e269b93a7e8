/* SPDX-License-Identifier: MIT */
#ifndef VS_HEADER_PRIVATE_H
#define VS_HEADER_PRIVATE_H

/* Private to viewspec/: the spec's "header". */

#include <jansson.h>

#include "viewspec/base/place.h"
#include "viewspec/spec.h"

/*
 * Checks the parts of the header and makes the names of their files absolute, relative to folder.
 * If overrides set a data representation, they belong to another file, whose header is not known:
 * the header is then dropped. Returns 0 or a negative errno, with error filled.
 */
int vs_header_settle(const struct vs_text *text, json_t *root, const char *folder,
                     const struct vs_overrides *overrides, struct vs_error *error);

#endif
