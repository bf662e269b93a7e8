/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "integer.h"

struct vs_arena_block {
    struct vs_arena_block *next;
    max_align_t data[];
};

/* A new block is as large as all earlier ones together, within these limits. The first ones are
   small because most views are, and each rank has one. */
#define MIN_BLOCK 256
#define MAX_BLOCK 4096

static void fail_arena(struct vs_arena *arena, int code)
{
    if (!arena->failure)
        arena->failure = code;
}

void *vs_arena_alloc(struct vs_arena *arena, size_t size)
{
    size_t align = _Alignof(max_align_t);
    void *memory;

    if (size > SIZE_MAX / 2) {
        fail_arena(arena, -ENOMEM);
        return NULL;
    }
    size = (size ? size + align - 1 : align) / align * align;
    if (size > arena->left) {
        size_t room = (size_t)vs_min(vs_max((int64_t)arena->bytes, MIN_BLOCK), MAX_BLOCK);
        struct vs_arena_block *block;

        if (room < size)
            room = size;
        block = calloc(1, sizeof(*block) + room);
        if (block == NULL) {
            fail_arena(arena, -ENOMEM);
            return NULL;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->bytes += sizeof(*block) + room;
        if (room - size < arena->left)
            return block->data; /* the older block has more space left */
        arena->next = (char *)block->data;
        arena->left = room;
    }
    memory = arena->next;
    arena->next += size;
    arena->left -= size;
    return memory;
}

void *vs_arena_array(struct vs_arena *arena, int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((uint64_t)count, size, &bytes)) {
        fail_arena(arena, -ENOMEM);
        return NULL;
    }
    return vs_arena_alloc(arena, bytes);
}

char *vs_arena_text(struct vs_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = vs_arena_alloc(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void vs_arena_free(struct vs_arena *arena)
{
    while (arena->blocks) {
        struct vs_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    *arena = (struct vs_arena){0};
}

static int64_t overflow(struct vs_arena *arena)
{
    fail_arena(arena, -EOVERFLOW);
    return 0;
}

int64_t vs_add(struct vs_arena *arena, int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? overflow(arena) : a;
}

int64_t vs_sub(struct vs_arena *arena, int64_t a, int64_t b)
{
    return __builtin_sub_overflow(a, b, &a) ? overflow(arena) : a;
}

int64_t vs_mul(struct vs_arena *arena, int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? overflow(arena) : a;
}
