/* SPDX-License-Identifier: MIT */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct fs_slice;
struct fs_slices;
struct mpiio_store;
struct vs_view;

/*
 * FUSE passthrough of identity views: where a slice is all of the shared file, byte for byte, the
 * kernel (6.9 or later) reads and writes the file itself, without a request to the daemon. The
 * daemon needs CAP_SYS_ADMIN for it.
 *
 * Either all open slices are passed through or none: they show the same bytes, and the kernel does
 * not report what it writes to one of them. The kernel knows no etypes: slices are passed through
 * while the file ends with a whole etype, and end where the file ends until they are closed.
 *
 * libfuse before 3.17 does not know passthrough, so its fields are set in the answers to INIT and
 * OPEN as these are sent. All functions are thread-safe unless they say otherwise.
 */
struct fs_passthrough {
    struct mpiio_store *store; /* borrowed */
    bool fits;                 /* all views are identity views; set before the mount is made */
    atomic_bool on;            /* the kernel offers passthrough and has not refused the file */
    int64_t etype;             /* bytes of one */

    pthread_mutex_t lock; /* of what follows */
    int id;               /* by which the kernel knows the shared file; 0: it does not yet */
    unsigned passed;      /* handles that it serves itself */
    unsigned asking;      /* handles for which it asks the daemon */
};

/*
 * Sees whether the views of slices, which are checked, are identity views; wanted: nothing else of
 * the mount rules passthrough out. To be called once.
 */
void fs_passthrough_init(struct fs_passthrough *passthrough, const struct fs_slices *slices,
                         bool wanted);

/* The kernel's INIT, by the later 32 of its flags: whether it offers what is needed. */
void fs_passthrough_asked(struct fs_passthrough *passthrough, uint32_t offered);

/* The answer to it, without the header: tells the kernel that the offer is taken. */
void fs_passthrough_answer(const struct fs_passthrough *passthrough, const struct iovec *rest);

/* Whether slices of the mount may be the kernel's to read and write; and whether some are now. */
bool fs_passthrough_is_on(const struct fs_passthrough *passthrough);
bool fs_passthrough_is_used(struct fs_passthrough *passthrough);

/*
 * Counts a slice that is opened while passthrough is on. Returns the number of the shared file if
 * the kernel is to read and write it, else 0. kernel: the descriptor of the mount's connection.
 * fs_passthrough_leave counts the slice as closed; passed: the number was not 0.
 */
int fs_passthrough_enter(struct fs_passthrough *passthrough, int kernel);
void fs_passthrough_leave(struct fs_passthrough *passthrough, bool passed);

/* What was written to a slice may have ended within an etype, which the file is to have whole: 0 or
   a negative errno. */
int fs_passthrough_end_whole(const struct fs_passthrough *passthrough, struct fs_slice *slice);

/* Whether a view, which is that of all ranks or NULL, is all of the file, as it is. */
bool fs_passthrough_is_identity(const struct vs_view *view);

#endif
