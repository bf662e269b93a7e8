/* SPDX-License-Identifier: MIT */
#include "home.h"

#include <errno.h>
#include <string.h>

/* A piece begins with its shape, followed by its mask or its runs. */
struct run {
    uint32_t start;
    uint32_t length;
};

static size_t head_size(const struct engine_shape *shape)
{
    return sizeof(*shape) + (size_t)shape->words * sizeof(uint64_t) +
           (size_t)shape->runs * sizeof(struct run);
}

size_t engine_piece_size(const struct engine_shape *shape)
{
    size_t bytes = head_size(shape) + shape->dirty + ENGINE_PIECE_UNIT - 1;

    return bytes / ENGINE_PIECE_UNIT * ENGINE_PIECE_UNIT;
}

/* Words of the mask in one of its pages. All are zero if no page of their data has been touched. */
#define CHUNK_WORDS ((size_t)MPIIO_MASK_REACH / 64)

static bool is_touched(const struct mpiio_slot *slot, size_t word)
{
    return mpiio_slot_touched(slot, word * 64, word * 64 + MPIIO_MASK_REACH);
}

struct engine_shape engine_shape_of(const struct mpiio_slot *slot)
{
    struct engine_shape shape = {0};
    size_t first = MPIIO_BLOCK_WORDS, end = 0;
    uint64_t before = 0;

    for (size_t word = 0; word < MPIIO_BLOCK_WORDS; word++) {
        uint64_t bits;

        if (word % CHUNK_WORDS == 0 && !is_touched(slot, word)) {
            word += CHUNK_WORDS - 1;
            before = 0;
            continue;
        }
        bits = slot->mask[word];
        if (bits != 0) {
            first = word < first ? word : first;
            end = word + 1;
            shape.dirty += (uint32_t)__builtin_popcountll(bits);
            shape.runs += (uint32_t)__builtin_popcountll(bits & ~(bits << 1 | before));
        }
        before = bits >> 63;
    }
    if (end > first && shape.runs * sizeof(struct run) > (end - first) * sizeof(uint64_t)) {
        shape.first_word = (uint32_t)first;
        shape.words = (uint32_t)(end - first);
        shape.runs = 0;
    }
    return shape;
}

bool engine_shape_is_short(const struct engine_shape *shape)
{
    return shape->words > 0 || shape->dirty < shape->runs * ENGINE_LONG_RUN;
}

static void list_runs(const struct mpiio_slot *slot, struct run *list)
{
    struct mpiio_mask_run run = {0};

    while (mpiio_slot_next_run(slot, run.end, MPIIO_BLOCK_SIZE, &run))
        *list++ = (struct run){(uint32_t)run.start, (uint32_t)(run.end - run.start)};
}

/* Copies the words [word, end) of the mask, which are in one of its pages. */
static void copy_words(const struct mpiio_slot *slot, size_t word, size_t end, uint64_t *to)
{
    if (is_touched(slot, word - word % CHUNK_WORDS))
        memcpy(to, slot->mask + word, (end - word) * sizeof(*to));
    else
        memset(to, 0, (end - word) * sizeof(*to));
}

static void copy_mask(const struct engine_shape *shape, const struct mpiio_slot *slot, uint64_t *to)
{
    size_t word = shape->first_word, end = word + shape->words;

    while (word < end) {
        size_t next = (word / CHUNK_WORDS + 1) * CHUNK_WORDS;

        next = next < end ? next : end;
        copy_words(slot, word, next, to);
        to += next - word;
        word = next;
    }
}

void engine_piece_make(const struct engine_shape *shape, const struct mpiio_slot *slot, void *to)
{
    char *head = (char *)to + sizeof(*shape);
    char *packed = (char *)to + head_size(shape);

    memcpy(to, shape, sizeof(*shape));
    if (shape->words > 0)
        copy_mask(shape, slot, (uint64_t *)head);
    else
        list_runs(slot, (struct run *)head);
    for (size_t word = 0; word < MPIIO_BLOCK_WORDS; word += CHUNK_WORDS)
        if (is_touched(slot, word))
            packed += mpiio_mask_pack(slot->mask, word * 64, word * 64 + MPIIO_MASK_REACH,
                                      slot->data, packed);
}

static int lay_runs(const struct engine_shape *shape, const struct run *list, const char *packed,
                    uint64_t *mask, char *data)
{
    size_t left = shape->dirty;

    for (uint32_t i = 0; i < shape->runs; i++) {
        size_t start = list[i].start, length = list[i].length;

        if (length == 0 || length > left || start > (size_t)MPIIO_BLOCK_SIZE - length)
            return -EPROTO;
        memcpy(data + start, packed, length);
        mpiio_mask_set(mask, (struct mpiio_mask_runs){start, length, 1, 0});
        packed += length;
        left -= length;
    }
    return left == 0 ? 0 : -EPROTO;
}

static int lay_mask(const struct engine_shape *shape, const uint64_t *bits, const char *packed,
                    uint64_t *mask, char *data)
{
    size_t bytes = (size_t)shape->words * 64;

    if (mpiio_mask_count(bits, 0, bytes) != shape->dirty)
        return -EPROTO;
    mpiio_mask_unpack(bits, 0, bytes, packed, data + (size_t)shape->first_word * 64);
    for (uint32_t i = 0; i < shape->words; i++)
        mask[shape->first_word + i] |= bits[i];
    return 0;
}

int engine_piece_lay(const void *piece, size_t length, uint64_t *mask, char *data)
{
    const char *head = (const char *)piece + sizeof(struct engine_shape);
    struct engine_shape shape;

    if (length < sizeof(shape))
        return -EPROTO;
    memcpy(&shape, piece, sizeof(shape));
    if (shape.dirty > (size_t)MPIIO_BLOCK_SIZE || shape.runs > (size_t)MPIIO_BLOCK_SIZE / 2 ||
        shape.first_word > MPIIO_BLOCK_WORDS ||
        shape.words > MPIIO_BLOCK_WORDS - shape.first_word || (shape.words > 0 && shape.runs > 0) ||
        engine_piece_size(&shape) != length)
        return -EPROTO;
    if (shape.words > 0)
        return lay_mask(&shape, (const uint64_t *)head, (const char *)piece + head_size(&shape),
                        mask, data);
    return lay_runs(&shape, (const struct run *)head, (const char *)piece + head_size(&shape), mask,
                    data);
}

void engine_piece_lay_slot(const struct mpiio_slot *slot, uint64_t *mask, char *data)
{
    for (size_t word = 0; word < MPIIO_BLOCK_WORDS; word += CHUNK_WORDS)
        if (is_touched(slot, word))
            mpiio_mask_merge(mask + word, data + word * 64, slot->mask + word,
                             slot->data + word * 64, CHUNK_WORDS, false);
}
