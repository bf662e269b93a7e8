/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UNMOUNTING_H
#define MPIIO_UNMOUNTING_H

#include "roster.h"

/* Unmounting: all who are mounted, together or one by one; then it is the end. The thread's. */

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

#endif
