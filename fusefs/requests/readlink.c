/* SPDX-License-Identifier: MIT */
#include "readlink.h"

#include <errno.h>

#include "fusefs/names/self.h"

void fs_readlink(fuse_req_t request, fuse_ino_t inode)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    char name[FS_NAME_SIZE];
    int64_t rank;

    fs_count(session, FS_READLINK);
    if (node.kind == FS_FILE) {
        fuse_reply_readlink(request, session->file);
        return;
    }
    rank =
        node.kind == FS_SELF ? fs_self_rank(&session->tree, fuse_req_ctx(request)->pid) : -EINVAL;
    if (rank < 0) {
        fuse_reply_err(request, (int)-rank);
        return;
    }
    node.rank = rank;
    fs_tree_rank_name(&session->tree, node, name);
    fuse_reply_readlink(request, name);
}
