/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_COUNTERS_H
#define MPIIO_COUNTERS_H

#include <stdint.h>

/* Counts since the store was opened. Counters only increase. A snapshot is not atomic over all
   counters. All members are uint64_t, because file.c treats the struct as an array. */
struct mpiio_counters {
    uint64_t slice_reads;           /* calls that read a slice */
    uint64_t slice_read_bytes;      /* bytes returned from slices */
    uint64_t store_reads;           /* reads of the file by system call */
    uint64_t store_read_bytes;      /* bytes moved by them */
    uint64_t store_map_bytes;       /* bytes gathered from mappings of the file */
    uint64_t slice_writes;          /* calls that write a slice */
    uint64_t slice_write_bytes;     /* bytes accepted by them */
    uint64_t store_writes;          /* writes of the file by system call */
    uint64_t store_write_bytes;     /* bytes moved by them */
    uint64_t store_map_write_bytes; /* bytes scattered into mappings of the file */
};

#endif
