/* SPDX-License-Identifier: MIT */
#ifndef RUN_STREAMS_H
#define RUN_STREAMS_H

/* Streams of granted slices (stdio), with bytes and with wide characters. */

/* Writes the buffered data of streams of granted slices. */
void run_streams_flush(void);

/* Excludes changes of the list of streams, so that a child of fork(2) gets a complete one. */
void run_streams_lock(void);
void run_streams_unlock(void);

#endif
