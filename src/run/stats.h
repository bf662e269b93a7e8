/* SPDX-License-Identifier: MIT */
#ifndef RUN_STATS_H
#define RUN_STATS_H

#include <stddef.h>

/*
 * What was served and what fell back to the mount, which MPIIO_RUN_STATS has told at the process's
 * end, in a line on standard error. Thread-safe; but for run_stats_refused async-signal-safe.
 */
enum run_count {
    RUN_OPENS, /* of slices */
    RUN_GRANTED,
    RUN_READS,
    RUN_READ_BYTES,
    RUN_WRITES,
    RUN_WRITE_BYTES,
    RUN_FELL_BACK, /* calls of what was granted: the sum of those below */
    RUN_TAKEN_BACK,
    RUN_NOT_GIVEN, /* a right that the grant does not have */
    RUN_FAILED,    /* the mount tells why */
    RUN_FLAGS,
    RUN_LIMITED, /* a write under a limit of files' size */
    RUN_SHORT,   /* a read of many members, of too little of each */
    RUN_COUNTS
};

void run_stats_add(enum run_count which, size_t number);

/* A call of what was granted goes to the mount: counts it, and why. */
void run_stats_fell_back(enum run_count why);

/* A slice was opened and is not granted. why is copied. */
void run_stats_refused(const char *why);

/*
 * Reads MPIIO_RUN_STATS and duplicates standard error, which programs may close before they end.
 * Call it again when the program has redirected standard error.
 */
void run_stats_start(void);

/* Closes the duplicate. Nothing is printed from then on. */
void run_stats_stop(void);

/* A new process counts from zero. */
void run_stats_forget(void);

/* Prints the line, once, where a slice was opened. */
void run_stats_print(void);

#endif
