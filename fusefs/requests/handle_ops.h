/* SPDX-License-Identifier: MIT */
#ifndef FS_HANDLE_OPS_H
#define FS_HANDLE_OPS_H

#include "fusefs/names/handle.h"
#include "fusefs/session.h"

/* A READ request. */
struct fs_read {
    struct fs_session *session;
    fuse_req_t request;
    struct fs_handle *handle;
    size_t size; /* at most FS_READ_MAX */
    off_t offset;
    char *buffer; /* FS_READ_MAX bytes; it outlives the handle */

    /* The operation sets it to a slice, with a reference, whose pages must be invalidated. */
    struct fs_slice *shrunk;
};

/* A WRITE request. */
struct fs_write {
    struct fs_session *session;
    fuse_req_t request;
    struct fs_handle *handle;
    const char *buffer;
    size_t size;
    off_t offset; /* the operation sets it to the offset of the written bytes */
    int flags;    /* of the open file */
    bool mapped;  /* a dirty page of a mapping, which the kernel does not send again */
    bool appends; /* to the end of the slice by the file's size, not the kernel's */
};

/*
 * The operations of open files, one table for each kind of file. On failure, functions return a
 * negative errno. They are thread-safe. The comments explain the meaning of NULL.
 */
struct fs_handle_ops {
    bool positionless; /* the file has no positions: each call begins at offset 0, and requests for
                          pages of a mapping fail with ENODEV */
    bool parallel;     /* the kernel need not serialise writes past the page cache */
    bool unseen;       /* no slice shows the bytes yet when the write is answered */
    bool grantable;    /* mpiio-run may serve it from the shared file */

    /*
     * Initializes a zeroed handle, and info for the answer. If it fails, the caller frees the
     * handle.
     */
    int (*open)(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                struct fs_handle *handle, struct fuse_file_info *info);

    /* Undoes open; the caller then frees the handle. NULL: nothing to do. */
    void (*release)(struct fs_session *session, struct fs_handle *handle);

    /* Return the number of bytes. read must not be NULL. NULL write: EBADF. */
    ssize_t (*read)(struct fs_read *read);
    ssize_t (*write)(struct fs_write *write);

    /* SEEK_DATA and SEEK_HOLE, from a nonnegative offset. NULL: EINVAL. */
    int64_t (*lseek)(struct fs_session *session, struct fs_handle *handle, off_t offset,
                     int whence);

    /* fallocate(2) with mode 0. NULL: EOPNOTSUPP. */
    int (*fallocate)(struct fs_session *session, struct fs_handle *handle, off_t offset,
                     off_t length);

    /*
     * Returns 1 if it has arranged that waiter->done is called, now or later. NULL: nothing to do.
     */
    int (*fsync)(struct fs_session *session, struct fs_waiter *waiter);

    /*
     * Returns the answer to close(2), after all data has been stored. torn is set by
     * fs_flush_first (struct fs_waiter), or is its error if it failed. NULL: torn is the answer.
     */
    int (*flush)(struct fs_session *session, struct fs_handle *handle, int torn);
};

extern const struct fs_handle_ops fs_text_ops;        /* spec.json, stats.json */
extern const struct fs_handle_ops fs_export_ops;      /* files for other programs */
extern const struct fs_handle_ops fs_slice_ops;       /* slices, through the daemon */
extern const struct fs_handle_ops fs_passthrough_ops; /* slices, directly by the kernel */
extern const struct fs_handle_ops fs_shared_ops;      /* "shared" */
extern const struct fs_handle_ops fs_sequential_ops;  /* "shared" of a file without positions */
extern const struct fs_handle_ops fs_ordered_ops;     /* "ordered" */

/* slice.c: operations of slices that other kinds of files also use. */

/*
 * Begins an open: finds the slice of inode, checks the flags of info, and adds the handle to the
 * slice's open handles. fs_slice_release undoes that; after a failure the caller must not call it.
 */
int fs_slice_join(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                  struct fs_handle *handle, struct fuse_file_info *info);
void fs_slice_release(struct fs_session *session, struct fs_handle *handle);

ssize_t fs_slice_read_at(struct fs_read *read);
ssize_t fs_slice_write_at(struct fs_write *write);

/*
 * truncate.c: truncation by requests, and the filling of gaps with zeros: src/DESIGN.md,
 * "Truncation of slices". Offsets count in the slice's data, without a NumPy header, except for a
 * file's size. Functions return nothing, 0 or a negative errno, and are thread-safe.
 */

/*
 * Truncates the slice of a handle that has just been opened with O_TRUNC. Sets *reported if another
 * size than the slice's must be reported to the kernel. The operations of the handle must
 * be fs_slice_ops; for other kinds of files, O_TRUNC has no effect.
 */
void fs_truncate_opened(struct fs_session *session, struct fs_handle *handle, off_t *reported);

/*
 * Implements ftruncate(2) of a slice that is open by the handle. size includes the header. reported
 * is as above.
 */
int fs_truncate_to(struct fs_session *session, const struct fs_handle *handle, int64_t size,
                   off_t *reported);

/*
 * Fills the gap before bytes [start, end) that are about to be written, if the slice is cut. Call
 * it between fs_unwritten_begin_write and its end. If mapped, the bytes are stores through a
 * mapping, and a gap is filled only if the kernel holds writes back.
 */
int fs_truncate_fill_gap(struct fs_session *session, const struct fs_handle *handle, int64_t start,
                         int64_t end, bool mapped);

/*
 * Replaces bytes beyond mark by zeros in a buffer that was read at offset, which includes the
 * header. mark is the cut's mark before the read. Needed if the kernel holds writes back.
 */
void fs_truncate_mask(const struct fs_slice *slice, int64_t mark, char *buffer, size_t size,
                      int64_t offset);

/*
 * npy.c: the NumPy header before a slice. It is generated from the slice's size on each read, and
 * never stored. Offsets count from the beginning of the header. All functions are thread-safe.
 */

/*
 * Returns how many of the size bytes from offset on belong to the header; 0 if there is no header.
 */
size_t fs_npy_part(const struct fs_slice *slice, int64_t offset, size_t size);

/* Copies this part of the header into buffer. Returns 0 or a negative errno. */
int fs_npy_read(struct fs_slice *slice, char *buffer, size_t size, int64_t offset);

/*
 * Handles a write whose first size bytes belong to the header. It succeeds if they equal the
 * current header. It also succeeds for a complete header of a larger slice, because numpy.save
 * writes the header first. Returns 0, -EPERM for other bytes, or another negative errno. Ignores
 * bytes of a mapping, because the page may have been read before the slice grew. If they differ
 * from the header, makes the kernel read the page again.
 */
int fs_npy_write(const struct fs_write *write, size_t size);

#endif
