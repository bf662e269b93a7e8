/* SPDX-License-Identifier: MIT */
#include "passthrough.h"

#include <linux/capability.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/store_members.h"
#include "fusefs/names/slices.h"

/* Definitions of the kernel's protocol that linux/fuse.h lacks before 6.9. */
#define PASSTHROUGH_FLAG2 (UINT32_C(1) << 5) /* FUSE_PASSTHROUGH, bit 37 */
#define STACK_DEPTH       1                  /* the file must not be on a stacked filesystem */

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

void fs_passthrough_init(struct fs_passthrough *passthrough, const struct fs_slices *slices,
                         bool wanted)
{
    const struct fs_tree *tree = slices->tree;
    struct stat st;
    bool fits = wanted && mpiio_store_is_coherent(slices->store) && !tree->npy && !tree->whole &&
                mpiio_store_stat(slices->store, &st) == 0 && S_ISREG(st.st_mode) &&
                mpiio_capability_has(CAP_SYS_ADMIN);

    passthrough->store = slices->store;
    pthread_mutex_init(&passthrough->lock, NULL);
    for (size_t view = 0; view < tree->views && fits; view++) {
        fits = fs_passthrough_is_identity(slices->common[view]);
        if (view == 0 && fits)
            passthrough->etype = vs_view_facts(slices->common[0])->etype_size;
        else if (fits)
            fits = vs_view_facts(slices->common[view])->etype_size == passthrough->etype;
    }
    passthrough->fits = fits;
}

void fs_passthrough_asked(struct fs_passthrough *passthrough, uint32_t offered)
{
    if (passthrough->fits && (offered & PASSTHROUGH_FLAG2) != 0)
        atomic_store(&passthrough->on, true);
}

void fs_passthrough_answer(const struct fs_passthrough *passthrough, const struct iovec *rest)
{
    const size_t depth = offsetof(struct fuse_init_out, unused); /* max_stack_depth */
    struct fuse_init_out answer;

    if (!fs_passthrough_is_on(passthrough) || rest->iov_len < depth + sizeof(uint32_t))
        return;
    memcpy(&answer, rest->iov_base, depth + sizeof(uint32_t));
    answer.flags |= FUSE_INIT_EXT;
    answer.flags2 |= PASSTHROUGH_FLAG2;
    answer.unused[0] = STACK_DEPTH;
    memcpy(rest->iov_base, &answer, depth + sizeof(uint32_t));
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
