/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STALL_H
#define MPIIO_STALL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/progress.h"

/*
 * An epoch that does not come further: who does not reach whom, found from what all nodes say of
 * their engines. Exchanges have the same order everywhere. So whoever waits for a node that has
 * come to the same exchange, or a later one, waits for what was sent, and does not arrive; whoever
 * waits for one that has not come that far, waits for what that one waits for.
 */

/* What a node says. */
struct mpiio_stall_node {
    const char *host;
    bool over; /* through with its part of the epoch; else progress is valid */
    struct mpiio_progress progress;
};

/* The text for people has fewer bytes than this. */
#define MPIIO_STALL_TEXT 256

/*
 * Writes who does not reach whom, as many as text has room for, in one line. node(data, i), i from
 * 0 to nodes - 1, is what each says, or NULL for one that is not asked. Returns the first node that
 * does not hear another; where none is found, the first that waits, and who waits for whom is told;
 * -1: nobody waits. Local.
 */
int mpiio_stall_describe(const struct mpiio_stall_node *(*node)(void *data, int i), void *data,
                         int nodes, char *text, size_t size);

#endif
