/* SPDX-License-Identifier: MIT */
#include "placing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "core/base/thread.h"
#include "pointers.h"

/* Waiting bytes of a contribution. */

/* The size in bytes of a chunk that small writes share. */
#define CHUNK ((size_t)4096)

int mpiio_share_bytes_keep(struct mpiio_share_bytes *bytes, const void *buffer, size_t length)
{
    struct mpiio_chunk *chunk = bytes->first != NULL ? bytes->last : NULL;
    size_t room = length < CHUNK ? CHUNK : length;

    if (chunk == NULL || chunk->room - chunk->length < length) {
        chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL)
            return -ENOMEM;
        *chunk = (struct mpiio_chunk){.room = room};
        *(bytes->first != NULL ? &bytes->last->next : &bytes->first) = chunk;
        bytes->last = chunk;
    }
    memcpy(chunk->bytes + chunk->length, buffer, length);
    chunk->length += length;
    return 0;
}

/* Removes and returns the first chunk, which the caller frees, or NULL if none waits. */
static struct mpiio_chunk *next_chunk(struct mpiio_share_bytes *bytes)
{
    struct mpiio_chunk *chunk = bytes->first;

    if (chunk != NULL)
        bytes->first = chunk->next;
    return chunk;
}

/* Frees all chunks. Returns how many bytes waited. */
static int64_t drop_chunks(struct mpiio_share_bytes *bytes)
{
    struct mpiio_chunk *chunk;
    int64_t dropped = 0;

    while ((chunk = next_chunk(bytes)) != NULL) {
        dropped += (int64_t)chunk->length;
        free(chunk);
    }
    return dropped;
}

/* Writes whole etypes at the pointer. Returns 0, a negative errno or MPIIO_ORDERED_LATER. */
static int put(const struct mpiio_placing *placing, const void *buffer, size_t length)
{
    const struct mpiio_ordered_options *options = &placing->share->ordered->options;
    bool last = placing->waiter != NULL || placing->turn == MPIIO_POINTERS_ANYBODY;
    int error = 0;

    if (length > 0)
        error = options->place(options->data, placing->share->view, placing->turn, buffer, length,
                               placing->waiter);
    /* Nobody tries again for a caller, nor at the end. */
    return error == MPIIO_ORDERED_LATER && last ? -EIO : error;
}

/* Adds bytes to the incomplete etype, if there is one, and places the etype once it is complete.
   Sets *used to the number of bytes added, but leaves it unchanged if none are added, as when
   placing fails. */
static int complete(struct mpiio_share_bytes *bytes, const struct mpiio_placing *placing,
                    const char *buffer, size_t length, size_t *used)
{
    size_t missing = bytes->etype - bytes->part_length;
    size_t taken = length < missing ? length : missing;
    int error = 0;

    if (bytes->part_length == 0)
        return 0;
    memcpy(bytes->part + bytes->part_length, buffer, taken);
    if (taken == missing)
        error = put(placing, bytes->part, bytes->etype);
    if (error != 0)
        return error;
    *used = taken;
    bytes->part_length = taken == missing ? 0 : bytes->part_length + taken;
    return 0;
}

int mpiio_share_bytes_place(struct mpiio_share_bytes *bytes, const struct mpiio_placing *placing,
                            const char *buffer, size_t length, size_t *used)
{
    size_t left;
    int error;

    *used = 0;
    if (bytes->etype > 1 && bytes->part == NULL)
        bytes->part = malloc(bytes->etype);
    if (bytes->etype > 1 && bytes->part == NULL)
        return -ENOMEM;
    error = complete(bytes, placing, buffer, length, used);
    left = (length - *used) % bytes->etype;
    if (error == 0)
        error = put(placing, buffer + *used, length - *used - left);
    if (error != 0)
        return error;
    *used = length;
    if (left == 0)
        return 0;
    memcpy(bytes->part, buffer + length - left, left);
    bytes->part_length = left;
    return 0;
}

/* Completes the last etype with zeros, and places it. Returns 0 or the result of place. If that
   fails, the etype stays incomplete. */
static int place_last(struct mpiio_share_bytes *bytes, const struct mpiio_placing *placing)
{
    size_t length = bytes->part_length;
    int error;

    if (length == 0)
        return 0;
    memset(bytes->part + length, 0, bytes->etype - length);
    error = put(placing, bytes->part, bytes->etype);
    if (error == 0)
        bytes->part_length = 0;
    return error;
}

/* Placing contributions at their turns. */

void mpiio_placing_release(struct mpiio_share *share)
{
    if (!share->passed || !share->closed || share->placing)
        return;
    drop_chunks(&share->bytes);
    free(share->bytes.part);
    free(share);
}

void mpiio_placing_show(struct mpiio_ordered *ordered)
{
    if (ordered->shown != NULL)
        atomic_store(ordered->shown, ordered->stats.waiting + ordered->stats.lost);
}

void mpiio_placing_pass_over(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);
    int64_t dropped;

    assert(mpiio_is_held(&ordered->lock));
    mpiio_heap_drop(&view->shares);
    share->passed = true;
    if (share->error == 0)
        share->error = -ESTALE;
    dropped = drop_chunks(&share->bytes);
    ordered->stats.waiting -= dropped;
    assert(ordered->stats.waiting >= 0);
    ordered->stats.lost += dropped;
    mpiio_placing_show(ordered);
    mpiio_placing_release(share);
}

void mpiio_placing_set_turn(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view,
                            uint64_t turn)
{
    const struct mpiio_share *share;

    assert(mpiio_is_held(&ordered->lock));
    if (turn <= view->turn)
        return;
    view->turn = turn;
    view->stray = false;
    view->ending = view->ending && view->ended >= turn;
    while ((share = mpiio_heap_least(&view->shares)) != NULL && share->number < turn)
        mpiio_placing_pass_over(ordered, view);
    pthread_cond_broadcast(&ordered->changed);
}

struct mpiio_placing mpiio_placing_begin(struct mpiio_share *share,
                                         struct mpiio_ordered_waiter *waiter)
{
    share->placing = true;
    return (struct mpiio_placing){.share = share,
                                  .turn = share->ordered->unordered ? MPIIO_POINTERS_ANYBODY
                                                                    : share->number,
                                  .waiter = waiter};
}

void mpiio_placing_end(struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;

    share->placing = false;
    mpiio_placing_release(share);
    pthread_cond_broadcast(&ordered->changed);
}

/* Keeps a chunk, but for used bytes of it, or the incomplete last etype if chunk is NULL, until the
   thread that places tries again. */
static void delay(struct mpiio_share *share, struct mpiio_chunk *chunk, size_t used)
{
    share->delayed = true;
    share->delays++;
    pthread_cond_signal(&share->ordered->news);
    if (chunk == NULL)
        return;
    share->ordered->stats.waiting -= (int64_t)used;
    chunk->length -= used;
    memmove(chunk->bytes, chunk->bytes + used, chunk->length);
    chunk->next = share->bytes.first;
    share->bytes.first = chunk;
}

/*
 * Places a chunk of a contribution at its turn, or its incomplete last etype if chunk is NULL.
 * Called with the lock held, which is released while it places. Frees the chunk, unless it is kept
 * to be placed later.
 */
static void place_waiting(struct mpiio_share *share, struct mpiio_chunk *chunk)
{
    struct mpiio_ordered *ordered = share->ordered;
    size_t length = chunk != NULL ? chunk->length : share->bytes.part_length, used = 0;
    struct mpiio_placing placing = mpiio_placing_begin(share, NULL);
    int error = share->error;

    pthread_mutex_unlock(&ordered->lock);
    if (error == 0 && chunk == NULL)
        error = place_last(&share->bytes, &placing);
    else if (error == 0)
        error = mpiio_share_bytes_place(&share->bytes, &placing, chunk->bytes, length, &used);
    pthread_mutex_lock(&ordered->lock);
    used = error == 0 ? length : used;
    if (error == MPIIO_ORDERED_LATER && !share->passed) {
        delay(share, chunk, used);
    } else {
        share->error = share->error != 0 ? share->error : error;
        ordered->stats.lost += (int64_t)(length - used);
        if (placing.turn == MPIIO_POINTERS_ANYBODY)
            ordered->out_of_turn += (int64_t)used;
        if (chunk == NULL)
            share->bytes.part_length = 0;
        else
            ordered->stats.waiting -= (int64_t)length;
        free(chunk);
    }
    mpiio_placing_show(ordered);
    mpiio_placing_end(share);
}

/* Returns true if what was placed is to be stored first: at the end, other nodes wait until this
   node's last contribution has finished. Called with the lock held. */
static bool has_to_store(const struct mpiio_ordered *ordered)
{
    size_t count = 0;

    assert(mpiio_is_held(&ordered->lock));
    for (size_t i = 0; i < ordered->options.views; i++)
        count += ordered->views[i].shares.count;
    return ordered->leaving && !ordered->stored && count == 1;
}

/* Called with the lock held, which is released meanwhile. */
static void store_placed(struct mpiio_ordered *ordered, struct mpiio_share *last)
{
    mpiio_placing_begin(last, NULL);
    pthread_mutex_unlock(&ordered->lock);
    ordered->options.store(ordered->options.data);
    pthread_mutex_lock(&ordered->lock);
    ordered->stored = true;
    mpiio_placing_end(last);
}

/* Retires a view's first contribution, which is closed and placed. Called with the lock held. */
static void retire(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);

    assert(share->closed && !share->placing);
    assert(mpiio_is_held(&ordered->lock));
    mpiio_heap_drop(&view->shares);
    share->passed = true;
    ordered->stats.shares++;
    view->ending = !ordered->unordered;
    view->ended = share->number;
    mpiio_placing_release(share);
    pthread_cond_broadcast(&ordered->changed);
}

/* Reports to the turns that a contribution has finished. Returns true if that succeeds. Called with
   the lock held, which is released during the report. */
static bool tell_end(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view)
{
    const struct mpiio_ordered_turns *turns = &ordered->options.turns;
    uint64_t ended = view->ended, turn = ended + 1;
    int error;

    assert(mpiio_is_held(&ordered->lock));
    if (view->asking || ordered->unordered)
        return false;
    view->asking = true;
    pthread_mutex_unlock(&ordered->lock);
    error = turns->over(turns->data, (size_t)(view - ordered->views), ended, &turn);
    pthread_mutex_lock(&ordered->lock);
    view->asking = false;
    if (error != 0) {
        /* The thread repeats it. */
        pthread_cond_signal(&ordered->news);
        return false;
    }
    /* Another thread may have retired the next contribution meanwhile. */
    view->ending = view->ending && view->ended != ended;
    mpiio_placing_set_turn(ordered, view, turn);
    pthread_cond_broadcast(&ordered->changed);
    return true;
}

/* Finishes a contribution that is this node's according to the turns, but not in the heap: its open
   was recorded, and then failed here. Called with the lock held. */
static void end_stray(struct mpiio_ordered_view *view)
{
    const struct mpiio_share *share = mpiio_heap_least(&view->shares);

    if (!view->stray || view->opening > 0 || view->ending)
        return;
    view->stray = false;
    if (share != NULL && share->number == view->turn)
        return;
    view->ending = true;
    view->ended = view->turn;
}

struct mpiio_share *mpiio_placing_due(const struct mpiio_ordered *ordered,
                                      const struct mpiio_ordered_view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);

    assert(mpiio_is_held(&ordered->lock));
    if (share == NULL || share->placing || view->ending)
        return NULL;
    return share->number == view->turn || ordered->unordered ? share : NULL;
}

void mpiio_placing_advance(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view)
{
    struct mpiio_share *share;
    struct mpiio_chunk *chunk;

    assert(mpiio_is_held(&ordered->lock));
    view->ending = view->ending && !ordered->unordered;
    end_stray(view);
    while ((view->ending && tell_end(ordered, view)) ||
           (share = mpiio_placing_due(ordered, view)) != NULL) {
        share = mpiio_placing_due(ordered, view);
        if (share == NULL)
            continue;
        if (share->delayed)
            break;
        chunk = next_chunk(&share->bytes);
        if (chunk != NULL || (share->closed && share->bytes.part_length > 0))
            place_waiting(share, chunk);
        else if (share->closed && has_to_store(ordered))
            store_placed(ordered, share);
        else if (share->closed)
            retire(ordered, view);
        else
            break;
    }
}

void mpiio_placing_advance_all(struct mpiio_ordered *ordered)
{
    for (size_t i = 0; i < ordered->options.views; i++) {
        struct mpiio_share *share = mpiio_placing_due(ordered, &ordered->views[i]);

        if (share != NULL)
            share->delayed = false;
        mpiio_placing_advance(ordered, &ordered->views[i]);
    }
}
