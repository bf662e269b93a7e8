/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SEALED_H
#define MPIIO_SEALED_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * Memory of a daemon, from memfd_create(2), whose seals (fcntl(2), F_ADD_SEALS) guarantee its
 * properties to other processes of the user. All functions are thread-safe.
 */

/*
 * Creates memory of that name and size, maps it for reading and writing, and adds the seals. The
 * name shows in /proc/PID/fd. Sets *memory to its descriptor, which stays open until the process
 * ends. Returns the mapping, or NULL if the system refuses it.
 */
void *mpiio_sealed_new(const char *name, size_t size, int seals, int *memory);

/*
 * Opens the memory that a process has open as descriptor memory. flags is O_RDONLY or O_RDWR. Sets
 * *st and returns a descriptor, or returns -1 unless the effective user created the memory, and it
 * has that name and all those seals.
 */
int mpiio_sealed_open(int process, int memory, const char *name, int flags, int seals,
                      struct stat *st);

#endif
