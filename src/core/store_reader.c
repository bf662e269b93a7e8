/* SPDX-License-Identifier: MIT */
#include "store_reader.h"

#include "store_private.h"

void mpiio_store_set_reader(struct mpiio_store *store, struct mpiio_reader *reader)
{
    store->file->ops->be_exact(store->file);
    store->file->reader = reader;
}

int64_t mpiio_store_read_file(struct mpiio_store *store, void *buffer, size_t length,
                              int64_t displacement)
{
    struct mpiio_counters done = {0};
    int64_t got = store->file->ops->pread_exactly(store->file, buffer, length, displacement, &done);

    mpiio_file_count(store->file, &done);
    return got;
}
