/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/store_layers.h"
#include "fusefs/kernel/sync.h"
#include "handle_ops.h"
#include "shared.h"

/* Lookup of names, attributes, and the link "self". */

/* The validity of names, in s. Names never change. */
#define NAMES_TIMEOUT 1e7
/* The delay after which owners of folders and links follow the file's, in s. */
#define OWNER_TIMEOUT 1.0
/*
 * The validity of a slice's attributes in mode unique, in s. It saves a request for attributes
 * before each write of a kernel that holds writes back. The kernel still looks up names, and then
 * gets the number that changes with the file.
 */
#define UNIQUE_TIMEOUT 1.0
/*
 * The validity of attributes from the listing of a large folder, in ms. It lets ls -l process one
 * answer to the end.
 */
#define LISTED_MS 100
/*
 * The st_blksize of slices, the size at which some programs read: a few runs ahead, but not a
 * megabyte for each number that is looked up.
 */
#define BLOCK_SIZE 131072

/*
 * Returns the number of 512-byte units of the slice's data: its proportional part of the file's
 * units, so that tools recognize a sparse file.
 */
static blkcnt_t share_of_blocks(int64_t size, const struct stat *file)
{
    int64_t full = size / 512 + (size % 512 != 0);
    int64_t file_full = file->st_size / 512;

    if (S_ISREG(file->st_mode) && file->st_blocks < file_full)
        full = (int64_t)((double)full * ((double)file->st_blocks / (double)file_full));
    return full == 0 && size > 0 ? 1 : full;
}

static int64_t slice_size(struct fs_session *session, struct fs_slice *slice,
                          const struct stat *file)
{
    if (fs_passthrough_is_used(&session->passthrough))
        return file->st_size;
    if (session->cache != NULL)
        return mpiio_slice_size(slice->slice);
    return vs_view_slice_size(mpiio_slice_view(slice->slice), file->st_size);
}

/*
 * Records the size that is reported to the kernel. If the kernel knows another size, it invalidates
 * the slice's pages.
 */
static void note_size(struct fs_slice *slice, int64_t size)
{
    int64_t known = atomic_exchange(&slice->known_size, size);

    if (known != 0 && known != size)
        fs_stale_drop_expected(&slice->stale, mpiio_clock());
}

static int slice_attributes(struct fs_session *session, struct fs_node node, struct stat *st)
{
    struct fs_slice *slice;
    struct stat file;
    int64_t size;
    bool writable;
    int error = fs_slice_of(session, node, &slice);

    if (error != 0)
        return error;
    error = mpiio_store_stat(session->store, &file);
    if (error == 0) {
        size = slice_size(session, slice, &file);
        if (size >= 0 && __builtin_add_overflow(size, slice->header, &size))
            size = -EFBIG;
        error = size < 0 ? (int)size : 0;
        fs_flusher_times(&session->flusher, &file);
    }
    if (error == 0) {
        writable = session->read_only == 0 && mpiio_slice_is_writable(slice->slice);
        st->st_mode =
            S_IFREG | (fs_rights_mode(&session->rights, file.st_mode) & (writable ? 0666 : 0444));
        st->st_nlink = 1;
        fs_rights_set_owner(&session->rights, &file, st);
        st->st_size = size;
        st->st_blksize = BLOCK_SIZE;
        st->st_blocks = share_of_blocks(size, &file);
        st->st_atim = file.st_atim;
        st->st_mtim = file.st_mtim;
        st->st_ctim = file.st_ctim;
        note_size(slice, size);
    }
    fs_slices_put(&session->slices, slice);
    return error;
}

static int stats_length(struct fs_session *session, off_t *length)
{
    char *text = fs_stats_text(session);

    if (text == NULL)
        return -ENOMEM;
    *length = (off_t)strlen(text);
    free(text);
    return 0;
}

/*
 * Fills in the attributes of the mount point. It belongs to the mounting user and is writable to
 * that user only: nothing can be created in it, but its attribute "atomicity" can be set.
 */
static void root_attributes(const struct fs_session *session, struct stat *st)
{
    st->st_mode = S_IFDIR | 0755;
    st->st_uid = geteuid();
    st->st_gid = getegid();
    st->st_nlink =
        3 + (session->tree.folders ? session->tree.views : 0) + (session->exports.zarr != NULL);
}

static int export_attributes(struct fs_session *session, struct fs_node node,
                             const struct stat *file, struct stat *st)
{
    int64_t length = fs_exports_length(&session->exports, node);

    if (length < 0)
        return (int)length;
    st->st_mode = S_IFREG | (fs_rights_mode(&session->rights, file->st_mode) & 0444);
    st->st_size = length;
    st->st_blksize = BLOCK_SIZE;
    st->st_blocks = share_of_blocks(length, file);
    st->st_mtim = file->st_mtim;
    st->st_ctim = file->st_ctim;
    return 0;
}

/*
 * Fills in the attributes of other nodes than slices: the file's owner, and the time of the mount.
 */
static int fixed_attributes(struct fs_session *session, struct fs_node node, struct stat *st)
{
    struct stat file;
    int error = mpiio_store_stat(session->store, &file);

    if (error != 0)
        return error;
    fs_rights_set_owner(&session->rights, &file, st);
    st->st_atim.tv_sec = st->st_mtim.tv_sec = st->st_ctim.tv_sec = session->mounted;
    st->st_nlink = 1;
    switch (node.kind) {
    case FS_SPEC:
        fs_rights_of_spec(&session->rights, &file, st);
        st->st_size = (off_t)session->resolved_length;
        return 0;
    case FS_STATS:
        st->st_mode = S_IFREG | 0444;
        return stats_length(session, &st->st_size);
    case FS_FILE:
        st->st_size = (off_t)strlen(session->file);
        /* fall through */
    case FS_SELF:
        st->st_mode = S_IFLNK | 0777;
        return 0;
    case FS_EXPORT:
        return export_attributes(session, node, &file, st);
    case FS_ROOT:
        root_attributes(session, st);
        return 0;
    default:
        st->st_mode = S_IFDIR | 0555;
        /* 1: the number of folders in it is unknown */
        st->st_nlink = node.kind == FS_EXPORT_FOLDER ? 1 : 2;
        return 0;
    }
}

static int attributes(struct fs_session *session, struct fs_node node, struct stat *st)
{
    *st = (struct stat){.st_ino = fs_tree_inode(node)};
    if (node.kind == FS_NONE)
        return -ENOENT;
    return node.kind == FS_SLICE ? slice_attributes(session, node, st)
                                 : fixed_attributes(session, node, st);
}

static double attributes_timeout(const struct fs_session *session, struct fs_node node)
{
    if (node.kind == FS_SLICE || node.kind == FS_EXPORT)
        return session->mode == FS_MODE_UNIQUE ? UNIQUE_TIMEOUT : 0;
    return node.kind == FS_STATS ? 0 : OWNER_TIMEOUT;
}

/* Sets the inode number of a slice that the kernel looks up by name. */
static int look_up_slice(struct fs_session *session, pid_t thread, struct fs_node node,
                         struct fuse_entry_param *entry)
{
    struct fs_slice *slice;
    int error = fs_slice_of(session, node, &slice);

    if (error != 0)
        return error;
    /* A truncation by this thread no longer belongs to its open. */
    fs_handle_take_opened(&session->slices, slice, thread);
    error = fs_mode_number(session, slice, &entry->ino);
    fs_slices_put(&session->slices, slice);
    return error;
}

void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry)
{
    struct stat st;

    if (attributes(session, node, &st) != 0)
        return;
    atomic_store(&session->listed, mpiio_clock() + LISTED_MS);
    *entry = (struct fuse_entry_param){.ino = fs_tree_inode(node),
                                       .attr = st,
                                       .attr_timeout = LISTED_MS / 1000.0,
                                       .entry_timeout = LISTED_MS / 1000.0};
}

void fs_listed_forget(struct fs_session *session, fuse_ino_t inode)
{
    int64_t listed = atomic_load_explicit(&session->listed, memory_order_relaxed);

    /* Invalidate only attributes, because then the kernel does not wait for requests. */
    if (listed != 0 && mpiio_clock() <= listed)
        fuse_lowlevel_notify_inval_inode(session->fuse, inode, -1, 0);
}

static int do_lookup(struct fs_session *session, pid_t thread, fuse_ino_t parent, const char *name,
                     struct fuse_entry_param *entry)
{
    struct fs_node folder = fs_tree_node(&session->tree, parent);
    struct fs_node node = fs_tree_find(&session->tree, folder, name);
    int error = 0;

    /* The kernel's limit is higher. Calls that create a name look it up first. */
    if (strlen(name) >= FS_NAME_SIZE)
        return -ENAMETOOLONG;
    *entry = (struct fuse_entry_param){.entry_timeout = NAMES_TIMEOUT};
    if (node.kind == FS_NONE && folder.kind == FS_EXPORT_FOLDER)
        return -ENOENT;       /* the file may grow, and then have more chunks */
    if (node.kind == FS_NONE) /* inode 0: the kernel caches that the name does not exist */
        return 0;
    if (node.ordered)
        node.use = atomic_fetch_add(&session->ordered_uses, 1);
    else if (node.kind == FS_SLICE)
        fs_ordered_await_releases(session, node.view);
    if (node.kind == FS_SELF && fs_self_rank(&session->tree, thread) < 0)
        return -ENOENT;
    entry->ino = fs_tree_inode(node);
    entry->attr_timeout = attributes_timeout(session, node);
    /*
     * The kernel learns a new size from a lookup, but not from an open. With a lookup before each
     * open, calls that trust its size (sendfile) see data that was appended before. Also, "self"
     * exists only for some processes.
     */
    if (node.kind == FS_SLICE || node.kind == FS_SELF || node.kind == FS_EXPORT)
        entry->entry_timeout = 0;
    if (node.kind == FS_SLICE)
        error = look_up_slice(session, thread, node, entry);
    return error != 0 ? error : attributes(session, node, &entry->attr);
}

void fs_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fs_session *session = fs_session_of(request);
    struct fuse_entry_param entry;
    int error;

    error = do_lookup(session, fuse_req_ctx(request)->pid, parent, name, &entry);
    if (error != 0)
        fuse_reply_err(request, -error);
    else
        fuse_reply_entry(request, &entry);
}

/* Answers with the attributes of a node, or with the error if it is not 0. */
static void reply_attributes(fuse_req_t request, struct fs_node node, const struct stat *st,
                             int error)
{
    if (error != 0)
        fuse_reply_err(request, -error);
    else
        fuse_reply_attr(request, st, attributes_timeout(fs_session_of(request), node));
}

void fs_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct stat st;

    (void)info;
    reply_attributes(request, node, &st, attributes(session, node, &st));
}

/* Returns -EPERM for a change of the owner or the mode, which belong to the shared file. */
static int refusal(const struct stat *st, const struct stat *wanted, int which)
{
    const mode_t bits = 07777;

    if ((which & FUSE_SET_ATTR_MODE) && (wanted->st_mode & bits) != (st->st_mode & bits))
        return -EPERM;
    if ((which & FUSE_SET_ATTR_UID) && wanted->st_uid != st->st_uid)
        return -EPERM;
    if ((which & FUSE_SET_ATTR_GID) && wanted->st_gid != st->st_gid)
        return -EPERM;
    return 0;
}

/*
 * Handles truncation. A slice that is not known to be open only grows, because otherwise other
 * slices would lose bytes. Sets *reported if the kernel must get another size than the slice's.
 */
static int set_size(fuse_req_t request, struct fs_node node, int64_t size,
                    const struct fuse_file_info *info, off_t *reported)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *opened;
    struct fs_slice *slice;
    int error;

    if (node.kind != FS_SLICE)
        return -EPERM;
    if (session->read_only != 0)
        return session->read_only;
    error = fs_slice_of(session, node, &slice);
    if (error != 0)
        return error;
    if (!mpiio_slice_is_writable(slice->slice))
        error = -EROFS;
    else if (info != NULL)
        error = fs_truncate_to(session, fs_handle_of(info), size, reported);
    else if (size != 0 || (opened = fs_handle_take_opened(&session->slices, slice,
                                                          fuse_req_ctx(request)->pid)) == NULL)
        error = fs_put_size(session, slice, size); /* truncate(2) */
    else if (opened->ops == &fs_slice_ops)
        fs_truncate_opened(session, opened, reported);
    fs_slices_put(&session->slices, slice);
    return error;
}

static struct timespec time_to_set(int which, int set, int set_now, struct timespec time)
{
    if (which & set_now)
        return (struct timespec){.tv_nsec = UTIME_NOW};
    return which & set ? time : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static void tell_times(struct fs_session *session, struct fs_waiter *waiter,
                       const struct fs_flushed *flushed)
{
    struct fs_node node = fs_tree_node(&session->tree, waiter->inode);
    struct stat st;
    int error = mpiio_store_set_times(session->store, waiter->times);

    (void)flushed; /* a close reports its errors */
    if (error == 0)
        error = attributes(session, node, &st);
    reply_attributes(waiter->request, node, &st, error);
    free(waiter);
}

/*
 * Sets times. Data that was written before must not change the times when it is stored, so it is
 * stored first. Returns 1 if the request is answered later.
 */
static int set_times(struct fs_session *session, fuse_req_t request, struct fs_node node,
                     const struct stat *wanted, int which)
{
    struct fs_waiter waiter = {
        .done = tell_times,
        .request = request,
        .inode = fs_tree_inode(node),
        .times = {time_to_set(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted->st_atim),
                  time_to_set(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW,
                              wanted->st_mtim)},
    };

    if (node.kind != FS_SLICE)
        return -EPERM;
    if (session->cache != NULL && fs_flush_first(session, &waiter) > 0)
        return 1;
    return mpiio_store_set_times(session->store, waiter.times);
}

/* Returns 1 if the request is answered later. */
static int do_setattr(fuse_req_t request, struct fs_node node, const struct stat *wanted, int which,
                      const struct fuse_file_info *info, struct stat *st)
{
    const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME_NOW;
    struct fs_session *session = fs_session_of(request);
    off_t reported = -1;
    int error = attributes(session, node, st);

    if (error == 0)
        error = refusal(st, wanted, which);
    if (error == 0 && (which & FUSE_SET_ATTR_SIZE))
        error = set_size(request, node, wanted->st_size, info, &reported);
    else if (error == 0 && (which & times))
        error = set_times(session, request, node, wanted, which);
    if (error == 0)
        error = attributes(session, node, st);
    if (reported >= 0)
        st->st_size = reported;
    return error;
}

void fs_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct stat st;
    int error;

    error = do_setattr(request, node, wanted, which, info, &st);
    if (error <= 0)
        reply_attributes(request, node, &st, error);
}

/*
 * The kernel sends this request only without default_permissions. It then admits only the mounting
 * user.
 */
void fs_access(fuse_req_t request, fuse_ino_t inode, int mask)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    int error = 0;

    if ((mask & W_OK) && node.kind == FS_SLICE)
        error = -session->read_only;
    else if (mask & W_OK)
        error = EACCES;
    else if ((mask & X_OK) && !fs_tree_is_folder(node))
        error = EACCES;
    fuse_reply_err(request, error);
}

void fs_statfs(fuse_req_t request, fuse_ino_t inode)
{
    struct fs_session *session = fs_session_of(request);
    struct statvfs st;

    (void)inode;
    if (fstatvfs(mpiio_store_file(session->store)->lock_fd, &st) < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    st.f_namemax = FS_NAME_SIZE - 1;
    fuse_reply_statfs(request, &st);
}

void fs_readlink(fuse_req_t request, fuse_ino_t inode)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    char name[FS_NAME_SIZE];
    int64_t rank;

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
