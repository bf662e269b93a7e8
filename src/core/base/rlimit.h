/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RLIMIT_H
#define MPIIO_RLIMIT_H

#include <stdint.h>

/*
 * Raises the soft limit of open descriptors (RLIMIT_NOFILE) to count, or to the hard limit if that
 * is less. Never lowers it. Returns the limit that holds then. Processes started by this one
 * inherit it.
 */
uint64_t mpiio_rlimit_descriptors(uint64_t count);

/* Returns the limit of the size of files in bytes (RLIMIT_FSIZE); UINT64_MAX: no limit. */
uint64_t mpiio_rlimit_file_size(void);

#endif
