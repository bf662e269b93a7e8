/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/thread.h"
#include "core/base/clock.h"

void mpiio_pool_memory_init(struct mpiio_pool_memory *memory, const struct mpiio_pool_file *file,
                            int64_t bytes)
{
    *memory = (struct mpiio_pool_memory){
        .file = *file, .size = MPIIO_POOL_BLOCK, .most = bytes / MPIIO_POOL_BLOCK};
    pthread_mutex_init(&memory->lock, NULL);
    pthread_cond_init(&memory->changed, NULL);
}

static void free_block(void *object)
{
    struct mpiio_pool_block *block = object;

    munmap(block->bytes, block->size);
    free(block);
}

void mpiio_pool_memory_destroy(struct mpiio_pool_memory *memory)
{
    struct mpiio_pool_block *block;

    mpiio_lru_clear(&memory->listed, free_block);
    while ((block = memory->unused) != NULL) {
        memory->unused = block->next;
        free_block(block);
    }
    pthread_cond_destroy(&memory->changed);
    pthread_mutex_destroy(&memory->lock);
}

bool mpiio_pool_version_same(const struct mpiio_pool_version *a, const struct mpiio_pool_version *b)
{
    return a->size == b->size && a->epoch == b->epoch &&
           memcmp(a->times, b->times, sizeof(a->times)) == 0;
}

/* The following functions except get, put and has are called with the lock held. */

static void keep_unused(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block)
{
    assert(mpiio_is_held(&memory->lock));
    assert(block->entry.users == 0 && !block->listed && block->state != MPIIO_POOL_FILLING);
    block->next = memory->unused;
    memory->unused = block;
}

/* Removes a block from the list. Its memory is reused once the last reference is gone. */
static void drop_block(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block)
{
    assert(mpiio_is_held(&memory->lock));
    mpiio_lru_remove(&memory->listed, &block->entry);
    block->listed = false;
    if (block->entry.users == 0)
        keep_unused(memory, block);
}

static void let_go(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block)
{
    assert(mpiio_is_held(&memory->lock));
    assert(block->entry.users > 0);
    if (block->listed)
        mpiio_lru_put(&memory->listed, &block->entry);
    else if (--block->entry.users == 0)
        keep_unused(memory, block);
}

/* Drops the least recently used block that has no users. Returns false if all are in use. */
static bool make_room(struct mpiio_pool_memory *memory)
{
    struct mpiio_pool_block *block = mpiio_lru_evict(&memory->listed, 0);

    if (block == NULL)
        return false;
    block->listed = false;
    keep_unused(memory, block);
    return true;
}

/* Maps memory for a block of size bytes. The kernel allocates a page when it is first written. */
static struct mpiio_pool_block *new_block(size_t size)
{
    struct mpiio_pool_block *block = calloc(1, sizeof(*block));
    void *bytes;

    if (block == NULL)
        return NULL;
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        free(block);
        return NULL;
    }
    block->bytes = bytes;
    block->size = size;
    return block;
}

/* Adds a block of that number. The caller holds a reference and must fill the block. */
static struct mpiio_pool_block *add_block(struct mpiio_pool_memory *memory, int64_t number,
                                          const struct mpiio_pool_version *version)
{
    struct mpiio_pool_block *block = NULL;

    assert(mpiio_is_held(&memory->lock));
    if (memory->unused == NULL && memory->count < memory->most) {
        block = new_block((size_t)memory->size);
        memory->count += block != NULL;
    }
    if (block == NULL) {
        if (memory->unused == NULL && !make_room(memory))
            return NULL;
        block = memory->unused;
        memory->unused = block->next;
    }
    assert(memory->count <= memory->most && block->entry.users == 0 && !block->listed);
    block->version = *version;
    block->state = MPIIO_POOL_FILLING;
    block->listed = true;
    block->entry.key = (uint64_t)number;
    mpiio_lru_add(&memory->listed, &block->entry);
    return block;
}

/* Adds a reference to a block and waits until the block is filled. If that fails, releases the
   reference and returns NULL. */
static struct mpiio_pool_block *await_block(struct mpiio_pool_memory *memory,
                                            struct mpiio_pool_block *block)
{
    mpiio_lru_get(&memory->listed, block->entry.key);
    while (block->state == MPIIO_POOL_FILLING)
        pthread_cond_wait(&memory->changed, &memory->lock);
    if (block->state == MPIIO_POOL_READY) {
        memory->hits++;
        return block;
    }
    let_go(memory, block);
    return NULL;
}

/* Reads a new block. With the lock held, which is released while reading. */
static struct mpiio_pool_block *fill_block(struct mpiio_pool_memory *memory,
                                           struct mpiio_pool_block *block)
{
    int64_t number = (int64_t)block->entry.key;
    bool inside = number <= block->version.size / memory->size;
    int64_t start = inside ? number * memory->size : 0;
    int64_t rest = inside ? block->version.size - start : 0;
    int64_t length = rest < memory->size ? rest : memory->size;
    int64_t got = -EINVAL;

    assert(block->state == MPIIO_POOL_FILLING && block->entry.users > 0);
    assert(mpiio_is_held(&memory->lock));
    pthread_mutex_unlock(&memory->lock);
    if (length > 0)
        got = memory->file.read(memory->file.data, block->bytes, (size_t)length, start);
    pthread_mutex_lock(&memory->lock);
    block->length = length;
    block->state = got == length ? MPIIO_POOL_READY : MPIIO_POOL_FAILED;
    pthread_cond_broadcast(&memory->changed);
    if (got > 0) {
        memory->blocks++;
        memory->storage_bytes += (uint64_t)got;
    }
    if (got == length)
        return block;
    if (block->listed)
        drop_block(memory, block);
    let_go(memory, block);
    return NULL;
}

struct mpiio_pool_block *mpiio_pool_memory_get(struct mpiio_pool_memory *memory, int64_t number,
                                               const struct mpiio_pool_version *version,
                                               bool *fresh)
{
    struct mpiio_pool_block *block;

    *fresh = false;
    pthread_mutex_lock(&memory->lock);
    memory->used = mpiio_clock();
    block = mpiio_lru_find(&memory->listed, (uint64_t)number);
    if (block != NULL && !mpiio_pool_version_same(&block->version, version)) {
        drop_block(memory, block);
        block = NULL;
    }
    if (block != NULL) {
        block = await_block(memory, block);
    } else {
        block = add_block(memory, number, version);
        if (block != NULL) {
            *fresh = true;
            block = fill_block(memory, block);
        }
    }
    pthread_mutex_unlock(&memory->lock);
    return block;
}

void mpiio_pool_memory_put(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block)
{
    pthread_mutex_lock(&memory->lock);
    let_go(memory, block);
    pthread_mutex_unlock(&memory->lock);
}

void mpiio_pool_memory_trim(struct mpiio_pool_memory *memory, int64_t idle)
{
    struct mpiio_pool_block *block;

    pthread_mutex_lock(&memory->lock);
    if (mpiio_clock() - memory->used >= idle) {
        while (make_room(memory))
            continue;
        while ((block = memory->unused) != NULL) {
            memory->unused = block->next;
            memory->count--;
            free_block(block);
        }
    }
    pthread_mutex_unlock(&memory->lock);
}

bool mpiio_pool_memory_has(struct mpiio_pool_memory *memory, int64_t number,
                           const struct mpiio_pool_version *version)
{
    struct mpiio_pool_block *block;
    bool has;

    pthread_mutex_lock(&memory->lock);
    block = mpiio_lru_find(&memory->listed, (uint64_t)number);
    has = block != NULL && mpiio_pool_version_same(&block->version, version);
    pthread_mutex_unlock(&memory->lock);
    return has;
}
