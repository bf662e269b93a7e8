/* SPDX-License-Identifier: MIT */
#include "store_cache.h"

#include "store_private.h"

int mpiio_store_add_cache(struct mpiio_store *store, int64_t dirty_max, struct mpiio_back **back)
{
    int error = mpiio_back_new(store->file, dirty_max, back);

    if (error == 0)
        store->back = *back;
    return error;
}

void mpiio_store_drop_cache(struct mpiio_store *store, struct mpiio_back *back)
{
    if (back == NULL)
        return;
    store->back = NULL;
    mpiio_back_free(back);
}

void mpiio_store_use_cache(struct mpiio_store *store, struct mpiio_back *back)
{
    store->back = back;
}
