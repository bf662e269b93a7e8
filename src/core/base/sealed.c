/* SPDX-License-Identifier: MIT */
#include "sealed.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONGEST 64 /* the maximum length of a name */

void *mpiio_sealed_new(const char *name, size_t size, int seals, int *memory)
{
    void *base = MAP_FAILED;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)size) == 0)
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base != MAP_FAILED && fcntl(fd, F_ADD_SEALS, seals) == 0) {
        *memory = fd;
        return base;
    }
    if (base != MAP_FAILED)
        munmap(base, size);
    close(fd);
    return NULL;
}

/* Opens the memory if it has the name, to which the kernel appends " (deleted)". The path may lead
   to any file of another user's process, so no file of another name is opened, and open(2) does not
   block. */
static int open_named(int process, int memory, const char *name, int flags)
{
    char path[64], wanted[LONGEST], target[LONGEST];
    int length = snprintf(wanted, sizeof(wanted), "/memfd:%s ", name);

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, memory);
    if (readlink(path, target, sizeof(target)) < length ||
        memcmp(target, wanted, (size_t)length) != 0)
        return -1;
    return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/*
 * A FUSE filesystem can forge the name and the owner of a file, but the kernel reports seals of
 * memory from memfd_create(2) alone, whose owner only root can change.
 */
int mpiio_sealed_open(int process, int memory, const char *name, int flags, int seals,
                      struct stat *st)
{
    int fd = open_named(process, memory, name, flags);
    int found = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;

    if (found >= 0 && (found & seals) == seals && fstat(fd, st) == 0 && st->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
