/* SPDX-License-Identifier: MIT */
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

/* Nodes that share a record of pointers. Each opens the record itself, so that the locks of nodes
   exclude each other within one process. */

#include "folder_fixture.h"
#include "pointers/record.h"

#define NODES 3
#define VIEWS 2
#define LIMIT 60000 /* ms; a node keeps its lock even if the machine stalls */

static struct node {
    struct mpiio_record record;
    struct mpiio_state state;
} nodes[NODES];

/* Initializes a node of the mount whose identity is the byte mount. */
static inline void begin_node(struct node *node, int number, uint8_t mount)
{
    memset(node, 0, sizeof(*node));
    node->record = (struct mpiio_record){
        .folder = folder_fd,
        .name = ".f.mpiio-pointers",
        .identity = {mount},
        .node = number,
        .nodes = NODES,
        .coherence = MPIIO_COHERENCE_LOCAL,
        .shared = {.st_mode = S_IFREG | 0640, .st_uid = geteuid(), .st_gid = getegid()},
        .timeout = LIMIT};
    mpiio_record_init(&node->record);
    assert_int_equal(mpiio_state_init(&node->state, VIEWS, NULL, number, NODES, 4), 0);
}

static inline void end_node(struct node *node)
{
    mpiio_record_close(&node->record);
    mpiio_state_free(&node->state);
}

static inline int begin_all(void **state)
{
    for (int i = 0; i < NODES; i++)
        begin_node(&nodes[i], i, 1);
    return 0;
}

static inline int end_all(void **state)
{
    for (int i = 0; i < NODES; i++)
        end_node(&nodes[i]);
    unlinkat(folder_fd, ".f.mpiio-pointers", 0);
    return 0;
}

#endif
