/* SPDX-License-Identifier: MIT */
#ifndef VS_ALIKE_H
#define VS_ALIKE_H

#include "viewspec/spec.h"

/*
 * Private to the tree: comparison of the bytes that ranks see.
 *
 * VS_ALIKE_STEPS limits the values and runs that a comparison examines, to a fraction of a second.
 */
#define VS_ALIKE_STEPS 1000000

/*
 * Returns true if the two views show the same bytes of the file in the same order, as the same
 * elements. Subtracts the values and runs examined from *steps; returns false if these do not
 * suffice. Local, thread-safe.
 */
bool vs_view_alike(const struct vs_view *a, const struct vs_view *b, int64_t *steps);

/*
 * Returns true if all ranks have the same view, judged by their maps and not by the text of the
 * spec. Returns false if that takes more than `steps` steps, or if the view of a rank does not
 * compile. Local, thread-safe.
 */
bool vs_spec_view_alike(const struct vs_spec *spec, size_t index, int64_t steps);

#endif
