/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_READ_H
#define MPIIO_CACHE_READ_H

#include "cache.h"

/* Reading the file with what is dirty laid over. */

/*
 * As mpiio_read_runs, with the frozen and the active bytes laid over those of the file. The range
 * must lie below the end that the caller knows of (mpiio_store_size): bytes behind the file's own
 * end that nobody wrote are zeros. It thus never stops at the end of the file. A byte that was put
 * before the call is seen, whatever is frozen and resolved meanwhile.
 */
void mpiio_cache_read(struct mpiio_source *source, struct mpiio_transfer *transfer);

#endif
