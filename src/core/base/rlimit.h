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

/*
 * Describes a negative errno of starting something that needs descriptors, processes, threads or
 * memory. The text is that of strerror(3) or, for EAGAIN, EMFILE and ENFILE, the limit that was
 * reached and how to raise it. EAGAIN means that limit only if it comes from fork(2) or
 * pthread_create(3), not from I/O. The text is valid until the thread calls strerror(3) again.
 * Local, thread-safe.
 */
const char *mpiio_rlimit_text(int error);

/* Returns the limit of the size of files in bytes (RLIMIT_FSIZE); UINT64_MAX: no limit. */
uint64_t mpiio_rlimit_file_size(void);

#endif
