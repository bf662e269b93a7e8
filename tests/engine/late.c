/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 314
#include <dlfcn.h>
#include <fuse3/fuse_lowlevel.h>
#include <time.h>

/* Preloaded. Delays the answers to reads. Notifications sent in the meantime take effect as they
   sometimes do: the kernel drops attributes at once, and pages after the answer has arrived. */

#define LATE_MS 50

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

int fuse_reply_buf(fuse_req_t request, const char *buffer, size_t size)
{
    int (*reply)(fuse_req_t, const char *, size_t);

    *(void **)&reply = dlsym(RTLD_NEXT, "fuse_reply_buf");
    wait_ms(LATE_MS);
    return reply(request, buffer, size);
}

int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, fuse_ino_t inode, off_t offset,
                                     off_t length)
{
    int (*notify)(struct fuse_session *, fuse_ino_t, off_t, off_t);

    *(void **)&notify = dlsym(RTLD_NEXT, "fuse_lowlevel_notify_inval_inode");
    notify(session, inode, -1, 0);
    wait_ms(2 * LATE_MS);
    return notify(session, inode, offset, length);
}
