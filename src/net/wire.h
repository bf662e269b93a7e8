/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WIRE_H
#define MPIIO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The codec of all messages of daemons and engines. Integers are big-endian. Each function works in
 * both directions: it appends a field to a message that is written, or removes it from one that is
 * read. So the fields of a message are listed once.
 *
 * Failures are sticky: after one, nothing is written or read, and fields that are read are zero or
 * empty. Local. Thread-safe for different messages.
 */
struct mpiio_wire {
    uint8_t *to;         /* the message being written; NULL: reading */
    const uint8_t *from; /* the message being read */
    size_t size;         /* size of the message being read, or of the buffer being written */
    size_t at;           /* bytes written or read so far; <= size */
    bool failed;         /* writing: does not fit; reading: too short or invalid */
};

/* Raw bytes. */
void mpiio_wire_bytes(struct mpiio_wire *wire, void *bytes, size_t size);

/* A number in 8 bits. Reading ignores value. Returns the number; reading fails, and returns 0, if
   it is greater than most. */
uint8_t mpiio_wire_u8(struct mpiio_wire *wire, unsigned int value, unsigned int most);

void mpiio_wire_u32(struct mpiio_wire *wire, uint32_t *value);
void mpiio_wire_u64(struct mpiio_wire *wire, uint64_t *value);

/* A boolean in 8 bits: 0 or 1. */
void mpiio_wire_flag(struct mpiio_wire *wire, bool *value);

/* 0 or a negative errno >= -4095, encoded as its absolute value in 32 bits. */
void mpiio_wire_errno(struct mpiio_wire *wire, int32_t *value);

/* A 32-bit size and that number of bytes. Bytes that are read point into the message. */
void mpiio_wire_string(struct mpiio_wire *wire, const char **bytes, uint32_t *size);

/* A string with its terminating zero, which counts. Fails if it has more than most bytes. */
void mpiio_wire_text(struct mpiio_wire *wire, const char **text, size_t most);

/* A clean line (viewspec/base/line.h) that is not empty, in an array of most bytes. */
void mpiio_wire_line(struct mpiio_wire *wire, char *line, size_t most);

/* When reading, fails unless the condition holds. */
static inline void mpiio_wire_expect(struct mpiio_wire *wire, bool right)
{
    wire->failed = wire->failed || (wire->to == NULL && !right);
}

/* Returns true if the whole message was read without a failure. */
static inline bool mpiio_wire_complete(const struct mpiio_wire *wire)
{
    return !wire->failed && wire->at == wire->size;
}

#endif
