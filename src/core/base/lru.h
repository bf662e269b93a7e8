/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LRU_H
#define MPIIO_LRU_H

#include <stddef.h>
#include <stdint.h>

/*
 * A table of objects by number that counts their users. Objects without users stay in the table, in
 * the order in which they lost their last user, until they are evicted. A lock of the caller guards
 * the table and its entries. An entry is the first member of its object.
 */
struct mpiio_lru_entry {
    uint64_t key;
    unsigned users;
    struct mpiio_lru_entry *next;          /* in its bucket */
    struct mpiio_lru_entry *older, *newer; /* in the list of those without users */
};

#define MPIIO_LRU_BUCKETS 4096

/* The table, initially zeroed. */
struct mpiio_lru {
    struct mpiio_lru_entry *buckets[MPIIO_LRU_BUCKETS];
    struct mpiio_lru_entry *oldest, *newest; /* without users */
    size_t idle;                             /* number of objects without users */
};

/* Return the object with that key, or NULL. get also adds a user. */
void *mpiio_lru_find(const struct mpiio_lru *lru, uint64_t key);
void *mpiio_lru_get(struct mpiio_lru *lru, uint64_t key);

/* Adds an object with one user. Its key must be set, and not be in the table. */
void mpiio_lru_add(struct mpiio_lru *lru, struct mpiio_lru_entry *entry);

/* Removes a user from an object of the table. */
void mpiio_lru_put(struct mpiio_lru *lru, struct mpiio_lru_entry *entry);

/* Removes an object from the table. Its count of users stays. */
void mpiio_lru_remove(struct mpiio_lru *lru, struct mpiio_lru_entry *entry);

/* Removes and returns the object that has been without users longest, if more than most objects
   have none; else returns NULL. */
void *mpiio_lru_evict(struct mpiio_lru *lru, size_t most);

/* Removes each object, with or without users, and calls release for it. */
void mpiio_lru_clear(struct mpiio_lru *lru, void (*release)(void *object));

#endif
