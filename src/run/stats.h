/* SPDX-License-Identifier: MIT */
#ifndef RUN_STATS_H
#define RUN_STATS_H

#include <stddef.h>

/*
 * Counters of served calls and of calls that fell back to the mount. With MPIIO_RUN_STATS set, the
 * process prints them in a line on standard error when it exits. All functions are thread-safe, and
 * async-signal-safe except run_stats_refused.
 */
enum run_count {
    RUN_OPENS, /* of slices */
    RUN_GRANTED,
    RUN_READS,
    RUN_READ_BYTES,
    RUN_WRITES,
    RUN_WRITE_BYTES,
    RUN_FELL_BACK, /* calls on granted slices: the sum of the counts below */
    RUN_TAKEN_BACK,
    RUN_NOT_GIVEN, /* a right that the grant lacks, or a write that the mark excludes */
    RUN_FAILED,    /* the mount reports the reason */
    RUN_FLAGS,
    RUN_LIMITED, /* a write under a file size limit */
    RUN_SHORT,   /* a read that spans many members with too few bytes of each */
    RUN_COUNTS
};

void run_stats_add(enum run_count which, size_t number);

/* Counts a call on a granted slice that goes to the mount, and its reason. */
void run_stats_fell_back(enum run_count why);

/* Counts a slice that was opened and not granted. why is copied. */
void run_stats_refused(const char *why);

/*
 * Reads MPIIO_RUN_STATS and duplicates standard error, which programs may close before they exit.
 * Call it again when the program has redirected standard error.
 */
void run_stats_start(void);

/* Closes the duplicate. After that nothing is printed. */
void run_stats_stop(void);

/* Resets all counts in a new process. */
void run_stats_forget(void);

/* Prints the line, once, if any slice was opened. */
void run_stats_print(void);

#endif
