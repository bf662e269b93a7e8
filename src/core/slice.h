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
 * A slice: what one rank's view selects of the shared file, as one contiguous run of bytes in
 * native representation. Offsets and lengths are slice offsets, in bytes. All functions are local
 * and thread-safe; none holds a lock during I/O but mpiio_slice_append, and those that are said to
 * under "Representations". Errors are negative errno values.
 */
struct mpiio_slice;

/*
 * Makes the slice of view in store. Takes over the caller's reference to view (also on failure)
 * and borrows store, which must outlive the slice. narrow is what becomes of integers that are
 * written and that the file's representation has no room for. -ENOTSUP where the view's data
 * representation needs a conversion that is not there.
 */
int mpiio_slice_new(struct mpiio_store *store, struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_slice **slice);

/* NULL is allowed. No other thread may use the slice. */
void mpiio_slice_free(struct mpiio_slice *slice);

/* The view, borrowed. */
const struct vs_view *mpiio_slice_view(const struct mpiio_slice *slice);

/*
 * True where the store was opened for writing and the view holds no byte of the file twice: only
 * then may the slice be written to.
 */
bool mpiio_slice_is_writable(const struct mpiio_slice *slice);

/* The slice's length by the file's present size, or a negative errno. */
int64_t mpiio_slice_size(struct mpiio_slice *slice);

/*
 * Reads up to length bytes from offset into buffer. Returns how many were read: fewer than length
 * only at the end of the slice, by the file's size at some moment during the call; 0 at or behind
 * the end. A file that is truncated meanwhile gives a short count, never a signal and never bytes
 * that the file does not hold. -EIO where the converter of a user's representation fails.
 */
ssize_t mpiio_slice_read(struct mpiio_slice *slice, void *buffer, size_t length, int64_t offset);

/* The same without the gaps that a buftype leaves, by packed offsets (vs_view_gaps). */
ssize_t mpiio_slice_read_packed(struct mpiio_slice *slice, void *buffer, size_t length,
                                int64_t packed);

/*
 * lseek(2)'s SEEK_DATA and SEEK_HOLE by the holes of the file: the first slice offset at or behind
 * offset that is not (is) in a hole. An element that lies partly in data is data, and so is all of
 * a view whose order is not the file's, or whose representation is the user's own, but for gaps,
 * which are holes. -ENXIO as lseek says.
 */
int64_t mpiio_slice_seek_data(struct mpiio_slice *slice, int64_t offset);
int64_t mpiio_slice_seek_hole(struct mpiio_slice *slice, int64_t offset);

/*
 * Writing.
 *
 * A write changes only the given bytes of the file. Nothing is read and written back (but see
 * "Representations"), so writers of other bytes, in any process, lose nothing. Acknowledged bytes
 * are in the file (in the kernel's page cache; mpiio_store_sync for the device), every read that
 * begins afterwards sees them, and the file's times have changed. A write behind the end extends
 * the file; nothing shortens it. Bytes that nobody wrote read as zeros. The file grows to the end
 * of the last etype written to, so that everything written can be read back. The slice may then be
 * longer than offset + length, by less than an etype.
 *
 * Gaps that the view's buftype leaves in the slice are not in the file and stay zeros.
 *
 * Common errors: -EBADF if the store was not opened for writing; -EINVAL for a negative offset;
 * -EPERM for anything but zeros in a gap (nothing is stored); -EFBIG behind the last tile, behind
 * the last displacement below 2^63, or beyond a limit of the filesystem or RLIMIT_FSIZE. As with
 * write(2), a call beyond RLIMIT_FSIZE raises SIGXFSZ, which ends programs that do not ignore it.
 *
 * Representations. If the file's bytes of an element are the native ones in another order, each
 * byte goes to its own place. An element of another kind (other sizes, other formats) that is
 * written in part is read, changed and written back, under a lock of the store and an exclusive
 * lock (fcntl(2)) of the element's bytes in the file. Writers of whole elements of this kind hold
 * both locks shared, so that no bytes are lost. Other programs that write such a file at the same
 * time must use fcntl locks. On a filesystem without locks, only the store's own lock remains.
 *
 * The whole elements of a call of up to 4 MiB are converted before anything is stored. If a value
 * does not fit and narrow refuses it (-ERANGE), or the user's converter fails (-EIO), the file is
 * not changed. An element that is written in parts may have no valid value before its last part
 * arrives. Its bytes are then kept with the slice, readers see them, and they are stored once the
 * value is valid. mpiio_slice_settle reports elements that never became valid.
 */

/*
 * Writes length bytes from buffer at offset. Returns the number of bytes written from the first on:
 * fewer than length if an error followed, or the error (-ENOSPC, -EDQUOT, -EIO, ...) if none was
 * written. After an error, bytes behind that number may be stored or not: write them again. -EINVAL
 * for a view that holds a byte of the file twice. If the file is truncated meanwhile, it is
 * extended again, and no signal is raised.
 */
ssize_t mpiio_slice_write(struct mpiio_slice *slice, const void *buffer, size_t length,
                          int64_t offset);

/*
 * The same at the slice's end by the file's present size, which is put into offset (a negative
 * errno where it cannot be told). Appends to all slices of a store exclude each other, by a lock
 * that is held until the data is written; other writes of the store, and other programs, are not
 * kept from moving the end meanwhile.
 */
ssize_t mpiio_slice_append(struct mpiio_slice *slice, const void *buffer, size_t length,
                           int64_t *offset);

/*
 * truncate(2): to more, the file grows until the slice has at least size bytes (whole etypes); to
 * its present size, nothing; to less, -EPERM: other slices would lose bytes.
 */
int mpiio_slice_resize(struct mpiio_slice *slice, int64_t size);

/*
 * fallocate(2) of mode 0: space for the slice's bytes [offset, offset + length), length > 0, is
 * allocated in the file, so that writing them needs no more, and the slice has at least offset +
 * length bytes. Errors as the filesystem says: -EOPNOTSUPP, -ENOSPC, ... Space that was allocated
 * before an error stays so.
 */
int mpiio_slice_reserve(struct mpiio_slice *slice, int64_t offset, int64_t length);

/*
 * Stores elements that were written in part and wait for their rest, as they are, with the bytes
 * of the file where none were written. Returns 0, or the negative errno of the first that has no
 * value in the file (-ERANGE, -EIO) or cannot be stored; its slice offset and size are put into
 * offset and length. Without last all are tried, and those that failed wait on. With last, the
 * first that fails is given up, and the caller calls again until 0 comes. Costs nothing where there
 * are none. What is kept when the slice is freed is lost.
 */
int mpiio_slice_settle(struct mpiio_slice *slice, bool last, int64_t *offset, int64_t *length);

/* Returns true if there is anything for mpiio_slice_settle to store. */
bool mpiio_slice_is_torn(const struct mpiio_slice *slice);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
