/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_PRIVATE_H
#define MPIIO_POOL_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/source.h"
#include "memory.h"
#include "viewspec/map.h"

/* The parts of a pool other than its memory: plans of reads, messages, reading ahead, answers. */

/* plan.c: a plan, the positions of a request as parts of pool blocks. Each block has its own home.
 */

/* count runs of length bytes, at offset + i * stride in their block. */
struct mpiio_pool_part {
    uint32_t offset, length, count;
    int32_t stride;
};

/* A block range: the bytes of one block that a request needs, packed in the order of its parts. */
struct mpiio_pool_range {
    int64_t block;
    char *memory; /* destination; borrowed */
    uint32_t bytes;
    uint32_t first, count; /* indices into the plan's parts */
};

/* The limits of one round of a request. */
#define MPIIO_POOL_RANGES 64
#define MPIIO_POOL_PARTS  4096

struct mpiio_pool_plan {
    int64_t block; /* bytes of a block of the pool */
    int ranges;
    uint32_t parts;
    /* number of 64 KiB pieces of the file that the parts touch; may be overestimated */
    int64_t touched;
    struct mpiio_pool_range range[MPIIO_POOL_RANGES];
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
};

/*
 * Plans a transfer from its first byte, in blocks of plan->block bytes. Covers at most
 * MPIIO_POOL_BLOCK bytes, and fewer if the plan is full. Returns the number of bytes: at least one
 * if the transfer has any. Local, thread-safe.
 */
size_t mpiio_pool_plan_make(struct mpiio_pool_plan *plan, const struct mpiio_transfer *transfer);

/* Returns true if the request needs so much of the blocks that reading them whole costs little
   more. */
bool mpiio_pool_plan_is_dense(const struct mpiio_pool_plan *plan);

/* Returns the number of bytes from the block's beginning to the end of its last part, or -1 if a
   part is empty, not within a block, or repeats bytes to more than a block. */
int64_t mpiio_pool_reach(const struct mpiio_pool_part *part, uint32_t count);

/* Returns the packed size of the parts in bytes. */
uint64_t mpiio_pool_bytes(const struct mpiio_pool_part *part, uint32_t count);

/*
 * Messages between the nodes of a pool. The requesting node has made the connection
 * (net/connections.h):
 *
 *   requester    home
 *   request ->              parts of a block; or blocks to read ahead, which gets no answer
 *           <-   answer     whether the bytes are available; if so, they follow
 *
 * Integers are big-endian. Sizes are fixed. Only a request has a variable size, in its first 4
 * bytes.
 */
#define MPIIO_POOL_ANSWER_BYTES 5

/* The size of a request: a fixed head, and 16 bytes per part, or 8 per block to read ahead. */
#define MPIIO_POOL_REQUEST_HEAD 65
#define MPIIO_POOL_REQUEST_MAX  (MPIIO_POOL_REQUEST_HEAD + 16 * MPIIO_POOL_PARTS)

/* The maximum number of blocks in a request to read ahead. */
#define MPIIO_POOL_AHEAD_MAX 16

union mpiio_pool_list {
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
    int64_t block[MPIIO_POOL_AHEAD_MAX];
};

struct mpiio_pool_request {
    bool ahead;
    struct mpiio_pool_version version; /* of the file, as the requester sees it */
    int64_t block;
    uint32_t count;               /* of parts or blocks */
    struct mpiio_pool_part *part; /* borrowed, as blocks */
    int64_t *blocks;
};

struct mpiio_pool_answer {
    bool there;
    uint32_t bytes; /* size of the data that follows; 0 if not there */
};

/* Encode to bytes, which must have room for the longest message of that kind. Return its size. */
size_t mpiio_pool_answer_encode(const struct mpiio_pool_answer *answer, uint8_t *bytes);
size_t mpiio_pool_request_encode(const struct mpiio_pool_request *request, uint8_t *bytes);

/* Returns the size of a request without its first four bytes, or 0 if it is invalid. */
size_t mpiio_pool_request_size(const uint8_t bytes[4]);

/*
 * Decode an answer, or a request of size bytes without its first four. The list of a request is
 * stored in list. Its parts lie within one block and have at most MPIIO_POOL_BLOCK bytes. Return
 * false if the message is invalid.
 */
bool mpiio_pool_answer_decode(const uint8_t *bytes, struct mpiio_pool_answer *answer);
bool mpiio_pool_request_decode(const uint8_t *bytes, size_t size,
                               struct mpiio_pool_request *request, union mpiio_pool_list *list);

/* plan.c: packs the parts that are requested of a block whose home is this node into bytes. Returns
   false if the block is not available, or ends before them. */
bool mpiio_pool_fetch(struct mpiio_pool_memory *memory, const struct mpiio_pool_request *request,
                      char *bytes);

/* ahead.c: streams of requests, and reading ahead. */

/* The number of recently read streams that a node remembers. */
#define MPIIO_POOL_STREAMS 64

struct mpiio_pool_stream {
    const struct vs_map *map; /* identifies the map; not dereferenced */
    int64_t next;             /* the position after the last byte read */
    int64_t requested;        /* the position up to which read-ahead was requested */
};

struct mpiio_pool_streams {
    pthread_mutex_t lock;
    struct mpiio_pool_stream stream[MPIIO_POOL_STREAMS]; /* guarded by lock */
    unsigned turn;                                       /* guarded by lock */
};

/*
 * Records a request. Returns true if it begins at position 0, or near the end of an earlier request
 * of the same map. Near suffices, because a kernel that reads ahead sends several requests at once.
 * Thread-safe.
 */
bool mpiio_pool_streams_pass(struct mpiio_pool_streams *streams, const struct vs_map *map,
                             int64_t position, int64_t length);

/*
 * Predicts the blocks, of size bytes, that a stream needs after that request. Stores those that
 * were not returned before in blocks, in slice order, at most count. Returns their number.
 * Thread-safe.
 */
size_t mpiio_pool_streams_ahead(struct mpiio_pool_streams *streams, int64_t size,
                                const struct vs_map *map, int64_t position, int64_t length,
                                int64_t *blocks, size_t count);

/* The number of threads that read ahead, and the maximum number of blocks that wait to be read. */
#define MPIIO_POOL_AHEAD_THREADS 2
#define MPIIO_POOL_AHEAD_QUEUE   32

/* Read-ahead of a home: blocks in the order in which they were wanted. Blocks that are in memory,
   or are being read, are not read again. Memory that was not used for five minutes is freed. */
struct mpiio_pool_ahead {
    struct mpiio_pool_memory *memory; /* borrowed */
    int threads;
    pthread_t thread[MPIIO_POOL_AHEAD_THREADS];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;                             /* guarded by lock, as the following members */
    int64_t queue[MPIIO_POOL_AHEAD_QUEUE]; /* numbers of blocks, a ring */
    unsigned first, count, most;

    _Atomic uint64_t blocks; /* number of blocks read */
};

void mpiio_pool_ahead_init(struct mpiio_pool_ahead *ahead, struct mpiio_pool_memory *memory);
int mpiio_pool_ahead_start(struct mpiio_pool_ahead *ahead);

/* Stops the threads and frees. */
void mpiio_pool_ahead_destroy(struct mpiio_pool_ahead *ahead);

/* Queues count blocks. Blocks that do not fit in the queue are not read ahead. Thread-safe. */
void mpiio_pool_ahead_want(struct mpiio_pool_ahead *ahead, const int64_t *blocks, size_t count);

/* frame.c: the server side of a home, which answers requests of other nodes. */
struct mpiio_pool_answers {
    struct mpiio_pool_ahead *ahead; /* borrowed */
    int timeout;                    /* ms */
    _Atomic uint64_t sent_bytes;
};

/* The buffers of an answering thread, its desk. */
struct mpiio_pool_desk {
    uint8_t request[MPIIO_POOL_REQUEST_MAX];
    union mpiio_pool_list list;
    char answer[MPIIO_POOL_ANSWER_BYTES + (size_t)MPIIO_POOL_BLOCK];
};

/* The serve callback of a listener (net/net.h). data is the struct mpiio_pool_answers. */
bool mpiio_pool_answers_serve(void *data, void *desk, int fd);

#endif
