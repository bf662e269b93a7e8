/* SPDX-License-Identifier: MIT */
#ifndef FOREIGN_LOCK_H
#define FOREIGN_LOCK_H

/* Shows this process's locks of a file as another process sees them. */

#include <sys/wait.h>

#include "slice_fixture.h"

/* Returns the type of the lock that prevents an exclusive lock of [first, last] of a file. */
static inline int foreign_finds(int fd, int64_t first, int64_t last)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct flock range = {.l_type = F_WRLCK, .l_start = first, .l_len = last - first + 1};

        _exit(fcntl(fd, F_GETLK, &range) == 0 ? range.l_type : 255);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
