/* SPDX-License-Identifier: MIT */
#ifndef CORE_HEADER_H
#define CORE_HEADER_H

/*
 * Headers of files that describe themselves, against what a spec says of them ("header"): where
 * they are no longer as they were, the spec's displacements may be wrong. Local, thread-safe.
 */

#include <stddef.h>
#include <stdint.h>

#include "spec.h"

/*
 * The CRC-32 (of IEEE 802.3, as zlib has it) of bytes [at, at + size) of the file at path. 0, or a
 * negative errno: -ENODATA where the file ends before.
 */
int mpiio_header_sum(const char *path, int64_t at, int64_t size, uint32_t *sum);

/* Reads all header bytes of which the spec has checksums. Returns 0 if they match or the spec has
   none, -ESTALE if one does not match, or another negative errno if they cannot be read. why, of
   why_size bytes, then gets a line with the reason. */
int mpiio_header_check(const struct vs_spec *spec, char *why, size_t why_size);

#endif
