/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_ANSWERS_H
#define MPIIO_POOL_ANSWERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ahead.h"
#include "memory.h"

/* A home: answers what other nodes ask it for, as net/listener.h has it. */
struct mpiio_pool_answers {
    struct mpiio_pool_memory *memory; /* borrowed */
    struct mpiio_pool_ahead *ahead;   /* borrowed */
    int timeout;                      /* ms */
    _Atomic uint64_t sent_bytes;
};

/* Bytes of a thread's desk, and what it does with a request: data are the answers. */
size_t mpiio_pool_answers_desk(void);
bool mpiio_pool_answers_serve(void *data, void *memory, int fd);

#endif
