/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_H
#define MPIIO_SLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conversion.h"
#include "spec.h"
#include "store.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * A slice: the bytes that one rank's view selects of the shared file, as one contiguous sequence in
 * native representation. Offsets and lengths are slice offsets, in bytes. All functions are local
 * and thread-safe. Only mpiio_slice_append, and the cases described under "Representations", hold a
 * lock during I/O. Errors are negative errno values.
 */
struct mpiio_slice;

/*
 * Creates the slice of view in store. Takes ownership of the caller's reference to view (also on
 * failure). Borrows store, which must outlive the slice. narrow determines the treatment of
 * integers that do not fit in the file's representation. Returns 0, or -ENOTSUP if there is no
 * conversion for the view's data representation.
 */
int mpiio_slice_new(struct mpiio_store *store, struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_slice **slice);

/* Frees the slice. NULL is allowed. No other thread may use the slice. */
void mpiio_slice_free(struct mpiio_slice *slice);

/* Returns the view, borrowed. */
const struct vs_view *mpiio_slice_view(const struct mpiio_slice *slice);

/*
 * Returns true if the store was opened for writing and the view does not contain a byte of the file
 * twice. Only then may the slice be written to.
 */
bool mpiio_slice_is_writable(const struct mpiio_slice *slice);

/* Returns the slice's length by the file's current size, or a negative errno. */
int64_t mpiio_slice_size(struct mpiio_slice *slice);

/*
 * Reads up to length bytes from offset into buffer. Returns the number of bytes read. It is less
 * than length only at the end of the slice, by the file's size at some time during the call; 0 at
 * or after the end. If the file is truncated meanwhile, the count is short: no signal is raised,
 * and no bytes beyond the file's end are returned. -EIO if a user's converter fails.
 */
ssize_t mpiio_slice_read(struct mpiio_slice *slice, void *buffer, size_t length, int64_t offset);

/* Does the same without the gaps of a buftype, by packed offsets (vs_view_gaps). */
ssize_t mpiio_slice_read_packed(struct mpiio_slice *slice, void *buffer, size_t length,
                                int64_t packed);

/*
 * Implement SEEK_DATA and SEEK_HOLE of lseek(2) by the holes of the file. Return the first slice
 * offset at or after offset that is in data (in a hole). An element that lies partly in data is
 * data. If the view is not in the file's order, or has a user's representation, everything except
 * gaps is data; gaps are holes. -ENXIO as in lseek(2).
 */
int64_t mpiio_slice_seek_data(struct mpiio_slice *slice, int64_t offset);
int64_t mpiio_slice_seek_hole(struct mpiio_slice *slice, int64_t offset);

/*
 * Writing.
 *
 * A write changes only the given bytes of the file. Nothing is read and written back (except under
 * "Representations"), so writers of other bytes, in any process, lose nothing. Acknowledged bytes
 * are in the file (in the kernel's page cache; use mpiio_store_sync for the device), every read
 * that begins afterwards returns them, and the file's times have changed. A write after the end
 * extends the file; nothing shortens it. Bytes that nobody wrote read as zeros. The file grows to
 * the end of the last etype written to, so that everything written can be read back. So the slice
 * may become longer than offset + length, by less than an etype.
 *
 * Gaps of the view's buftype are not in the file and stay zeros.
 *
 * Common errors: -EBADF if the store was not opened for writing; -EINVAL for a negative offset;
 * -EPERM for nonzero bytes in a gap (nothing is stored); -EFBIG after the last tile, after the last
 * displacement below 2^63, or beyond a limit of the filesystem or RLIMIT_FSIZE. As with write(2), a
 * call beyond RLIMIT_FSIZE raises SIGXFSZ, which ends programs that do not ignore it.
 *
 * Representations. If the file's bytes of an element are the native ones in another order, each
 * byte is stored separately. An element of another kind (other sizes, other formats) that is
 * written in part is read, changed and written back. This happens under a lock of the store and an
 * exclusive lock (fcntl(2)) of the element's bytes in the file. Writers of whole elements of this
 * kind hold both locks shared, so that no bytes are lost. Other programs that write such a file at
 * the same time must use fcntl locks. On a filesystem without locks, only the store's own lock
 * remains.
 *
 * The whole elements of a call of up to 4 MiB are converted before anything is stored. If a value
 * does not fit and narrow refuses it (-ERANGE), or the user's converter fails (-EIO), the file is
 * not changed. An element that is written in parts may have no valid value before its last part
 * arrives. Its bytes are then kept with the slice. Readers see them, and they are stored once the
 * value is valid. mpiio_slice_settle reports elements that never became valid.
 */

/*
 * Writes length bytes from buffer at offset. Returns the number of bytes written from the first on,
 * which is less than length if an error followed; or the error (-ENOSPC, -EDQUOT, -EIO, ...) if
 * none was written. After an error, bytes after that number may or may not be stored: write them
 * again. -EINVAL for a view that contains a byte of the file twice. If the file is truncated
 * meanwhile, it is extended again, and no signal is raised.
 */
ssize_t mpiio_slice_write(struct mpiio_slice *slice, const void *buffer, size_t length,
                          int64_t offset);

/*
 * Writes at the slice's end by the file's current size. Sets *offset to that end, or to a negative
 * errno if it is unknown. Appends to all slices of a store exclude each other, by a lock that is
 * held until the data is written. Other writes of the store, and other programs, may move the end
 * meanwhile.
 */
ssize_t mpiio_slice_append(struct mpiio_slice *slice, const void *buffer, size_t length,
                           int64_t *offset);

/*
 * Implements truncate(2). A larger size extends the file until the slice has at least size bytes
 * (whole etypes). The current size has no effect. A smaller size fails with -EPERM, because other
 * slices would lose bytes.
 */
int mpiio_slice_resize(struct mpiio_slice *slice, int64_t size);

/*
 * Implements fallocate(2) with mode 0: allocates space in the file for the slice's bytes [offset,
 * offset + length), length > 0, so that writing them needs no more. The slice then has at least
 * offset + length bytes. Returns 0 or the filesystem's error: -EOPNOTSUPP, -ENOSPC, ... Space that
 * was allocated before an error stays allocated.
 */
int mpiio_slice_reserve(struct mpiio_slice *slice, int64_t offset, int64_t length);

/*
 * Stores elements that were written in part and wait for their rest, with the bytes of the file
 * where none were written. Returns 0, or the negative errno of the first element that has no value
 * in the file (-ERANGE, -EIO) or cannot be stored. Then sets *offset and *length to its slice
 * offset and size. Without last, all elements are tried, and those that failed continue to wait.
 * With last, the first one that fails is dropped, and the caller must call again until the result
 * is 0. Costs nothing if there are none. Elements that are kept when the slice is freed are lost.
 */
int mpiio_slice_settle(struct mpiio_slice *slice, bool last, int64_t *offset, int64_t *length);

/* Returns true if there is anything for mpiio_slice_settle to store. */
bool mpiio_slice_is_torn(const struct mpiio_slice *slice);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
