/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_EPOCHS_H
#define MPIIO_EPOCHS_H

#include "roster.h"

/*
 * Epochs: one at a time; what is asked for meanwhile is the next. Node 0 begins and ends them. The
 * thread's.
 */

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

/*
 * At node 0: true if nobody in an epoch has come further for peer_timeout, as all wait. Then node,
 * and host (MPIIO_HOST_MAX + 1 bytes), do not hear another, and why says so, cut to size bytes.
 */
bool mpiio_epochs_stalled(struct mpiio_peers *peers, int64_t now, int *node, char *host, char *why,
                          size_t size);

#endif
