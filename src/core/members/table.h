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
 * The members of an assembled file that are open. One is opened, and its views are compiled, when
 * it is first needed; it stays open until so many others were used since that there is no room for
 * it. All functions are thread-safe but the first and the last.
 */

/* A member that is in use. Its fields do not change. */
struct mpiio_member {
    struct mpiio_lru_entry entry; /* lock: the table's */
    size_t number;
    struct mpiio_file *file;
    struct vs_view *view;  /* where its data lies in the whole */
    struct vs_view *local; /* where in its own file */
};

/* The most members that stay open without users; fewer if descriptors are few. */
#define MPIIO_MEMBERS_OPEN 1024

struct mpiio_member_table {
    const struct vs_members *members;         /* borrowed */
    struct mpiio_member_identity *identities; /* members', borrowed; set before one is acquired */
    /* Called once for a member whose path has come to name another file; NULL: no call. */
    void (*replaced)(void *argument, int64_t member, const char *path);
    void *replaced_argument;
    const struct mpiio_file *whole; /* borrowed; its check_changes is that of each member */
    bool writable;
    bool exact;                     /* the kernel does not read ahead in members */
    enum mpiio_coherence coherence; /* how the members' filesystems are treated */
    size_t most;                    /* bound of the members that are open without users */
    pthread_mutex_t lock;
    struct mpiio_lru open; /* by number; lock: lock */
};

/* Initialises a table with no member open. members is borrowed. */
void mpiio_member_table_init(struct mpiio_member_table *table, const struct vs_members *members,
                             bool writable);

/* Closes all members, also acquired ones. */
void mpiio_member_table_destroy(struct mpiio_member_table *table);

/*
 * Gets the member of that number, for the caller to release. Returns 0 or a negative errno: -ESTALE
 * if its path names another file than when it was identified, the error of open(2), or -ENOMEM.
 */
int mpiio_member_acquire(struct mpiio_member_table *table, size_t number,
                         struct mpiio_member **member);
void mpiio_member_release(struct mpiio_member_table *table, struct mpiio_member *member);

/* Returns a new descriptor (O_PATH) of the member's file, or an error as mpiio_member_acquire. */
int mpiio_member_open_path(struct mpiio_member_table *table, size_t number);

/* Checks the member's file. Returns 0 with its state in st, or an error as mpiio_member_acquire. */
int mpiio_member_stat(struct mpiio_member_table *table, size_t number, struct stat *st);

#endif
