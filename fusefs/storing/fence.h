/* SPDX-License-Identifier: MIT */
#ifndef FS_FENCE_H
#define FS_FENCE_H

#include <stdint.h>

#include "engine_client.h"

/*
 * What keeps nodes that do not go on together any more from storing over each other's data: each
 * engine stores by a lease (lease.h), is killed where that is within reach, and is waited for where
 * it is not (store_fence.h).
 */

/* This node's engine may store until then: an event of peers.h. data: the session. */
void fs_fence_on_lease(void *data, int64_t until);

/*
 * Before this node stores alone: waits until no other node's engine is in a store, for peer_timeout
 * at most. A node that is lost, but not dead, may be.
 */
void fs_fence_await(struct fs_session *session);

#endif
