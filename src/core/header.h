/* SPDX-License-Identifier: MIT */
#ifndef CORE_HEADER_H
#define CORE_HEADER_H

/*
 * Comparison of headers of self-describing files with the checksums in a spec ("header"). If a
 * header has changed, the spec's displacements may be wrong. Local, thread-safe.
 */

#include <stddef.h>
#include <stdint.h>

#include "spec.h"

/*
 * Computes the CRC-32 (IEEE 802.3, as in zlib) of bytes [at, at + size) of the file at path.
 * Returns 0 or a negative errno: -ENODATA if the file is shorter.
 */
int mpiio_header_sum(const char *path, int64_t at, int64_t size, uint32_t *sum);

/* Compares all header bytes for which the spec has checksums. Returns 0 if they match or the
   spec has none, -ESTALE if one differs, or another negative errno if they cannot be read. Then
   why (why_size bytes) gets one line with the reason. */
int mpiio_header_check(const struct vs_spec *spec, char *why, size_t why_size);

#endif
