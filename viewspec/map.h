/* SPDX-License-Identifier: MIT */
#ifndef VS_MAP_H
#define VS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The compiled map of a view: where each byte of a rank's data lies in the file.
 *
 * Three kinds of place occur throughout; all are signed 64-bit and count bytes.
 *
 *   displacement    absolute byte position in the file (MPI 3.1, 13.1.1)
 *   position        byte number in the view's data as the file holds it: the bytes that the tiled
 *                   filetype selects, packed in typemap order, gaps left out; where the view has a
 *                   buftype, in the order in which that has the etypes in memory
 *   slice offset    byte number in the same data in native representation: what a reader of the
 *                   slice sees
 *
 * The map takes a position to a displacement, and back. Position and slice offset are equal
 * where every element has the same size in the file as in memory, and memory has no gaps.
 *
 * A map is a small tree of strided loops that is never expanded: its size follows the length of
 * the type's description, and every function here takes O(depth * log(width)) steps, however many
 * runs or tiles there are. (vs_map_find has a limit of its own; vs_map_lower_bound takes O(width)
 * steps at a list of different types that overlap.) The nodes of the tree may be shared: a walk
 * over all of it must remember where it was, and goes into one part of a node otherwise. A map is
 * immutable: any number of threads may use one at once.
 */
struct vs_map;

/* Consecutive positions that lie side by side in the file. */
struct vs_run {
    int64_t position;
    int64_t displacement;
    int64_t length; /* > 0 */
};

/*
 * count runs of length bytes each: run i holds the positions from position + i * length and lies
 * at displacement + i * stride. count is 1 for a run that repeats no more.
 */
struct vs_batch {
    int64_t position;
    int64_t displacement;
    int64_t length; /* > 0 */
    int64_t count;  /* > 0 */
    int64_t stride;
};

/* Facts of a map; all sizes in bytes. */
struct vs_map_facts {
    int64_t displacement; /* the view's displacement: where tile 0 begins */
    int64_t tile_size;    /* data in a tile; 0: the rank owns nothing */
    int64_t tile_extent;  /* distance from a tile to the next */
    int64_t tiles;        /* how many tiles there are at most; INT64_MAX: the view does not say */
    int64_t tile_runs; /* runs in a tile, adjacent ones not merged across loops (an upper bound) */
    int64_t first;     /* displacement of the lowest byte of tile 0 */
    int64_t end;       /* displacement behind the highest byte of tile 0 */
    int64_t limit;     /* number of positions: those with displacements below 2^63-1 */
    bool monotonic;    /* displacements never decrease in slice order */
    bool disjoint;     /* no byte of the file is held twice */
};

/* The facts of map. Borrowed: valid as long as the map. Local, thread-safe. */
const struct vs_map_facts *vs_map_facts(const struct vs_map *map);

/*
 * The displacement of the byte at position; -1 where position is negative or not below
 * facts->limit. Local, thread-safe. MPI 3.1, 13.5 (MPI_File_get_byte_offset, in bytes).
 */
int64_t vs_map_displacement(const struct vs_map *map, int64_t position);

/*
 * The lowest position that holds the file's byte at displacement, or -1 where the view does not
 * show that byte. The inverse of vs_map_displacement. Where tiles or blocks interleave it takes as
 * many steps as interleave, or as one of them has runs, if these are fewer; and where that is more
 * than VS_FIND_STEPS it returns VS_FIND_GAVE_UP. Local, thread-safe.
 */
int64_t vs_map_find(const struct vs_map *map, int64_t displacement);

/* Negative, as -1 is: the search ended before it could tell. */
#define VS_FIND_GAVE_UP (-2)

/* The steps of a search: some tens of milliseconds. */
#define VS_FIND_STEPS 1000000

/* The same with *steps steps, of which it takes off those that it has used. */
int64_t vs_map_find_within(const struct vs_map *map, int64_t displacement, int64_t *steps);

/*
 * The first position, in slice order, whose displacement is at or behind the given one, or
 * facts->limit where there is none. Local, thread-safe.
 */
int64_t vs_map_lower_bound(const struct vs_map *map, int64_t displacement);

/* The frames a cursor keeps: compilation refuses a map that needs more. */
#define VS_MAP_DEPTH 200

struct vs_node;
struct vs_cursor_frame {
    const struct vs_node *node;
    int64_t origin; /* displacement that the node's own displacements count from */
    int64_t index;  /* which child is under way */
    int64_t inner;  /* which instance of that child, in a list of blocks */
};

/*
 * Walks a map in slice order. The fields are the cursor's own. A cursor holds no memory and
 * borrows the map; one thread uses it at a time.
 */
struct vs_cursor {
    int64_t position; /* of the next byte to be handed out; read-only for the user */
    int64_t end;
    int64_t done; /* bytes of the current leaf that are handed out already */
    int depth;
    struct vs_cursor_frame frames[VS_MAP_DEPTH];
};

/*
 * Sets cursor to walk the positions [position, position + length) of map, cut to [0, limit).
 * O(depth). Local.
 */
void vs_cursor_start(struct vs_cursor *cursor, const struct vs_map *map, int64_t position,
                     int64_t length);

/*
 * The next batch of runs. Returns false at the end. A run that the range cuts comes as a batch of
 * one. Adjacent batches are not merged. Local.
 */
bool vs_cursor_batch(struct vs_cursor *cursor, struct vs_batch *batch);

/*
 * Walks the same as single runs, each as long as it can be: adjacent ones are merged. A run takes
 * O(depth) batches at most, as what is dense throughout is one batch.
 */
struct vs_runs {
    struct vs_cursor cursor;
    struct vs_batch batch; /* what is left of the batch under way; count 0: nothing */
};

void vs_runs_start(struct vs_runs *runs, const struct vs_map *map, int64_t position,
                   int64_t length);
bool vs_runs_next(struct vs_runs *runs, struct vs_run *run);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
