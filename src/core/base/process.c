/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Limits. */

uint64_t mpiio_rlimit_descriptors(uint64_t count)
{
    struct rlimit limit, wanted;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count)
        return count;
    wanted = limit;
    wanted.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

/* Returns the text for EAGAIN. pthread_create(3) also fails with it if address space is
   exhausted. */
static const char *processes_text(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "too little memory, or too many processes and threads (raise the limits with "
               "ulimit -v and ulimit -u)";
    return "too many processes and threads (raise the limit with ulimit -u)";
}

const char *mpiio_rlimit_text(int error)
{
    switch (error) {
    case -EAGAIN:
        return processes_text();
    case -EMFILE:
        return "too many open files (raise the limit with ulimit -n)";
    case -ENFILE:
        return "too many open files on this machine (raise fs.file-max with sysctl)";
    default:
        return strerror(-error);
    }
}

uint64_t mpiio_rlimit_file_size(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

/* Capabilities. */

#define CAPABILITY_SETS _LINUX_CAPABILITY_U32S_3

bool mpiio_capability_has(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[CAPABILITY_SETS];

    return syscall(SYS_capget, &header, sets) == 0 &&
           (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

void mpiio_capability_drop_fsetid(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[CAPABILITY_SETS];

    if (syscall(SYS_capget, &header, sets) != 0)
        return;
    sets[CAP_TO_INDEX(CAP_FSETID)].effective &= ~(uint32_t)CAP_TO_MASK(CAP_FSETID);
    /* Giving up a capability needs no permission. */
    syscall(SYS_capset, &header, sets);
}

/* Memory that other processes can find. */

void *mpiio_sealed_memory(const char *name, size_t size, int seals, int *memory)
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

/* Finding files beside the program, and preloading a library. */

int mpiio_find_beside(const char *installed, const char *built, char *path)
{
    const char *const places[] = {installed, built};
    char self[PATH_MAX], near[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0)
        return -errno;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < 2; i++) {
        snprintf(near, sizeof(near), "%s/%s", self, places[i]);
        if (realpath(near, path) != NULL)
            return 0;
    }
    return -ENOENT;
}

/* Appends the library to those that are already preloaded. */
static int append_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *both;
    int result;

    if (before == NULL || !*before)
        return setenv("LD_PRELOAD", library, 1);
    if (asprintf(&both, "%s:%s", before, library) < 0)
        return -1;
    result = setenv("LD_PRELOAD", both, 1);
    free(both);
    return result;
}

const char *mpiio_preload(const char *installed, const char *built)
{
    static char library[PATH_MAX], why[PATH_MAX + 64];
    int error = mpiio_find_beside(installed, built, library);

    if (error != 0)
        snprintf(why, sizeof(why), "%s: %s", strrchr(installed, '/') + 1, strerror(-error));
    else if (strpbrk(library, ": ") != NULL)
        snprintf(why, sizeof(why), "%s: a path with blanks or colons cannot be preloaded", library);
    else if (append_preload(library) != 0)
        snprintf(why, sizeof(why), "%s", strerror(errno));
    else
        return NULL;
    return why;
}
