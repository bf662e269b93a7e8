/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The table of operations, and the start of a session. */

_Static_assert((int)FS_ROOT == FUSE_ROOT_ID, "the root's inode number is its kind");
_Static_assert(sizeof(fuse_ino_t) == sizeof(uint64_t), "inode numbers hold a view and a rank");

/*
 * Redirects stdin, stdout and stderr, because the caller gets its terminal back once the mount is
 * ready.
 */
static void become_silent(struct fs_session *session)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(session->log.fd >= 0 ? session->log.fd : null, STDERR_FILENO);
        close(null);
    }
}

static void fs_init(void *userdata, struct fuse_conn_info *connection)
{
    struct fs_session *session = userdata;

    /*
     * With this flag the kernel would request attributes before every read. A page is valid until
     * the file's version changes, which open and fsync check.
     */
    connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    /*
     * With this flag, the kernel would treat the slice as empty after an open with O_TRUNC, and
     * would discard data stored through mappings of it.
     */
    connection->want &= ~(unsigned)FUSE_CAP_ATOMIC_O_TRUNC;
    if (session->mode == FS_MODE_UNIQUE && (!(connection->capable & FUSE_CAP_WRITEBACK_CACHE) ||
                                            fs_passthrough_is_on(&session->passthrough)))
        session->mode = FS_MODE_SHARED;
    if (session->mode == FS_MODE_UNIQUE)
        connection->want |= FUSE_CAP_WRITEBACK_CACHE;
    if (session->rights.for_others && (connection->capable & FUSE_CAP_POSIX_ACL)) {
        connection->want |= FUSE_CAP_POSIX_ACL;
        session->rights.evaluated = true;
    }
    if (!fs_lists_attributes(session))
        connection->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
    connection->max_write = FS_WRITE_MAX;
    connection->max_read = (unsigned)session->options->max_read;
    connection->max_readahead = (unsigned)session->options->max_read;
    if (session->ready >= 0 || fs_cluster_is_on(&session->cluster))
        become_silent(session);
    if (session->ready >= 0) {
        if (write(session->ready, "r", 1) != 1)
            fs_log_line(&session->log, MPIIO_LOG_WARNING,
                        "the process that mounts has exited before the mount was ready");
        close(session->ready);
        session->ready = -1;
    }
}

/*
 * Names are fixed, so these fail with EPERM. There is no fs_create: libfuse then answers the first
 * CREATE with ENOSYS, and the kernel sends MKNOD from then on.
 */

static void fs_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                     dev_t device)
{
    (void)parent, (void)name, (void)mode, (void)device;
    fuse_reply_err(request, EPERM);
}

static void fs_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    (void)parent, (void)name, (void)mode;
    fuse_reply_err(request, EPERM);
}

static void fs_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    (void)parent, (void)name;
    fuse_reply_err(request, EPERM);
}

static void fs_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    (void)target, (void)parent, (void)name;
    fuse_reply_err(request, EPERM);
}

static void fs_rename(fuse_req_t request, fuse_ino_t parent, const char *name,
                      fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
    (void)parent, (void)name, (void)new_parent, (void)new_name, (void)flags;
    fuse_reply_err(request, EPERM);
}

static void fs_link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char *name)
{
    (void)inode, (void)parent, (void)name;
    fuse_reply_err(request, EPERM);
}

/* Sets an operation to its handler. */
#define SET_HANDLER(operation, handler) .operation = handler,

const struct fuse_lowlevel_ops fs_operations = {.init = fs_init,
                                                .mknod = fs_mknod,
                                                .mkdir = fs_mkdir,
                                                .unlink = fs_unlink,
                                                .rmdir = fs_unlink,
                                                .symlink = fs_symlink,
                                                .rename = fs_rename,
                                                .link = fs_link,
                                                FS_HANDLERS(SET_HANDLER)};
