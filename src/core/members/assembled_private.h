/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_PRIVATE_H
#define MPIIO_ASSEMBLED_PRIVATE_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "assembled.h"
#include "table.h"
#include "viewspec/map/assembly.h"

/* What is inside an assembled file, for the sources of this room. */
struct mpiio_assembled {
    struct mpiio_file file; /* the first member */
    struct mpiio_member_table table;
    struct mpiio_member_identity *identities; /* of each member */
    struct vs_assembly *places;
    enum vs_overlap overlap;
    bool allows_missing;           /* bytes that members lack are holes */
    struct mpiio_fills fills;      /* the values that holes read as */
    bool creates;                  /* members that are missing are to be made */
    struct stat st;                /* of the first member that is there; times: the newest */
    uint64_t identity;             /* a hash of the identities and bytes of all that are there */
    int64_t watched;               /* so many members are asked for their times */
    atomic_uint_fast64_t *written; /* a bit a member: to be synced */
    pthread_mutex_t syncing;       /* one syncs them at a time */
    atomic_uint_fast64_t writes;   /* to members, that are over */
    int lock_fd;                   /* of the first member that exists; -1: none does */
};

/* Where the block that holds displacement ends, or end, whichever comes first. */
static inline int64_t mpiio_assembled_block_end(int64_t displacement, int64_t end)
{
    int64_t room = VS_ASSEMBLY_BLOCK - displacement % VS_ASSEMBLY_BLOCK;

    return end - displacement < room ? end : displacement + room;
}

/* Returns true if the member holds bytes of the file. One that does not may be missing. */
static inline bool mpiio_assembled_has(const struct mpiio_assembled *self, int64_t member)
{
    return vs_assembly_bytes(self->places, (size_t)member) > 0;
}

/* Whether positions lie side by side in the file that map is of. */
static inline bool mpiio_assembled_is_run(const struct vs_map *map, int64_t position,
                                          int64_t length)
{
    return vs_map_displacement(map, position + length - 1) - vs_map_displacement(map, position) ==
           length - 1;
}

#endif
