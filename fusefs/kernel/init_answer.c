/* SPDX-License-Identifier: MIT */
#include "init_answer.h"

#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fusefs/session.h"
#include "open_answer.h"

/* FUSE_DIRECT_IO_ALLOW_MMAP, bit 36: linux/fuse.h has it from 6.6 on. */
#define ALLOW_MMAP_FLAG2 (UINT32_C(1) << 4)

/* Of the flags of a request of the kernel's, INIT, the later 32; 0: it is none. */
static uint32_t offer(const void *request, size_t length)
{
    const size_t start = sizeof(struct fuse_in_header);
    struct fuse_in_header header;
    struct fuse_init_in asked;

    if (length < start + offsetof(struct fuse_init_in, unused))
        return 0;
    memcpy(&header, request, sizeof(header));
    memcpy(&asked, (const char *)request + start, offsetof(struct fuse_init_in, unused));
    return header.opcode == FUSE_INIT && (asked.flags & FUSE_INIT_EXT) != 0 ? asked.flags2 : 0;
}

static ssize_t read_request(int fd, void *buffer, size_t length, void *userdata)
{
    struct fs_session *session = userdata;
    ssize_t got = read(fd, buffer, length);

    if (got > 0 && !atomic_load_explicit(&session->greeted, memory_order_relaxed))
        fs_passthrough_asked(session, offer(buffer, (size_t)got));
    if (got > 0)
        fs_trace_begin(session, buffer, (size_t)got);
    return got;
}

static void amend(struct fs_session *session, const struct iovec *part)
{
    const size_t end = offsetof(struct fuse_init_out, unused);
    struct fuse_init_out answer;

    if (part->iov_len < end)
        return;
    memcpy(&answer, part->iov_base, end);
    answer.flags |= FUSE_HANDLE_KILLPRIV_V2;
    if (session->mode->maps_direct) {
        answer.flags |= FUSE_INIT_EXT;
        answer.flags2 |= ALLOW_MMAP_FLAG2;
    }
    memcpy(part->iov_base, &answer, end);
    fs_passthrough_answer(session, part);
}

static ssize_t write_answer(int fd, struct iovec *parts, int count, void *userdata)
{
    struct fs_session *session = userdata;

    fs_trace_end(session, parts, count);
    fs_open_answer_complete(parts, count);
    /* The first answer is the one to INIT: nothing else comes before the kernel has it. */
    if (atomic_load_explicit(&session->greeted, memory_order_relaxed) ||
        atomic_exchange(&session->greeted, true))
        return writev(fd, parts, count);
    if (count > 1)
        amend(session, &parts[1]);
    return writev(fd, parts, count);
}

int fs_init_answer_amend(struct fs_session *session)
{
    const struct fuse_custom_io io = {.writev = write_answer, .read = read_request};

    return fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse));
}
