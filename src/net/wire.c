/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <endian.h>
#include <string.h>

#include "viewspec/base/line.h"

/* Advances by size bytes. Fails if the message has fewer. */
static bool advance(struct mpiio_wire *wire, size_t size)
{
    wire->failed = wire->failed || size > wire->size - wire->at;
    if (wire->failed)
        return false;
    wire->at += size;
    return true;
}

void mpiio_wire_bytes(struct mpiio_wire *wire, void *bytes, size_t size)
{
    bool there = advance(wire, size);

    if (there && wire->to != NULL)
        memcpy(wire->to + wire->at - size, bytes, size);
    else if (there)
        memcpy(bytes, wire->from + wire->at - size, size);
    else if (wire->to == NULL)
        memset(bytes, 0, size);
}

uint8_t mpiio_wire_u8(struct mpiio_wire *wire, unsigned int value, unsigned int most)
{
    uint8_t byte = (uint8_t)value;

    mpiio_wire_bytes(wire, &byte, sizeof(byte));
    mpiio_wire_expect(wire, byte <= most);
    return wire->failed ? 0 : byte;
}

void mpiio_wire_u32(struct mpiio_wire *wire, uint32_t *value)
{
    uint32_t ordered = wire->to != NULL ? htobe32(*value) : 0;

    mpiio_wire_bytes(wire, &ordered, sizeof(ordered));
    *value = be32toh(ordered);
}

void mpiio_wire_u64(struct mpiio_wire *wire, uint64_t *value)
{
    uint64_t ordered = wire->to != NULL ? htobe64(*value) : 0;

    mpiio_wire_bytes(wire, &ordered, sizeof(ordered));
    *value = be64toh(ordered);
}

void mpiio_wire_flag(struct mpiio_wire *wire, bool *value)
{
    *value = mpiio_wire_u8(wire, wire->to != NULL && *value, 1) == 1;
}

void mpiio_wire_errno(struct mpiio_wire *wire, int32_t *value)
{
    uint32_t number = wire->to != NULL ? (uint32_t) - *value : 0;

    mpiio_wire_u32(wire, &number);
    mpiio_wire_expect(wire, number <= 4095);
    *value = wire->failed ? 0 : -(int32_t)number;
}

void mpiio_wire_string(struct mpiio_wire *wire, const char **bytes, uint32_t *size)
{
    mpiio_wire_u32(wire, size);
    if (!advance(wire, *size)) {
        *bytes = "";
        *size = 0;
    } else if (wire->to == NULL) {
        *bytes = (const char *)wire->from + wire->at - *size;
    } else if (*size != 0) {
        memcpy(wire->to + wire->at - *size, *bytes, *size);
    }
}

void mpiio_wire_text(struct mpiio_wire *wire, const char **text, size_t most)
{
    uint32_t size = wire->to != NULL ? (uint32_t)strlen(*text) + 1 : 0;

    mpiio_wire_string(wire, text, &size);
    if (size == 0 || size > most || memchr(*text, '\0', size) != *text + size - 1) {
        wire->failed = true;
        *text = "";
    }
}

void mpiio_wire_line(struct mpiio_wire *wire, char *line, size_t most)
{
    const char *text = line;

    mpiio_wire_text(wire, &text, most);
    if (wire->to != NULL)
        return;
    strcpy(line, text);
    mpiio_wire_expect(wire, line[0] != '\0' && !vs_line_clean(line));
}
