/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_X87_H
#define MPIIO_X87_H

/*
 * Private to src/core/convert/: the 80-bit x87 format, which is C's long double on x86-64 (16
 * bytes, six of them padding), and big-endian IEEE binary128, which is external32's. By integer
 * arithmetic: no rounding mode, trap or quieting of NaNs of the processor's comes between.
 */

#include "swap.h"

/*
 * x87 to binary128, which has room for all of them: exact, with the payloads of NaNs, quiet or
 * signalling, as the top bits of the new ones. What the processor takes for no number though it is
 * no NaN either (an exponent, but no leading bit) becomes a quiet NaN.
 */
mpiio_kernel mpiio_x87_to_binary128;

/*
 * binary128 to x87: rounds to the nearest of 64 bits, to even between two; what is too large then
 * becomes infinity. NaNs keep the top 63 bits of 112 of their payload and stay NaNs of their sort.
 * Padding becomes zeros.
 */
mpiio_kernel mpiio_binary128_to_extended;

#endif
