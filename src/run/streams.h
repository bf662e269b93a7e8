/* SPDX-License-Identifier: MIT */
#ifndef RUN_STREAMS_H
#define RUN_STREAMS_H

/* Has what streams of granted slices hold written. */
void run_streams_flush(void);

#endif
