/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SIZES_H
#define MPIIO_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Sizes as people write and read them. Local, thread-safe. */

/*
 * Reads a number of bytes: decimal digits, then at most one of k, M, G, T (in either case), which
 * are powers of 1024. Returns 0, -EINVAL where text is anything else, or -ERANGE above 2^63-1;
 * value is only set with 0.
 */
int mpiio_parse_size(const char *text, int64_t *value);

/* Room for what mpiio_format_size writes. */
#define MPIIO_SIZE_TEXT 24

/*
 * Writes bytes >= 0 for people, such as "17 bytes" or "1.5 GiB", into text, which has
 * MPIIO_SIZE_TEXT bytes. Returns text.
 */
const char *mpiio_format_size(int64_t bytes, char *text);

#endif
