/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/list.h"

/*
 * Records of sequential unformatted Fortran files. Each record lies between two markers with its
 * length. gfortran divides records above 2 GiB into subrecords with markers of their own. The
 * marker before a subrecord is negative if another one follows, the marker after it if one
 * precedes.
 */

/* A part of a record between two markers. */
struct piece {
    int64_t at, bytes;
};

/* Initialize it with zeros. The caller frees list. */
struct pieces {
    struct piece *list;
    size_t count, room;
};

/* The maximum number of subrecords in a record. gfortran's subrecords have 2 GiB each. */
#define SUBRECORDS_MAX 16384

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

    if (source->read(source->self, bytes, (size_t)width, at) != width)
        return false;
    uint64_t bits = from_load(bytes, width, markers->big);
    *value = width == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return *value != INT64_MIN;
}

/* Reads the subrecord at displacement at. Sets *more if another one follows. Returns 0 or -EINVAL.
 */
static int read_subrecord(const struct from_source *source, const struct from_markers *markers,
                          int64_t at, struct from_record *record, struct piece *piece, bool *more)
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
    *piece = (struct piece){at + width, length};
    record->subrecords++;
    record->bytes += length;
    record->end = at + 2 * width + length;
    return 0;
}

/*
 * Reads the markers of the record that begins at displacement at, and adds its pieces to pieces
 * unless that is NULL. Returns 0, -ENOMEM, or -EINVAL with wrong and why filled.
 */
static int read_record(const struct from_source *source, const struct from_markers *markers,
                       int64_t at, struct from_record *record, struct pieces *pieces)
{
    bool more = true;

    *record = (struct from_record){.end = at};
    while (more) {
        struct piece piece;
        int code = read_subrecord(source, markers, record->end, record, &piece, &more);
        if (code)
            return code;
        if (more && record->subrecords == SUBRECORDS_MAX)
            return damaged(record, at, "more than %d subrecords", SUBRECORDS_MAX);
        if (pieces == NULL)
            continue;
        if (!VS_LIST_ROOM(pieces->list, pieces->count, pieces->room))
            return -ENOMEM;
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
        if (read_record(source, markers, at, &record, NULL))
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

/* The format. */

#define RECORDS_MAX (1 << 20)
/* A spec lists the subrecords one by one. */
#define PIECES_MAX 16384

static const char format_name[] = "Fortran records";

static bool is_fortran(const struct from_bytes *head)
{
    struct from_markers markers;
    struct from_record first;

    return from_find_markers(head->source, 0, false, &markers, &first) > 0;
}

/* The file while its records are listed. */
struct scan {
    const struct from_source *source;
    struct from_file *file;
    struct from_markers markers;
    struct pieces pieces;
    bool divided; /* a record has subrecords: displacements count in the joined pieces */
};

/* Adds record number `number`, whose first marker is at `at`. */
static void add_record(struct scan *scan, size_t number, int64_t at,
                       const struct from_record *record)
{
    char name[32];

    snprintf(name, sizeof(name), "record%zu", number);
    struct from_variable *variable = from_add(scan->file, name, strlen(name));
    if (variable == NULL)
        return;
    variable->etype = json_string("byte");
    variable->size = variable->dimensions = 1;
    variable->shape[0] = record->bytes;
    variable->at = at + scan->markers.width;
    variable->part = (struct from_part){.at = at, .bytes = scan->markers.width};
    scan->divided = scan->divided || record->subrecords > 1;
    if (record->why[0])
        from_refuse(variable, "damaged at byte %" PRId64 ": %s", record->wrong, record->why);
}

/* Adds all records up to the first damaged one. */
static int add_records(struct scan *scan)
{
    int64_t at = 0;
    size_t number = 1;
    int code = 0;

    while (at < scan->source->size && !code) {
        size_t whole = scan->pieces.count;
        struct from_record record;
        code = read_record(scan->source, &scan->markers, at, &record, &scan->pieces);
        if (code == -ENOMEM)
            return code;
        if (code)
            scan->pieces.count = whole;
        add_record(scan, number, at, &record);
        if (scan->file->error->code)
            return -ENOMEM;
        if (number++ == RECORDS_MAX)
            return -E2BIG;
        at = record.end;
    }
    return 0;
}

/*
 * Makes the pieces of all records members, which joins them. This is needed if a record has
 * subrecords, because an element may extend across the markers between them.
 */
static int join_rows(struct scan *scan)
{
    struct from_file *file = scan->file;
    json_t *names = json_array(), *views = json_array(), *locals = json_array();
    int64_t at = 0;

    for (size_t i = 0; i < scan->pieces.count; i++) {
        const struct piece *piece = &scan->pieces.list[i];
        if (!piece->bytes)
            continue;
        json_array_append_new(names, json_string(file->path));
        json_array_append_new(views, json_pack("{s:I, s:o}", "disp", (json_int_t)at, "filetype",
                                               from_contiguous(piece->bytes)));
        json_array_append_new(locals, json_pack("{s:I}", "disp", (json_int_t)piece->at));
        at += piece->bytes;
    }
    file->members = json_pack("{s:o, s:{s:i, s:o}, s:{s:o}}", "files", names, "view", "tiles", 1,
                              "per_rank", views, "local", "per_rank", locals);
    at = 0;
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        variable->at = at;
        variable->part.path = strdup(file->path);
        if (!variable->part.path)
            return -ENOMEM;
        at += variable->reason ? 0 : variable->shape[0];
    }
    return file->members ? 0 : -ENOMEM;
}

static int scan_records(const struct from_bytes *head, struct from_file *file)
{
    struct scan scan = {.source = head->source, .file = file};
    struct from_record first;
    int code = from_find_markers(head->source, 0, false, &scan.markers, &first) ? 0 : -EINVAL;

    file->datarep = scan.markers.big ? "big-endian" : "little-endian";
    if (!code)
        code = add_records(&scan);
    if (!code && scan.divided)
        code = scan.pieces.count > PIECES_MAX ? -E2BIG : join_rows(&scan);
    free(scan.pieces.list);
    if (code == -E2BIG)
        return from_fail(file->error, code, file->path,
                         "more than %d records, or more than %d parts of records", RECORDS_MAX,
                         PIECES_MAX);
    return code ? from_fail_code(file->error, code, file->path) : 0;
}

/* Returns the distance in bytes from one record to the next. Records first to last must have the
   same length, else it returns a negative errno with the file's error filled. */
static int64_t stride_of(struct from_file *file, size_t first, size_t last)
{
    const struct from_variable *one = &file->variables[first];

    for (size_t i = first; i <= last; i++) {
        const struct from_variable *next = &file->variables[i];
        if (next->reason)
            return from_wrong(file, "%s: not a view: %s", next->name, next->reason);
        if (next->shape[0] != one->shape[0])
            return from_wrong(file,
                              "%s has %" PRId64 " bytes, %s has %" PRId64
                              ": rows must have the same length",
                              one->name, one->shape[0], next->name, next->shape[0]);
    }
    return one[1].at - one->at;
}

long from_fortran_rows(struct from_file *file, const char *name)
{
    size_t first, last;
    int end = 0;

    if (file->format != format_name || sscanf(name, "record%zu-%zu%n", &first, &last, &end) != 2 ||
        name[end] || first < 1 || last <= first || last > file->count)
        return -ENOENT;
    int64_t stride = stride_of(file, first - 1, last - 1);
    struct from_variable *rows = stride < 0 ? NULL : from_add(file, name, strlen(name));
    if (rows == NULL)
        return file->error->code;
    const struct from_variable *one = &file->variables[first - 1];
    rows->etype = json_incref(one->etype);
    rows->size = 1;
    rows->dimensions = 2;
    rows->shape[0] = (int64_t)(last - first) + 1;
    rows->shape[1] = one->shape[0];
    rows->at = one->at;
    rows->stride = stride == one->shape[0] ? 0 : stride;
    rows->part = one->part;
    rows->part.path = one->part.path ? strdup(one->part.path) : NULL;
    /* The marker of the last record fixes where all of them lie. */
    const struct from_part *mark = &file->variables[last - 1].part;
    from_add_part(file, mark->path, mark->at, mark->bytes);
    return file->error->code ? file->error->code : (long)file->count - 1;
}

const struct from_format from_fortran = {
    .name = format_name,
    .is_it = is_fortran,
    .read = scan_records,
};
