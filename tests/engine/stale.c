/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/*
 * Preloaded. The file STALE_FILE keeps the attributes of the first call, as network filesystems
 * cache those of files that other machines write to.
 */

int fstat64(int fd, struct stat64 *st);

int fstat64(int fd, struct stat64 *st)
{
    static struct stat64 stale;
    static int known;
    const char *path = getenv("STALE_FILE");
    struct stat64 file;
    int failed = fstatat64(fd, "", st, AT_EMPTY_PATH);

    if (failed != 0 || path == NULL || stat64(path, &file) != 0 || st->st_ino != file.st_ino ||
        st->st_dev != file.st_dev)
        return failed;
    if (!known) /* a single thread does this, before others exist */
        stale = *st;
    known = 1;
    *st = stale;
    return 0;
}
