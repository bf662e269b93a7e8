/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOG_LEVEL_H
#define MPIIO_LOG_LEVEL_H

/* The severity of a line in the daemon's log, in ascending order. */
enum mpiio_log_level {
    MPIIO_LOG_DEBUG,   /* one line for each request */
    MPIIO_LOG_INFO,    /* a change of state that was asked for or expected */
    MPIIO_LOG_WARNING, /* the mount works, but something is not as it should be */
    MPIIO_LOG_ERROR,   /* data is lost or cannot be stored, or a node has failed */
};

#endif
