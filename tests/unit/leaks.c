/* SPDX-License-Identifier: MIT */
#include "leaks.h"
#include "wrap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void *blocks[BLOCKS]; /* guarded by lock */
static size_t count;               /* guarded by lock */

/* Adds a block to the list, unless it is NULL. Returns the block. */
static void *add(void *block)
{
    if (block == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    if (count == BLOCKS)
        abort();
    blocks[count++] = block;
    pthread_mutex_unlock(&lock);
    return block;
}

/* Removes a block from the list. Starts with the newest blocks, which are usually freed first.
   Ignores NULL, and blocks that libraries have allocated. */
static void drop(const void *block)
{
    size_t i;

    pthread_mutex_lock(&lock);
    for (i = count; i > 0 && blocks[i - 1] != block; i--)
        continue;
    if (i > 0)
        blocks[i - 1] = blocks[--count];
    pthread_mutex_unlock(&lock);
}

WRAP(void *, malloc, size_t size)
{
    return add(__real_malloc(size));
}

WRAP(void *, calloc, size_t number, size_t size)
{
    return add(__real_calloc(number, size));
}

/* Drops the block first: another thread may get its memory as soon as it is freed. With a size of
   0, which no caller passes, NULL would not mean failure. */
WRAP(void *, realloc, void *block, size_t size)
{
    void *moved;

    drop(block);
    moved = __real_realloc(block, size);
    add(moved != NULL ? moved : block);
    return moved;
}

WRAP(char *, strdup, const char *text)
{
    return add(__real_strdup(text));
}

WRAP(char *, strndup, const char *text, size_t size)
{
    return add(__real_strndup(text, size));
}

WRAP(void, free, void *block)
{
    drop(block);
    __real_free(block);
}

size_t leaks_count(void)
{
    size_t now;

    pthread_mutex_lock(&lock);
    now = count;
    pthread_mutex_unlock(&lock);
    return now;
}
