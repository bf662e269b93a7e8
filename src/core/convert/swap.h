/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SWAP_H
#define MPIIO_SWAP_H

/* Private to src/core/convert/: the loops that swap the bytes of numbers and resize integers. */

#include <stdbool.h>
#include <stddef.h>

/*
 * Converts count values. No pointer needs to be aligned. `to` and `from` do not overlap, but where
 * a value has the same size on both sides they may be equal. False where a value did not fit: then
 * its lowest bytes were stored, and all others were converted. Local, thread-safe.
 */
typedef bool mpiio_kernel(void *to, const void *from, size_t count);

/* Reverses the bytes of values of 1 (a copy), 2, 4, 8 or 16 bytes; NULL for other sizes. */
mpiio_kernel *mpiio_swap_kernel(size_t size);

/*
 * Between native integers of native bytes and big-endian ones of half as many: 8 and 4 bytes, or
 * 4 and 2 bytes without a sign. NULL for others.
 */
mpiio_kernel *mpiio_widen_kernel(size_t native, bool is_signed);
mpiio_kernel *mpiio_narrow_kernel(size_t native, bool is_signed);

#endif
