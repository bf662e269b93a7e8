/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_WRITE_H
#define MPIIO_ASSEMBLED_WRITE_H

#include "assembled_private.h"

/* As struct mpiio_file_kind has them; self is a struct mpiio_assembled. */
size_t mpiio_assembled_write_runs(void *self, const struct vs_map *map, int64_t position,
                                  size_t length, const void *buffer, int *error,
                                  struct mpiio_counters *done);
int64_t mpiio_assembled_write_ranges(void *self, const char *image, int64_t displacement,
                                     const struct mpiio_range *ranges, size_t count, int *error,
                                     struct mpiio_counters *done);
size_t mpiio_assembled_admit(void *self, const struct vs_map *map, int64_t position, size_t length,
                             int *error);

#endif
