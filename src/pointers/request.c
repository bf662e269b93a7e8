/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <errno.h>

#include "pointers.h"

/* Returns true if it is the turn of the request's contribution, and that is this node's. */
static bool is_at_turn(const struct mpiio_turns *turns, const struct mpiio_request *request)
{
    return turns->view[request->view].turn == request->share &&
           mpiio_turns_owner(turns, request->view) == (uint32_t)turns->self;
}

/*
 * Handles a take: moves the position, and sets *entry. Returns false if the take adds no entry. On
 * a single node it adds none, since programs may already have moved the position further.
 */
static bool decide_take(const struct mpiio_state *state, struct mpiio_request *request,
                        struct mpiio_entry *entry)
{
    if (request->share != MPIIO_POINTERS_ANYBODY && !is_at_turn(&state->turns, request)) {
        request->result = -ESTALE;
        return false;
    }
    request->result = mpiio_position_take(&state->position[request->view], request->count,
                                          request->limit, &request->position);
    *entry = (struct mpiio_entry){.kind = MPIIO_ENTRY_POSITION,
                                  .value = (uint64_t)(request->position + request->result)};
    return request->result > 0 && state->turns.nodes > 1;
}

/* Handles a request, and sets *entry to the entry that it adds to the record. Returns false if it
   adds none. */
static bool decide(const struct mpiio_state *state, struct mpiio_request *request,
                   struct mpiio_entry *entry)
{
    const struct mpiio_turns *turns = &state->turns;

    switch (request->kind) {
    case MPIIO_REQUEST_GET:
        request->position = atomic_load(&state->position[request->view]);
        request->result = request->position < 0 ? -EIO : 0;
        return false;
    case MPIIO_REQUEST_TAKE:
        return decide_take(state, request, entry);
    case MPIIO_REQUEST_SET:
        *entry =
            (struct mpiio_entry){.kind = MPIIO_ENTRY_POSITION, .value = (uint64_t)request->count};
        return true;
    case MPIIO_REQUEST_OPEN:
        request->result = (int64_t)mpiio_turns_next(turns, request->view, request->count);
        *entry = (struct mpiio_entry){.kind = MPIIO_ENTRY_OPEN, .value = (uint64_t)request->result};
        return true;
    case MPIIO_REQUEST_OVER:
        /* The contribution may have been dropped, or have finished if the request is repeated. */
        *entry = (struct mpiio_entry){.kind = MPIIO_ENTRY_TURN, .value = request->share + 1};
        return is_at_turn(turns, request);
    case MPIIO_REQUEST_LEAVE:
        *entry = (struct mpiio_entry){.kind = MPIIO_ENTRY_LEAVE};
        return !turns->node[turns->self].leaving;
    case MPIIO_REQUEST_EXIT:
        *entry = (struct mpiio_entry){.kind = MPIIO_ENTRY_EXIT};
        return true;
    }
    return false;
}

int mpiio_request_apply(struct mpiio_state *state, struct mpiio_request *request,
                        struct mpiio_entry *entry)
{
    bool any;
    int error = 0;

    request->result = 0;
    any = decide(state, request, entry);
    if (any) {
        entry->node = (uint32_t)state->turns.self;
        entry->view = (uint32_t)request->view;
        error = mpiio_state_apply(state, entry);
    }
    request->turn = state->turns.view[request->view].turn;
    return error != 0 ? error : any;
}

int mpiio_request_error(const struct mpiio_request *request, int error)
{
    bool waited = error == -ETIMEDOUT || error == -ECANCELED;

    if (waited && request->kind == MPIIO_REQUEST_TAKE)
        return -ETIMEDOUT;
    return error == -EACCES || error == -EROFS || error == -ENOSPC || error == -ENOMEM ? error
                                                                                       : -EIO;
}
