/* SPDX-License-Identifier: MIT */
#ifndef VS_PRETTY_H
#define VS_PRETTY_H

#include <jansson.h>

/* Private to viewspec/. */

/*
 * JSON as text for people: what fits on a line stands on one. A new string, the caller's to free();
 * NULL without memory. Local, thread-safe.
 */
char *vs_pretty(json_t *json);

#endif
