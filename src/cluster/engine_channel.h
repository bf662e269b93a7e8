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
 * connected SOCK_SEQPACKET sockets. The data itself is not sent: it lies in a memfd of the daemon,
 * which HELLO passes to the engine. The list of blocks of a flush and their results lie there, too
 * (slots.h).
 * Texts of any length are passed in memfds of their own: the spec of the members, if the file has
 * any, and the addresses of all daemons.
 *
 *   engine                    daemon
 *   NODE          ->                       this node's number, and the number of nodes
 *                             <-  HELLO    the file, how to store it, and the daemon's addresses
 *   PEERS         ->                       the addresses of all daemons, and what they share
 *                             <-  READY    connected and mounted, or able to mount
 *   START         ->                       all nodes are ready
 *                             <-  FLUSH    store the listed blocks, together with all other nodes
 *   RESULT        ->                       the list has the result for each block
 *                             <-  QUIT     no epoch will follow; sent on all nodes
 *
 * Until START, the daemon may answer FAILED instead, or the engine may send QUIT. Then nothing is
 * mounted, and both exit. If the stream ends, the other process has died. Both must be of one
 * version of the package: NODE and HELLO carry the protocol's version, which the receiver checks.
 *
 * One thread may send on a channel while another one receives, but no two threads may send, or
 * receive, at the same time.
 */

#define MPIIO_MESSAGE_VERSION 11

/* The size of a mount's identity in bytes. */
#define MPIIO_MOUNT_BYTES 16

/* The maximum size of a message in bytes. */
#define MPIIO_MESSAGE_MAX (64 << 10)

/* A text in a message (an address, an error, a hint) has fewer bytes than this. */
#define MPIIO_TEXT_MAX 4096

/* The maximum number of hints in a message. */
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
};

/* How homes write the file: the mount option "store". */
enum mpiio_store_mode {
    MPIIO_STORE_AUTO,  /* long runs by MPI-IO; short ones by POSIX if the file is local */
    MPIIO_STORE_POSIX, /* POSIX calls and mappings only */
    MPIIO_STORE_MPIIO, /* MPI-IO only: for filesystems that only its drivers reach */
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
    uint32_t nodes; /* number of nodes */
    int32_t pid;    /* process number of the engine */
};

struct mpiio_message_hello {
    const char *path; /* the shared file, absolute; "" if nothing is ever stored */
    uint64_t device;  /* of the daemon's open file: the path may name another file by now */
    /* with members: a hash of the members' identities and lengths (mpiio_assembled_identity) */
    uint64_t inode;
    enum mpiio_store_mode store;
    enum mpiio_coherence coherence; /* how the mount treats the file's filesystem */
    /* the daemon's address for other nodes (net/net.h); "": none */
    const char *address;
    uint32_t fanout;                  /* maximum number of nodes directly below one, > 0 */
    uint8_t token[MPIIO_TOKEN_BYTES]; /* node 0: the secret that all nodes share */
    uint8_t mount[MPIIO_MOUNT_BYTES]; /* node 0: the mount's identity, a random number; zeros if it
                                         cannot keep shared file pointers */
    uint64_t spec;                    /* a hash of the views */
    struct mpiio_hints hints;
    int memory;     /* a memfd with the slots of slots.h; the receiver must close it */
    bool assembled; /* the file consists of members; path is for messages only */
    uint64_t held;  /* mpiio_assembled_digest of the members that the daemon has open; else 0 */
    /* assembled: a memfd with the spec of the members (members.h); the receiver must close it */
    int members;
};

struct mpiio_message_peers {
    uint8_t token[MPIIO_TOKEN_BYTES], mount[MPIIO_MOUNT_BYTES]; /* as in the hello of node 0 */
    struct mpiio_homes homes; /* where the engines store blocks; nodes as in NODE */
    /* a memfd with the address of each HELLO in node order, each with its terminating zero; the
       receiver must close it */
    int addresses;
};

struct mpiio_message_failed {
    int32_t status;   /* exit status: 1 or 2 */
    const char *text; /* the reason, one line */
};

struct mpiio_message_flush {
    uint64_t epoch;
    bool sync;      /* the data must be on the storage device before the result */
    uint32_t count; /* blocks in mpiio_slots_blocks; their results go to mpiio_slots_errors */
};

/* This node's part in an epoch, in bytes or calls. All members are uint64_t:
   fusefs/storing/engine_client.c adds them up, and engine_channel.c sends them, as an array. */
struct mpiio_epoch_counters {
    uint64_t dirty_bytes;     /* handed in by this node */
    uint64_t sent_bytes;      /* sent to other nodes: packed blocks */
    uint64_t received_bytes;  /* received from other nodes */
    uint64_t merged_runs;     /* runs that this node merged as a home */
    uint64_t stored_bytes;    /* written to the file */
    uint64_t store_calls;     /* number of system calls or MPI calls for that */
    uint64_t store_map_bytes; /* the part of stored_bytes that was scattered into mappings */
    uint64_t rounds;          /* of the exchange */
    uint64_t left_blocks;     /* blocks of this node that were left dirty because they may wait */
};

struct mpiio_message_result {
    uint64_t epoch;
    int32_t error; /* of the whole epoch: 0, or a negative errno that holds for every block */
    struct mpiio_epoch_counters counters;
};

struct mpiio_message {
    enum mpiio_message_type type;
    union {
        struct mpiio_message_node node;
        struct mpiio_message_hello hello;
        struct mpiio_message_peers peers;
        struct mpiio_message_failed failed;
        struct mpiio_hints start; /* START: the hints that MPI_File_get_info returns */
        struct mpiio_message_flush flush;
        struct mpiio_message_result result;
    };
};

struct mpiio_channel;

/* Creates a channel over fd, a connected socket. On success the channel owns fd. Returns 0 or
   -ENOMEM. */
int mpiio_channel_new(int fd, struct mpiio_channel **channel);

/* Closes the socket and frees the channel. NULL is allowed. */
void mpiio_channel_free(struct mpiio_channel *channel);

/* Returns the socket, borrowed, for poll(2). */
int mpiio_channel_fd(const struct mpiio_channel *channel);

/*
 * Sends a message. Returns 0, -E2BIG if texts are too long or too many, -EPIPE if the other end is
 * closed, or the error of sendmsg(2). Blocks while the other end does not receive.
 */
int mpiio_channel_send(struct mpiio_channel *channel, const struct mpiio_message *message);

/*
 * Waits for the next message. Its texts belong to the channel and are valid until the next receive.
 * Returns 0, -EPIPE if the other end is closed, or the error of recvmsg(2). Returns -EPROTO for a
 * message that no daemon or engine of this version sends.
 */
int mpiio_channel_receive(struct mpiio_channel *channel, struct mpiio_message *message);

/* Returns a new memfd with bytes, for a message, or a negative errno. */
int mpiio_channel_pack(const void *bytes, size_t size);

/* Returns the contents of a memfd in new memory, without a terminating zero, and sets *size to
   their length. The caller frees them. NULL: they cannot be read, or memory is exhausted. */
char *mpiio_channel_unpack(int fd, size_t *size);

#endif
