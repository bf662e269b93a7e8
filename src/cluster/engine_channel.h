/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ENGINE_CHANNEL_H
#define MPIIO_ENGINE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/filesystem.h"
#include "core/cache/homes.h"
#include "net/handshake.h"

/*
 * The messages between a node's daemon (mpiio-fused) and its engine (mpiio-engine), over a pair of
 * connected SOCK_SEQPACKET sockets. Data is not sent. It lies in a memfd of the daemon, which HELLO
 * passes to the engine, as it does the spec of members if the file has any.
 *
 *   engine                    daemon
 *   NODE          ->                       this node's number, and the number of nodes
 *                             <-  HELLO    the file, how to store it, and the daemon's addresses
 *   PEERS         ->                       the addresses of all daemons, and what they share
 *                             <-  READY    connected and mounted, or able to mount
 *   START         ->                       all nodes are ready
 *                             <-  FLUSH    store these blocks, together with all other nodes
 *   RESULT        ->                       the result for each block
 *                             <-  QUIT     no epoch will follow; sent on all nodes
 *
 * Until START, the daemon may answer FAILED instead, or the engine may send QUIT. Nothing is
 * mounted then, and both exit. If the stream ends, the other process has died. Both are of one
 * version of the package; NODE and HELLO carry the protocol's version in case they are not.
 *
 * A channel may be sent on by one thread and received on by another; not by two of a kind.
 */

#define MPIIO_MESSAGE_VERSION 10

/* Bytes of a mount's identity. */
#define MPIIO_MOUNT_BYTES 16

/* The longest message in bytes. Lists of blocks are sent in as many messages as they need. */
#define MPIIO_MESSAGE_MAX (64 << 10)

/* A text in a message (an address, an error, a hint) has fewer bytes than this. */
#define MPIIO_TEXT_MAX 4096

/* Hints in a message at most. */
#define MPIIO_HINTS_MAX 128

enum mpiio_message_type {
    MPIIO_MESSAGE_NODE = 1,
    MPIIO_MESSAGE_HELLO,
    MPIIO_MESSAGE_PEERS,
    MPIIO_MESSAGE_READY,
    MPIIO_MESSAGE_FAILED,
    MPIIO_MESSAGE_START,
    MPIIO_MESSAGE_FLUSH,
    MPIIO_MESSAGE_RESULT,
    MPIIO_MESSAGE_QUIT,
    MPIIO_MESSAGE_BLOCKS, /* inside: a part of the list behind FLUSH */
    MPIIO_MESSAGE_ERRORS, /* inside: a part of the list behind RESULT */
    MPIIO_MESSAGE_TEXTS,  /* inside: a part of the list behind PEERS */
};

/* How homes write the file: the mount option "store". */
enum mpiio_store_mode {
    MPIIO_STORE_AUTO,  /* long runs by MPI-IO; short ones by POSIX where the file is local */
    MPIIO_STORE_POSIX, /* POSIX calls and mappings alone */
    MPIIO_STORE_MPIIO, /* MPI-IO alone: for filesystems that only its drivers reach */
};

/* An MPI info hint. */
struct mpiio_hint {
    const char *key;
    const char *value;
};

struct mpiio_hints {
    uint32_t count; /* <= MPIIO_HINTS_MAX */
    struct mpiio_hint hint[MPIIO_HINTS_MAX];
};

struct mpiio_message_node {
    uint32_t node;  /* this node's number */
    uint32_t nodes; /* how many there are */
    int32_t pid;    /* the engine's process */
};

struct mpiio_message_hello {
    const char *path; /* the shared file, absolute; "" where nothing is ever stored */
    uint64_t device;  /* the file that the daemon has open: the path may name another one by now */
    uint64_t inode;   /* with members: a hash of which files the members are, and of their lengths
                       * (mpiio_assembled_identity) */
    enum mpiio_store_mode store;
    enum mpiio_coherence coherence;   /* how the mount treats the file's filesystem */
    const char *address;              /* where others find it (net/net.h); "": nowhere */
    uint32_t fanout;                  /* how many nodes there may be right below it, > 0 */
    uint8_t token[MPIIO_TOKEN_BYTES]; /* node 0: what all nodes share */
    uint8_t mount[MPIIO_MOUNT_BYTES]; /* node 0: the mount's identity, a random number; zeros if it
                                         cannot keep shared file pointers */
    uint64_t spec;                    /* a hash of what its views are */
    struct mpiio_hints hints;
    int memory;     /* a memfd with the slots of slots.h; received: the caller's to close */
    bool assembled; /* the file is made of members; path is for messages alone */
    uint64_t held;  /* mpiio_assembled_digest of them, as the daemon has them; else 0 */
    int members;    /* assembled: a memfd with their spec (members.h); as memory */
};

struct mpiio_message_peers {
    uint8_t token[MPIIO_TOKEN_BYTES],
        mount[MPIIO_MOUNT_BYTES]; /* as the hello of node 0 has them */
    struct mpiio_homes homes;     /* that the engines store by; of nodes as NODE has it */
    uint32_t size; /* bytes of addresses that follow: mpiio_channel_receive_addresses */
};

struct mpiio_message_failed {
    int32_t status;   /* to exit with: 1 or 2 */
    const char *text; /* the reason, one line */
};

struct mpiio_message_flush {
    uint64_t epoch;
    bool sync;      /* the data must be on the storage device before the result */
    uint32_t count; /* blocks that follow: mpiio_channel_receive_blocks */
};

/* This node's part in an epoch, in bytes or calls. */
struct mpiio_epoch_counters {
    uint64_t dirty_bytes;     /* handed in by this node */
    uint64_t sent_bytes;      /* sent to other nodes: packed blocks */
    uint64_t received_bytes;  /* received from other nodes */
    uint64_t merged_runs;     /* runs that this node merged as a home */
    uint64_t stored_bytes;    /* written to the file */
    uint64_t store_calls;     /* number of system calls or MPI calls for that */
    uint64_t store_map_bytes; /* those of stored_bytes that were scattered into mappings */
    uint64_t rounds;          /* of the exchange */
    uint64_t left_blocks;     /* blocks of this node that were left dirty, as they may wait */
};

struct mpiio_message_result {
    uint64_t epoch;
    int32_t error;  /* of the epoch as a whole: a negative errno, and then every block's; or 0 */
    uint32_t count; /* block errors that follow: mpiio_channel_receive_errors */
    struct mpiio_epoch_counters counters;
};

struct mpiio_message {
    enum mpiio_message_type type;
    union {
        struct mpiio_message_node node;
        struct mpiio_message_hello hello;
        struct mpiio_message_peers peers;
        struct mpiio_message_failed failed;
        struct mpiio_hints start; /* START: hints as MPI_File_get_info gives them */
        struct mpiio_message_flush flush;
        struct mpiio_message_result result;
    };
};

/*
 * A dirty block: its number in the file, and the slot that holds it. One that may wait is left
 * dirty (its error is -EAGAIN) if what all nodes have of it has gaps between short runs, which
 * others may be about to fill.
 */
struct mpiio_flush_block {
    int64_t block;
    uint32_t slot;
    bool may_wait;
};

struct mpiio_channel;

/* Makes a channel over fd, a connected socket, which it owns from then on. 0 or -ENOMEM. */
int mpiio_channel_new(int fd, struct mpiio_channel **channel);

/* Closes the socket and frees. NULL is allowed. */
void mpiio_channel_free(struct mpiio_channel *channel);

/* The socket, borrowed, for poll(2). */
int mpiio_channel_fd(const struct mpiio_channel *channel);

/*
 * Sends any message but PEERS, FLUSH and RESULT. Texts that are too long or too many give -E2BIG,
 * an other end that is gone -EPIPE. Blocks while the other end does not receive.
 */
int mpiio_channel_send(struct mpiio_channel *channel, const struct mpiio_message *message);

/* Sends PEERS and peers->size bytes of addresses: those of the HELLOs in the order of the nodes,
   each with its zero byte. Else as mpiio_channel_send. */
int mpiio_channel_send_peers(struct mpiio_channel *channel, const struct mpiio_message_peers *peers,
                             const char *addresses);

/* Sends FLUSH and its blocks, flush->count of them. Else as mpiio_channel_send. */
int mpiio_channel_send_flush(struct mpiio_channel *channel, const struct mpiio_message_flush *flush,
                             const struct mpiio_flush_block *blocks);

/* Sends RESULT and its errors, in the order of the blocks of FLUSH. Else as mpiio_channel_send. */
int mpiio_channel_send_result(struct mpiio_channel *channel,
                              const struct mpiio_message_result *result, const int32_t *errors);

/*
 * Waits for the next message. What it points to is the channel's, until the next receive. -EPIPE:
 * the other end is gone; -EPROTO: it sent what no daemon or engine of this version sends (also
 * where a list that PEERS, FLUSH or RESULT announced has not been received); or recvmsg(2)'s error.
 */
int mpiio_channel_receive(struct mpiio_channel *channel, struct mpiio_message *message);

/* Receives what follows PEERS: size bytes. Else as mpiio_channel_receive. */
int mpiio_channel_receive_addresses(struct mpiio_channel *channel, char *addresses, uint32_t size);

/*
 * Receives the list behind FLUSH: count entries. Blocks are >= 0, and end below 2^63 bytes. Else as
 * mpiio_channel_receive.
 */
int mpiio_channel_receive_blocks(struct mpiio_channel *channel, struct mpiio_flush_block *blocks,
                                 uint32_t count);

/* Receives the list behind RESULT: count errors, each <= 0. Else as mpiio_channel_receive. */
int mpiio_channel_receive_errors(struct mpiio_channel *channel, int32_t *errors, uint32_t count);

#endif
