/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_WRITE_H
#define MPIIO_ASSEMBLED_WRITE_H

#include "assembled_private.h"

/* As struct mpiio_file_kind has them; self is a struct mpiio_assembled. */
void mpiio_assembled_write_runs(void *self, struct mpiio_transfer *transfer);
void mpiio_assembled_write_ranges(void *self, struct mpiio_transfer *transfer);
void mpiio_assembled_admit(void *self, struct mpiio_transfer *transfer);

#endif
