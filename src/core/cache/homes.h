/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HOMES_H
#define MPIIO_HOMES_H

#include <stdint.h>

/*
 * Which node is home of a block. A parallel filesystem deals a file to its servers in stripes, and
 * its locks keep two clients from writing one stripe, or to one server's part of the file, at once.
 * So the homes follow the stripes, as far as these are known: a stripe is stored by one node, and,
 * where the stripes allow for it, what lies on one server, too.
 *
 * Blocks that follow each other and have one home are a stretch. All functions are local.
 */

/* Blocks of a home that are stored as one: a stretch is as long, unless stripes say something else.
 */
#define MPIIO_HOMES_GROUP 4

struct mpiio_homes {
    int64_t stretch; /* in blocks */
    int64_t period;  /* stretches that are so many apart have one home */
    int nodes;
};

/*
 * unit: bytes of a stripe, factor: how many servers have stripes of the file in turn; as MPI's
 * hints striping_unit and striping_factor have them. 0, or what is less or makes no sense: not
 * known.
 *
 * A stretch has whole stripes: as many as make whole blocks, and MPIIO_HOMES_GROUP blocks at least
 * unless the factor says that shorter ones are on different servers. Of a unit that neither
 * divides a block nor is a multiple of 64 KiB whole stripes would be too long: they are not
 * followed. There are no more homes than servers.
 */
struct mpiio_homes mpiio_homes_of(int64_t unit, int64_t factor, int nodes);

/* The node that is home of block. */
static inline int mpiio_homes_node(const struct mpiio_homes *homes, int64_t block)
{
    return (int)(block / homes->stretch % homes->period * homes->nodes / homes->period);
}

#endif
