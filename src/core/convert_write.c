/* SPDX-License-Identifier: MIT */
#include "slice_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/* Converting native bytes and storing them. */

/*
 * The maximum length of a write that is converted at once, if bytes are only reordered. The store
 * writes the first and last runs of each such write by system calls and extends the file, so
 * smaller chunks would do so more often. In a new file that halved the throughput.
 */
#define CHUNK (1 << 20)

/* A write, and the part of it that consists of whole elements. */
struct converted_write {
    struct mpiio_slice *slice;
    struct mpiio_transfer *transfer; /* by slice offsets; error: why fewer bytes are stored */
    int64_t offset, end;             /* of the part being written */
    int64_t body_start, body_end;    /* of the whole elements */
    struct mpiio_element head, tail; /* the partial elements, if there are any */
};

static const char *bytes_at(const struct converted_write *writing, int64_t offset)
{
    return writing->transfer->buffer + (offset - writing->transfer->position);
}

static int64_t end_of(const struct mpiio_element *element)
{
    return element->offset + (int64_t)element->conversion->native;
}

/* Splits a write. A single element that is cut off at its end is the head; the body is then
   empty and follows it. */
static void split_write(struct converted_write *writing)
{
    const struct mpiio_codec *codec = writing->slice->codec;

    writing->head = mpiio_codec_element(codec, writing->offset);
    writing->tail = mpiio_codec_element(codec, writing->end - 1);
    writing->body_start =
        writing->head.offset == writing->offset ? writing->offset : end_of(&writing->head);
    writing->body_end =
        end_of(&writing->tail) == writing->end ? writing->end : writing->tail.offset;
    if (writing->head.offset == writing->tail.offset && end_of(&writing->tail) > writing->end)
        writing->body_start = writing->body_end = writing->end;
}

/* Locks. */

struct held {
    bool locked; /* in the file as well */
    struct mpiio_lock lock;
};

static void release_locks(struct mpiio_store *store, struct held *held)
{
    pthread_rwlock_unlock(&store->elements_lock);
    if (held->locked)
        mpiio_file_lock_release(&store->locks, &held->lock);
}

/* Acquires a lock in the file, and reports the wait for it if another program has it. */
static int lock_file(struct mpiio_store *store, int64_t start, int64_t end, bool exclusive,
                     struct mpiio_lock *lock)
{
    int error = mpiio_file_lock_try(&store->locks, start, end, exclusive, lock);

    if (error != -EAGAIN)
        return error;
    mpiio_file_waits(store->file, true);
    error = mpiio_file_lock_acquire(&store->locks, start, end, exclusive, lock);
    mpiio_file_waits(store->file, false);
    return error;
}

/*
 * Acquires both locks. On a filesystem without locks, only writers of this store are excluded. The
 * lock in the file comes first: another program may hold it for long, and that must not block
 * writers of other elements.
 */
static int acquire_locks(struct mpiio_store *store, int64_t start, int64_t end, bool exclusive,
                         bool locked, struct held *held)
{
    int error = -EOPNOTSUPP;

    if (!locked)
        error = lock_file(store, start, end, exclusive, &held->lock);
    held->locked = error == 0;
    if (error != 0 && error != -EOPNOTSUPP)
        return error;
    if (exclusive)
        pthread_rwlock_wrlock(&store->elements_lock);
    else
        pthread_rwlock_rdlock(&store->elements_lock);
    return 0;
}

/* Partial elements. */

/* An element of the file with the written bytes overlaid. */
struct merged {
    struct mpiio_element element;
    const char *bytes; /* to be written now, at [from, to) of the element */
    int64_t from, to;
    bool last; /* drop the partial element, even if it is not exact */
    struct mpiio_counters *done;
    struct mpiio_partial_element partial; /* bytes written now and before */
    bool readable;                        /* the file's bytes can be converted */
    unsigned char *file;                  /* the new bytes for the file; owned */
};

static bool is_complete(const struct merged *merged)
{
    return merged->partial.written == UINT32_MAX >> (32 - merged->partial.native);
}

/* Returns true if the file's bytes convert back to the element. */
static bool is_exact(const struct merged *merged)
{
    const struct mpiio_conversion *conversion = merged->element.conversion;
    unsigned char back[MPIIO_ELEMENT_NATIVE];

    if (is_complete(merged))
        return true;
    /* A truncated value depends only on the kept bytes. */
    if (conversion->truncate && conversion->native > conversion->file)
        return true;
    return mpiio_to_native(conversion, back, merged->file, 1) == 0 &&
           memcmp(back, merged->partial.bytes, conversion->native) == 0;
}

/*
 * Finds the partial element that was kept. native is the file's value. An element that was stored
 * is obsolete if the file has changed since.
 */
static bool find_kept(struct mpiio_slice *slice, const struct merged *merged,
                      const unsigned char *native, struct mpiio_partial_element *kept)
{
    return mpiio_partial_next(&slice->partial, merged->partial.offset, kept) &&
           kept->offset == merged->partial.offset &&
           (!kept->stored || memcmp(kept->there, native, kept->native) == 0);
}

/*
 * Overlays the bytes to be written on the bytes of the file and the partial element, and converts
 * the result. Returns 0, or the error of the conversion.
 */
static int merge_bytes(struct mpiio_slice *slice, struct merged *merged,
                       const unsigned char *native)
{
    struct mpiio_partial_element before;

    merged->partial.written = 0;
    memcpy(merged->partial.bytes, native, merged->partial.native);
    if (find_kept(slice, merged, native, &before)) {
        merged->partial.written = before.written;
        for (int i = 0; i < before.native; i++)
            if (before.written >> i & 1)
                merged->partial.bytes[i] = before.bytes[i];
    }
    for (int64_t i = merged->from; i < merged->to; i++) {
        merged->partial.bytes[i] = (unsigned char)merged->bytes[i - merged->from];
        merged->partial.written |= 1u << i;
    }
    if (!merged->readable && !is_complete(merged))
        return -EIO;
    return mpiio_to_file(merged->element.conversion, merged->file, merged->partial.bytes, 1);
}

/*
 * Stores at least the first `least` bytes of a part, or sets its error. A short write returns no
 * error; the attempt to continue it does. Returns the number of bytes stored.
 */
static size_t store_first(struct mpiio_slice *slice, struct mpiio_transfer *part, size_t least)
{
    size_t stored = 0;

    do {
        mpiio_store_write(slice->store, part);
        mpiio_transfer_pass(part, part->bytes);
        stored += part->bytes;
        if (part->bytes == 0 && part->error == 0)
            part->error = -EIO;
    } while (stored < least && part->error == 0);
    return stored;
}

/* Stores an element, or a part of one. Fails unless the whole part is stored. */
static int store_part(struct mpiio_slice *slice, struct mpiio_transfer *part)
{
    size_t length = part->length;

    return store_first(slice, part, length) == length ? 0 : part->error;
}

static int store_element(struct mpiio_slice *slice, const struct merged *merged)
{
    struct mpiio_transfer part =
        mpiio_slice_transfer(slice, merged->element.position, merged->element.conversion->file,
                             merged->file, merged->done);

    part.put = MPIIO_PUT_MERGED;
    return store_part(slice, &part);
}

/* Reads the file's bytes of the element, and converts them to native. */
static int read_element(struct mpiio_slice *slice, struct merged *merged, unsigned char *native)
{
    return mpiio_convert_read_element(slice, &merged->element, merged->file, native,
                                      &merged->readable, merged->done);
}

/* Stores the bytes to be written. The element's other bytes do not change. */
static int replace_locked(struct mpiio_slice *slice, struct merged *merged)
{
    unsigned char native[MPIIO_ELEMENT_NATIVE];
    int error = read_element(slice, merged, native);
    int refused;

    if (error != 0)
        return error;
    refused = merge_bytes(slice, merged, native);
    /* A complete value that is refused is an error now. Bytes that were kept before stay. */
    if (refused != 0 && is_complete(merged))
        return refused;
    if (refused != 0 || !is_exact(merged)) {
        error = mpiio_partial_put(&slice->partial, &merged->partial);
        if (error == 0 || refused != 0)
            return error == 0 ? 0 : refused;
    }
    error = store_element(slice, merged);
    if (error == 0)
        mpiio_partial_drop(&slice->partial, merged->partial.offset, merged->partial.offset + 1);
    return error;
}

/* Keeps an element that was stored but reads back as another value. */
static int keep_stored(struct mpiio_slice *slice, struct merged *merged)
{
    struct mpiio_partial_element *partial = &merged->partial;

    partial->stored = true;
    if (mpiio_to_native(merged->element.conversion, partial->there, merged->file, 1) != 0)
        memset(partial->there, 0, sizeof(partial->there));
    return mpiio_partial_put(&slice->partial, partial);
}

/* Stores the partial element that was kept. */
static int store_partial_locked(struct mpiio_slice *slice, struct merged *merged)
{
    unsigned char native[MPIIO_ELEMENT_NATIVE];
    struct mpiio_partial_element kept;
    int error = read_element(slice, merged, native);

    if (error != 0)
        return error;
    /* Another thread may have completed or written it since it was looked up. */
    if (find_kept(slice, merged, native, &kept)) {
        if (kept.stored && !merged->last)
            return 0;
        if (!kept.stored) {
            error = merge_bytes(slice, merged, native);
            if (error == 0)
                error = store_element(slice, merged);
            if (error != 0)
                return error;
            if (!merged->last && !is_exact(merged))
                return keep_stored(slice, merged);
        }
    }
    mpiio_partial_drop(&slice->partial, merged->partial.offset, merged->partial.offset + 1);
    return 0;
}

/*
 * Changes an element of the file. Excludes its other writers meanwhile, and makes their earlier
 * writes visible to this host, and this one to other hosts. locked: as in acquire_locks.
 */
static int change_element(struct mpiio_slice *slice, struct merged *merged, bool locked,
                          int (*change)(struct mpiio_slice *slice, struct merged *merged))
{
    const struct mpiio_element *element = &merged->element;
    int64_t start = vs_map_displacement(vs_view_map(slice->view), element->position);
    int64_t end = start + (int64_t)element->conversion->file;
    struct held held;
    int error;

    merged->partial.offset = element->offset;
    merged->partial.native = (uint8_t)element->conversion->native;
    merged->file = malloc(element->conversion->file);
    if (merged->file == NULL)
        return -ENOMEM;
    do {
        error = acquire_locks(slice->store, start, end, true, locked, &held);
        if (error != 0)
            break;
        error = mpiio_file_refresh(slice->store->file);
        if (error == 0)
            error = change(slice, merged);
        if (error == 0)
            error = mpiio_file_publish(slice->store->file);
        release_locks(slice->store, &held);
    } while (error != 0 && (error = mpiio_store_await(slice->store, error)) == 0);
    free(merged->file);
    return error;
}

int mpiio_convert_write_partial(struct mpiio_slice *slice,
                                const struct mpiio_partial_element *partial, bool last,
                                struct mpiio_counters *done)
{
    struct merged merged = {
        .element = mpiio_codec_element(slice->codec, partial->offset), .last = last, .done = done};
    int error = change_element(slice, &merged, false, store_partial_locked);

    /* Drop it on any error, or the caller would retry forever. */
    if (last && error != 0)
        mpiio_partial_drop(&slice->partial, partial->offset, partial->offset + 1);
    return error;
}

/* Stores the bytes to be written of an element whose bytes are reordered. Bytes that are adjacent
   in a unit are adjacent in the file. */
static int reorder_bytes(struct mpiio_slice *slice, const struct merged *merged)
{
    int64_t unit = (int64_t)merged->element.conversion->unit;
    char reversed[MPIIO_ELEMENT_NATIVE];
    int error = 0;

    for (int64_t i = merged->from, behind; i < merged->to && error == 0; i = behind) {
        int64_t start = i / unit * unit;
        struct mpiio_transfer part;

        behind = vs_min(start + unit, merged->to);
        for (int64_t j = i; j < behind; j++)
            reversed[behind - 1 - j] = merged->bytes[j - merged->from];
        part = mpiio_slice_transfer(slice, merged->element.position + 2 * start + unit - behind,
                                    (size_t)(behind - i), reversed, merged->done);
        error = store_part(slice, &part);
    }
    return error;
}

/* Stores the given bytes of a partial element. */
static int put_part(const struct converted_write *writing, const struct mpiio_element *element)
{
    int64_t start = vs_max(writing->offset, element->offset);
    int64_t end = vs_min(writing->end, end_of(element));
    struct merged merged = {.element = *element,
                            .bytes = bytes_at(writing, start),
                            .from = start - element->offset,
                            .to = end - element->offset,
                            .done = writing->transfer->done};

    if (element->conversion->native == 0)
        return -ENOTSUP;
    if (element->conversion->bytewise)
        return reorder_bytes(writing->slice, &merged);
    return change_element(writing->slice, &merged, writing->transfer->locked, replace_locked);
}

/* Whole elements. */

/* Stores whole elements. Returns the number of bytes stored; if that is less than an element, the
   transfer has the error. */
static size_t store_elements(const struct converted_write *writing, int64_t position, size_t length,
                             const char *memory, enum mpiio_put put)
{
    const struct mpiio_codec *codec = writing->slice->codec;
    struct mpiio_transfer part =
        mpiio_slice_transfer(writing->slice, position, length, memory, writing->transfer->done);
    size_t stored;

    part.put = put;
    stored = store_first(writing->slice, &part,
                         mpiio_codec_element_at(codec, position).conversion->file);
    writing->transfer->error = part.error;
    return stored;
}

/* Finds bounds of the displacements of [position, position + length), as tight as they are
   known. */
static void element_bounds(const struct vs_map *map, int64_t position, int64_t length,
                           int64_t *start, int64_t *end)
{
    *start = 0;
    *end = INT64_MAX;
    if (vs_map_facts(map)->monotonic) {
        *start = vs_map_displacement(map, position);
        *end = vs_map_displacement(map, position + length - 1) + 1;
    }
}

/*
 * Stores elements that are converted in memory. The first one is at slice offset at; their
 * positions are [position, position + length). Holds locks, and so does not wait. Returns the
 * offset after the stored elements.
 */
static int64_t put_locked(const struct converted_write *writing, const char *memory,
                          int64_t position, int64_t length, int64_t at)
{
    struct mpiio_slice *slice = writing->slice;
    int64_t start, end, stored, behind = writing->body_end;
    struct held held;
    int error;

    element_bounds(vs_view_map(slice->view), position, length, &start, &end);
    error = acquire_locks(slice->store, start, end, false, writing->transfer->locked, &held);
    writing->transfer->error = error;
    if (error != 0)
        return at;
    stored = (int64_t)store_elements(writing, position, (size_t)length, memory, MPIIO_PUT_NOW);
    /* A partially stored element does not count. */
    if (stored < length)
        behind = mpiio_codec_element_at(slice->codec, position + stored).offset;
    mpiio_partial_drop(&slice->partial, at, behind);
    release_locks(slice->store, &held);
    return behind;
}

/* Stores packed elements of any kind. Returns the number of slice bytes stored. */
static int64_t put_packed(const struct converted_write *writing, const char *memory,
                          int64_t position, int64_t length, bool bytewise)
{
    struct mpiio_slice *slice = writing->slice;
    int *error = &writing->transfer->error;
    int64_t at = writing->body_start;

    if (bytewise) {
        int64_t stored =
            (int64_t)store_elements(writing, position, (size_t)length, memory, MPIIO_PUT_WAIT);

        at = stored < length ? mpiio_codec_element_at(slice->codec, position + stored).offset
                             : writing->body_end;
        return at - writing->body_start;
    }
    do {
        int64_t have = mpiio_codec_element(slice->codec, at).position - position;

        at = put_locked(writing, memory + have, position + have, length - have, at);
    } while (*error != 0 && (*error = mpiio_store_await(slice->store, *error)) == 0);
    return at - writing->body_start;
}

/* Stores a write whose body is converted already. Returns the number of bytes written from
   offset on. */
static size_t put_all(const struct converted_write *writing, const char *memory, int64_t position,
                      int64_t length, bool bytewise)
{
    int *error = &writing->transfer->error;
    int64_t stored = 0;

    if (writing->body_start > writing->offset)
        *error = put_part(writing, &writing->head);
    if (*error != 0)
        return 0;
    if (writing->body_end > writing->body_start)
        stored = put_packed(writing, memory, position, length, bytewise);
    if (stored < writing->body_end - writing->body_start || writing->body_end == writing->end)
        return (size_t)(writing->body_start + stored - writing->offset);
    *error = put_part(writing, &writing->tail);
    return (size_t)((*error == 0 ? writing->end : writing->body_end) - writing->offset);
}

/* Handles a part of a call that is converted before anything is stored. */
static size_t put_converted(const struct converted_write *writing)
{
    const struct mpiio_codec *codec = writing->slice->codec;
    int64_t length = writing->body_end - writing->body_start;
    int64_t position = 0, size = 0;
    int *error = &writing->transfer->error;
    bool bytewise = true;
    char *memory = NULL;
    size_t put = 0;

    *error = 0;
    if (length > 0) {
        mpiio_codec_span(codec, writing->body_start, writing->body_end, &position, &size);
        memory = malloc((size_t)size);
        *error = memory == NULL
                     ? -ENOMEM
                     : mpiio_codec_encode(codec, writing->body_start, (size_t)length, memory,
                                          bytes_at(writing, writing->body_start), &bytewise);
    }
    if (*error == 0)
        put = put_all(writing, memory, position, size, bytewise);
    free(memory);
    return put;
}

void mpiio_convert_write(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    struct converted_write writing = {.slice = slice, .transfer = transfer};
    int64_t end = transfer->position + (int64_t)transfer->length;
    int64_t most = slice->codec->plain ? CHUNK : MPIIO_CONVERT_WRITE_WHOLE;

    transfer->bytes = 0;
    do {
        int64_t at = transfer->position + (int64_t)transfer->bytes;

        writing.offset = at;
        writing.end = end;
        if (end - at > most)
            writing.end = mpiio_codec_element(slice->codec, at + most).offset;
        split_write(&writing);
        transfer->bytes += put_converted(&writing);
    } while (transfer->position + (int64_t)transfer->bytes == writing.end && writing.end < end);
}
