/* SPDX-License-Identifier: MIT */
#ifndef LEAKS_H
#define LEAKS_H

#include <stddef.h>

/*
 * Counts the memory blocks that the program has allocated and not freed. The program is linked with
 * --wrap for malloc, calloc, realloc, strdup, strndup and free. Blocks that libraries allocate, as
 * asprintf(3) does, are not counted.
 */
size_t leaks_count(void);

#endif
