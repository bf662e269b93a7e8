/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_NAMED_MEMORY_H
#define MPIIO_NAMED_MEMORY_H

#include <stddef.h>

/*
 * Makes size bytes of zeros that other processes find by a name, in this process's descriptors in
 * /proc (memfd_create(2)). Both the memory and the descriptor stay until the process ends. Another
 * process that has opened the memory can read it after that. Returns NULL if the system refuses it.
 */
void *mpiio_named_memory(const char *name, size_t size);

#endif
