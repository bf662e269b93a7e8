/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_MEMBERS_H
#define MPIIO_STORE_MEMBERS_H

#include <stdbool.h>

#include "core/base/filesystem.h"
#include "core/members/identity.h"
#include "spec.h"
#include "store.h"

/* Stores of the file of a spec: a single file, or one that is assembled from members. Not
   installed. */

/* Returns true if the store is assembled from members. */
bool mpiio_store_has_members(const struct mpiio_store *store);

/* Returns mpiio_assembled_digest (members/assembled.h) of the store; 0 if it is a single file. */
uint64_t mpiio_store_members_digest(const struct mpiio_store *store);

/*
 * Like mpiio_assembled_identity and mpiio_assembled_hold (members/assembled.h), for an assembled
 * store.
 */
uint64_t mpiio_store_identity(const struct mpiio_store *store);
int mpiio_store_hold_members(struct mpiio_store *store, int64_t *grain);

/* Like mpiio_member_find_twins (members/identity.h), for an assembled store. */
int mpiio_store_find_twins(const struct mpiio_store *store, struct mpiio_member_twins *twins);

/* Like mpiio_assembled_on_replaced (members/assembled.h), for an assembled store. */
void mpiio_store_on_replaced(struct mpiio_store *store,
                             void (*replaced)(void *argument, int64_t member, const char *path),
                             void *argument);

/* Returns the length of an assembled store's file, which never changes. */
int64_t mpiio_store_members_size(const struct mpiio_store *store);

/* Like mpiio_assembled_writes and mpiio_assembled_state, for an assembled store. */
uint64_t mpiio_store_members_writes(const struct mpiio_store *store);
uint64_t mpiio_store_members_state(const struct mpiio_store *store, struct timespec times[2]);

/* Finds the member that has the byte at displacement, 0 <= displacement < the file's size, of an
   assembled store. Returns 0 or a negative errno. Thread-safe. */
int mpiio_store_find_member(struct mpiio_store *store, int64_t displacement,
                            struct mpiio_member_place *place);

/*
 * Reads length bytes of the file itself, bypassing a cache, like pread(2). Returns fewer only at
 * the end of the file. Thread-safe.
 */
int64_t mpiio_store_pread(struct mpiio_store *store, void *buffer, size_t length,
                          int64_t displacement);

/* Returns the borrowed descriptor for locks of the store's bytes. Sets *base to the number to
   add to their displacements (file/exclusion.h). */
int mpiio_store_lock_place(const struct mpiio_store *store, int64_t *base);

/* Like mpiio_members_find_list (members/assembled.h), for an assembled store. */
int64_t mpiio_store_find_list(const struct mpiio_store *store);

/* Like mpiio_file_refresh (file/file.h). Thread-safe. */
int mpiio_store_refresh(struct mpiio_store *store);

/* Like set_coherence of files (file/file.h). */
void mpiio_store_set_coherence(struct mpiio_store *store, enum mpiio_coherence coherence);

/* Return the coherence and the type of the file's filesystem. For members, that is the least
   coherent filesystem that a member is on. */
enum mpiio_coherence mpiio_store_coherence(const struct mpiio_store *store);
const struct mpiio_filesystem *mpiio_store_filesystem(const struct mpiio_store *store);

static inline bool mpiio_store_is_coherent(const struct mpiio_store *store)
{
    return mpiio_store_coherence(store) == MPIIO_COHERENCE_LOCAL;
}

/* Like await_writers of files (file/file.h). Thread-safe. */
int mpiio_store_await_writers(struct mpiio_store *store);

/* Like fstatvfs(2) of the file, or of the first member that exists. */
struct statvfs;
int mpiio_store_statfs(struct mpiio_store *store, struct statvfs *st);

#endif
