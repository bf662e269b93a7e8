/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CLOCK_H
#define MPIIO_CLOCK_H

#include <stdint.h>

/* ms of a clock that only runs forward, and stands still while the machine sleeps. */
int64_t mpiio_clock(void);

#endif
