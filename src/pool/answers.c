/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "frame.h"
#include "net/address.h"

/* The buffers of an answering thread. */
struct desk {
    uint8_t request[MPIIO_POOL_REQUEST_MAX];
    union mpiio_pool_list list;
    char answer[MPIIO_POOL_ANSWER_BYTES + (size_t)MPIIO_POOL_BLOCK];
};

size_t mpiio_pool_answers_desk(void)
{
    return sizeof(struct desk);
}

/* Packs the requested bytes. Returns their number, or -1 if they are not available. */
static int64_t fetch(struct mpiio_pool_memory *memory, struct desk *desk,
                     const struct mpiio_pool_request *request)
{
    int64_t bytes = -1;
    struct mpiio_pool_version version;
    struct mpiio_pool_block *block;
    bool fresh;

    /* Both nodes must see the same version of the file. */
    if (!memory->file.look(memory->file.data, &request->version, &version) ||
        !mpiio_pool_version_same(&version, &request->version))
        return -1;
    block = mpiio_pool_memory_get(memory, request->block, &version, &fresh);
    if (block == NULL)
        return -1;
    if (mpiio_pool_reach(request->part, request->count) <= block->length) {
        bytes = (int64_t)mpiio_pool_bytes(request->part, request->count);
        mpiio_pool_pack(request->part, request->count, block->bytes,
                        desk->answer + MPIIO_POOL_ANSWER_BYTES);
    }
    mpiio_pool_memory_put(memory, block);
    return bytes;
}

static bool answer(struct mpiio_pool_answers *self, struct desk *desk, int fd,
                   const struct mpiio_pool_request *request)
{
    int64_t bytes;
    struct mpiio_pool_answer head;

    if (request->ahead) {
        mpiio_pool_ahead_want(self->ahead, request->blocks, request->count);
        return true;
    }
    bytes = fetch(self->memory, desk, request);
    head =
        (struct mpiio_pool_answer){.there = bytes >= 0, .bytes = bytes > 0 ? (uint32_t)bytes : 0};
    mpiio_pool_answer_encode(&head, (uint8_t *)desk->answer);
    /* Count before sending: the receiver may read the statistics as soon as it has the answer. */
    atomic_fetch_add(&self->sent_bytes, head.bytes);
    return mpiio_talk_send(fd, desk->answer, MPIIO_POOL_ANSWER_BYTES + head.bytes, self->timeout) ==
           0;
}

bool mpiio_pool_answers_serve(void *data, void *memory, int fd)
{
    struct mpiio_pool_answers *self = data;
    struct desk *desk = memory;
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
