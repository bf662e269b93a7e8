/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SHA256_H
#define MPIIO_SHA256_H

#include <stddef.h>

/* SHA-256 (FIPS 180-4) of a text in memory. */

#define MPIIO_SHA256_HEX 65

/* Writes the digest of length bytes to hex, as 64 lower-case digits and a NUL. Thread-safe. */
void mpiio_sha256_hex(const void *data, size_t length, char hex[MPIIO_SHA256_HEX]);

#endif
