/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <inttypes.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/probe.h"
#include "fusefs/base/log.h"
#include "fusefs/names/tree.h"

/* A request that has not been answered yet. */
struct fs_traced {
    struct fs_traced *next; /* the next one in its bucket */
    uint64_t unique, inode;
    uint32_t opcode;
    bool has_offset, has_length;
    uint64_t offset, length;
    int64_t begun; /* time of arrival, by mpiio_clock_us() */
};

/* Requests that the kernel sends to this filesystem, by their opcodes. */
static const struct kind {
    const char *name;
    enum fs_request counter;
} kinds[] = {
    [FUSE_LOOKUP] = {"lookup", FS_LOOKUP},
    [FUSE_GETATTR] = {"getattr", FS_GETATTR},
    [FUSE_SETATTR] = {"setattr", FS_OTHER},
    [FUSE_READLINK] = {"readlink", FS_READLINK},
    [FUSE_SYMLINK] = {"symlink", FS_OTHER},
    [FUSE_MKNOD] = {"mknod", FS_OTHER},
    [FUSE_MKDIR] = {"mkdir", FS_OTHER},
    [FUSE_UNLINK] = {"unlink", FS_OTHER},
    [FUSE_RMDIR] = {"rmdir", FS_OTHER},
    [FUSE_RENAME] = {"rename", FS_OTHER},
    [FUSE_LINK] = {"link", FS_OTHER},
    [FUSE_OPEN] = {"open", FS_OPEN},
    [FUSE_READ] = {"read", FS_READ},
    [FUSE_WRITE] = {"write", FS_WRITE},
    [FUSE_STATFS] = {"statfs", FS_OTHER},
    [FUSE_RELEASE] = {"release", FS_RELEASE},
    [FUSE_FSYNC] = {"fsync", FS_FSYNC},
    [FUSE_SETXATTR] = {"setxattr", FS_XATTR},
    [FUSE_GETXATTR] = {"getxattr", FS_XATTR},
    [FUSE_LISTXATTR] = {"listxattr", FS_XATTR},
    [FUSE_REMOVEXATTR] = {"removexattr", FS_XATTR},
    [FUSE_FLUSH] = {"flush", FS_OTHER},
    [FUSE_INIT] = {"init", FS_UNCOUNTED},
    [FUSE_OPENDIR] = {"opendir", FS_UNCOUNTED},
    [FUSE_READDIR] = {"readdir", FS_READDIR},
    [FUSE_RELEASEDIR] = {"releasedir", FS_UNCOUNTED},
    [FUSE_FSYNCDIR] = {"fsyncdir", FS_FSYNC},
    [FUSE_ACCESS] = {"access", FS_OTHER},
    [FUSE_CREATE] = {"create", FS_OTHER},
    [FUSE_DESTROY] = {"destroy", FS_UNCOUNTED},
    [FUSE_IOCTL] = {"ioctl", FS_OTHER},
    [FUSE_FALLOCATE] = {"fallocate", FS_OTHER},
    [FUSE_READDIRPLUS] = {"readdirplus", FS_READDIR},
    [FUSE_RENAME2] = {"rename", FS_OTHER},
    [FUSE_LSEEK] = {"lseek", FS_LSEEK},
};

/* Returns the kind of a request; one without a name if it is unknown. */
static struct kind kind_of(uint32_t opcode)
{
    return opcode < sizeof(kinds) / sizeof(*kinds) ? kinds[opcode] : (struct kind){.name = NULL};
}

static bool is_answered(uint32_t opcode)
{
    return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT;
}

void fs_trace_init(struct fs_trace *trace, const struct fs_log *log, const struct fs_tree *tree)
{
    *trace = (struct fs_trace){.log = log, .tree = tree};
    pthread_mutex_init(&trace->lock, NULL);
}

void fs_trace_free(struct fs_trace *trace)
{
    for (size_t i = 0; i < FS_TRACE_BUCKETS; i++) {
        while (trace->bucket[i] != NULL) {
            struct fs_traced *traced = trace->bucket[i];

            trace->bucket[i] = traced->next;
            free(traced);
        }
    }
    pthread_mutex_destroy(&trace->lock);
}

/* Hashes a request's number. The kernel uses even numbers. */
static struct fs_traced **bucket_of(struct fs_trace *trace, uint64_t unique)
{
    return &trace->bucket[unique / 2 % FS_TRACE_BUCKETS];
}

/* Records the byte range of a request. body has the length bytes after its header. */
static void note_range(struct fs_traced *traced, const char *body, size_t length)
{
    union {
        struct fuse_read_in read;
        struct fuse_write_in write;
        struct fuse_lseek_in lseek;
        struct fuse_fallocate_in fallocate;
    } in = {.read = {0}};

    memcpy(&in, body, length < sizeof(in) ? length : sizeof(in));
    traced->has_offset = traced->has_length = true;
    switch (traced->opcode) {
    case FUSE_READ:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
        traced->offset = in.read.offset;
        traced->length = in.read.size;
        break;
    case FUSE_WRITE:
        traced->offset = in.write.offset;
        traced->length = in.write.size;
        break;
    case FUSE_FALLOCATE:
        traced->offset = in.fallocate.offset;
        traced->length = in.fallocate.length;
        break;
    case FUSE_LSEEK:
        traced->offset = in.lseek.offset;
        traced->has_length = false;
        break;
    default:
        traced->has_offset = traced->has_length = false;
    }
}

void fs_trace_begin(struct fs_trace *trace, const void *request, size_t length)
{
    struct fuse_in_header header;
    struct fs_traced *traced;

    if (length < sizeof(header))
        return;
    memcpy(&header, request, sizeof(header));
    MPIIO_PROBE(request_begin, header.unique, header.opcode, header.nodeid);
    atomic_fetch_add_explicit(&trace->requests[kind_of(header.opcode).counter], 1,
                              memory_order_relaxed);
    if (!fs_log_takes(trace->log, MPIIO_LOG_DEBUG))
        return;
    traced = is_answered(header.opcode) ? malloc(sizeof(*traced)) : NULL;
    if (traced == NULL)
        return;
    *traced = (struct fs_traced){.unique = header.unique,
                                 .inode = header.nodeid,
                                 .opcode = header.opcode,
                                 .begun = mpiio_clock_us()};
    note_range(traced, (const char *)request + sizeof(header), length - sizeof(header));
    pthread_mutex_lock(&trace->lock);
    traced->next = *bucket_of(trace, header.unique);
    *bucket_of(trace, header.unique) = traced;
    atomic_fetch_add(&trace->open, 1);
    pthread_mutex_unlock(&trace->lock);
}

/*
 * Removes and returns the request with that number, for the caller to free(). Returns NULL if it
 * was not recorded.
 */
static struct fs_traced *take(struct fs_trace *trace, uint64_t unique)
{
    struct fs_traced **link, *traced;

    pthread_mutex_lock(&trace->lock);
    link = bucket_of(trace, unique);
    while (*link != NULL && (*link)->unique != unique)
        link = &(*link)->next;
    traced = *link;
    if (traced != NULL) {
        *link = traced->next;
        atomic_fetch_sub(&trace->open, 1);
    }
    pthread_mutex_unlock(&trace->lock);
    return traced;
}

/*
 * Returns the number of bytes read or written, the offset that lseek found, or 0. For a failed
 * request, returns its negative errno.
 */
static int64_t result_of(uint32_t opcode, const struct fuse_out_header *header,
                         const struct iovec *parts, int count)
{
    size_t length = header->len - sizeof(*header);
    uint64_t found = 0;

    if (header->error != 0)
        return header->error;
    switch (opcode) {
    case FUSE_READ:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
        return (int64_t)length;
    case FUSE_WRITE:
        if (count > 1 && parts[1].iov_len >= sizeof(struct fuse_write_out))
            return ((const struct fuse_write_out *)parts[1].iov_base)->size;
        break;
    case FUSE_LSEEK:
        if (count > 1 && parts[1].iov_len >= sizeof(struct fuse_lseek_out))
            memcpy(&found, parts[1].iov_base, sizeof(found));
        break;
    default:
        break;
    }
    return (int64_t)found;
}

/* Writes the path of an inode, relative to the mount point, into text. */
static void name_inode(const struct fs_tree *tree, uint64_t inode, char *text, size_t size)
{
    static const char *const fixed[] = {[FS_ROOT] = "/",
                                        [FS_CONTROL] = ".mpiio",
                                        [FS_SPEC] = ".mpiio/spec.json",
                                        [FS_STATS] = ".mpiio/stats.json",
                                        [FS_FILE] = ".mpiio/file",
                                        [FS_FOLDER] = "",
                                        [FS_SELF] = "self",
                                        [FS_ORDERED] = "ordered",
                                        [FS_EXPORT] = "zarr/...",
                                        [FS_EXPORT_FOLDER] = "zarr"};
    struct fs_node node = fs_tree_node(tree, inode);
    bool in_folder = tree->folders && node.kind >= FS_FOLDER && node.format != FS_ZARR &&
                     !fs_tree_is_whole(tree, node);
    char name[FS_NAME_SIZE] = "";

    if (node.kind == FS_NONE) {
        snprintf(text, size, "inode:%" PRIu64, inode);
        return;
    }
    if (node.kind == FS_SLICE || (node.kind == FS_EXPORT && node.format != FS_ZARR))
        fs_tree_rank_name(tree, node, name);
    else
        snprintf(name, sizeof(name), "%s", fixed[node.kind]);
    snprintf(text, size, "%s%s%s%s", in_folder ? vs_spec_view_name(tree->spec, node.view) : "",
             in_folder ? "/" : "", node.ordered ? "ordered/" : "", name);
}

static void log_request(const struct fs_trace *trace, const struct fs_traced *traced,
                        int64_t result)
{
    char file[2 * FS_NAME_SIZE + 16], offset[32] = "", length[32] = "";
    const char *name = kind_of(traced->opcode).name;

    name_inode(trace->tree, traced->inode, file, sizeof(file));
    if (traced->has_offset)
        snprintf(offset, sizeof(offset), " offset=%" PRIu64, traced->offset);
    if (traced->has_length)
        snprintf(length, sizeof(length), " length=%" PRIu64, traced->length);
    fs_log_line(trace->log, MPIIO_LOG_DEBUG,
                "%s unique=%" PRIu64 " file=%s%s%s result=%" PRId64 " us=%" PRId64,
                name != NULL ? name : "request", traced->unique, file, offset, length, result,
                mpiio_clock_us() - traced->begun);
}

void fs_trace_end(struct fs_trace *trace, const struct iovec *parts, int count)
{
    const struct fuse_out_header *header = parts[0].iov_base;
    struct fs_traced *traced;

    if (header->unique == 0) /* a notification */
        return;
    MPIIO_PROBE(request_end, header->unique, header->error, header->len - sizeof(*header));
    if (atomic_load_explicit(&trace->open, memory_order_relaxed) == 0)
        return;
    traced = take(trace, header->unique);
    if (traced != NULL)
        log_request(trace, traced, result_of(traced->opcode, header, parts, count));
    free(traced);
}
