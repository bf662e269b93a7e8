/* SPDX-License-Identifier: MIT */
#include "assembled_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "core/base/process.h"
#include "core/base/thread.h"

/* The open members of an assembled file. */

/* Descriptors reserved for the rest of the process. */
#define OTHERS 256

void mpiio_member_table_init(struct mpiio_member_table *table, const struct vs_members *members,
                             bool writable)
{
    int64_t count = vs_members_count(members);
    uint64_t wanted = count < MPIIO_MEMBERS_OPEN ? (uint64_t)count : MPIIO_MEMBERS_OPEN;
    uint64_t allowed = mpiio_rlimit_descriptors(wanted + OTHERS);

    *table = (struct mpiio_member_table){.members = members, .writable = writable};
    table->most = allowed >= wanted + OTHERS ? wanted : allowed / 4 + 1;
    pthread_mutex_init(&table->lock, NULL);
}

static void close_member(void *object)
{
    struct mpiio_member *member = object;

    if (member != NULL) {
        mpiio_file_close(member->file);
        vs_view_unref(member->view);
        vs_view_unref(member->local);
        free(member);
    }
}

void mpiio_member_table_destroy(struct mpiio_member_table *table)
{
    mpiio_lru_clear(&table->open, close_member);
    pthread_mutex_destroy(&table->lock);
}

/* Reports a member whose path names another file, once. */
static void report_replaced(struct mpiio_member_table *table, size_t number, const char *path)
{
    if (!atomic_exchange(&table->identities[number].reported, true) && table->replaced != NULL)
        table->replaced(table->replaced_argument, (int64_t)number, path);
}

int mpiio_member_open_path(struct mpiio_member_table *table, size_t number)
{
    char *path = vs_members_file(table->members, (int64_t)number);
    int fd = path != NULL ? mpiio_member_find(path, &table->identities[number]) : -ENOMEM;

    if (fd == -ESTALE)
        report_replaced(table, number, path);
    free(path);
    return fd;
}

int mpiio_member_stat(struct mpiio_member_table *table, size_t number, struct stat *st)
{
    char *path = vs_members_file(table->members, (int64_t)number);
    int error = path != NULL ? mpiio_member_look(path, &table->identities[number], st) : -ENOMEM;

    if (error == -ESTALE)
        report_replaced(table, number, path);
    free(path);
    return error;
}

/* Opens the identified file by its descriptor, because its path may name another one by now. */
static int open_identified(struct mpiio_member_table *table, size_t number,
                           struct mpiio_file **file)
{
    char link[MPIIO_FD_LINK_SIZE];
    int fd = mpiio_member_open_path(table, number);
    int error;

    if (fd < 0)
        return fd;
    mpiio_fd_link(fd, link);
    error = mpiio_file_open(link, table->writable ? O_RDWR : O_RDONLY, file);
    close(fd);
    return error;
}

static int open_file(struct mpiio_member_table *table, size_t number, struct mpiio_file **file)
{
    int error = open_identified(table, number, file);

    /* Other parts of the process use all descriptors: close idle members. */
    while (error == -EMFILE || error == -ENFILE) {
        struct mpiio_member *victim = MPIIO_LOCKED(&table->lock, mpiio_lru_evict(&table->open, 0));

        if (victim == NULL)
            break;
        close_member(victim);
        error = open_identified(table, number, file);
    }
    return error;
}

static int make_member(struct mpiio_member_table *table, size_t number, struct mpiio_member **made)
{
    struct mpiio_member *member = calloc(1, sizeof(*member));
    struct vs_error why = {0};
    int error = member != NULL ? 0 : -ENOMEM;

    if (error == 0)
        error = vs_members_view(table->members, (int64_t)number, &member->view, &why);
    if (error == 0)
        error = vs_members_local(table->members, (int64_t)number, &member->local, &why);
    if (error == 0)
        error = open_file(table, number, &member->file);
    if (error != 0) {
        close_member(member);
        return error;
    }
    mpiio_file_set_coherence(member->file, table->whole->chosen);
    member->file->write_behind.off = true; /* one thread for each member would be too many */
    if (table->exact)
        posix_fadvise(member->file->fd, 0, 0, POSIX_FADV_RANDOM);
    mpiio_file_check_changes(member->file, table->whole->check, table->whole->check_argument);
    member->number = number;
    member->entry.key = number;
    *made = member;
    return 0;
}

int mpiio_member_acquire(struct mpiio_member_table *table, size_t number,
                         struct mpiio_member **member)
{
    struct mpiio_member *made;
    int error;

    *member = MPIIO_LOCKED(&table->lock, mpiio_lru_get(&table->open, number));
    if (*member != NULL)
        return 0;
    error = make_member(table, number, &made);
    if (error != 0)
        return error;

    pthread_mutex_lock(&table->lock);
    *member = mpiio_lru_get(&table->open, number); /* another thread may have added it */
    if (*member == NULL) {
        mpiio_lru_add(&table->open, &made->entry);
        *member = made;
        made = NULL;
    }
    pthread_mutex_unlock(&table->lock);
    close_member(made);
    return 0;
}

void mpiio_member_release(struct mpiio_member_table *table, struct mpiio_member *member)
{
    struct mpiio_member *victim;

    pthread_mutex_lock(&table->lock);
    mpiio_lru_put(&table->open, &member->entry);
    victim = mpiio_lru_evict(&table->open, table->most);
    pthread_mutex_unlock(&table->lock);
    close_member(victim);
}
