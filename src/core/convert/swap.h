/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SWAP_H
#define MPIIO_SWAP_H

/* Private to src/core/: the loops that swap the bytes of numbers and resize integers. */

#include <stdbool.h>
#include <stddef.h>

/*
 * Converts count values. Pointers need no alignment. `to` and `from` do not overlap, except that
 * they may be equal if a value has the same size on both sides. Returns false if a value did not
 * fit: its lowest bytes were then stored, and all others were converted. Local, thread-safe.
 */
typedef bool mpiio_kernel(void *to, const void *from, size_t count);

/* Returns the kernel that reverses values of 1 (a copy), 2, 4, 8 or 16 bytes; NULL for others. */
mpiio_kernel *mpiio_swap_kernel(size_t size);

/*
 * Returns the kernel that converts between native integers and big-endian integers of half the
 * size: 8 and 4 bytes, or 4 and 2 bytes without a sign. NULL for others.
 */
mpiio_kernel *mpiio_widen_kernel(size_t native, bool is_signed);
mpiio_kernel *mpiio_narrow_kernel(size_t native, bool is_signed);

#endif
