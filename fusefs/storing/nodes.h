/* SPDX-License-Identifier: MIT */
#ifndef FS_NODES_H
#define FS_NODES_H

#include "engine_client.h"

/* This daemon as one of several nodes: joining the others, handling their events, and leaving. */

/*
 * Describes the file and its storage to the engine, and joins the other nodes. The file must be
 * open, and its write-back created. Returns an exit status: 0, or 1 after a line on stderr. If the
 * engine quits, prints nothing.
 */
int fs_nodes_meet(struct fs_session *session, const struct mpiio_peers_events *events);

/*
 * Reports that this node is mounted, and waits until all nodes are. Returns an exit status: 0, or 1
 * if the mount does not start.
 */
int fs_nodes_await_start(struct fs_session *session);

/* Returns true once the failure of a node or an engine is known. Thread-safe. */
bool fs_nodes_is_degraded(struct fs_cluster *cluster);

/* Returns true if all nodes are unmounted, or if this is a single node. Thread-safe. */
bool fs_nodes_all_unmounted(struct fs_cluster *cluster);

/*
 * Stays a member of the tree until all nodes are unmounted or one has failed. Call it when this
 * node is unmounted and holds no data except contributions that wait for their turn in "ordered".
 * The flusher continues to run epochs meanwhile.
 */
void fs_nodes_leave(struct fs_session *session);

/* Lets the engine exit, after fs_nodes_leave. */
void fs_nodes_quit(struct fs_session *session);

/* Implement the peers' events (peers.h), for fs_nodes_meet. data is the session. */
void fs_nodes_on_progress(void *data, struct mpiio_progress *progress);
void fs_nodes_on_lease(void *data, int64_t until); /* until: when this engine's lease expires */
void fs_nodes_on_log(void *data, enum mpiio_log_level level, const char *line);
void fs_nodes_on_epoch(void *data, uint64_t epoch, bool sync);
void fs_nodes_on_finished(void *data, uint64_t epoch, bool sync, int error);
void fs_nodes_on_degraded(void *data, int node, const char *host, const char *why);
void fs_nodes_on_alone(void *data);
void fs_nodes_on_end(void *data);

#endif
