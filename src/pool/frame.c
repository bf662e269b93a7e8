/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include "net/wire.h"

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
