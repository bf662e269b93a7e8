/* SPDX-License-Identifier: MIT */
#ifndef SCALE_WRITERS_H
#define SCALE_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

/* The writes of programs on all nodes, as caches hold them: slots that are frozen for an epoch,
   stored by engines, and resolved, or stored by the node alone. */

/* The most dirty blocks that a node has. */
#define WRITERS_BLOCKS 4

/* The most servers of the file. A node is home of blocks on one server, or of none. */
#define WRITERS_SERVERS 1024

/* Creates the file of blocks blocks. Which ones are written is random. */
void writers_create(int blocks);
void writers_free(void);

/*
 * Writes something on the node, freezes all its dirty bytes, and has its engine store them from
 * this time on. daemons_through is called at the end.
 */
void writers_flush(int node, uint64_t epoch, bool sync, double time);

/* The engine has reported the results of its flush. */
void writers_resolve(int node);

/* The node acts alone: it stores all dirty bytes, writes more, and stores that, too. */
void writers_go_alone(int node);

/* Checks at the end that everything that was reported to the node as stored is there. */
void writers_check(int node);

#endif
