/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int mpiio_folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return error == -EINVAL || error == -EACCES ? 0 : error;
}
