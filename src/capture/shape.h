/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_SHAPE_H
#define CAPTURE_SHAPE_H

/*
 * The filetype that selects given bytes of a file, of few words: a block, vectors of vectors, what
 * repeats, or a list of blocks. No MPI here.
 */

#include <jansson.h>

#include "extents.h"

/*
 * A view (viewspec(5)) of one tile that selects the bytes of the progressions, which are as
 * capture_extents_finish leaves them; no bytes are a view without any. The etype has size bytes,
 * and all pieces begin and end at multiples of it from the first one on. A new reference; NULL
 * where it would have too many blocks, or without memory.
 */
json_t *capture_shape(const struct capture_progression *list, size_t count, const char *etype,
                      int64_t size);

/* Whether all pieces begin and end at multiples of size bytes from the first one on. */
bool capture_shape_fits(const struct capture_progression *list, size_t count, int64_t size);

#endif
