/* SPDX-License-Identifier: MIT */
#ifndef LEAKS_H
#define LEAKS_H

#include <stddef.h>

/*
 * Returns the number of memory blocks that the program has allocated and not freed. The program
 * must be linked with --wrap for malloc, calloc, realloc, strdup, strndup and free. Blocks that
 * shared libraries allocate, as asprintf(3) does, are not counted. Thread-safe.
 */
size_t leaks_count(void);

#endif
