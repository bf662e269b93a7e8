/* SPDX-License-Identifier: MIT */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct fs_session;

/*
 * Identity views: a slice that is all of the file, byte for byte. A kernel from 6.9 on reads and
 * writes the file itself then, without a request to the daemon, where the daemon has the capability
 * SYS_ADMIN. It does so for all slices of a mount or for none: they show the same bytes, and what
 * it writes to one it tells nobody of. Such a slice ends where the file ends, also within an etype.
 *
 * libfuse before 3.17 knows nothing of it: what the kernel is told of it is put into the answers to
 * INIT and OPEN on their way. Thread-safe where nothing else is said.
 */
struct fs_passthrough {
    bool fits;      /* set before the mount is made: by the spec, the file and the options */
    atomic_bool on; /* the kernel has agreed, and has not refused since */
    atomic_int id;  /* by which the kernel knows the file; 0: it does not know it yet */
};

/* Sees whether the session is one for it. Its views are checked. To be called once. */
void fs_passthrough_init(struct fs_session *session);

/* A request of the kernel's, INIT, before libfuse has it: whether it offers what is needed. */
void fs_passthrough_asked(struct fs_session *session, const void *request, size_t length);

/* The answer to it, header and rest: tells the kernel that the offer is taken. */
void fs_passthrough_answer(const struct fs_session *session, const struct iovec *rest);

/* Whether the slices of the mount are the kernel's to read and write. */
bool fs_passthrough_is_on(const struct fs_session *session);

/* The same, and the kernel knows the file: where it refuses that, it is asked no more. */
bool fs_passthrough_has_file(struct fs_session *session);

/* Makes this thread's next answer, to an OPEN, one by which the kernel uses the file itself. */
void fs_passthrough_next(const struct fs_session *session);

/* An answer of this thread's on its way: that one is completed. */
void fs_passthrough_complete(const struct iovec *parts, int count);

#endif
