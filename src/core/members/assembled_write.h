/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_WRITE_H
#define MPIIO_ASSEMBLED_WRITE_H

#include "assembled_private.h"

/* Implement the write operations (file.h) of an assembled file. */
void mpiio_assembled_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);
void mpiio_assembled_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer);
void mpiio_assembled_admit(struct mpiio_file *file, struct mpiio_transfer *transfer);

#endif
