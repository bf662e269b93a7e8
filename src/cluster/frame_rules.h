/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FRAME_RULES_H
#define MPIIO_FRAME_RULES_H

#include "peer_frame.h"
#include "peers.h"

/* Who may say what when, once a node has joined: upwards, and downwards. */

enum mpiio_frame_rule {
    MPIIO_FRAME_WRONG, /* it may never come now: the other side is not what it should be */
    MPIIO_FRAME_LATE,  /* it was said before its sender knew better: of no effect */
    MPIIO_FRAME_DUE,
};

/*
 * What a frame of that type is to the node that receives it in that state: from below (or from
 * itself), or from above. Local, thread-safe.
 */
enum mpiio_frame_rule mpiio_frame_rule(enum mpiio_peer_frame_type type, bool from_below,
                                       enum mpiio_peers_state state);

#endif
