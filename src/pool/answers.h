/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_ANSWERS_H
#define MPIIO_POOL_ANSWERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ahead.h"
#include "memory.h"

/* The server side of a home: answers requests of other nodes. */
struct mpiio_pool_answers {
    struct mpiio_pool_memory *memory; /* borrowed */
    struct mpiio_pool_ahead *ahead;   /* borrowed */
    int timeout;                      /* ms */
    _Atomic uint64_t sent_bytes;
};

/* The size of a thread's desk, and the serve callback of a listener (net/net.h). data is
   the struct mpiio_pool_answers. */
size_t mpiio_pool_answers_desk(void);
bool mpiio_pool_answers_serve(void *data, void *memory, int fd);

#endif
