/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ROSTER_H
#define MPIIO_ROSTER_H

#include <pthread.h>
#include <sys/queue.h>

#include "core/base/clock.h"
#include "peer_frame.h"
#include "stall.h"
#include "viewspec/base/integer.h"

/* The state of a node: its peers and their connections, and the answers that it waits for. All
   sources that change it, and the loop, share these functions. */

/* The answers that a node waits for, from each node below it and from itself. An answer stands for
   a node and all nodes below it. */
enum mpiio_awaited {
    MPIIO_AWAIT_EPOCH = 1,
    MPIIO_AWAIT_CHANGE = 2,
    MPIIO_AWAIT_UNMOUNT = 4,
    MPIIO_AWAIT_FENCED = 8,
};

/* The node itself, the one above it, or one below it. */
struct mpiio_peer {
    struct mpiio_peer_connection link; /* fd -1: closed, or the node itself */
    int node;
    char host[MPIIO_HOST_MAX + 1]; /* guarded by lock */
    bool connected;                /* has joined, and its connection is open; guarded by lock */
    bool unmounted;                /* the node is unmounted; guarded by lock */

    uint64_t beaten;   /* the number of its last beat, to be echoed; 0: none has arrived */
    int64_t beaten_at; /* when that beat arrived, mpiio_lease_clock */
    /* its promise: no node on its side goes on alone before; mpiio_lease_clock */
    int64_t promised;
    int64_t given;     /* the promise to it: no node on this side goes on alone before; likewise */
    bool beat_awaited; /* it has not answered the last beat */

    /* The node and all nodes below it. */
    bool complete;        /* all have joined */
    bool all_unmounted;   /* all are unmounted */
    unsigned int awaited; /* a set of mpiio_awaited */
    uint64_t stall_epoch; /* the epoch of the following fields; 0: nothing has arrived yet */
    uint64_t stall_count; /* changes when an engine makes progress */
    bool stall_waits;     /* all that have not finished the epoch wait */
    struct mpiio_stall stall;
    bool wants_change; /* a node there asks for a change that has not begun yet */
    bool change_value;
    uint64_t change_call;
    int64_t change_expires;
    bool wants_unmount; /* a node there asks for all to be unmounted */
    uint64_t unmount_call;
    uint64_t unmount_ask; /* the call by which this node passed that request up */
};

/* Answers that are collected from this node and those below it. */
struct mpiio_round {
    uint64_t number;
    int missing; /* 0: none is under way */
    int status;  /* of the failed node with the lowest number, or 0 */
    uint32_t failed_node;
};

/* A connection by which another node asks to join this one. */
struct mpiio_arrival {
    int fd; /* owned */
    struct mpiio_handshake handshake;
    struct mpiio_join join;
    STAILQ_ENTRY(mpiio_arrival) others;
};

/* The rounds of this node and those below it. Used by the thread only. */
struct mpiio_rounds {
    int missing; /* number of the node's peers that are not complete */
    bool ending; /* all nodes know that all are unmounted */
    struct mpiio_round epoch, change, unmount, fenced;

    bool epoch_sync;
    bool asked, asked_sync;   /* requested since the last epoch began; not at node 0 */
    bool wanted, wanted_sync; /* at node 0: the next epoch is requested */
    int64_t moved;            /* when the epoch last made progress */

    bool settling;   /* all know the outcome of the change, but not all have confirmed it */
    bool voted;      /* the merged vote was sent up */
    int change_peer; /* index of the peer whose change is under way, or was last */
    bool changing;   /* a change of change_peer is under way */
    uint64_t change_call;
    int64_t change_expires;

    bool force;             /* of the current unmounting */
    uint64_t unmount_asked; /* the last call that was passed up */
    bool asked_unmount;     /* that call is not answered yet */
    bool asked_force;
    char *unsaved; /* owned; grows to MPIIO_PEER_TEXT_MAX at most */
    size_t unsaved_size;

    bool bereft;                 /* a node below is lost, and the node above was informed */
    bool fenced_said;            /* all live nodes here are fenced, and this was sent up */
    int64_t go_after, go_before; /* the earliest and the latest time for all to go on alone */
};

/* The state of this node's own part. Used by the thread only. */
struct mpiio_member {
    uint64_t epoch;  /* the epoch that this node has not finished, or 0 */
    uint64_t change; /* the change that is prepared but not settled, or 0 */
    bool change_value;
};

/* A call that waits for its result. Guarded by lock. */
struct mpiio_call {
    bool busy, done;
    uint64_t number;
    int status;
    char *text;
};

struct mpiio_peers {
    int node, nodes, fanout;
    int64_t timeout, interval,
        settle; /* ms: peer_timeout; between heartbeats; for other nodes to notice a failure */
    char host[MPIIO_HOST_MAX + 1];
    struct mpiio_net *net; /* borrowed */
    struct mpiio_peers_events events;
    void *data;

    struct mpiio_peer **peer; /* this node, and those below it by number; NULL: not joined yet */
    int peers;
    struct mpiio_peer *above; /* NULL: none, at node 0 and before this node has joined */
    int poll, wake;           /* descriptors */
    pthread_t thread;
    bool started; /* the thread was started */

    /* Used by the thread only. */
    struct mpiio_rounds rounds;
    struct mpiio_member member;
    struct mpiio_queue sending;     /* frames taken from the outbox */
    enum mpiio_peers_state leaving; /* JOINING: this node stays; else the final state */
    bool broken;                    /* some connection may have failed */
    int64_t absence;                /* ms for which this process did not run, to be logged */
    /* when this process last checked its connections, and since when without a pause */
    int64_t looked, attentive;
    int64_t beat;     /* when the next heartbeats are due at the latest */
    bool beat_heard;  /* a heartbeat has come from above, and must go on to those below */
    bool beat_answer; /* and it must be answered once those below have answered */
    /* when those below were sent the last heartbeat, mpiio_lease_clock */
    int64_t beaten;
    int beats_awaited; /* how many of them have not answered it */
    bool beat_open;    /* the work that is due when all have answered is not done yet */
    bool hurried;      /* at node 0: the second heartbeat followed the first one at once */

    pthread_mutex_t lock; /* never held during a callback or a system call that may block */
    pthread_cond_t changed;
    struct mpiio_queue outbox;             /* frames of this node for the thread; guarded by lock */
    STAILQ_HEAD(, mpiio_arrival) arrivals; /* in order of arrival; guarded by lock */
    struct mpiio_peers_status status;      /* guarded by lock; written by the thread */
    /* requested since the last epoch began; guarded by lock */
    bool asked, asked_sync;
    bool gone;              /* this node is unmounted; guarded by lock */
    struct mpiio_call call; /* guarded by lock */
    bool stop, ended;       /* guarded by lock */
};

/* Creates the state of a node without a thread or a connection. Returns 0, or a negative errno
   and sets *peers to NULL. */
int mpiio_roster_create(const struct mpiio_peers_options *options, struct mpiio_peers **peers);

/* Closes and frees everything. No thread may use it. */
void mpiio_roster_free(struct mpiio_peers *peers);

/* Sets the ms of silence after which a peer is declared failed, and the intervals that depend on
   it. Call it before the thread is started. */
void mpiio_roster_set_timeout(struct mpiio_peers *peers, int64_t timeout);

/* The following functions may be called from any thread. */

/* Writes a line to the log. */
void mpiio_roster_log(struct mpiio_peers *peers, enum mpiio_log_level level, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Logs that a connection was refused. */
void mpiio_roster_log_refusal(struct mpiio_peers *peers, int error);

/*
 * Queues a frame of this node itself, to be handled here and passed up. Returns -ENOTCONN unless
 * the state is TOGETHER, or DEGRADING and the frame is FENCED.
 */
int mpiio_roster_tell(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* The same with lock held. mpiio_roster_wake wakes the thread to handle its queues. */
int mpiio_roster_tell_locked(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_roster_wake(struct mpiio_peers *peers);

/* Only the thread calls the following functions, unless stated otherwise. */

void mpiio_roster_set_state(struct mpiio_peers *peers, enum mpiio_peers_state state);

/* Adds a descriptor to the poll set. Its events carry owner. Returns 0 or a negative errno. */
int mpiio_roster_watch(struct mpiio_peers *peers, int fd, void *owner);

/*
 * Adds a peer that has joined, the node above, or this node itself. From now on other threads may
 * see the peer.
 */
void mpiio_roster_adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, int node,
                        const char *host);

/* Returns the node above for index 0 or, for an index from 1 to peers - 1, that node below. Returns
   NULL if its connection is not open. */
static inline struct mpiio_peer *mpiio_roster_linked(const struct mpiio_peers *peers, int index)
{
    struct mpiio_peer *peer = index == 0 ? peers->above : peers->peer[index];

    return peer != NULL && peer->link.fd >= 0 ? peer : NULL;
}

/* Closes a peer's connection. */
void mpiio_roster_close(struct mpiio_peers *peers, struct mpiio_peer *peer);

/*
 * A branch: a node and all nodes below it, which the node above sees as one. Frames from above go
 * to all of them. Their answers are collected, and go up once they are complete.
 */

/* Sends a frame to a node below, or to this node itself. Does nothing if the node is lost. */
void mpiio_branch_say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame);

/* Sends a frame to this node and all live nodes below. Call it only once all nodes below have
   joined: peer[] may have no empty place. */
void mpiio_branch_broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* Sends a frame to the node above. Does nothing if there is none. */
void mpiio_branch_pass_on(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/*
 * Begins to wait for an answer of each peer. A peer whose connection has ended will not answer, so
 * the round never completes. Only MPIIO_AWAIT_FENCED waits for live peers alone.
 */
void mpiio_branch_expect(struct mpiio_peers *peers, struct mpiio_round *round,
                         enum mpiio_awaited what);

/* Records an answer. Returns false if it was not awaited. status: 0, or a negative errno of
   node. */
bool mpiio_branch_answer(struct mpiio_round *round, struct mpiio_peer *peer,
                         enum mpiio_awaited what, int status, uint32_t node);

/* Handlers of frames that are due: from a node below or from this node itself, and from above. The
   declarations of handlers name the types of their frames. */
typedef void mpiio_from_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                              const struct mpiio_peer_frame *frame);
typedef void mpiio_from_above(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* Joining: each node reports once all nodes below it have joined. */

/* If no node is missing here, reports that to the node above, or at node 0 begins the work of
   all. */
void mpiio_joining_look(struct mpiio_peers *peers);

mpiio_from_below mpiio_joining_on_joined; /* JOINED */

/* Handles the loss of a connection to a node below before all nodes have joined. The node may come
   back. */
void mpiio_joining_left(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why);

/* Handles READY, from above. Returns 0, or -EPROTO if a node directly below has not joined. */
int mpiio_joining_ready(struct mpiio_peers *peers);

/* How other nodes join this one, and how this one joins the node above. */

/* Answers all arrivals, and adds the nodes that may join. Frees peers that these replace, so call
   it after all events of an epoll_wait were handled. */
void mpiio_greet(struct mpiio_peers *peers);

/* Closes the remaining arrivals. Call when peers->ended is set. */
void mpiio_greet_end(struct mpiio_peers *peers);

/* Joins the node above within timeout ms. Blocks. Call it before the thread is started. */
int mpiio_greet_join(struct mpiio_peers *peers, int64_t timeout);

/* Handles a frame from above in this node's role of following node 0, which node 0 has, too. Calls
   the event at once, in the middle of the caller's work. So events send frames only through the
   outbox. */
void mpiio_member_receive(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/*
 * The lease under which this node's engine stores.
 *
 * The time at which a heartbeat is read does not count, because this process may have been stopped
 * before. What counts is the heartbeat that it echoes. The peer has received that one, and declares
 * its sender failed only if it hears nothing for peer_timeout from then on. All nodes act when one
 * declares a failure. So a peer promises more: for a given time after the echoed heartbeat arrived,
 * no node on its side of the connection declares any node failed. That side is everything it is
 * connected with, except the receiver of the promise. So a lease ends before any node declares a
 * failure.
 *
 * Clocks of two nodes are never compared. The promise is a duration. The peer counts it from the
 * arrival of the echoed heartbeat, and this node from the time at which it sent that heartbeat,
 * which is earlier. A promise also holds after the connection has ended (await_fencing).
 */

/* Sends a heartbeat to each node below, or to the one above. */
void mpiio_renewal_beat_below(struct mpiio_peers *peers);
void mpiio_renewal_beat_above(struct mpiio_peers *peers);

/* Handles a peer's heartbeat. Returns 0, or -EPROTO if it echoes a heartbeat that was never
   sent. */
int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame);

/* Renews this node's lease for as long as its peers promise. */
void mpiio_renewal_update(struct mpiio_peers *peers);

/* Turns of the loop: turn.c. */

/* Call once all required connections exist, before the first turn. */
void mpiio_turn_begin(struct mpiio_peers *peers);

/* Call after the process has waited for its connections, and before it handles frames. */
void mpiio_turn_look(struct mpiio_peers *peers);

/* Handles the complete frames in peer->link.in. */
void mpiio_turn_hear(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Does all due work. Returns false if this node leaves; then call mpiio_turn_end. */
bool mpiio_turn(struct mpiio_peers *peers);

/* Returns the latest time for the next turn, mpiio_clock. */
int64_t mpiio_turn_next(const struct mpiio_peers *peers);

/* Closes all connections, and reports to the daemon that it is alone or that all are unmounted. */
void mpiio_turn_end(struct mpiio_peers *peers);

/* Epochs: epochs.c. */

mpiio_from_below mpiio_epochs_on_ask, mpiio_epochs_on_done; /* ASK, DONE */
mpiio_from_above mpiio_epochs_begin;                        /* EPOCH */

/* Handles PROGRESS, from a node below. Returns 0 or -EPROTO. */
int mpiio_epochs_on_progress(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame);

/* With each heartbeat: records the progress of this node's engine, and sends the progress of the
   branch to the node above. */
void mpiio_epochs_beat(struct mpiio_peers *peers);

/* At node 0: degrades if all engines in an epoch have waited for peer_timeout without progress. */
void mpiio_epochs_tick(struct mpiio_peers *peers, int64_t now);

/* Changes: changes.c. */

/* CHANGE, VOTE, SETTLED */
mpiio_from_below mpiio_changes_on_change, mpiio_changes_on_vote, mpiio_changes_on_settled;
/* PREPARE and SETTLE; the RESULT of a change */
mpiio_from_above mpiio_changes_pass, mpiio_changes_result;

/* tick: at node 0, aborts a change that was not agreed on in time. next: returns when that is
   due, or before if that is earlier. */
void mpiio_changes_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_changes_next(const struct mpiio_peers *peers, int64_t before);

/* Degrading: degrading.c. */

/* Begins to degrade, after DEGRADED from above, or at the head of a tree that has detected the
   failure that the frame describes (node, host, text). */
mpiio_from_above mpiio_degrading_begin;

mpiio_from_below mpiio_degrading_on_lost, mpiio_degrading_on_fenced; /* LOST, FENCED */
mpiio_from_above mpiio_degrading_go;                                 /* GO */

/* Handle a connection that has failed or is silent: to a node below, or to the one above. */
void mpiio_degrading_lost_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                const char *why);
void mpiio_degrading_lost_above(struct mpiio_peers *peers, const char *why);

/* tick: does the work that is due. next: returns when work is due, or before if that is earlier. */
void mpiio_degrading_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_degrading_next(const struct mpiio_peers *peers, int64_t before);

/* Unmounting: unmounting.c. */

/* UNMOUNT_ALL, UNMOUNTED, GOODBYE */
mpiio_from_below mpiio_unmounting_on_all, mpiio_unmounting_on_unmounted,
    mpiio_unmounting_on_goodbye;
/* UNMOUNT, the RESULT of UNMOUNT_ALL, END */
mpiio_from_above mpiio_unmounting_begin, mpiio_unmounting_result, mpiio_unmounting_end;

#endif
