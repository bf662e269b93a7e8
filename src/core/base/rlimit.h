/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RLIMIT_H
#define MPIIO_RLIMIT_H

#include <stdint.h>

/*
 * Sees to it that this process may have count descriptors open at once: raises its soft limit
 * (RLIMIT_NOFILE) to that, or to the hard limit where that is less. Never lowers it. Returns how
 * many it may have then. The limit is the process's, and that of those it starts.
 */
uint64_t mpiio_rlimit_descriptors(uint64_t count);

/* How many bytes a file that this process makes may have (RLIMIT_FSIZE); UINT64_MAX: no limit. */
uint64_t mpiio_rlimit_file_size(void);

#endif
