/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "viewspec/base/list.h"

/* This many consecutive records are unlikely to be a coincidence. */
#define RECORDS 4

/* Stores where and how a record is damaged. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) static int damaged(struct from_record *record, int64_t at,
                                                         const char *format, ...)
{
    va_list args;

    record->wrong = at;
    va_start(args, format);
    vsnprintf(record->why, sizeof(record->why), format, args);
    va_end(args);
    return -EINVAL;
}

/* Reads a marker. Returns false if the file ends in it, or if it is INT64_MIN, which cannot be
   negated. */
static bool read_marker(const struct from_source *source, const struct from_markers *markers,
                        int64_t at, int64_t *value)
{
    unsigned char bytes[8];
    int64_t width = markers->width;
    uint64_t bits = 0;

    if (source->read(source->self, bytes, (size_t)width, at) != width)
        return false;
    for (int64_t i = 0; i < width; i++)
        bits = bits << 8 | bytes[markers->big ? i : width - 1 - i];
    *value = width == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return *value != INT64_MIN;
}

/* Reads the subrecord at displacement at. Sets *more if another one follows. Returns 0 or -EINVAL.
 */
static int read_subrecord(const struct from_source *source, const struct from_markers *markers,
                          int64_t at, struct from_record *record, struct from_piece *piece,
                          bool *more)
{
    int64_t length, again, width = markers->width;

    if (at > source->size - 2 * width || !read_marker(source, markers, at, &length))
        return damaged(record, at, "the file ends in a record");
    *more = length < 0;
    length = length < 0 ? -length : length;
    if (length > source->size - at - 2 * width)
        return damaged(record, at, "the marker says %" PRId64 " bytes, the file has %" PRId64,
                       length, source->size - at - 2 * width);
    if (!read_marker(source, markers, at + width + length, &again) ||
        (again < 0 ? -again : again) != length)
        return damaged(record, at + width + length,
                       "no matching marker behind the %" PRId64 " bytes from byte %" PRId64, length,
                       at + width);
    if ((again < 0) != (record->subrecords > 0))
        return damaged(record, at + width + length, "a marker of %s subrecord",
                       again < 0 ? "a later" : "a first");
    *piece = (struct from_piece){at + width, length};
    record->subrecords++;
    record->bytes += length;
    record->end = at + 2 * width + length;
    return 0;
}

int from_record(const struct from_source *source, const struct from_markers *markers, int64_t at,
                struct from_record *record, struct from_pieces *pieces)
{
    bool more = true;

    *record = (struct from_record){.end = at};
    while (more) {
        struct from_piece piece, *list;
        int code = read_subrecord(source, markers, record->end, record, &piece, &more);
        if (code)
            return code;
        if (more && record->subrecords == FROM_SUBRECORDS_MAX)
            return damaged(record, at, "more than %d subrecords", FROM_SUBRECORDS_MAX);
        if (pieces == NULL)
            continue;
        list = vs_list_grow(pieces->list, pieces->count, &pieces->room, sizeof(*list));
        if (list == NULL)
            return -ENOMEM;
        pieces->list = list;
        pieces->list[pieces->count++] = piece;
    }
    return 0;
}

/* Counts up to RECORDS consecutive records from displacement at. Sets *ends if the file ends with
   the last of them. Returns 0 if strict is set and one of them is damaged. */
static int count_records(const struct from_source *source, const struct from_markers *markers,
                         int64_t at, bool strict, struct from_record *first, bool *ends)
{
    struct from_record record;
    int count = 0;

    for (; count < RECORDS && at < source->size; count++) {
        if (from_record(source, markers, at, &record, NULL))
            return strict ? 0 : count;
        if (count == 0 && record.bytes == 0) /* zeros do not count as a record */
            return 0;
        if (count == 0)
            *first = record;
        at = record.end;
    }
    *ends = at == source->size;
    return count;
}

int from_find_markers(const struct from_source *source, int64_t at, bool strict,
                      struct from_markers *markers, struct from_record *first)
{
    int most = 0, found = 0;

    for (int kind = 0; kind < 4; kind++) {
        struct from_markers these = {kind < 2 ? 4 : 8, kind % 2};
        struct from_record record;
        bool ends = false;
        int count = count_records(source, &these, at, strict, &record, &ends);
        int score = ends ? RECORDS : count;
        if (score <= most)
            continue;
        most = score;
        found = count;
        *markers = these;
        *first = record;
    }
    return found;
}
