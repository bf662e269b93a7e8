/* SPDX-License-Identifier: MIT */
#ifndef RUN_STREAMS_H
#define RUN_STREAMS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A stream of a granted slice. The program has file, whose reads and writes are served. real is the
 * stream that the C library made, over the same descriptor. It does what file cannot: wide
 * characters, and freopen(3).
 */
struct run_stream {
    struct run_stream *next;
    FILE *file, *real;
    bool bytes; /* it is byte-oriented, as bytes were read or written: wide calls must respect it */
    bool wide;  /* real is used instead of file from then on */
};

/* Returns the stream that the program knows as file; NULL if it is one of the C library's own. */
struct run_stream *run_streams_find(FILE *file);

/* Returns true while a stream is wide. */
bool run_streams_are_wide(void);

/* Makes real continue at file's position, and replace it. Does nothing the second time. */
void run_streams_widen(struct run_stream *stream);

/* Writes the buffered data of streams of granted slices. */
void run_streams_flush(void);

/* Excludes changes of the list of streams, so that a child of fork(2) gets a complete one. */
void run_streams_lock(void);
void run_streams_unlock(void);

#endif
