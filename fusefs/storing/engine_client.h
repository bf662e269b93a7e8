/* SPDX-License-Identifier: MIT */
#ifndef FS_ENGINE_CLIENT_H
#define FS_ENGINE_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/engine_channel.h"
#include "cluster/peers.h"
#include "core/base/progress.h"
#include "core/cache/homes.h"
#include "core/cache/slots.h"
#include "net/net.h"

struct fs_session;

/*
 * This daemon as one of several nodes: what it has to do with its engine, which stores together
 * with the other engines (engine_channel.h), and with the other daemons (peers.h). A mount of one
 * node that no engine has started has none of it: it is node 0 of 1.
 */
struct fs_cluster {
    int node, nodes;
    struct mpiio_net *net;         /* connections between the nodes; owned; NULL: no engine */
    struct mpiio_homes homes;      /* the nodes that store blocks; set by fs_nodes_meet */
    struct mpiio_channel *channel; /* to the engine; NULL: there is none */
    int engine;                    /* its process, a pidfd; -1: none */
    pid_t engine_pid;              /* its number */
    struct mpiio_peers *peers;     /* NULL: not met yet */
    struct mpiio_slots none;       /* what is shared with the engine where nothing is dirty ever */
    const struct mpiio_progress_page *progress; /* in what is shared; the engine's */
    struct mpiio_flush_block *blocks; /* what is handed in, and what became of it; the flusher's */
    int32_t *errors;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool lost;                            /* the engine is gone, or is being killed; lock: lock */
    bool started;                         /* all nodes are ready; lock: lock */
    bool degraded;                        /* lock: lock */
    bool ended;                           /* all nodes are unmounted; lock: lock */
    bool alone;                           /* nobody is waited for any more; lock: lock */
    uint64_t epochs;                      /* in which this node took part; lock: lock */
    struct mpiio_epoch_counters counters; /* of those; lock: lock */
    char *hints; /* that MPI-IO uses, as members of a JSON object; set before the mount serves */
};

/* Without an engine: makes it node 0 of 1. Else talks to the engine over fd; -1: none. 0, or 1
   after a line on stderr. fs_cluster_free is due in either case. */
int fs_cluster_init(struct fs_session *session, int fd);
void fs_cluster_free(struct fs_cluster *cluster);

/* True where an engine has started this daemon. */
static inline bool fs_cluster_is_on(const struct fs_cluster *cluster)
{
    return cluster->channel != NULL;
}

/* What became of this node's data in an epoch. */
struct fs_stored {
    int blocks; /* the first error, negative; it is kept, to be tried again */
    bool left;  /* some was left dirty, as it may wait */
};

/*
 * This node's part of an epoch: hands what is dirty to the engine, which stores it with the others.
 * With may_wait, nobody here waits for it: blocks that are not whole yet and were not tried before
 * may be left. Returns 0 or the negative errno of the epoch as a whole. The flusher's.
 */
int fs_cluster_store(struct fs_session *session, uint64_t epoch, bool sync, bool may_wait,
                     struct fs_stored *stored);

/* The engine's end of stream can be waited for on this descriptor; -1: not any more. The flusher's.
 */
int fs_cluster_engine(struct fs_cluster *cluster);

/* The engine has ended; tells the other nodes, unless it was to. The flusher's. */
void fs_cluster_engine_lost(struct fs_session *session, const char *why);

/* What this node did in epochs so far; returns in how many. Thread-safe. */
uint64_t fs_cluster_counters(struct fs_cluster *cluster, struct mpiio_epoch_counters *counters);

/* Waits for the message that is due. An exit status; without a word where the engine quits. */
int fs_engine_await(struct fs_session *session, enum mpiio_message_type type,
                    struct mpiio_message *message);

/* Complains that the engine cannot be talked to. The exit status 1. */
int fs_engine_cannot_talk(struct fs_session *session, int error);

/*
 * A daemon's watch over its engine: a process that may be stopped, be killed, or wait for others
 * that it does not reach.
 */

/* Kills the engine. When this returns, the engine no longer writes to the file. */
void fs_watch_kill(const struct fs_cluster *cluster);

/*
 * Waits until the engine has something to say. -ETIMEDOUT: it was stopped for timeout ms, which
 * makes a silent node a dead one; its daemon is alive and well, so nobody else would notice.
 */
int fs_watch_await(const struct fs_cluster *cluster, int timeout);

/* How far it has come. One that is stopped does not wait for others. */
void fs_watch_progress(const struct fs_cluster *cluster, struct mpiio_progress *progress);

#endif
