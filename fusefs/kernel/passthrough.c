/* SPDX-License-Identifier: MIT */
#include "passthrough.h"

#include <linux/capability.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fusefs/session.h"

/* Of the kernel's protocol, what a linux/fuse.h before 6.9 does not have. */
#define PASSTHROUGH_FLAG2 (UINT32_C(1) << 5) /* FUSE_PASSTHROUGH, bit 37 */
#define OPEN_PASSTHROUGH  (UINT32_C(1) << 7) /* FOPEN_PASSTHROUGH */
#define STACK_DEPTH       1                  /* the file lies on no filesystem that is stacked */

struct backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};
#define BACKING_OPEN  _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

/* The file that the answer to an OPEN is to name; 0: none. */
static _Thread_local int next_id;

static bool may_pass(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];

    return syscall(SYS_capget, &header, sets) == 0 &&
           (sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

/* All ranks have the view, and it is all of the file, as it is. */
static bool is_identity(const struct vs_view *view)
{
    const struct vs_map_facts *facts;

    if (view == NULL || !vs_view_facts(view)->identical)
        return false;
    facts = vs_map_facts(vs_view_map(view));
    return facts->monotonic && facts->disjoint && facts->displacement == 0 && facts->first == 0 &&
           facts->tile_size > 0 && facts->tile_size == facts->tile_extent &&
           facts->end == facts->tile_size;
}

void fs_passthrough_init(struct fs_session *session)
{
    struct stat st;
    bool fits = session->options->passthrough == FS_PASSTHROUGH_AUTO && session->cache == NULL &&
                session->cluster.nodes <= 1 && !session->tree.npy &&
                mpiio_store_stat(session->store, &st) == 0 && S_ISREG(st.st_mode) && may_pass();

    for (size_t view = 0; view < session->tree.views && fits; view++)
        fits = is_identity(session->common[view]);
    session->passthrough.fits = fits;
}

void fs_passthrough_asked(struct fs_session *session, const void *request, size_t length)
{
    const size_t start = sizeof(struct fuse_in_header);
    struct fuse_in_header header;
    struct fuse_init_in asked;

    if (length < start + offsetof(struct fuse_init_in, unused))
        return;
    memcpy(&header, request, sizeof(header));
    memcpy(&asked, (const char *)request + start, offsetof(struct fuse_init_in, unused));
    if (session->passthrough.fits && header.opcode == FUSE_INIT &&
        (asked.flags & FUSE_INIT_EXT) != 0 && (asked.flags2 & PASSTHROUGH_FLAG2) != 0)
        atomic_store(&session->passthrough.on, true);
}

void fs_passthrough_answer(const struct fs_session *session, const struct iovec *rest)
{
    const size_t depth = offsetof(struct fuse_init_out, unused); /* max_stack_depth */
    struct fuse_init_out answer;

    if (!fs_passthrough_is_on(session) || rest->iov_len < depth + sizeof(uint32_t))
        return;
    memcpy(&answer, rest->iov_base, depth + sizeof(uint32_t));
    answer.flags |= FUSE_INIT_EXT;
    answer.flags2 |= PASSTHROUGH_FLAG2;
    answer.unused[0] = STACK_DEPTH;
    memcpy(rest->iov_base, &answer, depth + sizeof(uint32_t));
}

bool fs_passthrough_is_on(const struct fs_session *session)
{
    return atomic_load_explicit(&session->passthrough.on, memory_order_relaxed);
}

/* By which the kernel knows the file: 0 where it refuses. */
static int id_of_file(struct fs_session *session)
{
    struct fs_passthrough *passthrough = &session->passthrough;
    struct backing_map map = {.fd = mpiio_store_fd(session->store)};
    int device = fuse_session_fd(session->fuse);
    int known = atomic_load(&passthrough->id);
    int id;

    if (known != 0)
        return known;
    id = ioctl(device, BACKING_OPEN, &map);
    if (id <= 0)
        return 0;
    if (atomic_compare_exchange_strong(&passthrough->id, &known, id))
        return id;
    ioctl(device, BACKING_CLOSE, &(uint32_t){(uint32_t)id});
    return known;
}

bool fs_passthrough_has_file(struct fs_session *session)
{
    if (fs_passthrough_is_on(session) && id_of_file(session) == 0)
        atomic_store(&session->passthrough.on, false);
    return fs_passthrough_is_on(session);
}

void fs_passthrough_next(const struct fs_session *session)
{
    next_id = atomic_load(&session->passthrough.id);
}

void fs_passthrough_complete(const struct iovec *parts, int count)
{
    struct fuse_open_out answer;

    if (next_id == 0 || count < 2 || parts[1].iov_len != sizeof(answer))
        return;
    memcpy(&answer, parts[1].iov_base, sizeof(answer));
    answer.open_flags |= OPEN_PASSTHROUGH;
    answer.padding = (uint32_t)next_id;
    memcpy(parts[1].iov_base, &answer, sizeof(answer));
    next_id = 0;
}
