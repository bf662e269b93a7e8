/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_X87_H
#define MPIIO_X87_H

/*
 * Private to src/core/convert/: conversions between the 80-bit x87 format and big-endian IEEE
 * binary128. The former is C's long double on x86-64 (16 bytes, six of them padding), the latter
 * external32's. They use integer arithmetic, so that no rounding mode or trap of the processor
 * interferes and signalling NaNs are preserved.
 */

#include "swap.h"

/*
 * Converts x87 to binary128, which can represent all values exactly. The payloads of NaNs, quiet or
 * signalling, become the top bits of the new ones. An encoding that the processor does not accept
 * as a number (an exponent, but no leading bit) becomes a quiet NaN.
 */
mpiio_kernel mpiio_x87_to_binary128;

/*
 * Converts binary128 to x87: rounds to the nearest value of 64 bits, and to even in the middle;
 * values that are too large become infinity. NaNs keep the top 63 bits of 112 of their payload, and
 * whether they are signalling. Padding becomes zeros.
 */
mpiio_kernel mpiio_binary128_to_extended;

#endif
