/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_PRIVATE_H
#define MPIIO_ASSEMBLED_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "assembled.h"
#include "core/base/lru.h"
#include "viewspec/map/assembly.h"
#include "viewspec/members/members.h"

/* A member in use. Its fields do not change. */
struct mpiio_member {
    struct mpiio_lru_entry entry; /* guarded by the assembled file's lock */
    size_t number;
    struct mpiio_file *file;
    struct vs_view *view;  /* maps its data to the whole */
    struct vs_view *local; /* maps its data to its own file */
};

/* The maximum number of members that stay open without users. Fewer if descriptors are scarce. */
#define MPIIO_MEMBERS_OPEN 1024

/* The internals of an assembled file, for the sources of this directory. */
struct mpiio_assembled {
    struct mpiio_file file;           /* the first member */
    const struct vs_members *members; /* borrowed */
    /* of the members; owned; set before one is acquired */
    struct mpiio_member_identity *identities;
    /* Called once for a member whose path names another file; may be NULL. */
    void (*replaced)(void *argument, int64_t member, const char *path);
    void *replaced_argument;
    bool exact;  /* members are read without the kernel's readahead */
    size_t most; /* maximum number of members that are open without users */
    pthread_mutex_t lock;
    struct mpiio_lru open; /* the open members by number; guarded by lock */
    struct vs_assembly *places;
    enum vs_overlap overlap;
    bool allows_missing;           /* bytes that members lack are holes */
    struct mpiio_fills fills;      /* the values that holes read as */
    bool creates;                  /* missing members must be created */
    struct stat st;                /* of the first member that exists; times: the latest */
    uint64_t identity;             /* a hash of the identities and bytes of all existing members */
    atomic_uint_fast64_t *written; /* one bit per member: must be synced */
    pthread_mutex_t syncing;       /* held while syncing the members */
    atomic_uint_fast64_t writes;   /* number of finished writes to members */
};

/* Returns the end of the block that holds displacement, or end, whichever comes first. */
static inline int64_t mpiio_assembled_block_end(int64_t displacement, int64_t end)
{
    int64_t room = VS_ASSEMBLY_BLOCK - displacement % VS_ASSEMBLY_BLOCK;

    return end - displacement < room ? end : displacement + room;
}

/* Returns true if the member has bytes of the file. If not, its file may be missing. */
static inline bool mpiio_assembled_has(const struct mpiio_assembled *self, int64_t member)
{
    return vs_assembly_bytes(self->places, (size_t)member) > 0;
}

/* Returns true if the positions are contiguous in the file of the map. */
static inline bool mpiio_assembled_is_run(const struct vs_map *map, int64_t position,
                                          int64_t length)
{
    return vs_map_displacement(map, position + length - 1) - vs_map_displacement(map, position) ==
           length - 1;
}

/*
 * The open members. A member is opened, and its views are compiled, when it is first needed. It
 * stays open until many others have been used since and there is no room for it. The functions are
 * thread-safe, except mpiio_members_limit_open and mpiio_members_close.
 */

/* Sets the number of members that stay open without users, by the limit of descriptors. */
void mpiio_members_limit_open(struct mpiio_assembled *self);

/* Closes all members, also acquired ones. */
void mpiio_members_close(struct mpiio_assembled *self);

/*
 * Acquires the member of that number. The caller must release it. Returns 0 or a negative errno:
 * -ESTALE if its path names another file than when it was identified, the error of open(2), or
 * -ENOMEM.
 */
int mpiio_member_acquire(struct mpiio_assembled *self, size_t number, struct mpiio_member **member);
void mpiio_member_release(struct mpiio_assembled *self, struct mpiio_member *member);

/* Checks the member's file. Returns 0 and sets *st to its state, or an error as
   mpiio_member_acquire. */
int mpiio_member_stat(struct mpiio_assembled *self, size_t number, struct stat *st);

/*
 * Creates the missing members. places must be finished and have no bytes of them. Each new file is
 * a hole with mode 0666 less the umask, and appears with its final length: the length of its data
 * in the whole, or of whole arrays if "local" is a part of an array. Returns the number of members
 * that were missing, including those that others have created meanwhile, or a negative errno with
 * why filled: -EINVAL if a member's view does not determine the length of the whole.
 */
int64_t mpiio_members_create(const struct vs_members *members, const struct vs_assembly *places,
                             struct vs_error *why);

/* Returns true if a hole may read as a value other than zero. */
bool mpiio_fills_any(const struct mpiio_fills *fills);

/* Implements pread (file.h) for an assembled file. */
int64_t mpiio_assembled_read(struct mpiio_file *file, void *buffer, size_t length,
                             int64_t displacement, struct mpiio_counters *done);

/* Implement the write operations (file.h) of an assembled file. */
void mpiio_assembled_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);
void mpiio_assembled_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer);
void mpiio_assembled_admit(struct mpiio_file *file, struct mpiio_transfer *transfer);

/* Operations on all members in turn. Thread-safe. */

/* Marks a member as written, also after a failed write. Call it after the write and before
   acknowledging it. If it were marked earlier, a concurrent sync could clear the mark before the
   data is written. */
void mpiio_assembled_mark_written(struct mpiio_assembled *self, size_t member);

/* Like mpiio_store_sync (store.h), for the marked members, several at a time. The next call
   retries failed ones. Waits for a concurrent call to sync the members that it has taken. */
int mpiio_assembled_sync(struct mpiio_file *file, bool data_only);

/* Like await_writers and refresh of files (file/file.h), for all members. Includes members that are
   not open yet, because a later read may open them. */
int mpiio_assembled_await_writers(struct mpiio_file *file);
int mpiio_assembled_refresh(struct mpiio_file *file);

#endif
