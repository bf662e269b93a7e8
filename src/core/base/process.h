/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROCESS_H
#define MPIIO_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
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

/* Capabilities of the calling thread, capabilities(7); CAP_ numbers are those of Linux. */

/* Returns true if the capability is in the thread's effective set. */
bool mpiio_capability_has(int capability);

/*
 * Removes CAP_FSETID from the thread's effective set. Threads that it creates later inherit that;
 * programs that it executes as root do not. From then on the kernel clears the set-user-ID and
 * set-group-ID bits of each file that the thread writes to, as it does for any other writer.
 */
void mpiio_capability_drop_fsetid(void);

/*
 * Makes size bytes of zeros that other processes find by a name, in this process's descriptors in
 * /proc (memfd_create(2)). Both the memory and the descriptor stay until the process ends. Another
 * process that has opened the memory can read it after that. Returns NULL if the system refuses it.
 */
void *mpiio_named_memory(const char *name, size_t size);

/*
 * Preloads a library into the program that is executed next. `installed` and `built` are paths of
 * the library relative to the folder of this process's program, in the installation and in the
 * build. Libraries that are preloaded already come before it. Returns NULL, or an error text that
 * is valid until the next call.
 */
const char *mpiio_preload(const char *installed, const char *built);

#endif
