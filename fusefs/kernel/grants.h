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
 * Grants (core/base/grant.h), by which programs read and write slices directly in the shared file,
 * past this daemon. A slice shows the same bytes as without grants. For that, a right to write
 * exists only while the kernel has no pages of any open slice that may show the bytes. A right to
 * read exists only while no store to a page of this slice may wait in the kernel. Pages come from
 * reads and writes of the kernel; the first of these revokes grants.
 */
struct fs_grants {
    struct mpiio_grant_page *page; /* NULL: the mount has no grants */
    int memory;                    /* descriptor of the page */
    uint16_t spare[MPIIO_GRANT_WORDS];
    unsigned spares; /* number of free words in spare; both lock: the slices' */
    unsigned slots;  /* number of slots used so far; lock: the slices' */
    unsigned drops;  /* number of the last drop; lock: the slices' */
    _Atomic uint64_t given, taken_back;
};

/*
 * Enables grants if this kind of mount allows them. session->device must be known. Call it in the
 * thread that serves, once it does.
 */
void fs_grants_start(struct fs_session *session);

/* Revokes all grants, because the mount no longer serves. */
void fs_grants_end(struct fs_session *session);

/* Returns false if the kind of mount rules out grants for all slices. Thread-safe. */
bool fs_grants_are_on(const struct fs_session *session);

/*
 * Returns true if the user, as fuse_req_ctx reports it, is the daemon's own. Others get no grants.
 * Thread-safe.
 */
bool fs_grants_is_user(uid_t user);

/*
 * Returns true if the kernel should invalidate the slice's pages before fs_grants_ask: the handle
 * is to write, the kernel may have pages, and no other handle lacks a grant. Call it right before
 * the drop. Sets *number to the number for the drop. Several drops of a slice may share a number.
 * Thread-safe.
 */
bool fs_grants_await_drop(struct fs_session *session, const struct fs_handle *handle,
                          unsigned *number);

/* Records that a drop of that number has invalidated all pages of the slice. Thread-safe. */
void fs_grants_dropped(struct fs_session *session, struct fs_slice *slice, unsigned number);

/*
 * Grants the handle the rights that are possible, in a slot of the page, and completes the request,
 * whose nonce is set. Another user than the daemon's learns only that the mount is another user's.
 * Thread-safe.
 */
void fs_grants_ask(struct fs_session *session, struct fs_handle *handle, uid_t user,
                   struct mpiio_grant_request *request);

/* Returns true if other handles have the slice open and the kernel has no pages. Thread-safe. */
bool fs_grants_is_bare(struct fs_session *session, const struct fs_handle *handle);

/*
 * Announces that the kernel will have pages of the slice, and revokes the conflicting rights. Call
 * it before the file is read for these pages. Thread-safe.
 */
void fs_grants_paged(struct fs_session *session, struct fs_slice *slice);

/* Calls fs_grants_paged if needed. Call it before each request through the kernel's pages. */
static inline void fs_grants_page(struct fs_session *session, const struct fs_handle *handle)
{
    if (!handle->direct &&
        atomic_load_explicit(&handle->slice->paged, memory_order_relaxed) != FS_PAGED)
        fs_grants_paged(session, handle->slice);
}

/*
 * Call it after a handle has joined the slice's open handles, because stores may come through it.
 * Thread-safe.
 */
void fs_grants_joined(struct fs_session *session, struct fs_handle *handle);

/* Call it before a handle leaves them. Thread-safe. */
void fs_grants_leave(struct fs_session *session, struct fs_handle *handle);

/*
 * Call it after a handle has left them. Clears MPIIO_GRANT_WATCHED if it was the last one without a
 * grant. Thread-safe.
 */
void fs_grants_left(struct fs_session *session, struct fs_slice *slice);

#endif
