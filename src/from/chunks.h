/* SPDX-License-Identifier: MIT */
#ifndef FROM_CHUNKS_H
#define FROM_CHUNKS_H

/* A variable in chunks. */

#include "axis.h"

/*
 * Whether the elements of each rank, in the order of the array, lie in that of the file: chunks are
 * whole lines, planes, ... of the array, and lie as it goes. Else a view needs a buftype.
 */
bool from_chunks_in_order(const struct from_variable *variable);

/*
 * What a rank has of all chunks, one behind the other from the first's displacement on; leaf is an
 * element. No dimension is cyclic. A new reference, or NULL without memory.
 */
json_t *from_chunks(const struct from_variable *variable, const struct from_axis *axes,
                    json_t *leaf);

/* Where the rank's array has the parts of from_chunks, in their order: the buftype. As above. */
json_t *from_chunks_memory(const struct from_variable *variable, const struct from_axis *axes,
                           json_t *leaf);

#endif
