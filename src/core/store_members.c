/* SPDX-License-Identifier: MIT */
#include "store_members.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/members/assembled.h"
#include "core/members/assembled_find.h"
#include "core/members/assembled_hold.h"
#include "core/members/rights.h"
#include "missing.h"
#include "store_private.h"

int mpiio_store_open_spec(const struct vs_spec *spec, int flags, struct mpiio_store **store,
                          struct vs_error *why)
{
    const struct vs_members *members = vs_spec_members(spec);
    struct mpiio_fills fills = {0};
    unsigned how = 0;
    struct mpiio_file *file;
    int error;

    if (members == NULL)
        return mpiio_store_open(vs_spec_file(spec), flags, store);
    how |= (flags & O_ACCMODE) == O_RDWR ? MPIIO_ASSEMBLE_WRITABLE : 0;
    how |= (flags & O_CREAT) ? MPIIO_ASSEMBLE_CREATE : 0;
    error = mpiio_fills_make(spec, &fills, why);
    if (error != 0) {
        free(fills.list);
        return error;
    }
    error = mpiio_assemble(members, how, fills, &file, why);
    return error != 0 ? error : mpiio_store_of_file(file, store);
}

bool mpiio_store_has_members(const struct mpiio_store *store)
{
    return mpiio_file_is_fixed(store->file);
}

uint64_t mpiio_store_members_digest(const struct mpiio_store *store)
{
    return mpiio_store_has_members(store) ? mpiio_assembled_digest(store->file) : 0;
}

uint64_t mpiio_store_identity(const struct mpiio_store *store)
{
    return mpiio_assembled_identity(store->file);
}

int mpiio_store_hold_members(struct mpiio_store *store, int64_t *grain)
{
    return mpiio_assembled_hold(store->file, grain);
}

int mpiio_store_find_twins(const struct mpiio_store *store, struct mpiio_member_twins *twins)
{
    return mpiio_assembled_find_twins(store->file, twins);
}

void mpiio_store_on_replaced(struct mpiio_store *store,
                             void (*replaced)(void *argument, int64_t member, const char *path),
                             void *argument)
{
    mpiio_assembled_on_replaced(store->file, replaced, argument);
}

int64_t mpiio_store_members_size(const struct mpiio_store *store)
{
    return mpiio_file_size(store->file);
}

uint64_t mpiio_store_members_writes(const struct mpiio_store *store)
{
    return mpiio_assembled_writes(store->file);
}

uint64_t mpiio_store_members_state(const struct mpiio_store *store, struct timespec times[2])
{
    return mpiio_assembled_state(store->file, times);
}

int mpiio_store_find_member(struct mpiio_store *store, int64_t displacement,
                            struct mpiio_member_place *place)
{
    return mpiio_assembled_find(store->file, displacement, place);
}

int64_t mpiio_store_pread(struct mpiio_store *store, void *buffer, size_t length,
                          int64_t displacement)
{
    struct mpiio_counters done = {0};
    int64_t got = store->file->ops->pread(store->file, buffer, length, displacement, &done);

    mpiio_file_count(store->file, &done);
    return got;
}

int mpiio_store_lock_place(const struct mpiio_store *store, int64_t *base)
{
    return store->file->ops->lock_place(store->file, base);
}

int64_t mpiio_store_find_list(const struct mpiio_store *store)
{
    return mpiio_members_find_list(store->file);
}

int mpiio_store_refresh(struct mpiio_store *store)
{
    return mpiio_file_refresh(store->file);
}

void mpiio_store_set_coherence(struct mpiio_store *store, enum mpiio_coherence coherence)
{
    store->file->ops->set_coherence(store->file, coherence);
}

enum mpiio_coherence mpiio_store_coherence(const struct mpiio_store *store)
{
    return store->file->coherence;
}

const struct mpiio_filesystem *mpiio_store_filesystem(const struct mpiio_store *store)
{
    return store->file->filesystem;
}

int mpiio_store_await_writers(struct mpiio_store *store)
{
    return store->file->ops->await_writers(store->file);
}

int mpiio_store_statfs(struct mpiio_store *store, struct statvfs *st)
{
    return store->file->ops->statfs(store->file, st);
}
