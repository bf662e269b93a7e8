/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BINARY64_H
#define MPIIO_BINARY64_H

/*
 * Private to src/core/convert/: IEEE binary64, in the machine's order, which is C's long double on
 * some machines, and big-endian binary128, which is external32's. By integer arithmetic, as x87.h.
 */

#include "swap.h"

/* binary64 to binary128: exact, with the payloads of NaNs as the top bits of the new ones. */
mpiio_kernel mpiio_binary64_to_binary128;

/*
 * binary128 to binary64: rounds to the nearest, to even between two; what is too large becomes
 * infinity. NaNs keep the top bits of their payload and stay NaNs of their sort.
 */
mpiio_kernel mpiio_binary128_to_binary64;

#endif
