/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ROSTER_H
#define MPIIO_ROSTER_H

#include <pthread.h>

#include "connection.h"
#include "peers.h"

/*
 * Who the nodes are, what is known of each, and what is being waited for: below the coordinator,
 * the members and the greeting, which change it, and the loop, which calls these.
 */
#include "stall.h"

/* A member that the coordinator waits for an answer of, by what the answer is to. */
enum mpiio_awaited {
    MPIIO_AWAIT_EPOCH = 1,
    MPIIO_AWAIT_CHANGE = 2,
    MPIIO_AWAIT_UNMOUNT = 4,
    MPIIO_AWAIT_FENCED = 8,
};

/* At node 0: a node, itself included, or a connection that has not joined yet. Else: node 0. */
struct mpiio_peer {
    struct mpiio_connection link;     /* fd -1: closed, or node 0 itself */
    int node;                         /* -1: not joined */
    char host[MPIIO_HOST_MAX + 1];    /* lock: lock */
    bool connected;                   /* has joined, and its connection is open; lock: lock */
    bool unmounted;                   /* lock: lock */
    uint8_t nonce[MPIIO_NONCE_BYTES]; /* what a connection was asked */
    int64_t expires;                  /* when one that has not joined is dropped */
    struct mpiio_peer *next;          /* in the list of those */

    struct mpiio_stall_node stall; /* what it has said of its engine last */
    uint64_t stall_epoch;          /* in this epoch; 0: nothing yet */
    uint64_t beaten;               /* the number of its last beat, to be echoed; 0: none has come */
    int64_t acknowledged;          /* the number of this node's last beat that it has echoed */

    unsigned int awaited; /* a set of mpiio_awaited */
    bool wants_change;    /* it asked for a change that was not begun yet */
    bool change_value;
    uint64_t change_call;
    int64_t change_expires;
    bool wants_unmount; /* it asked for all to be unmounted */
    uint64_t unmount_call;
};

/* Answers that are collected from all nodes. */
struct mpiio_round {
    uint64_t number;
    int missing;     /* 0: nothing is under way */
    int status;      /* of the failed node with the lowest number, or 0 */
    int failed_node; /* its number */
};

/* What only node 0 does. For the thread. */
struct mpiio_coordinator {
    int fd; /* listening, or -1 */
    int pending_count;
    struct mpiio_peer *pending; /* connections that have not joined */
    int missing;                /* nodes that have not joined */
    bool waiting;               /* some connections are not accepted yet, for want of room */

    bool epoch_sync;
    int64_t moved;            /* when the epoch came further last */
    bool wanted, wanted_sync; /* of the next epoch */
    bool settling;            /* all know the outcome of change, but not all have answered */
    bool force;               /* of unmount */
    bool ending;              /* all were told that it is the end */
    int change_node;          /* who asked for the change */
    struct mpiio_round epoch, change, unmount, fenced;
    uint64_t change_call;
    int64_t change_expires;
    int64_t go_after, go_before; /* when all may go on alone at the earliest and latest */
    char *unsaved;               /* owned; grows to MPIIO_PEER_TEXT_MAX at most */
    size_t unsaved_size;
};

/* What each node does with what the coordinator says. For the thread. */
struct mpiio_member {
    bool degraded;   /* on_degraded was called */
    uint64_t epoch;  /* that this node is not through with, as far as it was told; or 0 */
    uint64_t change; /* that was prepared and is not settled, or 0 */
    bool change_value;
    int64_t go_before; /* when it goes on alone without being told to; 0: not yet */
};

/* A call that waits for its result. lock: lock. */
struct mpiio_call {
    bool busy, done;
    uint64_t number;
    int status;
    char *text;
};

struct mpiio_peers {
    int node, nodes;
    int64_t timeout, interval,
        settle; /* ms: of silence, between heartbeats, for others to notice */
    char host[MPIIO_HOST_MAX + 1];
    uint8_t token[MPIIO_TOKEN_BYTES];
    struct mpiio_peers_events events;
    void *data;

    struct mpiio_peer **peer; /* by node; node 0: nodes of them, NULL: has not joined; else one */
    int peers;
    int poll, wake; /* descriptors */
    pthread_t thread;

    /* For the thread. */
    struct mpiio_coordinator coordinator;
    struct mpiio_member member;
    struct mpiio_queue sending;     /* what was in the outbox */
    struct mpiio_queue inbox;       /* what node 0 tells itself */
    bool inbox_failed;              /* something is missing in it */
    struct mpiio_peer *dead;        /* to be freed once no event can name them */
    enum mpiio_peers_state leaving; /* JOINING: not; else the final state */
    bool broken;                    /* some link may have an error */
    int64_t absence;                /* ms that this process was away for, to be logged */
    int64_t looked, attentive; /* when last, and since when, this process looked at its links */
    int64_t beat;              /* when the next heartbeat is due */
    int64_t renewed;           /* when the lease was, as told by mpiio_lease_clock */

    pthread_mutex_t lock; /* never held during a callback or a system call that may block */
    pthread_cond_t changed;
    struct mpiio_queue outbox;        /* frames for the coordinator; lock: lock */
    struct mpiio_peers_status status; /* lock: lock; written by the thread */
    bool asked, asked_sync;           /* since the last epoch began; lock: lock */
    bool gone;                        /* this node is unmounted; lock: lock */
    struct mpiio_call call;           /* lock: lock */
    bool stop, ended;                 /* lock: lock */
};

/* From any thread. */

/* Writes a line to the log. */
void mpiio_roster_log(struct mpiio_peers *peers, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Sends a frame to the coordinator: -ENOTCONN unless the state is TOGETHER, or DEGRADING and it is
 * FENCED.
 */
int mpiio_roster_tell(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* The same with lock held; mpiio_roster_wake has the thread look at what there is to do. */
int mpiio_roster_tell_locked(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_roster_wake(struct mpiio_peers *peers);

/* What follows is the thread's, unless it is said. */

void mpiio_roster_set_state(struct mpiio_peers *peers, enum mpiio_peers_state state);

/* All have joined. */
void mpiio_roster_set_together(struct mpiio_peers *peers);

/* Sets the state to DEGRADING, and who is dead and why, the first time. */
void mpiio_roster_set_degraded(struct mpiio_peers *peers, int node, const char *host,
                               const char *why);

/* Begins to look at a descriptor; its events come with owner. 0 or a negative errno. */
int mpiio_roster_watch(struct mpiio_peers *peers, int fd, void *owner);

/* A peer has joined: it may be seen by other threads from now on. */
void mpiio_roster_adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, int node,
                        const char *host);

/* Closes a peer's connection. */
void mpiio_roster_close(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Closes, and frees as soon as no event can name it. */
void mpiio_roster_bury(struct mpiio_peers *peers, struct mpiio_peer *peer);

#endif
