/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_KERNELS_H
#define MPIIO_KERNELS_H

/* Private to src/core/: the loops that swap the bytes of numbers, resize integers (swap.c), and
   convert long doubles (long_double.c). */

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

/*
 * Conversions between C's long double on x86-64, the 80-bit x87 format in 16 bytes, and
 * external32's, which is big-endian IEEE binary128. They use integer arithmetic, so that no
 * rounding mode or trap of the processor interferes and signalling NaNs are preserved. Other
 * machines have binary128.
 */

/*
 * Converts x87 to binary128, which can represent all values exactly. The payloads of NaNs, quiet or
 * signalling, become the top bits of the new ones. An encoding that the processor does not accept
 * as a number (an exponent, but no leading bit) becomes a quiet NaN.
 */
mpiio_kernel mpiio_x87_to_binary128;

/*
 * Converts binary128 to x87: rounds to the nearest 64-bit mantissa, ties to even; values that are
 * too large become infinity. NaNs keep the top 63 of the 112 bits of their payload, and whether
 * they are signalling. Padding becomes zeros.
 */
mpiio_kernel mpiio_binary128_to_extended;

#endif
