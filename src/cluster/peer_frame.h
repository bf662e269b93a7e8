/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PEER_FRAME_H
#define MPIIO_PEER_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "peers.h"

/*
 * Frames: the messages between two daemons after the handshake (net/handshake.h). A frame consists
 * of its length (32 bits; it includes the length itself), its type (8 bits) and the fields of that
 * type. Integers are big-endian. Bytes that do not decode to exactly these fields, each in its
 * range, are not a frame.
 */
#define MPIIO_PEER_FRAME_MAX  65536 /* bytes of a frame */
#define MPIIO_PEER_FRAME_HEAD 5
#define MPIIO_PEER_TEXT_MAX   (MPIIO_PEER_FRAME_MAX - 1024)

enum mpiio_peer_frame_type {
    /*
     * In both directions. number: the sender's clock; echo: the number of the last beat received;
     * time: a promise. No node on the sender's side of the connection declares any node failed for
     * that time after the echoed beat arrived.
     */
    MPIIO_BEAT = 1,

    /*
     * Upwards, to the node that decides. A frame speaks for the sender and all nodes below it,
     * unless stated otherwise. node: the lowest one that has failed, if status is not 0.
     */
    MPIIO_JOINED,      /* flag: all have joined; else one has left */
    MPIIO_ASK,         /* flag: with sync */
    MPIIO_DONE,        /* number: the epoch; status, node */
    MPIIO_CHANGE,      /* number: of the call; flag: the value; time: to decide within */
    MPIIO_VOTE,        /* number: of the change; status: 0, or the errno of the first to refuse */
    MPIIO_SETTLED,     /* number: of the change */
    MPIIO_UNMOUNT_ALL, /* number: of the call; flag: force */
    MPIIO_UNMOUNTED,   /* status, node; flag: all are; text: unsaved data, one line per node */
    MPIIO_GOODBYE,     /* the sender is unmounted, and stays a member; flag: all are */
    MPIIO_LOST,        /* node, host: it or its engine has failed; text: why */
    MPIIO_PROGRESS,    /* number: the epoch; flag: all wait; count; text: stall.h */
    MPIIO_FENCED,      /* all engines have exited */

    /* Downwards, from the node that decides to all. */
    MPIIO_READY,    /* all nodes have joined */
    MPIIO_EPOCH,    /* number, flag: with sync */
    MPIIO_FINISHED, /* number, flag: with sync, status */
    MPIIO_PREPARE,  /* number: of the change; flag: the value */
    MPIIO_SETTLE,   /* number: of the change; flag: commit */
    MPIIO_RESULT,   /* to the callers; number: of the call; flag: of unmounting; status, text */
    MPIIO_UNMOUNT,  /* flag: force */
    MPIIO_END,      /* all are unmounted */
    MPIIO_DEGRADED, /* node: the failed one; host, text: why */
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
    uint64_t count;                /* changes when an engine makes progress */
    char host[MPIIO_HOST_MAX + 1]; /* not empty, one clean line (viewspec/base/line.h) */
    const char *text;              /* borrowed, not terminated */
    uint32_t text_size;            /* at most MPIIO_PEER_TEXT_MAX */
};

/* Borrows a line for a frame. Cuts it if it is too long. */
static inline void mpiio_peer_frame_set_text(struct mpiio_peer_frame *frame, const char *text)
{
    size_t length = strlen(text);

    frame->text = text;
    frame->text_size = length < 1023 ? (uint32_t)length : 1023;
}

/* Encodes a frame to bytes, MPIIO_PEER_FRAME_MAX of them. Returns its length. Local. */
size_t mpiio_peer_frame_encode(const struct mpiio_peer_frame *frame, uint8_t *bytes);

/*
 * Decodes the first frame of bytes. Returns its length, 0 if it is incomplete, or -EPROTO.
 * frame->text points into bytes. Local.
 */
ssize_t mpiio_peer_frame_decode(const uint8_t *bytes, size_t size, struct mpiio_peer_frame *frame);

/* The effect of a frame that arrives from below or above after a node has joined. */

enum mpiio_frame_rule {
    MPIIO_FRAME_WRONG, /* not allowed in this state: the peer violates the protocol */
    MPIIO_FRAME_LATE,  /* its sender did not know the current state yet: ignored */
    MPIIO_FRAME_DUE,
};

/* Returns the effect of a frame of that type on the node that receives it in that state: from below
   (or from itself), or from above. Local, thread-safe. */
enum mpiio_frame_rule mpiio_frame_rule(enum mpiio_peer_frame_type type, bool from_below,
                                       enum mpiio_peers_state state);

/* A bounded FIFO of bytes. */
struct mpiio_queue {
    uint8_t *bytes; /* owned */
    size_t start, end, capacity;
};

#define MPIIO_QUEUE_MAX ((size_t)1 << 20)

/* Makes room for size more bytes. Returns 0, -ENOBUFS if the queue would exceed MPIIO_QUEUE_MAX, or
   -ENOMEM. */
int mpiio_queue_reserve(struct mpiio_queue *queue, size_t size);

/* Appends bytes. Errors as mpiio_queue_reserve; then nothing is appended. */
int mpiio_queue_put(struct mpiio_queue *queue, const void *bytes, size_t size);

/* Appends a frame. Errors as mpiio_queue_put. */
int mpiio_queue_frame(struct mpiio_queue *queue, const struct mpiio_peer_frame *frame);

/* Removes the next frame. Returns 1, 0 if no complete frame is queued, or -EPROTO. The frame's
   text stays valid until the next put. */
int mpiio_queue_next(struct mpiio_queue *queue, struct mpiio_peer_frame *frame);

/* Removes size bytes, or all if there are fewer. */
void mpiio_queue_drop(struct mpiio_queue *queue, size_t size);

void mpiio_queue_free(struct mpiio_queue *queue);

static inline const uint8_t *mpiio_queue_first(const struct mpiio_queue *queue)
{
    return queue->bytes + queue->start;
}

static inline size_t mpiio_queue_size(const struct mpiio_queue *queue)
{
    return queue->end - queue->start;
}

/*
 * A TCP connection to a peer. Sending never blocks: bytes that the peer does not receive yet wait
 * in a bounded queue. For one thread, except the counters.
 */
struct mpiio_peer_connection {
    int fd;     /* owned; -1: closed */
    int error;  /* a negative errno once the connection has failed; -ENOTCONN: its end was read */
    bool reset; /* send(2) has reported that the peer reset the connection */
    struct mpiio_queue in, out;
    _Atomic int64_t heard;           /* when bytes last arrived from the peer, mpiio_clock */
    _Atomic uint64_t received, sent; /* bytes */
};

/* Takes ownership of a connected TCP socket. */
void mpiio_peer_connection_open(struct mpiio_peer_connection *link, int fd);

/* Closes the connection, and drops queued bytes. May be called repeatedly. The counters stay. */
void mpiio_peer_connection_close(struct mpiio_peer_connection *link);

/*
 * Sends bytes, or queues them. Stores a failure in link->error; after a failure nothing is sent. It
 * is no failure here if the peer has closed the connection: mpiio_peer_connection_fill detects that
 * after it has read the peer's last bytes.
 */
void mpiio_peer_connection_put(struct mpiio_peer_connection *link, const void *bytes, size_t size);

static inline void mpiio_peer_connection_send(struct mpiio_peer_connection *link,
                                              const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    mpiio_peer_connection_put(link, bytes, mpiio_peer_frame_encode(frame, bytes));
}

/* Sends as much of the queue as the peer receives. Stores a failure in link->error. */
void mpiio_peer_connection_flush(struct mpiio_peer_connection *link);

/*
 * Reads the available bytes into link->in. Stores a failure, or the end of the stream, in
 * link->error. Returns true if link->in is half full and more bytes may be available: remove
 * frames, then call again.
 */
bool mpiio_peer_connection_fill(struct mpiio_peer_connection *link);

#endif
