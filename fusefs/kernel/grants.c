/* SPDX-License-Identifier: MIT */
#include "grants.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "core/base/probe.h"
#include "core/slice_access.h"
#include "core/store_layers.h"
#include "fusefs/session.h"
#include "fusefs/storing/flusher.h"
#include "drop.h"

/* Fills in the description of the mount and its file. Returns 0 or a negative errno. */
static int describe(struct fs_session *session, struct mpiio_grant_mount *mount)
{
    int error, positions = session->pointers.memory;
    struct stat st;

    *mount = (struct mpiio_grant_mount){.mount = session->device,
                                        .narrow = session->options->narrow,
                                        .coherence = mpiio_store_file(session->store)->coherence,
                                        .process = getpid(),
                                        .positions = positions};
    if (positions >= 0 && fstat(positions, &st) != 0)
        return -errno;
    if (positions >= 0) {
        mount->positions_inode = st.st_ino;
        mount->count = (uint64_t)st.st_size / sizeof(int64_t);
    }
    if (session->tree.whole) {
        mount->inode = mpiio_assembled_identity(mpiio_store_file(session->store));
        return 0;
    }
    error = mpiio_store_stat(session->store, &st);
    if (error != 0)
        return error;
    mount->device = st.st_dev;
    mount->inode = st.st_ino;
    return snprintf(mount->file, sizeof(mount->file), "%s", session->file) <
                   (int)sizeof(mount->file)
               ? 0
               : -ENAMETOOLONG;
}

void fs_grants_start(struct fs_session *session)
{
    struct fs_grants *grants = &session->grants;
    struct mpiio_grant_mount mount;

    /* Without the mount's device, a program cannot tell which daemon serves a slice. */
    if (session->device == 0 || session->cache != NULL || fs_cluster_is_on(&session->cluster) ||
        describe(session, &mount) != 0)
        return;
    grants->page =
        mpiio_grant_page_new(&mount, session->resolved, session->resolved_length, &grants->memory);
    for (unsigned i = 0; i < MPIIO_GRANT_WORDS; i++)
        grants->spare[i] = (uint16_t)(MPIIO_GRANT_WORDS - 1 - i);
    grants->spares = MPIIO_GRANT_WORDS;
}

void fs_grants_end(struct fs_session *session)
{
    if (session->grants.page != NULL)
        atomic_store(&session->grants.page->daemon, 0);
}

bool fs_grants_are_on(const struct fs_session *session)
{
    return session->grants.page != NULL && session->mode == FS_MODE_SHARED;
}

/*
 * Returns false if two ranks of the slice's view are known to show the same byte. This has been
 * computed for every view that has a grant.
 */
static bool is_apart(const struct fs_session *session, const struct fs_slice *slice)
{
    return fs_overlaps_may_be_disjoint(&session->overlaps,
                                       fs_tree_node(&session->tree, slice->data).view);
}

/* Returns true if stores may wait in pages of the slice. Lock held. */
static bool may_hold(const struct fs_slice *slice)
{
    return atomic_load(&slice->paged) != FS_UNPAGED && slice->counts.holders > 0;
}

/*
 * Returns the rights that may be granted on a slice now. An assembled file is only granted for
 * reading: the daemon syncs the members that it has written itself, and cannot see other writes.
 * Lock held.
 */
static uint32_t possible(struct fs_session *session, struct fs_slice *slice)
{
    uint32_t most = session->tree.whole ? MPIIO_GRANT_READ : MPIIO_GRANT_BOTH;
    uint32_t rights = may_hold(slice) ? 0 : most;
    bool apart = is_apart(session, slice);
    struct fs_slice *other = NULL;

    assert(mpiio_is_held(&session->slices.lock));
    while ((rights & MPIIO_GRANT_WRITE) != 0 &&
           (other = fs_slices_related(&session->slices, slice, apart, other)) != NULL)
        if (atomic_load(&other->paged) != FS_UNPAGED)
            rights &= ~MPIIO_GRANT_WRITE;
    return rights;
}

/* Returns the word of a slice that is granted, or NULL. Lock held. */
static _Atomic uint32_t *word_of(const struct fs_session *session, const struct fs_slice *slice)
{
    assert(mpiio_is_held(&session->slices.lock));
    return slice->granted > 0 ? &session->grants.page->words[slice->grant] : NULL;
}

/* Revokes rights on a slice from all who have them. Lock held. */
static void take_back(struct fs_session *session, const struct fs_slice *slice, uint32_t rights)
{
    _Atomic uint32_t *word = word_of(session, slice);

    if (word != NULL && (atomic_fetch_and(word, ~rights) & rights) != 0) {
        MPIIO_PROBE(grant_taken_back, slice->inode, rights);
        atomic_fetch_add(&session->grants.taken_back, slice->granted);
    }
}

bool fs_grants_is_bare(struct fs_session *session, const struct fs_handle *handle)
{
    const struct fs_slice *slice = handle->slice;

    return MPIIO_LOCKED(&session->slices.lock, atomic_load(&slice->paged) == FS_UNPAGED &&
                                                   slice->counts.handles > handle->joined);
}

void fs_grants_paged(struct fs_session *session, struct fs_slice *slice)
{
    struct fs_slices *slices = &session->slices;

    pthread_mutex_lock(&slices->lock);
    atomic_store(&slice->paged, FS_PAGED);
    if (fs_grants_are_on(session) && session->grants.spares < MPIIO_GRANT_WORDS) {
        struct fs_slice *other = NULL;

        while ((other = fs_slices_related(slices, slice, is_apart(session, slice), other)) != NULL)
            take_back(session, other,
                      other == slice && may_hold(slice) ? MPIIO_GRANT_BOTH : MPIIO_GRANT_WRITE);
    }
    pthread_mutex_unlock(&slices->lock);
}

/* Records in the slice's word whether a handle without a grant has it open. Lock held. */
static void mark_watched(struct fs_session *session, const struct fs_slice *slice)
{
    _Atomic uint32_t *word = word_of(session, slice);

    if (word != NULL && slice->counts.ungranted > 0)
        atomic_fetch_or(word, MPIIO_GRANT_WATCHED);
    else if (word != NULL)
        atomic_fetch_and(word, ~MPIIO_GRANT_WATCHED);
}

void fs_grants_joined(struct fs_session *session, struct fs_handle *handle)
{
    struct fs_slices *slices = &session->slices;

    if (!fs_grants_are_on(session))
        return;
    pthread_mutex_lock(&slices->lock);
    mark_watched(session, handle->slice);
    if (handle->holds && may_hold(handle->slice))
        take_back(session, handle->slice, MPIIO_GRANT_BOTH);
    pthread_mutex_unlock(&slices->lock);
}

void fs_grants_leave(struct fs_session *session, struct fs_handle *handle)
{
    struct fs_slices *slices = &session->slices;
    struct fs_grants *grants = &session->grants;
    struct fs_slice *slice = handle->slice;
    bool lost;

    if (handle->rights == 0)
        return;
    pthread_mutex_lock(&slices->lock);
    lost = (handle->rights & MPIIO_GRANT_WRITE) != 0 &&
           !mpiio_grant_holds(grants->page, slice->grant, handle->grant, MPIIO_GRANT_WRITE);
    if (--slice->granted == 0) {
        _Atomic uint32_t *word = &grants->page->words[slice->grant];

        atomic_store(word, (atomic_load(word) & ~MPIIO_GRANT_FLAGS) + MPIIO_GRANT_ROUND);
        grants->spare[grants->spares++] = slice->grant;
    }
    pthread_mutex_unlock(&slices->lock);
    /*
     * The program may have been killed between a write past the page cache and its check that the
     * grant still holds. Pages that were filled in between may then lack the bytes.
     */
    if (lost)
        fs_overlaps_drop(&session->overlaps, slice, 0, 0);
}

void fs_grants_left(struct fs_session *session, struct fs_slice *slice)
{
    pthread_mutex_lock(&session->slices.lock);
    mark_watched(session, slice);
    pthread_mutex_unlock(&session->slices.lock);
}

/*
 * Assigns a word to the slice. If the slice regains a right, begins a new round of its word, so
 * that a program that had the right before, and is writing now, notices the revocation. Returns
 * false if no word is free. Lock held.
 */
static bool set_word(struct fs_grants *grants, struct fs_slice *slice, uint32_t rights)
{
    _Atomic uint32_t *word;
    uint32_t value;

    if (slice->granted == 0) {
        if (grants->spares == 0)
            return false;
        slice->grant = grants->spare[--grants->spares];
    }
    assert(slice->grant < MPIIO_GRANT_WORDS);
    word = &grants->page->words[slice->grant];
    value = atomic_load(word);
    if ((rights & ~value) != 0)
        atomic_store(word, (value & ~MPIIO_GRANT_FLAGS) + MPIIO_GRANT_ROUND + rights);
    return true;
}

bool fs_grants_is_user(uid_t user)
{
    return user == geteuid();
}

/* While a drop is queued, later requests share its number. With a new number the queued drop would
   no longer count, and its request would get no grant. */
bool fs_grants_await_drop(struct fs_session *session, const struct fs_handle *handle,
                          unsigned *number)
{
    struct fs_slice *slice = handle->slice;
    bool drops;

    if (!handle->writes || !fs_grants_are_on(session))
        return false;
    pthread_mutex_lock(&session->slices.lock);
    drops = slice->counts.ungranted == (handle->rights == 0) &&
            atomic_load(&slice->paged) != FS_UNPAGED;
    if (drops && atomic_load(&slice->paged) == FS_PAGED)
        atomic_store(&slice->paged,
                     FS_PAGED + 1 + session->grants.drops++ % (UINT_MAX - FS_PAGED - 1));
    *number = atomic_load(&slice->paged);
    pthread_mutex_unlock(&session->slices.lock);
    return drops;
}

/* If the kernel has read pages since then, the slice no longer has this drop's number. */
void fs_grants_dropped(struct fs_session *session, struct fs_slice *slice, unsigned number)
{
    pthread_mutex_lock(&session->slices.lock);
    if (atomic_load(&slice->paged) == number)
        atomic_store(&slice->paged, FS_UNPAGED);
    pthread_mutex_unlock(&session->slices.lock);
}

/* Returns the reason why the slice cannot be granted at all, or NULL. */
static const char *find_obstacle(struct fs_session *session, const struct fs_slice *slice)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->data);
    bool disjoint;

    if (session->cache != NULL)
        return "the daemon holds writes back (cache=back)";
    if (session->mode == FS_MODE_UNIQUE)
        return "the kernel holds writes back (unique)";
    if (!fs_grants_are_on(session))
        return "the mount is direct";
    if (!node.shared && fs_passthrough_is_on(&session->passthrough))
        return "the kernel has the file";
    if (fs_atomic_is_on(&session->atomic))
        return "atomic mode";
    if (slice->header != 0)
        return "a NumPy header";
    if (!mpiio_slice_is_bytewise(slice->slice))
        return "values are converted";
    if (atomic_load(&session->unwritten.count) != 0)
        return "something could not be stored";
    if (fs_overlaps_disjoint(&session->overlaps, node.view, &disjoint) != 0 ||
        (node.shared && session->pointers.memory < 0))
        return "no memory";
    return NULL;
}

static const char *give(struct fs_session *session, struct fs_handle *handle,
                        struct mpiio_grant_request *request)
{
    struct fs_grants *grants = &session->grants;
    struct fs_slice *slice = handle->slice;
    struct fs_node node = fs_tree_node(&session->tree, slice->inode);
    uint32_t rights = possible(session, slice);
    uint32_t wanted =
        (handle->reads ? MPIIO_GRANT_READ : 0) | (handle->writes ? MPIIO_GRANT_WRITE : 0);

    assert(mpiio_is_held(&session->slices.lock));
    if ((rights & wanted) == 0)
        return session->tree.whole ? "members are only read" : "it is open in another way";
    if (!set_word(grants, slice, rights))
        return "too many slices are granted";
    if (handle->rights == 0) {
        assert(slice->counts.ungranted > 0);
        slice->granted++;
        slice->counts.ungranted--;
    }
    handle->grant = atomic_load(&grants->page->words[slice->grant]);
    handle->rights = rights & wanted;
    /* No page in use may hide bytes that the program writes past the kernel. */
    assert((handle->rights & MPIIO_GRANT_WRITE) == 0 || !may_hold(slice));
    fs_cut_granted(handle);
    mark_watched(session, slice);
    if ((handle->rights & MPIIO_GRANT_WRITE) != 0)
        fs_sync_written(&session->durable, handle); /* its writes are not seen here */
    request->slot = grants->slots++ % MPIIO_GRANT_SLOTS;
    mpiio_grant_put(grants->page, request->slot, request->nonce,
                    &(struct mpiio_grant){.word = slice->grant,
                                          .value = handle->grant,
                                          .rights = handle->rights,
                                          .cut = fs_cut_mark(&slice->cut) != FS_UNCUT,
                                          .view = node.view,
                                          .rank = node.shared ? MPIIO_GRANT_SHARED : node.rank});
    return NULL;
}

void fs_grants_ask(struct fs_session *session, struct fs_handle *handle, uid_t user,
                   struct mpiio_grant_request *request)
{
    const char *why = fs_grants_is_user(user) ? find_obstacle(session, handle->slice)
                                              : "the mount is another user's";

    if (why == NULL)
        why = MPIIO_LOCKED(&session->slices.lock, give(session, handle, request));
    if (why != NULL) {
        snprintf(request->why, sizeof(request->why), "%s", why);
        return;
    }
    MPIIO_PROBE(grant_given, handle->slice->inode, handle->rights);
    atomic_fetch_add(&session->grants.given, 1);
    request->token = session->grants.page->token;
    request->process = getpid();
    request->memory = session->grants.memory;
}
