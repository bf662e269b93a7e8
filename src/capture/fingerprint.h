/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_FINGERPRINT_H
#define CAPTURE_FINGERPRINT_H

#include <stdint.h>

#include <mpi.h>

/*
 * What a datatype is made of as one number, found without writing it down: a view that is set again
 * is known by it. The work is counted in numbers that MPI was asked for, each use of a type anew; a
 * type itself is worth CAPTURE_TYPE_WORTH of them, as asking for it takes about as long.
 */
#define CAPTURE_TYPE_WORTH 16

/*
 * Mixes what type is made of into hash. Takes the work from *work, and stops where that becomes
 * negative. Local.
 */
uint64_t capture_fingerprint(uint64_t hash, MPI_Datatype type, int64_t *work);

#endif
