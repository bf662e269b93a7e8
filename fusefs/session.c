/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * The number of failing views that are logged: a listing of a million ranks must not fill the disk.
 */
#define LOGGED_VIEWS 100

int fs_slice_of(struct fs_session *session, struct fs_node node, struct fs_slice **slice)
{
    struct vs_error why = {0};
    char text[1536];
    int error;

    /* All ranks of "ordered" access one slice, the one of the shared view. */
    if (node.ordered)
        node = fs_tree_shared(node.view);
    error = fs_slices_get(&session->slices, node, slice, &why);

    if (why.code == 0 || error == -ENOMEM)
        return error;
    if (atomic_fetch_add(&session->view_errors, 1) < LOGGED_VIEWS)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "rank %lld: %s", (long long)node.rank,
                    vs_error_text(&why, text, sizeof(text)));
    return -EIO;
}

dev_t fs_device_at(const char *place)
{
    struct statx st = {0};

    statx(AT_FDCWD, place, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
    return makedev(st.stx_dev_major, st.stx_dev_minor);
}

void fs_session_log(void *data, enum mpiio_log_level level, const char *line)
{
    struct fs_session *session = data;

    fs_log_line(&session->log, level, "%s", line);
}
