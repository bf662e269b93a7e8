/* SPDX-License-Identifier: MIT */
#ifndef SCALE_WRITERS_H
#define SCALE_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

/* The writes of programs on all nodes, as caches hold them: in slots, which are frozen for an
   epoch, stored by engines, and resolved, or stored by the node alone. */

/* Dirty blocks that a node has at most. */
#define WRITERS_BLOCKS 4

/* Servers that the file lies on at most: a node is home of blocks on one of them, or of none. */
#define WRITERS_SERVERS 1024

/* The file has so many blocks; which of them are written is left to chance. */
void writers_create(int blocks);
void writers_free(void);

/*
 * Something is written on the node, all that is dirty is frozen, and its engine begins to store it
 * at that time; when it is through with it, daemons_through is called.
 */
void writers_flush(int node, uint64_t epoch, bool sync, double time);

/* The engine has told what became of it. */
void writers_resolve(int node);

/* The node acts alone: it stores all, writes something new and stores that, too. */
void writers_go_alone(int node);

/* Checks at the end that everything that was reported to the node as stored is there. */
void writers_check(int node);

#endif
