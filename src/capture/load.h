/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_LOAD_H
#define CAPTURE_LOAD_H

#include "hooks.h"

/*
 * The MPI library of the captured program. libmpiio-capture is loaded into every process that a
 * command line starts. Most of these use no MPI, and the others may use different MPI libraries, so
 * it is linked with none. All functions are thread-safe.
 */

/* Returns the next function of that name after this library's own, or NULL. */
void *capture_next(const char *name);

/*
 * Returns the hooks that are built for the program's MPI library. The first call loads them.
 * Returns NULL if that library is not supported, and reports this once.
 */
const struct capture_hooks *capture_hooks(void);

#endif
