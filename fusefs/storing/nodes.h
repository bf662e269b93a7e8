/* SPDX-License-Identifier: MIT */
#ifndef FS_NODES_H
#define FS_NODES_H

#include "engine_client.h"

/* This daemon as one of several nodes: meeting the others, what they say, and leaving them. */

/*
 * Tells the engine what is to be stored where, and joins the other nodes; the file is open and its
 * write-back made. Returns an exit status, after a line on stderr where that is not 0 and it was
 * not the engine who does not go on.
 */
int fs_nodes_meet(struct fs_session *session, const struct mpiio_peers_events *events);

/* This node is mounted: waits until all are. An exit status: 1: some node is not to be. */
int fs_nodes_await_start(struct fs_session *session);

/* True from when a node, or an engine, is known to be dead. Thread-safe. */
bool fs_nodes_is_degraded(struct fs_cluster *cluster);

/* True where all nodes are unmounted, or there is one alone, which is. Thread-safe. */
bool fs_nodes_all_unmounted(struct fs_cluster *cluster);

/*
 * This node is unmounted and holds no data but what waits for its turn in "ordered": stays a member
 * until all nodes are unmounted, or one dies. The flusher goes on running epochs meanwhile.
 */
void fs_nodes_leave(struct fs_session *session);

/* Behind that: lets the engine end. */
void fs_nodes_quit(struct fs_session *session);

/* What the other daemons have to say (peers.h), for the events of fs_nodes_meet; data: the session.
 */
void fs_nodes_on_progress(void *data, struct mpiio_progress *progress);
void fs_nodes_on_lease(void *data, int64_t until); /* this node's engine may store until then */
void fs_nodes_on_log(void *data, enum mpiio_log_level level, const char *line);
void fs_nodes_on_epoch(void *data, uint64_t epoch, bool sync);
void fs_nodes_on_finished(void *data, uint64_t epoch, bool sync, int error);
void fs_nodes_on_degraded(void *data, int node, const char *host, const char *why);
void fs_nodes_on_alone(void *data);
void fs_nodes_on_end(void *data);

#endif
