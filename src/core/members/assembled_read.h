/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_READ_H
#define MPIIO_ASSEMBLED_READ_H

#include "assembled_private.h"

/* Implements pread (file.h) for an assembled file. */
int64_t mpiio_assembled_read(struct mpiio_file *file, void *buffer, size_t length,
                             int64_t displacement, struct mpiio_counters *done);

#endif
