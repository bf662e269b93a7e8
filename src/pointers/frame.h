/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_FRAME_H
#define MPIIO_POINTERS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What nodes say to each other of shared file pointers, over a line (lines/frame.h): a request and
 * its answer, each of a fixed size; behind the answer to a pledge that is granted, all that the
 * node knows: MPIIO_POINTERS_VALUE_BYTES a pointer. Integers have their highest byte first.
 */
#define MPIIO_POINTERS_REQUEST_BYTES 50
#define MPIIO_POINTERS_ANSWER_BYTES  37
#define MPIIO_POINTERS_VALUE_BYTES   16

/* A pointer: where it is, and how often it was set. Of two the one that was set more often is the
   later, else the larger one. */
struct mpiio_pointers_value {
    uint64_t generation;
    int64_t position; /* >= 0 */
};

enum mpiio_pointers_type {
    MPIIO_POINTERS_TAKE = 1, /* pointer, count, limit; value: the latest that the sender knows */
    MPIIO_POINTERS_GET,      /* pointer; value as above */
    MPIIO_POINTERS_SET,      /* pointer, count: the position; value as above */
    MPIIO_POINTERS_PLEDGE, /* node keeps the pointers in term; gone: the one before it has ended */
    MPIIO_POINTERS_TELL,   /* pointer, value, of the keeper node in term: to be kept in mind */
};

struct mpiio_pointers_request {
    enum mpiio_pointers_type type;
    uint64_t term;
    uint32_t node; /* who asks */
    bool gone;
    uint32_t pointer;
    int64_t count, limit; /* >= 0 */
    struct mpiio_pointers_value value;
};

enum mpiio_pointers_verdict {
    MPIIO_POINTERS_GRANTED = 1, /* value: before it was taken from, or as it is; got */
    MPIIO_POINTERS_BUSY,        /* not now: who keeps the pointers is to be found yet */
    MPIIO_POINTERS_REFUSED,     /* keeper is another one, in term */
};

struct mpiio_pointers_answer {
    enum mpiio_pointers_verdict verdict;
    uint64_t term;
    uint32_t keeper;
    int64_t got; /* >= 0 */
    struct mpiio_pointers_value value;
};

/* Writes to bytes, which has room for it. Local. */
void mpiio_pointers_request_encode(const struct mpiio_pointers_request *request, uint8_t *bytes);
void mpiio_pointers_answer_encode(const struct mpiio_pointers_answer *answer, uint8_t *bytes);
void mpiio_pointers_value_encode(const struct mpiio_pointers_value *value, uint8_t *bytes);

/* Reads so many bytes. False: no node of this version says that. Local. */
bool mpiio_pointers_request_decode(const uint8_t *bytes, struct mpiio_pointers_request *request);
bool mpiio_pointers_answer_decode(const uint8_t *bytes, struct mpiio_pointers_answer *answer);
bool mpiio_pointers_value_decode(const uint8_t *bytes, struct mpiio_pointers_value *value);

#endif
