/* SPDX-License-Identifier: MIT */
#include "share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Small writes share a chunk, of so many bytes. */
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

struct mpiio_chunk *mpiio_share_bytes_next(struct mpiio_share_bytes *bytes)
{
    struct mpiio_chunk *chunk = bytes->first;

    if (chunk != NULL)
        bytes->first = chunk->next;
    return chunk;
}

static int put(const struct mpiio_share_place *place, const void *buffer, size_t length)
{
    return length > 0 ? place->place(place, buffer, length) : 0;
}

/* Completes the part of an etype that is left of what came before. How many bytes that took, or a
   negative errno. */
static ssize_t complete(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place,
                        const char *buffer, size_t length)
{
    size_t taken = bytes->etype - bytes->part_length;
    int error;

    if (bytes->part_length == 0)
        return 0;
    if (taken > length)
        taken = length;
    memcpy(bytes->part + bytes->part_length, buffer, taken);
    bytes->part_length += taken;
    if (bytes->part_length < bytes->etype)
        return (ssize_t)taken;
    bytes->part_length = 0;
    error = put(place, bytes->part, bytes->etype);
    return error != 0 ? error : (ssize_t)taken;
}

int mpiio_share_bytes_place(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place,
                            const char *buffer, size_t length)
{
    size_t left;
    ssize_t taken;
    int error;

    if (bytes->etype > 1 && bytes->part == NULL)
        bytes->part = malloc(bytes->etype);
    if (bytes->etype > 1 && bytes->part == NULL)
        return -ENOMEM;
    taken = complete(bytes, place, buffer, length);
    if (taken < 0)
        return (int)taken;
    buffer += taken;
    length -= (size_t)taken;
    left = length % bytes->etype;
    error = put(place, buffer, length - left);
    if (error != 0 || left == 0)
        return error;
    memcpy(bytes->part, buffer + length - left, left);
    bytes->part_length = left;
    return 0;
}

int mpiio_share_bytes_end(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place)
{
    size_t length = bytes->part_length;

    if (length == 0)
        return 0;
    memset(bytes->part + length, 0, bytes->etype - length);
    bytes->part_length = 0;
    return put(place, bytes->part, bytes->etype);
}

int64_t mpiio_share_bytes_drop(struct mpiio_share_bytes *bytes)
{
    struct mpiio_chunk *chunk;
    int64_t dropped = 0;

    while ((chunk = mpiio_share_bytes_next(bytes)) != NULL) {
        dropped += (int64_t)chunk->length;
        free(chunk);
    }
    free(bytes->part);
    bytes->part = NULL;
    bytes->part_length = 0;
    return dropped;
}
