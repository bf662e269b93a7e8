/* SPDX-License-Identifier: MIT */
#ifndef VS_NPY_H
#define VS_NPY_H

#include <stdint.h>

#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The header that makes a slice a file for NumPy: .npy format, version 1.0, or 2.0 if the header is
 * too long for 1.0.
 *
 * The dtype follows from the etype. If the etype has one basic type, the dtype is that type.
 * Otherwise it is a structure without padding, with fields f0, f1, ... in typemap order and
 * repetitions as sub-arrays. Basic types that NumPy lacks are void.
 *
 * The array is the rank's local array if facts->memory is set and the slice holds whole tiles.
 * Several tiles add an axis that varies slowest; several values in an element add an axis that
 * varies fastest. Otherwise the array has one dimension.
 *
 * All functions are local and thread-safe, except vs_npy_free.
 */
struct vs_npy;

/* Makes the header of view's slice and takes a reference to view. Returns 0 or -ENOMEM. */
int vs_npy_new(struct vs_view *view, struct vs_npy **npy);

/* Frees a header and releases its view. NULL is allowed. No other thread may use it then. */
void vs_npy_free(struct vs_npy *npy);

/*
 * Returns the length of the header in bytes, a multiple of 64. It does not depend on the size of
 * the slice, so that the data never moves. For a slice of one tile it is the length that numpy.save
 * (1.24) writes.
 */
int64_t vs_npy_length(const struct vs_npy *npy);

/* Writes the header of a slice of size >= 0 bytes into header, which has vs_npy_length bytes. */
void vs_npy_header(const struct vs_npy *npy, int64_t size, char *header);

/*
 * Returns the size in bytes of the slice that has this header (of vs_npy_length bytes). -EINVAL if
 * no size of the slice gives this header; -ENOMEM.
 */
int64_t vs_npy_size(const struct vs_npy *npy, const char *header);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
