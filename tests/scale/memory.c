/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes in front of each allocation, which keep it aligned. */
#define HEAD ((size_t)64)

struct memory_piece {
    struct memory_piece *next, **here;
    size_t size;
};

static struct memory *used;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *bytes, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *bytes);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *bytes, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *bytes);

void memory_use(struct memory *memory)
{
    used = memory;
}

static void *get(size_t size)
{
    struct memory_piece *piece = __real_aligned_alloc(HEAD, (size + 2 * HEAD - 1) / HEAD * HEAD);

    if (piece == NULL)
        return NULL;
    *piece = (struct memory_piece){used->pieces, &used->pieces, size};
    if (piece->next != NULL)
        piece->next->here = &piece->next;
    used->pieces = piece;
    used->bytes += size;
    if (used->bytes > used->most)
        used->most = used->bytes;
    return (char *)piece + HEAD;
}

static struct memory_piece *piece_of(void *bytes)
{
    return (void *)((char *)bytes - HEAD);
}

static void give_back(struct memory *memory, struct memory_piece *piece)
{
    *piece->here = piece->next;
    if (piece->next != NULL)
        piece->next->here = piece->here;
    memory->bytes -= piece->size;
    __real_free(piece);
}

void memory_free(struct memory *memory)
{
    while (memory->pieces != NULL)
        give_back(memory, memory->pieces);
}

void *__wrap_malloc(size_t size)
{
    return used != NULL ? get(size) : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *bytes;

    if (used == NULL)
        return __real_calloc(count, size);
    bytes = get(count * size);
    if (bytes != NULL)
        memset(bytes, 0, count * size);
    return bytes;
}

void *__wrap_reallocarray(void *bytes, size_t count, size_t size)
{
    void *more;

    if (used == NULL)
        return __real_reallocarray(bytes, count, size);
    more = get(count * size);
    if (bytes != NULL && more != NULL) {
        size_t old = piece_of(bytes)->size;

        memcpy(more, bytes, old < count * size ? old : count * size);
        give_back(used, piece_of(bytes));
    }
    return more;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return used != NULL && alignment <= HEAD ? get(size) : __real_aligned_alloc(alignment, size);
}

void __wrap_free(void *bytes)
{
    if (used == NULL)
        __real_free(bytes);
    else if (bytes != NULL)
        give_back(used, piece_of(bytes));
}
