/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SIZES_H
#define MPIIO_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Sizes as people write and read them. All functions are local and thread-safe. */

/*
 * Parses a number of bytes: decimal digits, then at most one of k, M, G, T (in either case), which
 * are powers of 1024. Returns 0, -EINVAL for any other text, or -ERANGE above 2^63-1. Sets value
 * only if it returns 0.
 */
int mpiio_parse_size(const char *text, int64_t *value);

/* The size of the text that mpiio_format_size writes. */
#define MPIIO_SIZE_TEXT 24

/*
 * Formats bytes >= 0 for people, such as "17 bytes" or "1.5 GiB", into text, which has
 * MPIIO_SIZE_TEXT bytes. Returns text.
 */
const char *mpiio_format_size(int64_t bytes, char *text);

#endif
