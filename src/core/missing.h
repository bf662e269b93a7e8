/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MISSING_H
#define MPIIO_MISSING_H

#include "members/fill.h"

/*
 * Makes the values that holes of the spec's assembled file read as: the values of "fill", or that
 * of "missing" in the views' representation. Returns 0, or a negative errno with why filled:
 * -EINVAL if the views' elements differ in type, representation or alignment, or if their type
 * cannot represent the value. The caller frees fills->list. Local.
 */
int mpiio_fills_make(const struct vs_spec *spec, struct mpiio_fills *fills, struct vs_error *why);

#endif
