/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fusefs/session.h"

/* Definitions of the kernel's protocol that linux/fuse.h lacks before 6.9. */
#define OPEN_PASSTHROUGH (UINT32_C(1) << 7) /* FOPEN_PASSTHROUGH */
#define PARALLEL_WRITES  (UINT32_C(1) << 6) /* FOPEN_PARALLEL_DIRECT_WRITES */
#define ALLOW_MMAP_FLAG2 (UINT32_C(1) << 4) /* FUSE_DIRECT_IO_ALLOW_MMAP, bit 36 */

/* Fields to add to this thread's next answer to an OPEN; is_due is false if there are none. */
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

/* Adds these fields to an answer of this thread that is being sent. */
static void complete_open(const struct iovec *parts, int count)
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

/* Returns the upper 32 flags of an INIT request, or 0 for other requests. */
static uint32_t offered_flags(const void *request, size_t length)
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
        fs_passthrough_asked(&session->passthrough, offered_flags(buffer, (size_t)got));
    if (got > 0)
        fs_trace_begin(&session->trace, buffer, (size_t)got);
    return got;
}

static void amend_init(struct fs_session *session, const struct iovec *part)
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
    fs_passthrough_answer(&session->passthrough, part);
}

static ssize_t write_answer(int fd, struct iovec *parts, int count, void *userdata)
{
    struct fs_session *session = userdata;

    fs_trace_end(&session->trace, parts, count);
    complete_open(parts, count);
    /*
     * The first answer is the answer to INIT, because the kernel sends no other request before it.
     */
    if (atomic_load_explicit(&session->greeted, memory_order_relaxed) ||
        atomic_exchange(&session->greeted, true))
        return writev(fd, parts, count);
    if (count > 1)
        amend_init(session, &parts[1]);
    return writev(fd, parts, count);
}

int fs_init_answer_amend(struct fs_session *session)
{
    const struct fuse_custom_io io = {.writev = write_answer, .read = read_request};

    return fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse));
}
