/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WIRE_H
#define MPIIO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fields as bytes, for all that daemons and engines tell each other. Integers have their highest
 * byte first. Each function goes both ways: it appends a field to a message that is written, or
 * takes it off one that is read, so that the fields of a message are listed once.
 *
 * A failure stays: nothing is written or taken behind it, and fields that are read are zero or
 * empty. Local, thread-safe for different messages.
 */
struct mpiio_wire {
    uint8_t *to;         /* the message that is written; NULL: it is read */
    const uint8_t *from; /* the message that is read */
    size_t size;         /* of the message that is read; of the room for one that is written */
    size_t at;           /* bytes that are written or taken; <= size */
    bool failed;         /* what is written does not fit; what is read is too short, or wrong */
};

/* The bytes as they are. */
void mpiio_wire_bytes(struct mpiio_wire *wire, void *bytes, size_t size);

void mpiio_wire_u8(struct mpiio_wire *wire, uint8_t *value);
void mpiio_wire_u32(struct mpiio_wire *wire, uint32_t *value);
void mpiio_wire_u64(struct mpiio_wire *wire, uint64_t *value);

/* 0 or 1 in 8 bits; what is read must be one of them. */
void mpiio_wire_flag(struct mpiio_wire *wire, bool *value);

/* 0 or a negative errno, -4095 at least, as a positive number of 32 bits. */
void mpiio_wire_errno(struct mpiio_wire *wire, int32_t *value);

/* A 32-bit size, and as many bytes. Those that are read are borrowed from the message. */
void mpiio_wire_string(struct mpiio_wire *wire, const char **bytes, uint32_t *size);

/* A string that ends with its only zero byte, which counts. Longer ones than most bytes fail. */
void mpiio_wire_text(struct mpiio_wire *wire, const char **text, size_t most);

/* Fails if a message that is read is not right. */
static inline void mpiio_wire_expect(struct mpiio_wire *wire, bool right)
{
    wire->failed = wire->failed || (wire->to == NULL && !right);
}

/* True if all of a message was read, and was right. */
static inline bool mpiio_wire_complete(const struct mpiio_wire *wire)
{
    return !wire->failed && wire->at == wire->size;
}

#endif
