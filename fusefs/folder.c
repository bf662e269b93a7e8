/* SPDX-License-Identifier: MIT */
#include "operations.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* More than the kernel asks for at once is not worth building. */
#define READDIR_MAX ((size_t)1 << 17)

void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    (void)inode;
    /* The listing is the caller's own, so the kernel must not keep it for others. */
    info->fh = fs_self_rank(fs_session_of(request), fuse_req_ctx(request)->pid) >= 0;
    fuse_reply_open(request, info);
}

static mode_t entry_type(struct fs_node node)
{
    if (fs_tree_is_folder(node))
        return S_IFDIR;
    return node.kind == FS_SELF || node.kind == FS_FILE ? S_IFLNK : S_IFREG;
}

/*
 * Fills buffer with entries from number index on. Returns how much of it is used. "self" and
 * "self.npy" are the last entries, and there only for a process that has a rank: ls -l or tar would
 * stumble over it.
 */
static size_t fill(fuse_req_t request, struct fs_node folder, int64_t index, bool has_rank,
                   char *buffer, size_t size)
{
    struct fs_session *session = fs_session_of(request);
    struct stat st = {0};
    struct fs_node node;
    char name[FS_NAME_SIZE];
    size_t used = 0;

    for (; fs_tree_entry(&session->tree, folder, index, name, &node); index++) {
        size_t length;

        if (node.kind == FS_SELF && !has_rank)
            break;
        st.st_ino = fs_tree_inode(node);
        st.st_mode = entry_type(node);
        length = fuse_add_direntry(request, buffer + used, size - used, name, &st, index + 1);
        if (length > size - used)
            break;
        used += length;
    }
    return used;
}

void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node folder = fs_tree_node(&session->tree, inode);
    char *buffer;

    fs_count(session, FS_READDIR);
    if (!fs_tree_is_folder(folder) || offset < 0) {
        fuse_reply_err(request, folder.kind == FS_NONE ? ENOENT : EINVAL);
        return;
    }
    if (size > READDIR_MAX)
        size = READDIR_MAX;
    buffer = malloc(size);
    if (buffer == NULL)
        fuse_reply_err(request, ENOMEM);
    else
        fuse_reply_buf(request, buffer, fill(request, folder, offset, info->fh != 0, buffer, size));
    free(buffer);
}
