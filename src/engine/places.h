/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PLACES_H
#define ENGINE_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "start.h"

/*
 * Collective: whether this node mounts where no node before it does. Of two at one place of one
 * machine, the second would wait for the first, and that for the second. Where it is false, text
 * says why.
 */
bool engine_places_are_apart(const struct engine *engine, char *text, size_t size);

#endif
