/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_NEIGHBOURS_H
#define ENGINE_NEIGHBOURS_H

#include <stdint.h>

#include "start.h"

/*
 * Collective: the texts of all nodes of this one's group (engine_channel.h), in the order of their
 * numbers, with a zero byte behind each, the caller's to free(). *size: their bytes; 0 where no
 * message has room for them, or none has more than its zero byte. A text has fewer than
 * MPIIO_TEXT_MAX bytes.
 */
char *engine_neighbours_gather(struct engine *engine, const char *text, uint32_t *size);

#endif
