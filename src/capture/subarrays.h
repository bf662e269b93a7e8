/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_SUBARRAYS_H
#define CAPTURE_SUBARRAYS_H

#include <stddef.h>

#include <jansson.h>

/*
 * Where the blocks and vectors that capture_shape has made of all ranks' accesses are parts of one
 * array, they become subarrays of it (MPI 3.1, 4.1.3), in place; else they stay. No MPI here.
 */
void capture_subarrays(json_t *const *views, size_t count);

#endif
