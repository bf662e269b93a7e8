/* SPDX-License-Identifier: MIT */
#ifndef VS_EXPR_H
#define VS_EXPR_H

/* Private to viewspec/: integer expressions (viewspec(5), INTEGERS). */

#include <stddef.h>
#include <stdint.h>

/* Looks up a name. Returns 0; -ENOENT: no such name; -EINVAL: an error already noted. */
typedef int vs_expr_lookup(void *context, const char *name, int64_t *value);

/*
 * Evaluates text with 64-bit checked arithmetic; / and % round towards minus infinity. Returns 0,
 * or -EINVAL with the reason in `reason` (size bytes). The reason is left empty if lookup has noted
 * an error of its own.
 */
int vs_expr_evaluate(const char *text, vs_expr_lookup *lookup, void *context, int64_t *result,
                     char *reason, size_t size);

#endif
