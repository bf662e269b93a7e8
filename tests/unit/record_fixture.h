/* SPDX-License-Identifier: MIT */
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

/* Nodes that share a record of pointers. Each opens the record itself, so that the locks of nodes
   exclude each other within one process. */

#include <fcntl.h>

#include "unit.h"
#include "pointers/record.h"

#define NODES 3
#define VIEWS 2
#define LIMIT 400 /* ms */

static const int64_t start[VIEWS];
static char folder[] = "/tmp/record.XXXXXX";
static int folder_fd;

struct node {
    struct mpiio_record record;
    struct mpiio_state state;
};

static inline int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlinkat(folder_fd, ".f.mpiio-pointers", 0);
    close(folder_fd);
    return rmdir(folder);
}

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
    assert_int_equal(mpiio_state_init(&node->state, VIEWS, start, NULL, number, NODES, 4), 0);
}

static inline void end_node(struct node *node)
{
    mpiio_record_close(&node->record);
    mpiio_state_free(&node->state);
}

static inline void begin_all(struct node nodes[NODES])
{
    unlinkat(folder_fd, ".f.mpiio-pointers", 0);
    for (int i = 0; i < NODES; i++)
        begin_node(&nodes[i], i, 1);
}

static inline void end_all(struct node nodes[NODES])
{
    for (int i = 0; i < NODES; i++)
        end_node(&nodes[i]);
}

#endif
