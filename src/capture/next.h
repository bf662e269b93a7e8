/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_NEXT_H
#define CAPTURE_NEXT_H

/*
 * The function of that name behind this library's own, or NULL where there is none. Thread-safe.
 */
void *capture_next(const char *name);

#endif
