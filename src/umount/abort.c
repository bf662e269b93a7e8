/* SPDX-License-Identifier: MIT */
#include "abort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "mounts/fd_link.h"

/* Returns a new descriptor of the control filesystem, mounted nowhere, or -1. For root. */
static int mount_control(void)
{
    int control = fsopen("fusectl", FSOPEN_CLOEXEC);
    int folder = -1;

    if (control >= 0 && fsconfig(control, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        folder = fsmount(control, FSMOUNT_CLOEXEC, 0);
    if (control >= 0)
        close(control);
    return folder;
}

static int open_control(const struct mounts_mount *mount, const char *file, int flags)
{
    char name[32];
    int folder =
        geteuid() == 0 ? mount_control() : open("/sys/fs/fuse/connections", O_PATH | O_CLOEXEC);
    int fd, error;

    if (folder < 0)
        return -errno;
    snprintf(name, sizeof(name), "%u/%s", mount->entry.minor, file);
    fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
    error = fd < 0 ? -errno : 0;
    close(folder);
    /* The number belongs to the mount while it exists, so no other connection had it meanwhile. */
    if (error == 0 && !mounts_is_there(mount)) {
        close(fd);
        error = -ESTALE;
    }
    return error != 0 ? error : fd;
}

int umount_abort_open(const struct mounts_mount *mount)
{
    return open_control(mount, "abort", O_WRONLY);
}

int umount_waiting_open(const struct mounts_mount *mount)
{
    return open_control(mount, "waiting", O_PATH);
}

bool umount_is_connected(int fd)
{
    char path[MOUNTS_FD_LINK_SIZE], text[32];
    bool connected;

    if (fd < 0)
        return false;
    /* Open the file again, because it can be read only once. It is empty if the connection has
       ended. */
    mounts_fd_link(fd, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    connected = fd >= 0 && read(fd, text, sizeof(text)) > 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

void umount_abort(int fd)
{
    if (fd >= 0 && write(fd, "1", 1) < 0)
        return; /* the connection has ended */
}
