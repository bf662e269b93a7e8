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
 * What stands before a slice to make it a file that NumPy loads: a header of format .npy, version
 * 1.0, or 2.0 where it is longer than that allows.
 *
 * The dtype follows from the etype. An etype of one basic type gives its values; one of several
 * gives a structure without padding, with fields f0, f1, ... in typemap order and repetitions as
 * sub-arrays; basic types that NumPy lacks are void. Where facts->memory is set and the slice holds
 * whole tiles, the array is the local one; more tiles than one are an axis that runs slowest, and
 * several values in an element one that runs fastest. All else has one dimension.
 *
 * Local and thread-safe, but for vs_npy_free.
 */
struct vs_npy;

/* The header of view's slice, which keeps a reference to view. Returns 0 or -ENOMEM. */
int vs_npy_new(struct vs_view *view, struct vs_npy **npy);

void vs_npy_free(struct vs_npy *npy); /* NULL is allowed */

/*
 * Bytes of the header, a multiple of 64: the same whatever the size of the slice, so that its
 * data never moves. For a slice of one tile it is as long as numpy.save (1.24) makes it.
 */
int64_t vs_npy_length(const struct vs_npy *npy);

/* Fills header, of vs_npy_length bytes, for a slice of size >= 0 bytes. */
void vs_npy_header(const struct vs_npy *npy, int64_t size, char *header);

/*
 * How many bytes the slice has if that is its header (of vs_npy_length bytes). -EINVAL where it
 * is never the slice's header, -ENOMEM.
 */
int64_t vs_npy_size(const struct vs_npy *npy, const char *header);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
