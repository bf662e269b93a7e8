/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SHARE_H
#define MPIIO_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that wait. */
struct mpiio_chunk {
    struct mpiio_chunk *next;
    size_t length, room;
    char bytes[];
};

/*
 * What was written to a share and is not placed yet: bytes that wait in memory, and a part of an
 * etype, which is to become whole. No locks: those are the user's.
 */
struct mpiio_share_bytes {
    size_t etype;
    struct mpiio_chunk *first, *last;
    char *part; /* owned */
    size_t part_length;
};

/* Puts whole etypes behind the pointer: 0 or a negative errno. */
struct mpiio_share_place {
    int (*place)(const struct mpiio_share_place *self, const void *buffer, size_t length);
};

/* Keeps bytes behind those that wait. 0 or -ENOMEM. */
int mpiio_share_bytes_keep(struct mpiio_share_bytes *bytes, const void *buffer, size_t length);

/* Takes the first chunk out, which is the caller's to free; NULL: none waits. */
struct mpiio_chunk *mpiio_share_bytes_next(struct mpiio_share_bytes *bytes);

/* Places whole etypes of what came before and of buffer, and keeps what is left. 0 or a negative
   errno. */
int mpiio_share_bytes_place(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place,
                            const char *buffer, size_t length);

/* It has come to its end: what is missing of its last etype is zeros. As above. */
int mpiio_share_bytes_end(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place);

/* Frees all. Returns how many bytes had waited. */
int64_t mpiio_share_bytes_drop(struct mpiio_share_bytes *bytes);

#endif
