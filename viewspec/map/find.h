/* SPDX-License-Identifier: MIT */
#ifndef VS_FIND_H
#define VS_FIND_H

#include "node.h"

/* Private to viewspec/. */

/*
 * Returns the lowest position of the displacement, or -1; VS_FIND_GAVE_UP if that takes more than
 * *steps steps. Subtracts the steps taken.
 */
int64_t vs_node_find(const struct vs_node *node, int64_t displacement, int64_t *steps);

#endif
