/* SPDX-License-Identifier: MIT */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fs_session;
struct fs_slice;
struct mpiio_store;
struct vs_view;

/*
 * FUSE passthrough of identity views. If a slice is the entire shared file, byte for byte, the
 * kernel (6.9 or later) reads and writes the file directly, without requests to the daemon. This
 * needs CAP_SYS_ADMIN.
 *
 * Either all open slices are passed through or none, because they show the same bytes, and the
 * kernel does not report its writes to one of them. The kernel does not know etypes. So slices are
 * passed through only if the file ends with a whole etype, and until they are closed they end where
 * the file ends.
 *
 * libfuse before 3.17 does not support passthrough, so its fields are added to the answers to INIT
 * and OPEN when these are sent. All functions are thread-safe unless noted otherwise.
 */
struct fs_passthrough {
    struct mpiio_store *store; /* borrowed */
    bool fits;      /* passthrough is possible for all views; set before the mount is made */
    atomic_bool on; /* the kernel offers passthrough and has not refused the file */
    int64_t etype;  /* size of an etype, in bytes */

    pthread_mutex_t lock; /* protects the fields below */
    int id;               /* the kernel's ID of the shared file; 0: not registered yet */
    unsigned passed;      /* number of handles that the kernel serves itself */
    unsigned asking;      /* number of handles for which it sends requests */
};

/*
 * Finds out whether the mount allows passthrough, and whether its views, which have been checked,
 * are identity views. Call it once, after the cache and the pool were set up. Returns 0.
 */
int fs_passthrough_init(struct fs_session *session);

/* Return true if the kernel may access slices directly, and if it does so for open ones now. */
bool fs_passthrough_is_on(const struct fs_passthrough *passthrough);
bool fs_passthrough_is_used(struct fs_passthrough *passthrough);

/*
 * fs_passthrough_enter counts a slice that is opened while passthrough is on. It returns the ID of
 * the shared file if the kernel is to access it directly, else 0. kernel is the descriptor of the
 * mount's connection. fs_passthrough_leave counts the slice as closed; passed is true if the ID was
 * not 0.
 */
int fs_passthrough_enter(struct fs_passthrough *passthrough, int kernel);
void fs_passthrough_leave(struct fs_passthrough *passthrough, bool passed);

/*
 * Extends the file to a whole etype if a write to a slice has ended within one. Returns 0 or a
 * negative errno.
 */
int fs_passthrough_end_whole(const struct fs_passthrough *passthrough, struct fs_slice *slice);

/*
 * Returns true if the view shows the entire file, unchanged. view is the view of all ranks, or
 * NULL.
 */
bool fs_passthrough_is_identity(const struct vs_view *view);

/* Parts of answers that libfuse before 3.17 cannot express. */

/*
 * Makes a mounted session answer INIT with FUSE_HANDLE_KILLPRIV_V2, for which libfuse before 3.17
 * has no FUSE_CAP. Without this flag the kernel requests the extended attribute security.capability
 * before each write, which doubles the number of requests. The daemon need not implement it: slices
 * have no set-user-ID bit and no capabilities. With the option direct, also allows slices to be
 * mapped. Also accepts passthrough, if the kernel offers it and all views fit. Kernels ignore flags
 * that they do not know. Returns 0 or a negative errno.
 */
int fs_init_answer_amend(struct fs_session *session);

/*
 * Sets fields of this thread's next answer to an OPEN. backing is the ID of the file that the
 * kernel accesses directly, 0 for none. stream means that the file has no position, so that each
 * call begins at offset 0. parallel allows concurrent writes past the page cache (Linux 6.2),
 * except those with O_APPEND, and those beyond the size that the kernel knows.
 */
void fs_open_answer_next(int backing, bool stream, bool parallel);

#endif
