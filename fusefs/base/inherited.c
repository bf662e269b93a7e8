/* SPDX-License-Identifier: MIT */
#include "inherited.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/close_range.h>

/* What is opened later must not become standard output. */
static int open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0)
            return -errno;
    } while (fd <= STDERR_FILENO);
    close(fd);
    return 0;
}

static int add_descriptor(struct fs_inherited *inherited, int fd)
{
    int *fds = realloc(inherited->fds, (inherited->count + 1) * sizeof(*fds));

    if (fds == NULL)
        return -ENOMEM;
    inherited->fds = fds;
    fds[inherited->count++] = fd;
    return 0;
}

int fs_inherited_note(struct fs_inherited *inherited)
{
    struct dirent *entry;
    int error = open_standard();
    DIR *folder;

    *inherited = (struct fs_inherited){.fds = NULL};
    if (error != 0)
        return error;
    close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return -errno;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);

        if (fd > STDERR_FILENO && fd != dirfd(folder))
            error = add_descriptor(inherited, fd);
    }
    closedir(folder);
    return error;
}

void fs_inherited_close(struct fs_inherited *inherited, int kept)
{
    for (size_t i = 0; i < inherited->count; i++)
        if (inherited->fds[i] != kept)
            close(inherited->fds[i]);
    free(inherited->fds);
    *inherited = (struct fs_inherited){.fds = NULL};
}
