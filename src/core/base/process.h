/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROCESS_H
#define MPIIO_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Raises the soft limit of open descriptors (RLIMIT_NOFILE) to count, or to the hard limit if that
 * is less. Never lowers it. Returns the resulting limit. Child processes inherit it.
 */
uint64_t mpiio_rlimit_descriptors(uint64_t count);

/*
 * Describes a negative errno of starting something that needs descriptors, processes, threads or
 * memory. For EAGAIN, EMFILE and ENFILE the text names the exhausted limit and how to raise it.
 * Otherwise strerror(3) supplies it. EAGAIN has that meaning only if it comes from fork(2) or
 * pthread_create(3), not from I/O. The text is valid until the thread calls strerror(3) again.
 * Local, thread-safe.
 */
const char *mpiio_rlimit_text(int error);

/* Returns the maximum size of a file in bytes (RLIMIT_FSIZE), or UINT64_MAX for no limit. */
uint64_t mpiio_rlimit_file_size(void);

/* Capabilities of the calling thread, capabilities(7); CAP_ numbers as in <linux/capability.h>. */

/* Returns true if the capability is in the thread's effective set. */
bool mpiio_capability_has(int capability);

/*
 * Removes CAP_FSETID from the thread's effective set. Threads that it creates later inherit that;
 * programs that it executes as root do not. From then on the kernel clears the set-user-ID and
 * set-group-ID bits of each file that the thread writes to, as for any other writer.
 */
void mpiio_capability_drop_fsetid(void);

/*
 * Creates size bytes of zeros that other processes can find by name among this process's
 * descriptors in /proc (memfd_create(2)). Adds seals (fcntl(2), F_ADD_SEALS), which guarantee
 * properties of the memory to other processes. Sets *memory to the descriptor. Both the memory and
 * the descriptor stay until the process ends. Another process that has opened the memory can read
 * it after that. Returns NULL if the system refuses it. Thread-safe.
 */
void *mpiio_sealed_memory(const char *name, size_t size, int seals, int *memory);

/*
 * Finds a file, such as a library. `installed` and `built` are its paths relative to the directory
 * of this process's program, tried in this order, for example in the installation and in the build.
 * Stores its path (of PATH_MAX bytes). Returns 0 or a negative errno.
 */
int mpiio_find_beside(const char *installed, const char *built, char *path);

/*
 * Preloads the library at these paths into the program that is executed next. Libraries that are
 * already preloaded come before it. Returns NULL, or an error text that is valid until the next
 * call.
 */
const char *mpiio_preload(const char *installed, const char *built);

#endif
