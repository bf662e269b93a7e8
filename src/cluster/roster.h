/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ROSTER_H
#define MPIIO_ROSTER_H

#include <pthread.h>
#include <sys/queue.h>

#include "connection.h"
#include "peers.h"
#include "stall.h"

/* The peers of a node: the connection with each, the state of each, and what the node waits for.
   The functions that change it, and the loop, call these. */

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
    struct mpiio_connection link; /* fd -1: closed, or the node itself */
    int node;
    char host[MPIIO_HOST_MAX + 1]; /* lock: lock */
    bool connected;                /* has joined, and its connection is open; lock: lock */
    bool unmounted;                /* the node is; lock: lock */
    struct mpiio_peer *next;       /* in the list of the dead */

    uint64_t beaten;   /* the number of its last beat, to be echoed; 0: none has come */
    int64_t beaten_at; /* when that came, mpiio_lease_clock */
    int64_t promised;  /* its promise: no node on its side goes on alone before; likewise */
    int64_t given;     /* the promise to it: none on this node's side does before; likewise */
    bool beat_awaited; /* it has not answered the last beat */

    /* The node and all nodes below it. */
    bool complete;        /* all have joined */
    bool all_unmounted;   /* all are */
    unsigned int awaited; /* a set of mpiio_awaited */
    uint64_t stall_epoch; /* what follows is about this epoch; 0: nothing has come yet */
    uint64_t stall_count; /* changes when an engine has come further */
    bool stall_waits;     /* all wait that are not through with it */
    struct mpiio_stall stall;
    bool wants_change; /* one asked for a change that was not begun yet */
    bool change_value;
    uint64_t change_call;
    int64_t change_expires;
    bool wants_unmount; /* one asked for all to be unmounted */
    uint64_t unmount_call;
    uint64_t unmount_ask; /* the call by which this node has passed that on */
};

/* Answers that are collected from this node and those below it. */
struct mpiio_round {
    uint64_t number;
    int missing; /* 0: nothing is under way */
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

/* The rounds of this node and those below it. For the thread. */
struct mpiio_rounds {
    int missing; /* of the node's peers, those that are not complete */
    bool ending; /* all nodes know that all are unmounted */
    struct mpiio_round epoch, change, unmount, fenced;

    bool epoch_sync;
    bool asked, asked_sync;   /* since the last epoch began; elsewhere than at node 0 */
    bool wanted, wanted_sync; /* of the next epoch; what follows is at node 0 */
    int64_t moved;            /* when the epoch came further last */

    bool settling;   /* all know the outcome of change, but not all have answered */
    bool voted;      /* what they answered is passed on */
    int change_peer; /* for whom a change is under way here, or was last: its index */
    bool changing;   /* it is */
    uint64_t change_call;
    int64_t change_expires;

    bool force;             /* of unmount */
    uint64_t unmount_asked; /* the last call that was passed on */
    bool asked_unmount;     /* and not answered yet */
    bool asked_force;
    char *unsaved; /* owned; grows to MPIIO_PEER_TEXT_MAX at most */
    size_t unsaved_size;

    bool bereft;                 /* a node below is lost, and the one above knows it */
    bool fenced_said;            /* all that live are fenced, and that is passed on */
    int64_t go_after, go_before; /* when all may go on alone at the earliest and latest */
};

/* The state of this node's own part. Used by the thread only. */
struct mpiio_member {
    bool degraded;   /* on_degraded was called */
    uint64_t epoch;  /* the epoch that this node has not finished, or 0 */
    uint64_t change; /* that was prepared and is not settled, or 0 */
    bool change_value;
};

/* A call that waits for its result. lock: lock. */
struct mpiio_call {
    bool busy, done;
    uint64_t number;
    int status;
    char *text;
};

struct mpiio_peers {
    int node, nodes, fanout;
    int64_t timeout, interval,
        settle; /* ms: of silence, between heartbeats, for others to notice */
    char host[MPIIO_HOST_MAX + 1];
    struct mpiio_net *net; /* borrowed */
    struct mpiio_peers_events events;
    void *data;

    struct mpiio_peer **peer; /* this node, and those below it by number; NULL: has not joined */
    int peers;
    struct mpiio_peer *above; /* NULL: nobody, at node 0, and before this node has joined */
    int poll, wake;           /* descriptors */
    pthread_t thread;
    bool started; /* the thread is */

    /* For the thread. */
    struct mpiio_rounds rounds;
    struct mpiio_member member;
    struct mpiio_queue sending;     /* what was in the outbox */
    struct mpiio_queue inbox;       /* what this node tells itself */
    bool inbox_failed;              /* something is missing in it */
    struct mpiio_peer *dead;        /* to be freed once no event can name them */
    enum mpiio_peers_state leaving; /* JOINING: not; else the final state */
    bool broken;                    /* some link may have an error */
    int64_t absence;                /* ms that this process was away for, to be logged */
    int64_t looked, attentive; /* when last, and since when, this process looked at its links */
    int64_t beat;              /* when heartbeats are due at the latest */
    bool beat_heard;           /* one has come from above, and is to go on to those below */
    bool beat_answer;          /* and is to be answered when they have answered */
    int64_t beaten;            /* when those below were sent the last, mpiio_lease_clock */
    int beats_awaited;         /* so many of them have not answered it */
    bool beat_open;            /* what is due when all have is not done yet */
    bool hurried;              /* at node 0: the first beat was followed by the second at once */

    pthread_mutex_t lock; /* never held during a callback or a system call that may block */
    pthread_cond_t changed;
    struct mpiio_queue outbox;             /* what this node has to say; lock: lock */
    STAILQ_HEAD(, mpiio_arrival) arrivals; /* in their order; lock: lock */
    struct mpiio_peers_status status;      /* lock: lock; written by the thread */
    bool asked, asked_sync;                /* since the last epoch began; lock: lock */
    bool gone;                             /* this node is unmounted; lock: lock */
    struct mpiio_call call;                /* lock: lock */
    bool stop, ended;                      /* lock: lock */
};

/* A node without a thread or a connection. 0 or a negative errno, then NULL. */
int mpiio_roster_create(const struct mpiio_peers_options *options, struct mpiio_peers **peers);

/* Closes and frees everything. No thread may use it. */
void mpiio_roster_free(struct mpiio_peers *peers);

/* Before the thread is started: ms of silence after which a peer is dead, and what follows of it.
 */
void mpiio_roster_set_timeout(struct mpiio_peers *peers, int64_t timeout);

/* From any thread. */

/* Writes a line to the log. */
void mpiio_roster_log(struct mpiio_peers *peers, enum mpiio_log_level level, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* The same, about a node that was not let join. */
void mpiio_roster_log_refusal(struct mpiio_peers *peers, int error);

/*
 * Says something for this node itself, which goes up from here: -ENOTCONN unless the state is
 * TOGETHER, or DEGRADING and it is FENCED.
 */
int mpiio_roster_tell(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* The same with lock held; mpiio_roster_wake has the thread look at what there is to do. */
int mpiio_roster_tell_locked(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_roster_wake(struct mpiio_peers *peers);

/* Only the thread calls the following functions, unless stated otherwise. */

void mpiio_roster_set_state(struct mpiio_peers *peers, enum mpiio_peers_state state);

/* All have joined. */
void mpiio_roster_set_together(struct mpiio_peers *peers);

/* Sets the state to DEGRADING, and who is dead and why, the first time. */
void mpiio_roster_set_degraded(struct mpiio_peers *peers, int node, const char *host,
                               const char *why);

/* Begins to look at a descriptor; its events come with owner. 0 or a negative errno. */
int mpiio_roster_watch(struct mpiio_peers *peers, int fd, void *owner);

/*
 * A peer has joined, or is the node itself, or the one above: it may be seen by other threads from
 * now on.
 */
void mpiio_roster_adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, int node,
                        const char *host);

/* Closes a peer's connection. */
void mpiio_roster_close(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Closes, and frees as soon as no event can name it. */
void mpiio_roster_bury(struct mpiio_peers *peers, struct mpiio_peer *peer);

/*
 * A node and those that are below it, as the one above sees them: as one. What comes from above
 * goes on to all of them; what they answer is collected, and goes up when it is complete. The
 * thread's.
 */

/* It is this node itself, or its connection is open. NULL is allowed: false. */
bool mpiio_branch_lives(const struct mpiio_peers *peers, const struct mpiio_peer *peer);

/* To a node below, or to this one itself. */
void mpiio_branch_say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame);

/* To all that live. */
void mpiio_branch_broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* To the node above. Of no effect where there is none. */
void mpiio_branch_pass_on(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/*
 * Begins to wait for an answer of each. One whose connection has ended will not give it, and what
 * is waited for is never complete: all but MPIIO_AWAIT_FENCED, for which those that live count.
 */
void mpiio_branch_expect(struct mpiio_peers *peers, struct mpiio_round *round,
                         enum mpiio_awaited what);

/* Takes an answer, if it was awaited: true. status: 0, or a negative errno of node. */
bool mpiio_branch_answer(struct mpiio_round *round, struct mpiio_peer *peer,
                         enum mpiio_awaited what, int status, uint32_t node);

/* Handling of frames that arrive. Called by the thread only. */

/* Handles a frame from a node below, or from this node itself. Returns 0 or -EPROTO. */
int mpiio_hearing_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                        const struct mpiio_peer_frame *frame);

/*
 * Handles all frames in queue, from the node above. lost: no frame will follow. A frame that begins
 * new work is skipped if a later one in the queue ends that work. Returns 0 or -EPROTO.
 */
int mpiio_hearing_above(struct mpiio_peers *peers, struct mpiio_queue *queue, bool lost);

/* Joining: each node reports once all nodes below it have joined. Called by the thread only. */

/* If no node is missing here, reports that to the node above, or at node 0 begins the work of
   all. */
void mpiio_joining_look(struct mpiio_peers *peers);

/* JOINED, from a node below. */
void mpiio_joining_on_joined(struct mpiio_peers *peers, struct mpiio_peer *peer, bool complete);

/* Handles the loss of a connection to a node below before all nodes have joined. The node may come
   back. */
void mpiio_joining_left(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why);

/* READY, from above: 0, or -EPROTO where this node has not said that all below it are there. */
int mpiio_joining_ready(struct mpiio_peers *peers);

/* How others join this node, and this one the node above. The thread's, unless it is said. */

/* Answers those that ask to join, and takes those that may. */
void mpiio_greet(struct mpiio_peers *peers);

/* Closes the connections of those that still ask to join. Call when peers->ended is set. */
void mpiio_greet_end(struct mpiio_peers *peers);

/* Joins the node above within timeout ms. Blocks; before the thread is started. */
int mpiio_greet_join(struct mpiio_peers *peers, int64_t timeout);

/* The reactions of each node, also of node 0, to frames. Called by the thread only. */

/*
 * Handles all frames in the node's inbox: those from above, and those that it sends itself. A frame
 * that begins new work is skipped if a later one in the inbox ends that work. Returns 0 or -EPROTO.
 */
int mpiio_member_receive(struct mpiio_peers *peers);

/*
 * Fences this node, the first time. Its engine goes first, before anything else is done or said: it
 * must not write over what daemons store once they are alone.
 */
void mpiio_member_degrade(struct mpiio_peers *peers, int node, const char *host, const char *why);

/* True if a frame in queue says that this node must be fenced. */
bool mpiio_member_is_fenced_by(const struct mpiio_queue *queue);

/* A frame that begins new work. */
bool mpiio_member_begins_work(enum mpiio_peer_frame_type type);

/*
 * The lease by which this node's engine stores. The thread's.
 *
 * What counts is not when a peer's words are read, which may have waited while this process was
 * stopped, but what they answer: a peer that echoes a heartbeat had heard it, and takes its sender
 * for dead only when it has heard nothing for peer_timeout from then on. As all act when one does,
 * a peer promises more than that: for how long after the heartbeat came nobody on its side of the
 * connection, which is all that it is connected with but the one it tells, takes anybody for dead.
 * So a lease runs out before anybody at all does. Clocks are not compared: a promise is a time from
 * when something was sent, by the clock of who sent it, and from when it came, by that of who got
 * it; and that is later. A promise is kept when a connection ends, too (await_fencing).
 */

/* Sends a heartbeat to each node below, or to the one above. */
void mpiio_renewal_beat_below(struct mpiio_peers *peers);
void mpiio_renewal_beat_above(struct mpiio_peers *peers);

/* A peer's heartbeat has come. 0, or -EPROTO: it echoes what was never sent. */
int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame);

/* Renews this node's lease for as long as its peers promise, or revokes it. */
void mpiio_renewal_update(struct mpiio_peers *peers);
void mpiio_renewal_revoke(struct mpiio_peers *peers);

/* Turns of the loop: turn.c. Called by the thread only. */

/* All that must be connected before the first turn is. */
void mpiio_turn_begin(struct mpiio_peers *peers);

/* When the process has looked at its connections, and before what has come is heard. */
void mpiio_turn_look(struct mpiio_peers *peers);

/* Takes what is complete in peer->link.in. */
void mpiio_turn_hear(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Does what is due. False: this node leaves, and mpiio_turn_end is due. */
bool mpiio_turn(struct mpiio_peers *peers);

/* When the next turn is due at the latest, mpiio_clock. */
int64_t mpiio_turn_next(const struct mpiio_peers *peers);

/* Closes all connections, and tells the daemon that it is alone, or that it is the end. */
void mpiio_turn_end(struct mpiio_peers *peers);

/* Epochs: epochs.c. Called by the thread only. */

/* From below, or of this node: ASK, DONE and PROGRESS. */
void mpiio_epochs_on_ask(struct mpiio_peers *peers, bool sync);
void mpiio_epochs_on_done(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame);
int mpiio_epochs_on_progress(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame); /* 0 or -EPROTO */

/* From above: EPOCH and FINISHED. */
void mpiio_epochs_begin(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_epochs_finish(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* With each heartbeat: notes how far this node's engine has come; tells the node above of all. */
void mpiio_epochs_beat(struct mpiio_peers *peers);

/* At node 0: returns true if all engines in an epoch have waited for peer_timeout without progress.
   Sets *node and host (MPIIO_HOST_MAX + 1 bytes) to a node that does not hear another one, and why,
   of size bytes, to a line about it. */
bool mpiio_epochs_stalled(struct mpiio_peers *peers, int64_t now, int *node, char *host, char *why,
                          size_t size);

/* Changes: changes.c. Called by the thread only. */

/* From below, or of this node: CHANGE, VOTE and SETTLED. */
void mpiio_changes_on_change(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame);
void mpiio_changes_on_vote(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number,
                           int status);
void mpiio_changes_on_settled(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number);

/* From above: PREPARE, SETTLE, and the RESULT of a change. */
void mpiio_changes_prepare(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_changes_settle(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_changes_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* At node 0: gives a change up that is not agreed to in time; when that is, at most before. */
void mpiio_changes_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_changes_next(const struct mpiio_peers *peers, int64_t before);

/* Degrading: degrading.c. Called by the thread only. */

/* Begins to degrade: at node 0, or after its message that a node has failed. */
void mpiio_degrading_begin(struct mpiio_peers *peers, int node, const char *host, const char *why);

/* From below, or of this node: LOST and FENCED. */
void mpiio_degrading_on_lost(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_degrading_on_fenced(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* From above: GO. */
void mpiio_degrading_go(struct mpiio_peers *peers);

/* A connection has failed, or is silent: to a node below, or to the one above. */
void mpiio_degrading_lost_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                const char *why);
void mpiio_degrading_lost_above(struct mpiio_peers *peers, const char *why);

/* Does what time has come for; when that is, at most before. */
void mpiio_degrading_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_degrading_next(const struct mpiio_peers *peers, int64_t before);

/* Unmounting: unmounting.c. Called by the thread only. */

/* From below, or of this node: UNMOUNT_ALL, UNMOUNTED and GOODBYE. */
void mpiio_unmounting_on_all(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame);
void mpiio_unmounting_on_unmounted(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                   const struct mpiio_peer_frame *frame);
void mpiio_unmounting_on_goodbye(struct mpiio_peers *peers, struct mpiio_peer *peer, bool all);

/* From above: UNMOUNT, the RESULT of asking for it, and END. */
void mpiio_unmounting_begin(struct mpiio_peers *peers, bool force);
void mpiio_unmounting_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_unmounting_end(struct mpiio_peers *peers);

/* The thread that serves the connections of a node (peers.h). */

/* The thread's work: for pthread_create. */
void *mpiio_peers_run(void *peers);

#endif
