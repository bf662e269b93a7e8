/* SPDX-License-Identifier: MIT */
#include "file.h"

#include "core/base/guard.h"
#include "batches.h"

/* The write plan. */

/*
 * Measured on ext4 with two threads and the page cache: a write call costs 3 to 6 us. A store to a
 * page that is not mapped costs 6 us if the page is new in the file. It costs a fraction of that if
 * the page exists, because the kernel then maps many pages at once. So for runs of 512 bytes
 * scattering was 3 times as fast as calls in a new file, and 5 to 40 times in an existing one. From
 * 16 KiB on, calls are faster in a new file and equally fast in an existing one.
 */
#define LONG_RUN  (16 << 10) /* bytes from which a run is written directly */
#define FAR_APART (16 << 10) /* distance in bytes beyond which short runs are written directly */
#define FEW_RUNS  8          /* number of runs for which a mapping does not pay */

struct put {
    struct mpiio_batches batches; /* the first member */
    struct mpiio_file *file;
    struct mpiio_transfer *transfer; /* bytes and error are set when it stops */
    int64_t size;   /* a lower bound of the file's size at some time during the call */
    bool looked;    /* size was sampled, not only derived from written bytes */
    int64_t lowest; /* displacement of the first run: the lowest if they ascend */
    bool settled;   /* has waited for writers that extend the file */
    bool few;
    struct mpiio_batch_part last; /* the last run, if it is not written yet */
    int64_t apart; /* distance in bytes beyond which short runs are written directly */
};

static void write_run(struct put *put, const char *from, int64_t displacement, int64_t length)
{
    int64_t did =
        mpiio_file_pwrite(put->file, from, (size_t)length, displacement, put->transfer->done);

    if (did < length) {
        put->batches.stopped = true;
        put->transfer->error = did < 0 ? (int)did : 0;
        put->transfer->bytes = (size_t)(from - put->transfer->buffer) + (size_t)(did < 0 ? 0 : did);
    } else if (displacement + length > put->size) {
        put->size = displacement + length;
    }
}

static void write_runs(struct put *put, struct mpiio_batch_part part)
{
    while (part.count > 0 && !put->batches.stopped) {
        write_run(put, part.memory, part.displacement, part.length);
        mpiio_batch_part_advance(&part, 1);
    }
}

/*
 * Allocates [start, end) and makes large pages for it. This must happen before the end of the file
 * moves into a block: otherwise the filesystem (ext4) makes a small page for that block, and the
 * kernel makes no large pages around it. Other threads wait, because their allocation would have
 * the same effect.
 */
static bool prepare_put(struct put *put, int64_t start, int64_t end)
{
    int64_t whole = end - end % MPIIO_SMALL_PAGE;
    int error = 0;

    pthread_mutex_lock(&put->file->grow_lock);
    if (whole > start) {
        error = put->file->ops->allocate(put->file, start, whole - start);
        if (error == 0)
            mpiio_window_make_pages(put->batches.window, start, whole);
        start = whole;
    }
    if (error == 0 && end > start)
        error = put->file->ops->allocate(put->file, start, end - start);
    pthread_mutex_unlock(&put->file->grow_lock);
    return error == 0;
}

/*
 * Waits for any other writer that is extending the file. A filesystem (ext4) may first publish the
 * new size and then clear the rest of the old last block, including data that was scattered there
 * meanwhile. Calls that write or allocate wait for that writer. Writing is cheaper, so the first
 * run is written by a call. Near the end of the file, that call must not create a page: see
 * prepare_put().
 */
static bool settle_growth(struct put *put)
{
    struct mpiio_batch_part *first = &put->batches.part[0];
    int64_t start = first->displacement;

    if (put->size - start > MPIIO_WINDOW_SIZE ||
        mpiio_window_has_page(put->batches.window, start)) {
        write_run(put, first->memory, start, first->length);
        mpiio_batch_part_advance(first, 1);
        return !put->batches.stopped;
    }
    return prepare_put(put, start, start + 1);
}

/* Gets the file's size if data is scattered. Calls do not need it. */
static bool look_at_size(struct put *put)
{
    int64_t size = put->looked ? 0 : mpiio_file_size(put->file);

    if (size < 0)
        return false;
    put->looked = true;
    if (size > put->size)
        put->size = size;
    return true;
}

/*
 * Extends the file to the end of all parts. Allocates the whole range after its end, not only the
 * last byte. So a full disk is detected before the size has moved far beyond what can be stored,
 * and an O_APPEND writer can continue where its short count ends. This costs no more.
 */
static bool grow_file(struct put *put)
{
    int64_t start, end;

    if (!look_at_size(put))
        return false;
    mpiio_batches_bounds(&put->batches, &start, &end);
    if (end <= put->size) {
        put->settled = put->settled || settle_growth(put);
        return put->settled;
    }
    if (!prepare_put(put, start < put->size ? put->size : start, end))
        return false;
    put->size = end;
    put->settled = true;
    return true;
}

static void move_runs(struct mpiio_batches *batches)
{
    struct put *put = (struct put *)batches;

    if (batches->window != NULL && grow_file(put)) {
        atomic_store_explicit(&batches->window->stored, true, memory_order_relaxed);
        mpiio_file_check(put->file);
        if (mpiio_guard_call(mpiio_batches_copy, batches, batches->window->base,
                             (size_t)MPIIO_WINDOW_SIZE)) {
            put->transfer->done->store_map_write_bytes += (uint64_t)batches->copied;
            return;
        }
    }
    for (int i = 0; i < batches->count && !batches->stopped; i++)
        write_runs(put, batches->part[i]);
}

/*
 * Writes one part. The last run is always written by a call, because stores through a mapping need
 * not update the file's times. Waiting parts are moved before a call, so that a failure leaves no
 * gap before it.
 */
static void put_part(struct put *put, struct mpiio_batch_part part, bool is_last)
{
    if (put->few || part.length >= LONG_RUN ||
        mpiio_batches_distance(&put->batches, &part) > put->apart) {
        mpiio_batches_flush(&put->batches);
        write_runs(put, part);
        return;
    }
    if (is_last) {
        part.count--;
        put->last = part;
        put->last.count = 1;
        put->last.memory += part.count * part.length;
        put->last.displacement += part.count * part.stride;
    }
    mpiio_batches_add(&put->batches, part);
}

static void start_put(struct put *put, struct mpiio_file *file, struct mpiio_transfer *transfer)
{
    mpiio_batches_start(&put->batches, transfer->map, &file->windows, move_runs);
    put->file = file;
    put->transfer = transfer;
    put->size = 0;
    put->looked = false;
    put->settled = false;
    put->last.count = 0;
    put->batches.scatters = true;
    put->apart = FAR_APART;
    transfer->error = 0;
}

/* Writes the last run when no other parts wait. Starts write-behind. */
static void finish_put(struct put *put, int64_t bytes)
{
    write_runs(put, put->last);
    mpiio_batches_finish(&put->batches);
    if (put->lowest < put->batches.previous_end)
        mpiio_write_behind_wrote(put->file, put->lowest, put->batches.previous_end, bytes);
}

void mpiio_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer)
{
    struct mpiio_file *file = (struct mpiio_file *)source;
    const struct vs_map_facts *facts = vs_map_facts(transfer->map);
    int64_t typical_run = facts->tile_runs > 0 ? facts->tile_size / facts->tile_runs : 0;
    int64_t length = (int64_t)transfer->length, position = transfer->position;
    struct vs_cursor cursor;
    struct vs_batch batch;
    struct put put;

    start_put(&put, file, transfer);
    put.lowest = vs_map_displacement(transfer->map, position);
    put.few = length / FEW_RUNS < typical_run;
    transfer->bytes = transfer->length;
    /* In another order than the file's, the same pages are stored to repeatedly. */
    if (!facts->monotonic)
        put.apart = INT64_MAX;
    vs_cursor_start(&cursor, transfer->map, position, length);
    while (!put.batches.stopped && vs_cursor_batch(&cursor, &batch)) {
        put_part(&put, mpiio_batch_part_of(&batch, transfer->buffer, position),
                 cursor.position == position + length);
        mpiio_batches_passed(&put.batches, &batch);
    }
    mpiio_batches_flush(&put.batches);
    finish_put(&put, (int64_t)transfer->bytes);
}

void mpiio_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer)
{
    const struct mpiio_range *ranges = transfer->ranges;
    size_t count = transfer->count;
    int64_t bytes = 0;
    struct put put;

    start_put(&put, file, transfer);
    transfer->bytes = 0;
    if (count == 0)
        return;
    put.lowest = transfer->position + ranges[0].start;
    put.few = count < FEW_RUNS;
    put.batches.typical_distance = count > 1 ? ranges[1].start - ranges[0].start : 0;
    transfer->bytes = (size_t)(ranges[count - 1].start + ranges[count - 1].length);
    for (size_t i = 0; i < count && !put.batches.stopped; i++) {
        struct mpiio_batch_part part = {.memory = transfer->buffer + ranges[i].start,
                                        .displacement = transfer->position + ranges[i].start,
                                        .length = ranges[i].length,
                                        .count = 1};

        put_part(&put, part, i == count - 1);
        put.batches.previous_end = part.displacement + part.length;
        bytes += part.length;
    }
    mpiio_batches_flush(&put.batches);
    finish_put(&put, bytes);
}
