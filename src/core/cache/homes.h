/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HOMES_H
#define MPIIO_HOMES_H

#include <stdint.h>

/*
 * The assignment of blocks to their homes, the nodes that store them. A parallel filesystem
 * distributes a file over its servers in stripes, and its locks prevent two clients from writing to
 * one stripe, or to one server, at the same time. So homes follow the stripes if these are known:
 * one node stores a stripe and, if the stripes allow it, all stripes on one server.
 *
 * A stretch is a run of adjacent blocks that have one home. All functions are local and
 * thread-safe.
 */

/* The length of a stretch, in blocks of MPIIO_BLOCK_SIZE, unless the stripes require another
   one. A home stores that number of blocks together. */
#define MPIIO_HOMES_GROUP 4

/* A mapping from blocks to nodes. */
struct mpiio_homes {
    int64_t stretch; /* length of a stretch, in blocks; > 0 */
    int64_t period;  /* stretches this far apart have the same home; > 0 */
    int nodes;       /* number of nodes of the mount; > 0 */
};

/*
 * Returns the homes for a file with stripes of unit bytes on factor servers (MPI's hints
 * striping_unit and striping_factor). A value that is not positive or too large counts as unknown.
 *
 * A stretch consists of whole stripes that are also whole blocks. It has at least MPIIO_HOMES_GROUP
 * blocks, unless shorter stretches are known to lie on different servers. A unit that neither
 * divides a block nor is a multiple of 64 KiB is ignored, because its stretches would be too long.
 * If factor is known, there are no more homes than servers.
 */
struct mpiio_homes mpiio_homes_of(int64_t unit, int64_t factor, int nodes);

/* Returns the node that is the home of block, which is >= 0. */
static inline int mpiio_homes_node(const struct mpiio_homes *homes, int64_t block)
{
    return (int)(block / homes->stretch % homes->period * homes->nodes / homes->period);
}

#endif
