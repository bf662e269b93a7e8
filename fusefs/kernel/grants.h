/* SPDX-License-Identifier: MIT */
#ifndef FS_GRANTS_H
#define FS_GRANTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/grant.h"
#include "fusefs/names/handle.h"

struct fs_session;

/*
 * Grants (core/base/grant.h) by which programs read and write slices in the shared file, past this
 * daemon. What a slice shows stays what it would be without: a right to write is out only while the
 * kernel has no pages, of any open slice, that may show the bytes; one to read, only while no
 * store to such a page of this slice may wait in the kernel. Every page comes from a read or a
 * write of the kernel's: the first of them takes grants back.
 */
struct fs_grants {
    struct mpiio_grant_page *page; /* NULL: nothing is granted */
    int memory;                    /* the descriptor of the page */
    uint16_t spare[MPIIO_GRANT_WORDS];
    unsigned spares; /* how many words of spare are free; lock: the slices', as of spare */
    unsigned slots;  /* the number of slots used so far; lock: the slices' */
    unsigned drops;  /* the number of the last one; lock: the slices' */
    _Atomic uint64_t given, taken_back;
};

/*
 * Prepares for grants, if such a mount can give any. session->device must be known. To be called in
 * the thread that serves, once it does.
 */
void fs_grants_start(struct fs_session *session);

/* Takes all back: nothing is served any more. */
void fs_grants_end(struct fs_session *session);

/* False where no slice is granted, whatever is open: by how the mount was made. Thread-safe. */
bool fs_grants_are_on(const struct fs_session *session);

/*
 * Returns true if requests of that user, as fuse_req_ctx reports it, may be granted: the user is
 * the daemon's own. Thread-safe.
 */
bool fs_grants_is_user(uid_t user);

/*
 * True where it is of use to have the kernel drop the slice's pages before fs_grants_ask: the
 * kernel kept them when one who is to write opened the slice, and nobody else is to read them. To
 * be called right before that. The handle then keeps the request's nonce. Thread-safe.
 */
bool fs_grants_await_drop(struct fs_session *session, struct fs_handle *handle, uint64_t nonce);

/* The pages are dropped. Thread-safe. */
void fs_grants_dropped(struct fs_session *session, struct fs_handle *handle);

/*
 * Grants the handle what is possible, in a slot of the page, and completes the request, whose nonce
 * is set. A user other than the daemon's learns only that the mount is another user's. Thread-safe.
 */
void fs_grants_ask(struct fs_session *session, struct fs_handle *handle, uid_t user,
                   struct mpiio_grant_request *request);

/* Whether others than the handle have the slice open and the kernel has no pages. Thread-safe. */
bool fs_grants_is_bare(struct fs_session *session, const struct fs_handle *handle);

/*
 * The kernel will have pages of the slice: takes back what does not go with that. To be called
 * before the file is read for it. Thread-safe.
 */
void fs_grants_paged(struct fs_session *session, struct fs_slice *slice);

/* The same before each request through the kernel's pages: costs nothing but the first time. */
static inline void fs_grants_page(struct fs_session *session, const struct fs_handle *handle)
{
    if (!handle->direct &&
        atomic_load_explicit(&handle->slice->paged, memory_order_relaxed) != FS_PAGED)
        fs_grants_paged(session, handle->slice);
}

/* A handle has joined the slice's open ones: stores may come through it. Thread-safe. */
void fs_grants_joined(struct fs_session *session, struct fs_handle *handle);

/* A handle is about to leave them. Thread-safe. */
void fs_grants_leave(struct fs_session *session, struct fs_handle *handle);

/*
 * A handle has left the slice's open ones: clears MPIIO_GRANT_WATCHED if it was the last one
 * without a grant. Thread-safe.
 */
void fs_grants_left(struct fs_session *session, struct fs_slice *slice);

#endif
