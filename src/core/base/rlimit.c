/* SPDX-License-Identifier: MIT */
#include "rlimit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

uint64_t mpiio_rlimit_descriptors(uint64_t count)
{
    struct rlimit limit, wanted;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count)
        return count;
    wanted = limit;
    wanted.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

/* pthread_create(3) gives EAGAIN for want of address space, too. */
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
