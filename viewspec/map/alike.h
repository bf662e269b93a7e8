/* SPDX-License-Identifier: MIT */
#ifndef VS_ALIKE_H
#define VS_ALIKE_H

#include "viewspec/spec.h"

/*
 * Private to the tree: whether ranks see the same of the file.
 *
 * Values and runs that a comparison looks at, at most: a fraction of a second.
 */
#define VS_ALIKE_STEPS 1000000

/*
 * True where the two views show the same bytes of the file in the same order, as the same elements.
 * Takes what it looks at off *steps; false where these are too few to tell. Local, thread-safe.
 */
bool vs_view_alike(const struct vs_view *a, const struct vs_view *b, int64_t *steps);

/*
 * True where all ranks have one view, by what their maps are, however the spec says it. steps: to
 * look at that much at most; false where these are too few to tell, or a rank's view does not
 * compile. Local, thread-safe.
 */
bool vs_spec_view_alike(const struct vs_spec *spec, size_t index, int64_t steps);

#endif
