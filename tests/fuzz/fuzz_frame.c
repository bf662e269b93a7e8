/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for frames. Any bytes from the network are a valid frame, an incomplete one, or
 * refused. A valid frame stays within its bounds, and encodes to the same bytes again. Every
 * truncation of an incomplete frame is also incomplete or refused.
 */

#include "fuzz.h"
#include "cluster/peer_frame.h"
#include "cluster/stall.h"
#include "viewspec/base/line.h"

/* Checks the report of a node whose engine waits. It must stay within its bounds and encode to
   the same bytes, or be refused. */
static void check_stall(const struct mpiio_peer_frame *frame)
{
    struct mpiio_stall stall;
    uint8_t again[MPIIO_STALL_BYTES];

    if (frame->type != MPIIO_PROGRESS ||
        mpiio_stall_decode(frame->text, frame->text_size, &stall) != 0)
        return;
    CHECK(stall.count <= MPIIO_STALL_NODES);
    CHECK(mpiio_stall_encode(&stall, again) == frame->text_size);
    CHECK(memcmp(again, frame->text, frame->text_size) == 0);
}

static void check_frame(const uint8_t *bytes, size_t length, const struct mpiio_peer_frame *frame)
{
    static uint8_t again[MPIIO_PEER_FRAME_MAX];
    char line[64];

    CHECK(length >= MPIIO_PEER_FRAME_HEAD && length <= MPIIO_PEER_FRAME_MAX);
    CHECK(frame->type > 0 && frame->type < MPIIO_PEER_FRAME_TYPES);
    CHECK(frame->status <= 0 && frame->status >= -4095);
    CHECK(strlen(frame->host) <= MPIIO_HOST_MAX);
    CHECK(frame->text_size <= MPIIO_PEER_TEXT_MAX);
    CHECK(mpiio_peer_frame_encode(frame, again) == length);
    CHECK(memcmp(again, bytes, length) == 0);
    check_stall(frame);
    vs_line_copy(line, sizeof(line), frame->text, frame->text_size);
    CHECK(strlen(line) < sizeof(line) && strchr(line, '\n') == NULL);
}

/* Decodes from memory of exactly that size, so that a sanitizer detects a read past its end. */
static ssize_t decode(const uint8_t *bytes, size_t size, bool check)
{
    struct mpiio_peer_frame frame;
    uint8_t *copy = malloc(size != 0 ? size : 1);
    ssize_t length;

    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    length = mpiio_peer_frame_decode(copy, size, &frame);
    CHECK(length <= (ssize_t)size);
    if (check && length > 0)
        check_frame(copy, (size_t)length, &frame);
    free(copy);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    ssize_t length;

    while (at < size && (length = decode(data + at, size - at, true)) > 0) {
        for (size_t part = 0; part < (size_t)length && part < 300; part++)
            CHECK(decode(data + at, part, false) == 0);
        at += (size_t)length;
    }
    return 0;
}
