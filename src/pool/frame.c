/* SPDX-License-Identifier: MIT */
#include "pool_private.h"

#include "net/address.h"
#include "net/wire.h"

/* The messages of a pool, and the home that answers them. */

static void code_answer(struct mpiio_wire *wire, struct mpiio_pool_answer *answer)
{
    mpiio_wire_flag(wire, &answer->there);
    mpiio_wire_u32(wire, &answer->bytes);
    mpiio_wire_expect(wire, answer->there || answer->bytes == 0);
}

size_t mpiio_pool_answer_encode(const struct mpiio_pool_answer *answer, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POOL_ANSWER_BYTES};
    struct mpiio_pool_answer copy = *answer;

    code_answer(&wire, &copy);
    return wire.at;
}

bool mpiio_pool_answer_decode(const uint8_t *bytes, struct mpiio_pool_answer *answer)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POOL_ANSWER_BYTES};

    code_answer(&wire, answer);
    return mpiio_wire_complete(&wire);
}

/* A request without its leading size and its list. */
static void code_head(struct mpiio_wire *wire, struct mpiio_pool_request *request)
{
    mpiio_wire_flag(wire, &request->ahead);
    mpiio_wire_u64(wire, (uint64_t *)&request->version.size);
    for (int i = 0; i < 4; i++)
        mpiio_wire_u64(wire, (uint64_t *)&request->version.times[i]);
    mpiio_wire_u64(wire, &request->version.epoch);
    mpiio_wire_u64(wire, (uint64_t *)&request->block);
    mpiio_wire_expect(wire,
                      request->block >= 0 && request->block < INT64_MAX / MPIIO_POOL_BLOCK_MIN);
    mpiio_wire_u32(wire, &request->count);
    mpiio_wire_expect(wire,
                      request->count <= (request->ahead ? MPIIO_POOL_AHEAD_MAX : MPIIO_POOL_PARTS));
}

static void code_list(struct mpiio_wire *wire, struct mpiio_pool_request *request)
{
    for (uint32_t i = 0; i < request->count && !wire->failed; i++) {
        if (request->ahead) {
            mpiio_wire_u64(wire, (uint64_t *)&request->blocks[i]);
            mpiio_wire_expect(wire, request->blocks[i] >= 0 &&
                                        request->blocks[i] < INT64_MAX / MPIIO_POOL_BLOCK_MIN);
        } else {
            mpiio_wire_u32(wire, &request->part[i].offset);
            mpiio_wire_u32(wire, &request->part[i].length);
            mpiio_wire_u32(wire, &request->part[i].count);
            mpiio_wire_u32(wire, (uint32_t *)&request->part[i].stride);
        }
    }
}

size_t mpiio_pool_request_encode(const struct mpiio_pool_request *request, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POOL_REQUEST_MAX};
    struct mpiio_pool_request copy = *request;
    uint32_t size = (uint32_t)(MPIIO_POOL_REQUEST_HEAD - 4) +
                    request->count * (request->ahead ? sizeof(int64_t) : 16);

    mpiio_wire_u32(&wire, &size);
    code_head(&wire, &copy);
    code_list(&wire, &copy);
    return wire.at;
}

size_t mpiio_pool_request_size(const uint8_t bytes[4])
{
    struct mpiio_wire wire = {.from = bytes, .size = 4};
    uint32_t size;

    mpiio_wire_u32(&wire, &size);
    return size >= MPIIO_POOL_REQUEST_HEAD - 4 && size <= MPIIO_POOL_REQUEST_MAX - 4 ? size : 0;
}

bool mpiio_pool_request_decode(const uint8_t *bytes, size_t size,
                               struct mpiio_pool_request *request, union mpiio_pool_list *list)
{
    struct mpiio_wire wire = {.from = bytes, .size = size};

    code_head(&wire, request);
    if (wire.failed)
        return false;
    request->part = list->part;
    request->blocks = list->block;
    code_list(&wire, request);
    if (!mpiio_wire_complete(&wire) || request->ahead)
        return mpiio_wire_complete(&wire);
    return mpiio_pool_reach(request->part, request->count) >= 0 &&
           mpiio_pool_bytes(request->part, request->count) <= (uint64_t)MPIIO_POOL_BLOCK;
}

/* Answers. */

static bool answer(struct mpiio_pool_answers *self, struct mpiio_pool_desk *desk, int fd,
                   const struct mpiio_pool_request *request)
{
    struct mpiio_pool_memory *memory = self->ahead->memory;
    struct mpiio_pool_answer head = {.there = false};
    struct mpiio_pool_version version;

    if (request->ahead) {
        mpiio_pool_ahead_want(self->ahead, request->blocks, request->count);
        return true;
    }
    /* Both nodes must see the same version of the file. */
    head.there = memory->file.look(memory->file.data, &request->version, &version) &&
                 mpiio_pool_version_same(&version, &request->version) &&
                 mpiio_pool_fetch(memory, request, desk->answer + MPIIO_POOL_ANSWER_BYTES);
    if (head.there)
        head.bytes = (uint32_t)mpiio_pool_bytes(request->part, request->count);
    mpiio_pool_answer_encode(&head, (uint8_t *)desk->answer);
    /* Count before sending: the receiver may read the statistics as soon as it has the answer. */
    atomic_fetch_add(&self->sent_bytes, head.bytes);
    return mpiio_talk_send(fd, desk->answer, MPIIO_POOL_ANSWER_BYTES + head.bytes, self->timeout) ==
           0;
}

bool mpiio_pool_answers_serve(void *data, void *memory, int fd)
{
    struct mpiio_pool_answers *self = data;
    struct mpiio_pool_desk *desk = memory;
    struct mpiio_pool_request request;
    int timeout = self->timeout;
    size_t size;

    if (mpiio_talk_receive(fd, desk->request, 4, timeout) != 0)
        return false;
    size = mpiio_pool_request_size(desk->request);
    return size != 0 && mpiio_talk_receive(fd, desk->request, size, timeout) == 0 &&
           mpiio_pool_request_decode(desk->request, size, &request, &desk->list) &&
           answer(self, desk, fd, &request);
}
