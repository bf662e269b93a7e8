/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_TABLE_H
#define MPIIO_MEMBER_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/lru.h"
#include "core/file/file.h"
#include "identity.h"
#include "viewspec/members/members.h"

/*
 * The open members of an assembled file. A member is opened, and its views are compiled, when it is
 * first needed. It stays open until many others have been used since and there is no room for it.
 * All functions are thread-safe, except the first one and mpiio_member_table_destroy.
 */

/* A member in use. Its fields do not change. */
struct mpiio_member {
    struct mpiio_lru_entry entry; /* guarded by the table's lock */
    size_t number;
    struct mpiio_file *file;
    struct vs_view *view;  /* maps its data to the whole */
    struct vs_view *local; /* maps its data to its own file */
};

/* The maximum number of members that stay open without users. Fewer if descriptors are scarce. */
#define MPIIO_MEMBERS_OPEN 1024

struct mpiio_member_table {
    const struct vs_members *members; /* borrowed */
    /* of the members, borrowed; set before one is acquired */
    struct mpiio_member_identity *identities;
    /* Called once for a member whose path names another file; may be NULL. */
    void (*replaced)(void *argument, int64_t member, const char *path);
    void *replaced_argument;
    const struct mpiio_file *whole; /* borrowed; its check_changes also applies to each member */
    bool writable;
    bool exact;                     /* without the kernel's readahead */
    enum mpiio_coherence coherence; /* how the members' filesystems are treated */
    size_t most;                    /* maximum number of members that are open without users */
    pthread_mutex_t lock;
    struct mpiio_lru open; /* by number; guarded by lock */
};

/* Initializes a table without open members. members is borrowed. */
void mpiio_member_table_init(struct mpiio_member_table *table, const struct vs_members *members,
                             bool writable);

/* Closes all members, also acquired ones. */
void mpiio_member_table_destroy(struct mpiio_member_table *table);

/*
 * Acquires the member of that number. The caller must release it. Returns 0 or a negative errno:
 * -ESTALE if its path names another file than when it was identified, the error of open(2), or
 * -ENOMEM.
 */
int mpiio_member_acquire(struct mpiio_member_table *table, size_t number,
                         struct mpiio_member **member);
void mpiio_member_release(struct mpiio_member_table *table, struct mpiio_member *member);

/* Returns a new descriptor (O_PATH) of the member's file, or an error as mpiio_member_acquire. */
int mpiio_member_open_path(struct mpiio_member_table *table, size_t number);

/* Checks the member's file. Returns 0 and sets *st to its state, or an error as
   mpiio_member_acquire. */
int mpiio_member_stat(struct mpiio_member_table *table, size_t number, struct stat *st);

#endif
