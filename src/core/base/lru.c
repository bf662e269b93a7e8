/* SPDX-License-Identifier: MIT */
#include "lru.h"

#include <assert.h>

/* Mixes in the upper half, because inode numbers may differ there only. */
static size_t bucket_of(uint64_t key)
{
    return (key + (key >> 32)) % MPIIO_LRU_BUCKETS;
}

static void leave_idle(struct mpiio_lru *lru, struct mpiio_lru_entry *entry)
{
    assert(lru->idle > 0);
    *(entry->older != NULL ? &entry->older->newer : &lru->oldest) = entry->newer;
    *(entry->newer != NULL ? &entry->newer->older : &lru->newest) = entry->older;
    entry->older = NULL;
    entry->newer = NULL;
    lru->idle--;
}

void *mpiio_lru_find(const struct mpiio_lru *lru, uint64_t key)
{
    struct mpiio_lru_entry *entry = lru->buckets[bucket_of(key)];

    while (entry != NULL && entry->key != key)
        entry = entry->next;
    return entry;
}

void *mpiio_lru_get(struct mpiio_lru *lru, uint64_t key)
{
    struct mpiio_lru_entry *entry = mpiio_lru_find(lru, key);

    if (entry != NULL && entry->users++ == 0)
        leave_idle(lru, entry);
    return entry;
}

void mpiio_lru_add(struct mpiio_lru *lru, struct mpiio_lru_entry *entry)
{
    struct mpiio_lru_entry **bucket = &lru->buckets[bucket_of(entry->key)];

    assert(mpiio_lru_find(lru, entry->key) == NULL);
    *entry = (struct mpiio_lru_entry){.key = entry->key, .users = 1, .next = *bucket};
    *bucket = entry;
}

void mpiio_lru_put(struct mpiio_lru *lru, struct mpiio_lru_entry *entry)
{
    assert(entry->users > 0);
    if (--entry->users > 0)
        return;
    entry->older = lru->newest;
    *(lru->newest != NULL ? &lru->newest->newer : &lru->oldest) = entry;
    lru->newest = entry;
    lru->idle++;
}

void mpiio_lru_remove(struct mpiio_lru *lru, struct mpiio_lru_entry *entry)
{
    struct mpiio_lru_entry **link = &lru->buckets[bucket_of(entry->key)];

    if (entry->users == 0)
        leave_idle(lru, entry);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
}

void *mpiio_lru_evict(struct mpiio_lru *lru, size_t most)
{
    struct mpiio_lru_entry *entry = lru->idle > most ? lru->oldest : NULL;

    if (entry != NULL)
        mpiio_lru_remove(lru, entry);
    return entry;
}

void mpiio_lru_clear(struct mpiio_lru *lru, void (*release)(void *object))
{
    for (size_t i = 0; i < MPIIO_LRU_BUCKETS; i++) {
        while (lru->buckets[i] != NULL) {
            struct mpiio_lru_entry *entry = lru->buckets[i];

            mpiio_lru_remove(lru, entry);
            release(entry);
        }
    }
}
