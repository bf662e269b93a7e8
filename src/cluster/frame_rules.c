/* SPDX-License-Identifier: MIT */
#include "frame_rules.h"

/* Sets of states. */
enum {
    JOINING = 1 << MPIIO_PEERS_JOINING,
    TOGETHER = 1 << MPIIO_PEERS_TOGETHER,
    DEGRADING = 1 << MPIIO_PEERS_DEGRADING,
    FINAL = 1 << MPIIO_PEERS_ALONE | 1 << MPIIO_PEERS_ENDED | 1 << MPIIO_PEERS_STOPPED,
};

/* The states in which a frame is due at its receiver, and in which it comes too late. */
struct rule {
    unsigned int due, late;
};

/* Once all have joined a node may say anything at any time, as it may not know better yet. */
static const struct rule from_below[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_BEAT] = {JOINING | TOGETHER | DEGRADING | FINAL, 0},
    /* What it takes back once all are known to be there is a death. */
    [MPIIO_JOINED] = {JOINING, TOGETHER | DEGRADING | FINAL},
    [MPIIO_ASK] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_DONE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_CHANGE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_VOTE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_SETTLED] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_UNMOUNT_ALL] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_UNMOUNTED] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_GOODBYE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_LOST] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_PROGRESS] = {TOGETHER, DEGRADING | FINAL},
    /* Of a node that has closed itself off: its connection will end. */
    [MPIIO_FENCED] = {DEGRADING, TOGETHER | FINAL},
};

/* A node is degraded as soon as it knows of a death; what was said before that comes too late. */
static const struct rule from_above[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_BEAT] = {JOINING | TOGETHER | DEGRADING | FINAL, 0},
    [MPIIO_READY] = {JOINING, 0},
    [MPIIO_EPOCH] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_FINISHED] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_PREPARE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_SETTLE] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_RESULT] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_UNMOUNT] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_END] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_DEGRADED] = {TOGETHER, DEGRADING | FINAL},
    [MPIIO_GO] = {DEGRADING, FINAL},
};

enum mpiio_frame_rule mpiio_frame_rule(enum mpiio_peer_frame_type type, bool up,
                                       enum mpiio_peers_state state)
{
    const struct rule *rule = &(up ? from_below : from_above)[type];
    unsigned int now = 1U << state;

    if (rule->due & now)
        return MPIIO_FRAME_DUE;
    return rule->late & now ? MPIIO_FRAME_LATE : MPIIO_FRAME_WRONG;
}
