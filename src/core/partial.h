/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PARTIAL_H
#define MPIIO_PARTIAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/convert/codec.h"

/*
 * Partial elements: those that are written piece by piece and have, with the bytes that came so
 * far, no value that the file can hold, or another one there. What was written of them is kept here
 * until the rest comes. One that has been stored, though not exactly, is never stored again: it
 * stands for as long as the file has what was stored, to be seen and to be completed.
 * Offsets are slice offsets. All functions are thread-safe.
 */
#define MPIIO_PARTIAL_MAX 4096

struct mpiio_partial_element {
    int64_t offset;
    uint32_t written; /* bit i: byte i was written */
    uint8_t native;   /* bytes of the element */
    bool stored;      /* nothing was written since it was stored */
    unsigned char bytes[MPIIO_ELEMENT_NATIVE];
    unsigned char there[MPIIO_ELEMENT_NATIVE]; /* where stored: how the file was read after that */
};

struct mpiio_partial {
    pthread_mutex_t lock;
    atomic_size_t count;                /* changed with lock held; read without to see if any are */
    size_t room;                        /* of list; guarded by lock */
    struct mpiio_partial_element *list; /* by ascending offset; guarded by lock */
};

/* Starts an empty table. */
void mpiio_partial_init(struct mpiio_partial *partial);
void mpiio_partial_destroy(struct mpiio_partial *partial);

/* The first element that begins at or behind offset; false where there is none. */
bool mpiio_partial_next(struct mpiio_partial *partial, int64_t offset,
                        struct mpiio_partial_element *element);

/* Adds an element or takes the place of the one at its offset. -ENOMEM, also where it is full. */
int mpiio_partial_put(struct mpiio_partial *partial, const struct mpiio_partial_element *element);

/* Drops the elements that begin in [start, end). */
void mpiio_partial_drop(struct mpiio_partial *partial, int64_t start, int64_t end);

/*
 * For one who reads: true where there are elements, which then stay as they are until
 * mpiio_partial_let. They are to be held from before the file is read until they are laid over what
 * was: one that is stored meanwhile would be missing from both.
 */
bool mpiio_partial_hold(struct mpiio_partial *partial);

/*
 * Lays what was written over the slice's bytes [offset, offset + length), of the elements for which
 * stands, called with argument, says so. Held.
 */
typedef bool mpiio_partial_stands(void *argument, const struct mpiio_partial_element *element);
void mpiio_partial_overlay(const struct mpiio_partial *partial, int64_t offset, size_t length,
                           void *bytes, mpiio_partial_stands *stands, void *argument);
void mpiio_partial_let(struct mpiio_partial *partial);

#endif
