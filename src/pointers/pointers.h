/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_H
#define MPIIO_POINTERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Shared file pointers (MPI 3.1, 13.4.4): one a view. A position counts etypes of the view, from 0,
 * as MPI_File_get_position_shared does. Who takes gets the etypes from the pointer on, which is
 * moved behind them: nobody else gets the same.
 *
 * Functions are thread-safe, and return a negative errno where they fail.
 */
struct mpiio_pointers;

/* Pointers at most. */
#define MPIIO_POINTERS_MAX 4096

struct mpiio_pointers_options {
    size_t count;         /* how many there are, MPIIO_POINTERS_MAX at most */
    const int64_t *start; /* where each begins; borrowed for the call */
};

struct mpiio_pointers_stats {
    uint64_t takes;  /* that have got something, on this node */
    uint64_t etypes; /* that they have got */
};

/* 0 or a negative errno. */
int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers);

/* Nobody uses them any more. NULL is allowed. */
void mpiio_pointers_free(struct mpiio_pointers *pointers);

/*
 * Takes count > 0 etypes, or as many as there are below limit, from *position on. Returns how many
 * they are; 0: the pointer, which stays, is at limit or behind it.
 */
int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, int64_t count,
                            int64_t limit, int64_t *position);

/* MPI_File_get_position_shared and MPI_File_seek_shared with MPI_SEEK_SET. 0 or a negative errno.
 */
int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position);
int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position);

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats);

#endif
