/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CLOCK_H
#define MPIIO_CLOCK_H

#include <stdint.h>

/* Returns ms of a monotonic clock that stops while the machine sleeps. */
int64_t mpiio_clock(void);

#endif
