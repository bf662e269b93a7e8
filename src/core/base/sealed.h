/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SEALED_H
#define MPIIO_SEALED_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * Memory of a daemon, from memfd_create(2), whose seals (fcntl(2), F_ADD_SEALS) tell other
 * processes of its user what they can rely on. All functions are thread-safe.
 */

/*
 * Creates memory of that name and length, which never changes. The name shows in /proc/PID/fd. Maps
 * it for reading and writing, and adds the seals. Sets *memory to its descriptor, which stays until
 * the process ends. Returns NULL if the system refuses it.
 */
void *mpiio_sealed_new(const char *name, size_t size, int seals, int *memory);

/*
 * Opens the memory that a process has open as descriptor memory, for reading, or for reading and
 * writing. Returns a descriptor, and sets *st; or returns -1 unless it is memory of that name, with
 * all those seals, that was created by the effective user.
 */
int mpiio_sealed_open(int process, int memory, const char *name, int flags, int seals,
                      struct stat *st);

#endif
