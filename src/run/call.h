/* SPDX-License-Identifier: MIT */
#ifndef RUN_CALL_H
#define RUN_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct run_open;

/* Sections (hold.h) that can be abandoned. All functions keep errno and act on this thread. */

/* A read or a write that is being served. */
struct run_call {
    struct run_open *open; /* NULL until it is found */
    int fd;
    const struct iovec *parts;
    int count;
    size_t length;  /* bytes of the parts */
    int64_t offset; /* where in the slice; negative: nothing to complete if it is abandoned */
    bool writing;
    bool here; /* the descriptor's position was moved by length */
    int cancellation;
};

/* Begins a section that ends with run_call_end. call must stay valid until then. Does not nest. */
void run_call_begin(struct run_call *call);
void run_call_end(const struct run_call *call);

/*
 * Ends the section of a call that the program is about to jump out of, from a signal handler. A
 * write is completed through the mount, as the kernel would have completed it; a read has not
 * happened. The call may hold locks of the shared file's store for ever, so the file's grants end.
 * Async-signal-safe.
 */
void run_call_abandon(void);

#endif
