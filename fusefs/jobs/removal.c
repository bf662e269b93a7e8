/* SPDX-License-Identifier: MIT */
#include "removal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/complain.h"
#include "fusefs/session.h"
#include "fusefs/storing/nodes.h"

int fs_removal_check(const struct fs_session *session)
{
    char folder[PATH_MAX];
    struct stat st;
    int error = 0;

    if (!session->options->delete_on_close)
        return 0;
    snprintf(folder, sizeof(folder), "%s", session->file);
    if (fstat(mpiio_store_fd(session->store), &st) != 0)
        error = errno;
    else if (!S_ISREG(st.st_mode))
        error = EINVAL;
    else if (faccessat(AT_FDCWD, dirname(folder), W_OK | X_OK, AT_EACCESS) != 0)
        error = errno;
    if (error != 0)
        mpiio_complain(session->options->name, "%s: cannot be removed at the end: %s",
                       session->file, error == EINVAL ? "not a regular file" : strerror(error));
    return error != 0;
}

/*
 * Of several nodes, the one that all are unmounted from: it comes last. Where each was unmounted
 * alone, node 0.
 */
static bool comes_last(struct fs_session *session)
{
    struct fs_jobs *jobs = &session->jobs;
    bool last, told;

    pthread_mutex_lock(&jobs->lock);
    last = jobs->last;
    told = jobs->unmounts;
    pthread_mutex_unlock(&jobs->lock);
    return last || (session->cluster.node == 0 && !told);
}

/* Why the file stays; NULL: it does not, or there is none any more. */
static const char *remove_file(const struct fs_session *session)
{
    struct stat open, named;

    if (fstat(mpiio_store_fd(session->store), &open) != 0)
        return strerror(errno);
    if (lstat(session->file, &named) != 0) {
        if (errno != ENOENT)
            return strerror(errno);
        return open.st_nlink > 0 ? "it has another name now" : NULL;
    }
    if (named.st_dev != open.st_dev || named.st_ino != open.st_ino)
        return "another file has its name now";
    return unlink(session->file) == 0 || errno == ENOENT ? NULL : strerror(errno);
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
        fs_log_error(&session->log, "%s is not removed: %s", session->file, why);
}
