/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_FRAME_H
#define MPIIO_POINTERS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What nodes say to each other of shared file pointers, over a line (lines/frame.h): a request and
 * its answer, each of a fixed size; behind the answer to a pledge that is granted, all that the
 * node knows: MPIIO_POINTERS_VALUE_BYTES a pointer; an end; MPIIO_POINTERS_SHARE_BYTES a share,
 * and MPIIO_POINTERS_GIVEN_BYTES an answer that was given, as many as the end says. Integers have
 * their highest byte first.
 */
#define MPIIO_POINTERS_REQUEST_BYTES 83
#define MPIIO_POINTERS_ANSWER_BYTES  49
#define MPIIO_POINTERS_VALUE_BYTES   24
#define MPIIO_POINTERS_END_BYTES     24
#define MPIIO_POINTERS_SHARE_BYTES   16
#define MPIIO_POINTERS_GIVEN_BYTES   61

/* In the place of a share or a node: there is none. */
#define MPIIO_POINTERS_NO_SHARE UINT64_MAX
#define MPIIO_POINTERS_NO_NODE  UINT32_MAX

/* A pointer: where it is, and how often it was set. Of two the one that was set more often is the
   later, else the larger one. */
struct mpiio_pointers_value {
    uint64_t generation;
    int64_t position; /* >= 0 */
};

/* A share of a view (turns.h), and whose it is. */
struct mpiio_pointers_share {
    uint32_t pointer, node;
    uint64_t number;
};

enum mpiio_pointers_type {
    /* Of who keeps the pointers; value: the latest that the sender knows. */
    MPIIO_POINTERS_TAKE = 1, /* pointer, count, limit; share: for that, at its turn */
    MPIIO_POINTERS_GET,      /* pointer */
    MPIIO_POINTERS_SET,      /* pointer, count: the position */
    MPIIO_POINTERS_OPEN,     /* pointer, count: a rank, which opens its next share */
    MPIIO_POINTERS_OVER,     /* pointer, share: is over, at its turn */
    MPIIO_POINTERS_TURN,     /* pointer: whose turn it is; ended; leaving: who asks opens no more */
    MPIIO_POINTERS_DONE,     /* who asks has nothing to place any more; ended */
    /* Of any node. */
    MPIIO_POINTERS_PLEDGE, /* node keeps the pointers in term; gone: the one before it has ended */
    MPIIO_POINTERS_TELL,   /* pointer, value, of the keeper node in term: to be kept in mind */
    MPIIO_POINTERS_NOTE,   /* the same of a share, which is owner's */
    MPIIO_POINTERS_HERALD, /* pointer, share: its turn has come */
};

struct mpiio_pointers_request {
    enum mpiio_pointers_type type;
    uint64_t term;
    uint32_t node; /* who asks */
    bool gone, leaving;
    uint32_t pointer;
    int64_t count, limit; /* >= 0 */
    struct mpiio_pointers_value value;
    uint64_t number;  /* of this node's requests; the same where it asks again */
    uint64_t settled; /* those below are not asked again */
    uint64_t share;   /* or MPIIO_POINTERS_NO_SHARE */
    uint32_t ended;   /* a node that has, as its machine says; or MPIIO_POINTERS_NO_NODE */
    uint32_t owner;
};

enum mpiio_pointers_verdict {
    MPIIO_POINTERS_GRANTED = 1, /* value: before it was taken from, or as it is; got */
    MPIIO_POINTERS_BUSY,        /* not now: who keeps the pointers is to be found yet */
    MPIIO_POINTERS_REFUSED,     /* keeper is another one, in term */
    MPIIO_POINTERS_STALE,       /* the share is over: it was passed over */
};

struct mpiio_pointers_answer {
    enum mpiio_pointers_verdict verdict;
    uint64_t term;
    uint32_t keeper;
    int64_t got; /* >= 0: etypes; the number of a share; nodes that have something to place */
    struct mpiio_pointers_value value;
    uint64_t turn;  /* the share of the pointer whose turn it is, as far as is known */
    uint32_t owner; /* whose that is, or who has something to place; or MPIIO_POINTERS_NO_NODE */
};

/* What is known of a pointer. */
struct mpiio_pointers_known {
    struct mpiio_pointers_value value;
    uint64_t turn;
};

/* What is behind all pointers: the last term in which the node knows of something that was given;
   and how much follows. */
struct mpiio_pointers_end {
    uint64_t granted, shares, given;
};

/* What a node was given, by the number of its request. */
struct mpiio_pointers_given {
    uint32_t node;
    uint64_t number;
    struct mpiio_pointers_answer answer;
};

/* Writes to bytes, which has room for it. Local. */
void mpiio_pointers_request_encode(const struct mpiio_pointers_request *request, uint8_t *bytes);
void mpiio_pointers_answer_encode(const struct mpiio_pointers_answer *answer, uint8_t *bytes);
void mpiio_pointers_known_encode(const struct mpiio_pointers_known *known, uint8_t *bytes);
void mpiio_pointers_share_encode(const struct mpiio_pointers_share *share, uint8_t *bytes);
void mpiio_pointers_end_encode(const struct mpiio_pointers_end *end, uint8_t *bytes);
void mpiio_pointers_given_encode(const struct mpiio_pointers_given *given, uint8_t *bytes);

/* Reads so many bytes. False: no node of this version says that. Local. */
bool mpiio_pointers_request_decode(const uint8_t *bytes, struct mpiio_pointers_request *request);
bool mpiio_pointers_answer_decode(const uint8_t *bytes, struct mpiio_pointers_answer *answer);
bool mpiio_pointers_known_decode(const uint8_t *bytes, struct mpiio_pointers_known *known);
bool mpiio_pointers_share_decode(const uint8_t *bytes, struct mpiio_pointers_share *share);
bool mpiio_pointers_end_decode(const uint8_t *bytes, struct mpiio_pointers_end *end);
bool mpiio_pointers_given_decode(const uint8_t *bytes, struct mpiio_pointers_given *given);

#endif
