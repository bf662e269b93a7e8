/* SPDX-License-Identifier: MIT */
#ifndef VS_FIND_H
#define VS_FIND_H

#include "node.h"

/* Private to viewspec/. */

/*
 * The lowest position whose displacement is the given one, or -1; VS_FIND_GAVE_UP where it takes
 * more than *steps steps. Of these, what was used is taken off.
 */
int64_t vs_node_find(const struct vs_node *node, int64_t displacement, int64_t *steps);

#endif
