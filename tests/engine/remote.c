/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into an engine. All files appear to be on a network filesystem that does not report
 * birth times. With REMOTE_NO_LOCKS, locks on it are only visible on their own host.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int named_statfs64(const char *path, struct statfs *fs) __asm__("statfs64");

int named_statfs64(const char *path, struct statfs *fs)
{
    int result = (int)syscall(SYS_statfs, path, fs);

    fs->f_type = NFS_SUPER_MAGIC;
    return result;
}

int statx(int folder, const char *restrict path, int flags, unsigned int mask,
          struct statx *restrict st)
{
    int result = (int)syscall(SYS_statx, folder, path, flags, mask, st);

    st->stx_mask &= ~STATX_BTIME;
    return result;
}

int named_fcntl64(int fd, int command, ...) __asm__("fcntl64");

int named_fcntl64(int fd, int command, ...)
{
    va_list arguments;
    void *argument;
    int result;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    result = (int)syscall(SYS_fcntl, fd, command, argument);
    if (command == F_OFD_GETLK && getenv("REMOTE_NO_LOCKS") != NULL)
        ((struct flock *)argument)->l_type = F_UNLCK;
    return result;
}
