/* SPDX-License-Identifier: MIT */
#include "open_answer.h"

#include <linux/fuse.h>
#include <stdint.h>
#include <string.h>

/* Of the kernel's protocol, what a linux/fuse.h before 6.9 does not have. */
#define OPEN_PASSTHROUGH (UINT32_C(1) << 7) /* FOPEN_PASSTHROUGH */
#define PARALLEL_WRITES  (UINT32_C(1) << 6) /* FOPEN_PARALLEL_DIRECT_WRITES */

/* What the answer is to say; false: there is nothing. */
static _Thread_local bool is_due;
static _Thread_local uint32_t next_flags;
static _Thread_local int next_id;

void fs_open_answer_next(int backing, bool stream, bool parallel)
{
    next_id = backing;
    next_flags = (backing != 0 ? OPEN_PASSTHROUGH : 0) | (stream ? FOPEN_STREAM : 0) |
                 (parallel ? PARALLEL_WRITES : 0);
    is_due = next_flags != 0;
}

void fs_open_answer_complete(const struct iovec *parts, int count)
{
    struct fuse_open_out answer;

    if (!is_due || count < 2 || parts[1].iov_len != sizeof(answer))
        return;
    memcpy(&answer, parts[1].iov_base, sizeof(answer));
    answer.open_flags |= next_flags;
    if (next_id != 0)
        answer.padding = (uint32_t)next_id;
    memcpy(parts[1].iov_base, &answer, sizeof(answer));
    is_due = false;
}
