/* SPDX-License-Identifier: MIT */
#ifndef FS_FORCED_H
#define FS_FORCED_H

struct fs_session;

/*
 * fs_sync_all for who does not wait for ever: as long as something is stored, here or by this
 * node's engine. Where nothing is for peer_timeout and three seconds, the nodes do not go on
 * together, so that this one stores by itself what it holds; where that does not go on either for
 * twice peer_timeout and three seconds, -ETIMEDOUT: what was begun goes on, but nobody waits for
 * it. Not for the thread of the flusher or of the peers.
 */
int fs_forced_sync(struct fs_session *session);

/* In ms: how long it takes at most where nothing goes on. */
int fs_forced_limit(const struct fs_session *session);

#endif
