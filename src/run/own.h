/* SPDX-License-Identifier: MIT */
#ifndef RUN_OWN_H
#define RUN_OWN_H

#include <stdbool.h>

/* The library's own descriptors, among the program's. All functions are async-signal-safe. */

/* How many there may be: a quarter of the process's descriptors at most. */
int run_own_most(void);

/*
 * Gives fd, an own descriptor, a number that programs do not expect to be theirs, or closes it and
 * returns -1 with EMFILE. -1 is allowed, and keeps errno.
 */
int run_raise(int fd);

/* A descriptor that was raised is about to be closed. */
void run_lower(int fd);

/* Returns the lowest own descriptor from first on, or -1. */
int run_next_own(unsigned first);

/* Whether the descriptor is the library's own: the program has no business with it. */
bool run_is_own(int fd);

#endif
