/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PEER_FRAME_H
#define MPIIO_PEER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "peers.h"

/*
 * Frames: the messages between two daemons after the handshake (net/handshake.h). A frame is its
 * length (32 bits, all of it), its type (8 bits) and the fields of that type, integers with the
 * highest byte first. What does not decode to exactly these fields, each in its range, is no frame.
 */
#define MPIIO_PEER_FRAME_MAX  65536 /* bytes of a frame */
#define MPIIO_PEER_FRAME_HEAD 5
#define MPIIO_PEER_TEXT_MAX   (MPIIO_PEER_FRAME_MAX - 1024)

enum mpiio_peer_frame_type {
    /*
     * Both ways; number: when, for the sender; echo; time: for so long after what is echoed came,
     * nobody on the sender's side of the connection takes anybody for dead.
     */
    MPIIO_BEAT = 1,

    /*
     * Up, to the node that decides: of the sender and all that are below it, where it is not said
     * otherwise. node: the first that has failed, where status is not 0.
     */
    MPIIO_JOINED,      /* flag: all are there; else one has left */
    MPIIO_ASK,         /* flag: with sync */
    MPIIO_DONE,        /* number: the epoch; status, node */
    MPIIO_CHANGE,      /* number: of the call; flag: the value; time: to decide within */
    MPIIO_VOTE,        /* number: of the change; status: where not 0, of the first to refuse */
    MPIIO_SETTLED,     /* number: of the change */
    MPIIO_UNMOUNT_ALL, /* number: of the call; flag: force */
    MPIIO_UNMOUNTED,   /* status, node; flag: all are; text: what is unsaved, a line a node */
    MPIIO_GOODBYE,     /* the sender is unmounted, and stays; flag: all are */
    MPIIO_LOST,        /* node, host: it is dead, or its engine is; text: why */
    MPIIO_PROGRESS,    /* number: the epoch; flag: all wait; count; text: stall.h */
    MPIIO_FENCED,      /* the engines are gone */

    /* Down, from the node that decides to all. */
    MPIIO_READY,    /* all nodes have joined */
    MPIIO_EPOCH,    /* number, flag: with sync */
    MPIIO_FINISHED, /* number, flag: with sync, status */
    MPIIO_PREPARE,  /* number: of the change; flag: the value */
    MPIIO_SETTLE,   /* number: of the change; flag: it counts */
    MPIIO_RESULT,   /* to those who called; number: of the call; flag: to unmount; status, text */
    MPIIO_UNMOUNT,  /* flag: force */
    MPIIO_END,      /* all are unmounted */
    MPIIO_DEGRADED, /* node: the dead one; host, text: why */
    MPIIO_GO,       /* each goes on alone */
    MPIIO_PEER_FRAME_TYPES
};

/* A frame, decoded. Fields that its type does not have are zero. */
struct mpiio_peer_frame {
    enum mpiio_peer_frame_type type;
    uint64_t number;
    uint64_t echo; /* the number of the last beat that came from the other side; 0: none */
    uint32_t node;
    uint32_t time;  /* ms, at most INT32_MAX */
    int32_t status; /* 0 or a negative errno, -4095 at least */
    bool flag;
    uint64_t count;                /* changes when an engine has come further */
    char host[MPIIO_HOST_MAX + 1]; /* not empty, one clean line (viewspec/base/line.h) */
    const char *text;              /* borrowed, not terminated */
    uint32_t text_size;            /* at most MPIIO_PEER_TEXT_MAX */
};

/* Writes frame to bytes, MPIIO_PEER_FRAME_MAX of them. Returns how many it takes. Local. */
size_t mpiio_peer_frame_encode(const struct mpiio_peer_frame *frame, uint8_t *bytes);

/*
 * Decodes the frame that size bytes begin with. Returns its length, 0 where it is not complete, or
 * -EPROTO. frame->text points into bytes. Local.
 */
ssize_t mpiio_peer_frame_decode(const uint8_t *bytes, size_t size, struct mpiio_peer_frame *frame);

/* The effect of a frame that arrives, upwards or downwards, after a node has joined. */

enum mpiio_frame_rule {
    MPIIO_FRAME_WRONG, /* it may never come now: the other side is not what it should be */
    MPIIO_FRAME_LATE,  /* it was said before its sender knew better: of no effect */
    MPIIO_FRAME_DUE,
};

/* Returns the effect of a frame of that type on the node that receives it in that state: from below
   (or from itself), or from above. Local, thread-safe. */
enum mpiio_frame_rule mpiio_frame_rule(enum mpiio_peer_frame_type type, bool from_below,
                                       enum mpiio_peers_state state);

#endif
