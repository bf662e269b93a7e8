/* SPDX-License-Identifier: MIT */
#ifndef VS_RESOLVED_H
#define VS_RESOLVED_H

#include "viewspec/spec.h"

/* Specs as text, beside vs_spec_resolved. For viewspec/ and mounts; not installed. */

/*
 * The text of a spec of the members alone, whose one rank sees all bytes: it assembles the same
 * file, wherever it is read. A new string, the caller's to free(); NULL without memory.
 */
char *vs_members_spec(const struct vs_spec *spec);

#endif
