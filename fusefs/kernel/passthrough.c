/* SPDX-License-Identifier: MIT */
#include "passthrough.h"

#include <linux/capability.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/store_layers.h"
#include "fusefs/session.h"

/* Passthrough, and the amendment of answers to INIT and OPEN. Every request and answer passes
   through read_request and write_answer. */

/* Definitions of the kernel's protocol that linux/fuse.h lacks before 6.9. */
#define OPEN_PASSTHROUGH  (UINT32_C(1) << 7) /* FOPEN_PASSTHROUGH */
#define PARALLEL_WRITES   (UINT32_C(1) << 6) /* FOPEN_PARALLEL_DIRECT_WRITES */
#define ALLOW_MMAP_FLAG2  (UINT32_C(1) << 4) /* FUSE_DIRECT_IO_ALLOW_MMAP, bit 36 */
#define PASSTHROUGH_FLAG2 (UINT32_C(1) << 5) /* FUSE_PASSTHROUGH, bit 37 */

/* The offsets of max_stack_depth and backing_id. Before 6.9, linux/fuse.h names these fields
   unused[0] and padding. */
#define STACK_DEPTH_AT (offsetof(struct fuse_init_out, flags2) + sizeof(uint32_t))
#define BACKING_ID_AT  (offsetof(struct fuse_open_out, open_flags) + sizeof(uint32_t))

struct backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)

bool fs_passthrough_is_identity(const struct vs_view *view)
{
    const struct vs_map_facts *facts;

    if (view == NULL || !vs_view_facts(view)->identical || vs_view_has_order(view))
        return false;
    facts = vs_map_facts(vs_view_map(view));
    return facts->monotonic && facts->disjoint && facts->displacement == 0 && facts->first == 0 &&
           facts->tile_size > 0 && facts->tile_size == facts->tile_extent &&
           facts->end == facts->tile_size && facts->tiles == INT64_MAX;
}

/* Returns true if the mount's properties other than its views allow passthrough. */
static bool is_possible(const struct fs_session *session)
{
    const struct fs_tree *tree = &session->tree;
    struct stat st;

    return session->options->passthrough == FS_WISH_AUTO && session->cache == NULL &&
           session->cluster.nodes <= 1 && session->pool.pool == NULL &&
           mpiio_file_is_coherent(mpiio_store_file(session->store)) && !tree->npy && !tree->whole &&
           mpiio_store_stat(session->store, &st) == 0 && S_ISREG(st.st_mode) &&
           mpiio_capability_has(CAP_SYS_ADMIN);
}

int fs_passthrough_init(struct fs_session *session)
{
    struct fs_passthrough *passthrough = &session->passthrough;
    bool fits = is_possible(session);

    passthrough->store = session->store;
    pthread_mutex_init(&passthrough->lock, NULL);
    for (size_t view = 0; view < session->tree.views && fits; view++) {
        fits = fs_passthrough_is_identity(session->common[view]);
        if (view == 0 && fits)
            passthrough->etype = vs_view_facts(session->common[0])->etype_size;
        else if (fits)
            fits = vs_view_facts(session->common[view])->etype_size == passthrough->etype;
    }
    passthrough->fits = fits;
    return 0;
}

bool fs_passthrough_is_on(const struct fs_passthrough *passthrough)
{
    return atomic_load_explicit(&passthrough->on, memory_order_relaxed);
}

bool fs_passthrough_is_used(struct fs_passthrough *passthrough)
{
    if (!fs_passthrough_is_on(passthrough))
        return false;
    return MPIIO_LOCKED(&passthrough->lock, passthrough->passed > 0);
}

/*
 * Registers the shared file with the kernel, once. If the kernel refuses it, turns passthrough off.
 * Returns true if the file is registered. Lock held.
 */
static bool is_registered(struct fs_passthrough *passthrough, int kernel)
{
    struct backing_map map = {.fd = mpiio_store_fd(passthrough->store)};

    if (passthrough->id == 0)
        passthrough->id = ioctl(kernel, BACKING_OPEN, &map);
    if (passthrough->id > 0)
        return true;
    passthrough->id = 0;
    atomic_store(&passthrough->on, false);
    return false;
}

static bool ends_whole(const struct fs_passthrough *passthrough)
{
    struct stat st;

    return mpiio_store_stat(passthrough->store, &st) == 0 && st.st_size % passthrough->etype == 0;
}

int fs_passthrough_enter(struct fs_passthrough *passthrough, int kernel)
{
    bool passes;
    int id;

    pthread_mutex_lock(&passthrough->lock);
    passes =
        passthrough->passed > 0 ||
        (passthrough->asking == 0 && is_registered(passthrough, kernel) && ends_whole(passthrough));
    passthrough->passed += passes;
    passthrough->asking += !passes;
    id = passes ? passthrough->id : 0;
    pthread_mutex_unlock(&passthrough->lock);
    return id;
}

void fs_passthrough_leave(struct fs_passthrough *passthrough, bool passed)
{
    pthread_mutex_lock(&passthrough->lock);
    passthrough->passed -= passed;
    passthrough->asking -= !passed;
    pthread_mutex_unlock(&passthrough->lock);
}

int fs_passthrough_end_whole(const struct fs_passthrough *passthrough, struct fs_slice *slice)
{
    int64_t etype = passthrough->etype;
    struct stat st;
    int error = mpiio_store_stat(passthrough->store, &st);

    if (error != 0 || st.st_size % etype == 0)
        return error;
    return mpiio_slice_resize(slice->slice, st.st_size + etype - st.st_size % etype);
}

/* Parts of answers that libfuse before 3.17 cannot express. */

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
        memcpy((char *)&answer + BACKING_ID_AT, &next_id, sizeof(next_id));
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

    if (got > 0 && !atomic_load_explicit(&session->greeted, memory_order_relaxed) &&
        (offered_flags(buffer, (size_t)got) & PASSTHROUGH_FLAG2))
        atomic_store(&session->passthrough.on, session->passthrough.fits);
    if (got > 0)
        fs_trace_begin(&session->trace, buffer, (size_t)got);
    return got;
}

static void amend_init(struct fs_session *session, const struct iovec *part)
{
    const size_t end = STACK_DEPTH_AT + sizeof(uint32_t);
    const uint32_t depth = 1; /* the file must not be on a stacked filesystem */
    struct fuse_init_out answer;

    if (part->iov_len < end)
        return;
    memcpy(&answer, part->iov_base, end);
    answer.flags |= FUSE_HANDLE_KILLPRIV_V2;
    if (session->mode == FS_MODE_DIRECT) {
        answer.flags |= FUSE_INIT_EXT;
        answer.flags2 |= ALLOW_MMAP_FLAG2;
    }
    if (fs_passthrough_is_on(&session->passthrough)) {
        answer.flags |= FUSE_INIT_EXT;
        answer.flags2 |= PASSTHROUGH_FLAG2;
        memcpy((char *)&answer + STACK_DEPTH_AT, &depth, sizeof(depth));
    }
    memcpy(part->iov_base, &answer, end);
}

static ssize_t write_answer(int fd, struct iovec *parts, int count, void *userdata)
{
    struct fs_session *session = userdata;

    fs_trace_end(&session->trace, parts, count);
    complete_open(parts, count);
    /*
     * The first answer is the answer to INIT, because the kernel sends no other request before it.
     */
    if (!atomic_load_explicit(&session->greeted, memory_order_relaxed) &&
        !atomic_exchange(&session->greeted, true) && count > 1)
        amend_init(session, &parts[1]);
    return writev(fd, parts, count);
}

int fs_init_answer_amend(struct fs_session *session)
{
    const struct fuse_custom_io io = {.writev = write_answer, .read = read_request};

    return fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse));
}
