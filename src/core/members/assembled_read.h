/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_READ_H
#define MPIIO_ASSEMBLED_READ_H

#include "assembled_private.h"

/* As struct mpiio_file_kind has it; self is a struct mpiio_assembled. */
int64_t mpiio_assembled_read(void *self, void *buffer, size_t length, int64_t displacement,
                             struct mpiio_counters *done);

#endif
