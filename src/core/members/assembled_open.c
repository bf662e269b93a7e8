/* SPDX-License-Identifier: MIT */
#include "assembled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "assembled_private.h"
#include "core/base/fd_link.h"
#include "core/base/process.h"
#include "core/base/thread.h"

/* The open members of an assembled file. */

/* Descriptors reserved for the rest of the process. */
#define OTHERS 256

void mpiio_members_limit_open(struct mpiio_assembled *self)
{
    int64_t count = vs_members_count(self->members);
    uint64_t wanted = count < MPIIO_MEMBERS_OPEN ? (uint64_t)count : MPIIO_MEMBERS_OPEN;
    uint64_t allowed = mpiio_rlimit_descriptors(wanted + OTHERS);

    self->most = allowed >= wanted + OTHERS ? wanted : allowed / 4 + 1;
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

void mpiio_members_close(struct mpiio_assembled *self)
{
    mpiio_lru_clear(&self->open, close_member);
}

/* Opens a member's path or, if st is not NULL, gets its state. Returns the descriptor or 0, or a
   negative errno. Reports once that the path names another file. */
static int look_at_path(struct mpiio_assembled *self, int64_t member, struct stat *st)
{
    struct mpiio_member_identity *identity = &self->identities[member];
    char *path = vs_members_file(self->members, member);
    int error = -ENOMEM;

    if (path != NULL)
        error =
            st != NULL ? mpiio_member_look(path, identity, st) : mpiio_member_find(path, identity);
    if (error == -ESTALE && !atomic_exchange(&identity->reported, true) && self->replaced != NULL)
        self->replaced(self->replaced_argument, member, path);
    free(path);
    return error;
}

int mpiio_assembled_open_path(const struct mpiio_file *file, int64_t member)
{
    return look_at_path((struct mpiio_assembled *)file, member, NULL);
}

int mpiio_member_stat(struct mpiio_assembled *self, size_t number, struct stat *st)
{
    return look_at_path(self, (int64_t)number, st);
}

/* Opens the identified file by its descriptor, because its path may name another one by now. */
static int open_identified(struct mpiio_assembled *self, size_t number, struct mpiio_file **file)
{
    char link[MPIIO_FD_LINK_SIZE];
    int fd = mpiio_assembled_open_path(&self->file, (int64_t)number);
    int error;

    if (fd < 0)
        return fd;
    mpiio_fd_link(fd, link);
    error = mpiio_file_open(link, self->file.writable ? O_RDWR : O_RDONLY, file);
    close(fd);
    return error;
}

static int open_file(struct mpiio_assembled *self, size_t number, struct mpiio_file **file)
{
    int error = open_identified(self, number, file);

    /* Other parts of the process use all descriptors: close idle members. */
    while (error == -EMFILE || error == -ENFILE) {
        struct mpiio_member *victim = MPIIO_LOCKED(&self->lock, mpiio_lru_evict(&self->open, 0));

        if (victim == NULL)
            break;
        close_member(victim);
        error = open_identified(self, number, file);
    }
    return error;
}

static int make_member(struct mpiio_assembled *self, size_t number, struct mpiio_member **made)
{
    struct mpiio_member *member = calloc(1, sizeof(*member));
    struct vs_error why = {0};
    int error = member != NULL ? 0 : -ENOMEM;

    if (error == 0)
        error =
            vs_members_views(self->members, (int64_t)number, &member->view, &member->local, &why);
    if (error == 0)
        error = open_file(self, number, &member->file);
    if (error != 0) {
        close_member(member);
        return error;
    }
    mpiio_file_set_coherence(member->file, self->file.chosen);
    member->file->write_behind.off = true; /* one thread for each member would be too many */
    if (self->exact)
        posix_fadvise(member->file->fd, 0, 0, POSIX_FADV_RANDOM);
    member->file->check = self->file.check;
    member->file->check_argument = self->file.check_argument;
    member->number = number;
    member->entry.key = number;
    *made = member;
    return 0;
}

int mpiio_member_acquire(struct mpiio_assembled *self, size_t number, struct mpiio_member **member)
{
    struct mpiio_member *made;
    int error;

    *member = MPIIO_LOCKED(&self->lock, mpiio_lru_get(&self->open, number));
    if (*member != NULL)
        return 0;
    error = make_member(self, number, &made);
    if (error != 0)
        return error;

    pthread_mutex_lock(&self->lock);
    *member = mpiio_lru_get(&self->open, number); /* another thread may have added it */
    if (*member == NULL) {
        mpiio_lru_add(&self->open, &made->entry);
        *member = made;
        made = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    close_member(made);
    return 0;
}

void mpiio_member_release(struct mpiio_assembled *self, struct mpiio_member *member)
{
    struct mpiio_member *victim;

    pthread_mutex_lock(&self->lock);
    mpiio_lru_put(&self->open, &member->entry);
    victim = mpiio_lru_evict(&self->open, self->most);
    pthread_mutex_unlock(&self->lock);
    close_member(victim);
}
