/* SPDX-License-Identifier: MIT */
#include "passthrough.h"

#include <linux/capability.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/store_members.h"
#include "fusefs/session.h"

/* Of the kernel's protocol, what a linux/fuse.h before 6.9 does not have. */
#define PASSTHROUGH_FLAG2 (UINT32_C(1) << 5) /* FUSE_PASSTHROUGH, bit 37 */
#define STACK_DEPTH       1                  /* the file lies on no filesystem that is stacked */

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

void fs_passthrough_init(struct fs_session *session)
{
    struct stat st;
    bool fits = session->options->passthrough == FS_WISH_AUTO && session->cache == NULL &&
                session->cluster.nodes <= 1 && session->pool.pool == NULL &&
                mpiio_store_is_coherent(session->store) && !session->tree.npy &&
                !session->tree.whole && mpiio_store_stat(session->store, &st) == 0 &&
                S_ISREG(st.st_mode) && mpiio_capability_has(CAP_SYS_ADMIN);

    pthread_mutex_init(&session->passthrough.lock, NULL);
    for (size_t view = 0; view < session->tree.views && fits; view++) {
        fits = fs_passthrough_is_identity(session->common[view]);
        if (view == 0 && fits)
            session->passthrough.etype = vs_view_facts(session->common[0])->etype_size;
        else if (fits)
            fits = vs_view_facts(session->common[view])->etype_size == session->passthrough.etype;
    }
    session->passthrough.fits = fits;
}

void fs_passthrough_asked(struct fs_session *session, uint32_t offered)
{
    if (session->passthrough.fits && (offered & PASSTHROUGH_FLAG2) != 0)
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

bool fs_passthrough_is_used(struct fs_session *session)
{
    struct fs_passthrough *passthrough = &session->passthrough;

    if (!fs_passthrough_is_on(session))
        return false;
    return MPIIO_LOCKED(&passthrough->lock, passthrough->passed > 0);
}

/* Registers the shared file with the kernel, once; passthrough ends where the kernel refuses it.
   The lock is held. */
static bool is_registered(struct fs_session *session)
{
    struct fs_passthrough *passthrough = &session->passthrough;
    struct backing_map map = {.fd = mpiio_store_fd(session->store)};

    if (passthrough->id == 0)
        passthrough->id = ioctl(fuse_session_fd(session->fuse), BACKING_OPEN, &map);
    if (passthrough->id > 0)
        return true;
    passthrough->id = 0;
    atomic_store(&passthrough->on, false);
    return false;
}

static bool ends_whole(struct fs_session *session)
{
    struct stat st;

    return mpiio_store_stat(session->store, &st) == 0 &&
           st.st_size % session->passthrough.etype == 0;
}

int fs_passthrough_enter(struct fs_session *session)
{
    struct fs_passthrough *passthrough = &session->passthrough;
    bool passes;
    int id;

    pthread_mutex_lock(&passthrough->lock);
    passes = passthrough->passed > 0 ||
             (passthrough->asking == 0 && is_registered(session) && ends_whole(session));
    passthrough->passed += passes;
    passthrough->asking += !passes;
    id = passes ? passthrough->id : 0;
    pthread_mutex_unlock(&passthrough->lock);
    return id;
}

void fs_passthrough_leave(struct fs_session *session, bool passed)
{
    struct fs_passthrough *passthrough = &session->passthrough;

    pthread_mutex_lock(&passthrough->lock);
    passthrough->passed -= passed;
    passthrough->asking -= !passed;
    pthread_mutex_unlock(&passthrough->lock);
}

int fs_passthrough_end_whole(struct fs_session *session, struct fs_slice *slice)
{
    int64_t etype = session->passthrough.etype;
    struct stat st;
    int error = mpiio_store_stat(session->store, &st);

    if (error != 0 || st.st_size % etype == 0)
        return error;
    return mpiio_slice_resize(slice->slice, st.st_size + etype - st.st_size % etype);
}
