/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"

/* Listing of folders. */

/* The maximum size of an answer. The kernel does not request more at once. */
#define READDIR_MAX ((size_t)1 << 17)
/* Upper limit for the size of an entry with its attributes. */
#define ENTRY_MAX 512
/* Folders with more slices than this are listed with attributes. */
#define LISTED_MIN 1000

void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    (void)inode;
    /* The listing depends on the caller, so the kernel must not cache it for others. */
    info->fh = fs_self_rank(&fs_session_of(request)->tree, fuse_req_ctx(request)->pid) >= 0;
    fuse_reply_open(request, info);
}

static mode_t entry_type(struct fs_node node)
{
    if (fs_tree_is_folder(node))
        return S_IFDIR;
    return node.kind == FS_SELF || node.kind == FS_FILE ? S_IFLNK : S_IFREG;
}

/*
 * Lists attributes only in folders that are so large that a request for each would take long. In
 * other folders a slice's size and mode are never older than the request for them. If the kernel
 * holds writes back, the numbers of listed slices may be outdated (fs_mode_number).
 */
bool fs_lists_attributes(const struct fs_session *session)
{
    const struct fs_tree *tree = &session->tree;

    return session->mode != FS_MODE_UNIQUE && tree->end - tree->first > LISTED_MIN;
}

/* A request for entries and its answer. */
struct listing {
    fuse_req_t request;
    struct fs_session *session;
    bool with_attributes;
    char *buffer;
    size_t size, used;
};

/* Adds one entry. next is the number of the entry after it. Returns false if the buffer is full. */
static bool add(struct listing *listing, struct fs_node node, const char *name, off_t next)
{
    struct fuse_entry_param entry = {
        .attr = {.st_ino = fs_tree_inode(node), .st_mode = entry_type(node)}};
    size_t left = listing->size - listing->used, length;
    char *to = listing->buffer + listing->used;

    if (!listing->with_attributes) {
        length = fuse_add_direntry(listing->request, to, left, name, &entry.attr, next);
    } else {
        /* If the entry has no attributes, the kernel requests them when it needs them. */
        if (left >= ENTRY_MAX && node.kind == FS_SLICE)
            fs_listed_entry(listing->session, node, &entry);
        length = fuse_add_direntry_plus(listing->request, to, left, name, &entry, next);
    }
    if (length > left)
        return false;
    listing->used += length;
    return true;
}

/*
 * Adds entries from number index on. "self" and "self.npy" are the last entries. They are listed
 * only for a process that has a rank, because ls -l or tar would otherwise fail on them.
 */
static void fill(struct listing *listing, struct fs_node folder, int64_t index, bool has_rank)
{
    struct fs_node node;
    char name[FS_NAME_SIZE];

    for (; fs_tree_entry(&listing->session->tree, folder, index, name, &node); index++)
        if ((node.kind == FS_SELF && !has_rank) || !add(listing, node, name, index + 1))
            break;
}

static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                 const struct fuse_file_info *info, bool with_attributes)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node folder = fs_tree_node(&session->tree, inode);
    struct listing listing = {.request = request,
                              .session = session,
                              .with_attributes = with_attributes,
                              .size = size < READDIR_MAX ? size : READDIR_MAX};

    if (!fs_tree_is_folder(folder) || offset < 0) {
        fuse_reply_err(request, folder.kind == FS_NONE ? ENOENT : EINVAL);
        return;
    }
    listing.buffer = malloc(listing.size);
    if (listing.buffer == NULL) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    fill(&listing, folder, offset, info->fh != 0);
    fuse_reply_buf(request, listing.buffer, listing.used);
    free(listing.buffer);
}

void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info)
{
    list(request, inode, size, offset, info, false);
}

void fs_readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info)
{
    list(request, inode, size, offset, info, true);
}

static void answer_sync(struct fs_session *session, const struct fs_drop *drop, int error)
{
    (void)error;
    fuse_reply_err(drop->request, -fs_sync_all(session));
}

/* An fsync of the mount point stores everything. */
void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int error = 0;

    (void)datasync;
    (void)info;
    if (inode == FUSE_ROOT_ID)
        error = fs_drop_queue(&session->notifier,
                              &(struct fs_drop){.done = answer_sync, .request = request});
    if (inode != FUSE_ROOT_ID || error != 0)
        fuse_reply_err(request, -error);
}
