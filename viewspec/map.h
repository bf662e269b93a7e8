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
 * The compiled map of a view: the place in the file of each byte of a rank's data.
 *
 * Three kinds of place occur throughout. All are signed 64-bit numbers of bytes.
 *
 *   displacement    absolute byte position in the file (MPI 3.1, 13.1.1)
 *   position        byte number in the view's data in the representation of the file. The data are
 *                   the bytes that the tiled filetype selects, without gaps, in typemap order or,
 *                   if the view has a buftype, in the order of the etypes in memory
 *   slice offset    byte number in the same data in native representation, as a reader of the
 *                   slice sees it
 *
 * The map takes a position to a displacement, and back. Position and slice offset are equal if
 * every element has the same size in the file as in memory, and memory has no gaps.
 *
 * A map is a small tree of strided loops that is never expanded. Its size depends on the length of
 * the type's description only. Every function here takes O(depth * log(width)) steps, regardless of
 * the number of runs or tiles; vs_map_find and vs_map_lower_bound have exceptions. Nodes of the
 * tree may be shared: code that visits the whole tree must remember the nodes that it has visited,
 * or its time is exponential. A map is immutable, so any number of threads may use it at once.
 */
struct vs_map;

/* Consecutive positions that are adjacent in the file. */
struct vs_run {
    int64_t position;
    int64_t displacement;
    int64_t length; /* > 0 */
};

/*
 * count runs of length bytes each: run i holds the positions from position + i * length and lies
 * at displacement + i * stride. count is 1 for a single run.
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
    int64_t tiles;        /* the most tiles that there are; INT64_MAX: not limited by the spec */
    int64_t tile_runs;    /* upper bound of the runs in a tile; may count adjacent runs */
    int64_t first;        /* displacement of the lowest byte of tile 0 */
    int64_t end;          /* displacement after the highest byte of tile 0 */
    int64_t limit;        /* number of positions: those with displacements below 2^63-1 */
    bool monotonic;       /* the starts of etypes never decrease in slice order (MPI 3.1, 13.3) */
    bool disjoint; /* displacements increase, so that no byte has two positions; false: unknown */
};

/* Returns the facts of map, borrowed: valid as long as the map. Local, thread-safe. */
const struct vs_map_facts *vs_map_facts(const struct vs_map *map);

/*
 * Returns the displacement of the byte at position; -1 if position is negative or not below
 * facts->limit. Local, thread-safe. MPI 3.1, 13.5 (MPI_File_get_byte_offset, in bytes).
 */
int64_t vs_map_displacement(const struct vs_map *map, int64_t position);

/*
 * Returns the lowest position of the file's byte at displacement, or -1 if the view does not select
 * it: the inverse of vs_map_displacement. If tiles or blocks interleave, it takes one step for each
 * interleaving one, or for each run of one of them if these are fewer. After VS_FIND_STEPS it
 * returns VS_FIND_GAVE_UP. Local, thread-safe.
 */
int64_t vs_map_find(const struct vs_map *map, int64_t displacement);

/* The search reached its limit before it had an answer. Negative, like -1 for "not found". */
#define VS_FIND_GAVE_UP (-2)

/* The limit of a search in steps, which take some tens of milliseconds. */
#define VS_FIND_STEPS 1000000

/* Like vs_map_find with a limit of *steps steps; subtracts the steps taken. */
int64_t vs_map_find_within(const struct vs_map *map, int64_t displacement, int64_t *steps);

/*
 * Returns the first position, in slice order, whose displacement is at or after the given one, or
 * facts->limit if there is none. It takes O(width) steps at a list of different types that overlap.
 * Local, thread-safe.
 */
int64_t vs_map_lower_bound(const struct vs_map *map, int64_t displacement);

/*
 * The number of frames in a cursor. Compilation refuses a map that needs more: pieces of a buftype
 * that lie between each other nest without a limit.
 */
#define VS_MAP_DEPTH 200

struct vs_node;
struct vs_cursor_frame {
    const struct vs_node *node;
    int64_t origin; /* displacement that the node's own displacements are relative to */
    int64_t index;  /* the current child */
    int64_t inner;  /* the current instance of that child, in a list of blocks */
};

/*
 * Walks a map in slice order. The fields are private. A cursor owns no memory and borrows the map;
 * one thread may use it at a time.
 */
struct vs_cursor {
    int64_t position; /* the next position to return; users may read it */
    int64_t end;
    int64_t done; /* bytes of the current leaf that were returned already */
    int depth;
    struct vs_cursor_frame frames[VS_MAP_DEPTH];
};

/*
 * Starts a walk of the positions [position, position + length) of map, clipped to [0, limit).
 * O(depth). Local.
 */
void vs_cursor_start(struct vs_cursor *cursor, const struct vs_map *map, int64_t position,
                     int64_t length);

/*
 * Gets the next batch of runs. Returns false at the end. A run that the range cuts is returned as a
 * batch of one. Adjacent batches are not merged. Local.
 */
bool vs_cursor_batch(struct vs_cursor *cursor, struct vs_batch *batch);

/*
 * Walks a map as single runs. Adjacent runs are merged, so that each is as long as possible. A run
 * takes O(depth) batches at most, because dense data is one batch.
 */
struct vs_runs {
    struct vs_cursor cursor;
    struct vs_batch batch; /* the rest of the current batch; count 0: nothing */
};

/* Starts a walk as vs_cursor_start does. Local. */
void vs_runs_start(struct vs_runs *runs, const struct vs_map *map, int64_t position,
                   int64_t length);
/* Gets the next run. Returns false at the end. Local. */
bool vs_runs_next(struct vs_runs *runs, struct vs_run *run);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
