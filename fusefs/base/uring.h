/* SPDX-License-Identifier: MIT */
#ifndef FS_URING_H
#define FS_URING_H

#include <linux/io_uring.h>
#include <stddef.h>

/*
 * An io_uring of one command at a time, of one thread. (liburing is not asked for: what is needed
 * of it is little, and Debian 12's has no io_uring_enable_rings, though it declares it.)
 */
struct fs_uring {
    int fd;
    struct io_uring_sqe *entry;
    unsigned *head, *tail; /* of what is given to the kernel */
    unsigned *done_head, *done_tail, done_mask;
    const struct io_uring_cqe *done;
    void *memory; /* where these are */
    size_t size;
};

/* Sets one up, from any thread. 0 or a negative errno: the kernel may have none, or not for us. */
int fs_uring_open(struct fs_uring *uring);

/* Gives it to this thread, which alone may use it from then on. 0 or a negative errno. */
int fs_uring_take(struct fs_uring *uring);

/* The entry for the next command, zeros, as large as IORING_SETUP_SQE128 makes it: to be filled
   before the next call. The one before was taken. */
struct io_uring_sqe *fs_uring_entry(struct fs_uring *uring);

/* Has the kernel take the command, if there is one. 0 or a negative errno. */
int fs_uring_submit(struct fs_uring *uring);

/* The same, and waits until a command is done; *result is what became of it. 0 or a negative errno:
   -EINTR: nothing is done yet, as where a signal came. */
int fs_uring_wait(struct fs_uring *uring, int *result);

void fs_uring_close(struct fs_uring *uring);

#endif
