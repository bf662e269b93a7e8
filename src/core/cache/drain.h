/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_DRAIN_H
#define MPIIO_DRAIN_H

#include <stdint.h>

#include "slots.h"
#include "core/file/file.h"

/*
 * Stores the bytes of a slot that are there, and no others, to block number block of the file: long
 * runs by a write call each, short ones that lie near each other through a mapping of the file, as
 * mpiio_write_runs does. Nobody may change the slot meanwhile. Returns 0, or a negative errno: then
 * some of the bytes may be stored. Adds what was done to done. Local, thread-safe, holds no lock.
 */
int mpiio_drain(struct mpiio_file *file, int64_t block, const struct mpiio_slot *slot,
                struct mpiio_counters *done);

#endif
