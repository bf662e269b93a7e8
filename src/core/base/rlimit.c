/* SPDX-License-Identifier: MIT */
#include "rlimit.h"

#include <errno.h>
#include <stddef.h>
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

const char *mpiio_rlimit_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } limits[] = {
        {-EAGAIN, "too many processes and threads (raise the limit with ulimit -u)"},
        {-EMFILE, "too many open files (raise the limit with ulimit -n)"},
        {-ENFILE, "too many open files on this machine (raise fs.file-max with sysctl)"},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        if (limits[i].error == error)
            return limits[i].text;
    return strerror(-error);
}

uint64_t mpiio_rlimit_file_size(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}
