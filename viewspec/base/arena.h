/* SPDX-License-Identifier: MIT */
#ifndef VS_ARENA_H
#define VS_ARENA_H

/* Memory that is freed all at once, and checked arithmetic. Not installed. */

#include <stddef.h>
#include <stdint.h>

struct vs_arena_block;

/*
 * Starts zeroed. failure keeps the first error (-ENOMEM, -EOVERFLOW), so that a computation can run
 * to its end and check once.
 */
struct vs_arena {
    struct vs_arena_block *blocks;
    char *next;
    size_t left;
    size_t bytes; /* allocated from the system so far */
    int failure;
};

/*
 * Returns size bytes, zeroed and aligned for any type; NULL if out of memory (recorded in failure).
 */
void *vs_arena_alloc(struct vs_arena *arena, size_t size);

/* Allocates count elements of size bytes each; the product is checked. */
void *vs_arena_array(struct vs_arena *arena, int64_t count, size_t size);

/* Returns a copy of text. */
char *vs_arena_text(struct vs_arena *arena, const char *text);

void vs_arena_free(struct vs_arena *arena);

/* Checked 64-bit arithmetic: returns the result, or 0 after setting failure to -EOVERFLOW. */
int64_t vs_add(struct vs_arena *arena, int64_t a, int64_t b);
int64_t vs_sub(struct vs_arena *arena, int64_t a, int64_t b);
int64_t vs_mul(struct vs_arena *arena, int64_t a, int64_t b);

#endif
