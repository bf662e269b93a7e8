/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_ENDING_H
#define MPIIO_MOUNTS_ENDING_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The name of the memory in which a daemon reports what it could not store after its mount had
 * gone, when no request can reach it. The daemon makes this memory (memfd_create(2)) when it begins
 * to serve. mpiio-umount opens it before the mount has gone.
 */
#define MOUNTS_ENDING "mpiio-ending"

/* This is the memory's contents. */
struct mounts_ending {
    _Atomic int64_t lost; /* the number of bytes that are lost; -1 until the daemon ends */
    /* Bytes of "ordered" that wait for their turn or could not be stored: if the daemon is killed,
       they are lost, and lost stays -1. */
    _Atomic int64_t waiting;
    _Atomic int64_t waits; /* grows while the daemon waits for contributions to "ordered" */
};

#endif
