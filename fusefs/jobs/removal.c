/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/base/thread.h"
#include "fusefs/session.h"
#include "fusefs/storing/nodes.h"

/* Removes the file at the end of the mount. */

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Opens the folder of an absolute path, and keeps the name. Returns 0 or an errno. */
static int hold(struct fs_removal *removal, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char *folder = strndup(path, (size_t)(name - path));

    if (folder == NULL)
        return ENOMEM;
    removal->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (removal->folder < 0)
        return errno;
    removal->name = name;
    return 0;
}

/*
 * Returns true if the folder is sticky and this process may not remove the file. In a sticky folder
 * only the owners of the file and of the folder may do so.
 */
static bool is_sticky_for_us(const struct stat *folder, const struct stat *file)
{
    return (folder->st_mode & S_ISVTX) != 0 && geteuid() != folder->st_uid &&
           geteuid() != file->st_uid && !mpiio_capability_has(CAP_FOWNER);
}

/* Returns the reason why the file cannot be removed, or NULL. */
static const char *why_not(const struct fs_removal *removal, int fd)
{
    struct stat open, named, folder;

    if (fstat(fd, &open) != 0 || fstat(removal->folder, &folder) != 0)
        return strerror(errno);
    if (!S_ISREG(open.st_mode))
        return "not a regular file";
    if (fstatat(removal->folder, removal->name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return strerror(errno);
    if (!is_same(&named, &open))
        return "another file has its name now";
    if (faccessat(removal->folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return strerror(errno);
    return is_sticky_for_us(&folder, &open) ? strerror(EPERM) : NULL;
}

int fs_removal_prepare(struct fs_session *session)
{
    const char *why;
    int error;

    if (!session->options->delete_on_close)
        return 0;
    error = hold(&session->removal, session->file);
    why = error != 0 ? strerror(error) : why_not(&session->removal, mpiio_store_fd(session->store));
    if (why == NULL)
        return 0;
    return fs_fail(session->options, 1, "%s: delete_on_close: the file cannot be removed: %s",
                   session->file, why);
}

void fs_removal_free(struct fs_removal *removal)
{
    if (removal->name != NULL)
        close(removal->folder);
}

/*
 * Returns true if this node unmounts last. If all nodes were unmounted from one node, that node
 * does. If each node was unmounted alone, node 0 takes that role.
 */
static bool comes_last(struct fs_session *session)
{
    struct fs_jobs *jobs = &session->jobs;
    bool last = MPIIO_LOCKED(&jobs->lock, jobs->last);

    return last || (session->cluster.node == 0 && !atomic_load(&jobs->unmounts));
}

/* Removes the file. Returns the reason if it stays, or NULL. */
static const char *remove_file(const struct fs_session *session)
{
    const struct fs_removal *removal = &session->removal;
    struct stat open, named;

    if (fstat(mpiio_store_fd(session->store), &open) != 0)
        return strerror(errno);
    if (fstatat(removal->folder, removal->name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            return strerror(errno);
        return open.st_nlink > 0 ? "it has another name now" : NULL;
    }
    if (!is_same(&named, &open))
        return "another file has its name now";
    return unlinkat(removal->folder, removal->name, 0) == 0 || errno == ENOENT ? NULL
                                                                               : strerror(errno);
}

void fs_removal_end(struct fs_session *session, int error)
{
    const char *why = NULL;

    if (!session->options->delete_on_close)
        return;
    if (error != 0)
        why = strerror(-error);
    else if (!fs_nodes_all_unmounted(&session->cluster))
        why = "the nodes have lost each other";
    else if (comes_last(session))
        why = remove_file(session);
    if (why != NULL)
        fs_log_line(&session->log, MPIIO_LOG_WARNING, "%s is not removed: %s", session->file, why);
}
