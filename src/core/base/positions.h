/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POSITIONS_H
#define MPIIO_POSITIONS_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The positions of the shared file pointers of a mount on one node, in memory that programs with a
 * grant (grant.h) share with the daemon. These words are the pointers: the daemon and the programs
 * move them by atomic operations, and no process keeps a copy. A position counts etypes.
 *
 * Any program of the daemon's user can write to the memory, so a position is checked whenever it is
 * loaded. The length of the memory is sealed, so an access never faults.
 */

/* The name of the memory. It shows in the daemon's /proc/PID/fd. */
#define MPIIO_POSITIONS_MEMORY "mpiio-positions"

/* Creates count positions, all 0. Sets *memory to the descriptor of the memory, which stays until
   the process ends. Returns NULL if the system refuses it. */
_Atomic int64_t *mpiio_positions_new(size_t count, int *memory);

/*
 * Maps the positions that a process has open as descriptor memory. Returns NULL unless the
 * effective user created the memory, its inode number is inode, and it has at least count
 * positions.
 */
_Atomic int64_t *mpiio_positions_map(int process, int memory, uint64_t inode, size_t count);

/*
 * Takes count > 0 etypes from the position, fewer if limit is closer, and sets *first to the first
 * of them. Returns their number; 0 if the position is at or beyond the limit; -EIO if the position
 * is invalid. Thread-safe and async-signal-safe, also among processes.
 */
static inline int64_t mpiio_position_take(_Atomic int64_t *position, int64_t count, int64_t limit,
                                          int64_t *first)
{
    int64_t at = atomic_load(position), got;

    do {
        if (at < 0)
            return -EIO;
        got = limit <= at ? 0 : limit - at < count ? limit - at : count;
    } while (got > 0 && !atomic_compare_exchange_weak(position, &at, at + got));
    *first = at;
    return got;
}

#endif
