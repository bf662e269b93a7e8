/* SPDX-License-Identifier: MIT */
#ifndef FS_NODES_H
#define FS_NODES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cluster/engine_channel.h"
#include "cluster/peers.h"
#include "core/base/progress.h"
#include "core/cache/homes.h"
#include "core/cache/slots.h"
#include "net/net.h"

struct fs_session;

/*
 * This daemon as one of several nodes: its work with its engine, which stores together with the
 * other engines (engine_channel.h), and with the other daemons (peers.h). A mount that no engine
 * has started is node 0 of 1, and the rest is unused.
 */
struct fs_cluster {
    int node, nodes;
    struct mpiio_net *net;         /* connections between the nodes; owned; NULL: no engine */
    struct mpiio_homes homes;      /* the nodes that store blocks; set by fs_nodes_meet */
    struct mpiio_channel *channel; /* channel to the engine; NULL: no engine */
    int engine;                    /* pidfd of the engine's process; -1: none */
    pid_t engine_pid;              /* PID of the engine */
    struct mpiio_peers *peers;     /* NULL: not opened yet */
    struct mpiio_slots none; /* memory shared with the engine if this node has no write-back */
    const struct mpiio_progress_page *progress; /* the engine's progress, in shared memory */
    /* blocks and their results, in the memory; used by the flusher's thread */
    struct mpiio_flush_block *blocks;
    int32_t *errors;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool lost;       /* the engine has exited or is being killed; lock: lock */
    bool started;    /* all nodes are ready; lock: lock */
    bool degraded;   /* lock: lock */
    bool ended;      /* all nodes are unmounted; lock: lock */
    bool alone;      /* no other node is waited for; lock: lock */
    uint64_t epochs; /* number of epochs in which this node took part; lock: lock */
    struct mpiio_epoch_counters counters; /* totals of these epochs; lock: lock */
    char *hints; /* hints that MPI-IO uses, as JSON members; set before the mount serves */
};

/* engine_client.c: the engine. */

/*
 * Starts the communication with the engine that has started this daemon. Without one, makes this
 * daemon node 0 of 1. Returns 0, or 1 after a line on stderr. The caller calls fs_cluster_free in
 * either case.
 */
int fs_cluster_init(struct fs_session *session);
void fs_cluster_free(struct fs_cluster *cluster);

/* Returns true if an engine has started this daemon. */
static inline bool fs_cluster_is_on(const struct fs_cluster *cluster)
{
    return cluster->channel != NULL;
}

/* The result of an epoch for this node's data. */
struct fs_stored {
    int blocks; /* the first error, negative; the data is kept and retried */
    bool left;  /* some blocks that may wait were left dirty */
};

/*
 * Takes part in an epoch: hands the dirty blocks to the engine, which stores them together with the
 * other engines. Set may_wait if no caller on this node waits for the epoch; then blocks may be
 * left that are not complete and were not tried before. Returns 0 or the negative errno of the
 * epoch as a whole. Called by the flusher's thread.
 */
int fs_cluster_store(struct fs_session *session, uint64_t epoch, bool sync, bool may_wait,
                     struct fs_stored *stored);

/*
 * Returns a descriptor to poll for the engine's end of stream, or -1 after its end. Called by the
 * flusher's thread.
 */
int fs_cluster_engine(struct fs_cluster *cluster);

/*
 * Handles the end of the engine: reports it to the other nodes unless it was expected. Called by
 * the flusher's thread.
 */
void fs_cluster_engine_lost(struct fs_session *session, const char *why);

/*
 * Waits for a message of that type. Returns an exit status: 0, or 1 after a line on stderr. If the
 * engine quits, prints nothing.
 */
int fs_engine_await(struct fs_session *session, enum mpiio_message_type type,
                    struct mpiio_message *message);

/* Reports an error of the communication with the engine on stderr. Returns the exit status 1. */
int fs_engine_cannot_talk(struct fs_session *session, int error);

/*
 * Implements the peers' event progress. A stopped engine does not count as waiting for others. data
 * is the session.
 */
void fs_nodes_on_progress(void *data, struct mpiio_progress *progress);

/* nodes.c: joining the other nodes, handling their events, and leaving. */

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

/* Writes text as a JSON string. Each byte is treated as a Latin-1 character. */
void fs_json_string(FILE *out, const char *text);

/* Implement the peers' events (peers.h), for fs_nodes_meet. data is the session. */
void fs_nodes_on_lease(void *data, int64_t until); /* until: when this engine's lease expires */
void fs_nodes_on_degraded(void *data, int node, const char *host, const char *why);
void fs_nodes_on_alone(void *data);
void fs_nodes_on_end(void *data);

#endif
