/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store_layers.h"
#include "viewspec/base/integer.h"
#include "viewspec/map/cover.h"
#include "viewspec/element.h"

/*
 * Slices are converted part by part. Each part is converted for all ranks before the next, in one
 * pass over the files. A part is at most what a slice converts before it stores anything.
 */
#define SWEPT     ((int64_t)64 << 20) /* bytes of all slices together in one step */
#define MIN_PART  ((int64_t)64 << 10)
#define MAX_PART  ((int64_t)4 << 20)
#define MAX_OPEN  4096 /* slices that are kept open; with more, each part opens its own */
#define MANY_PART ((int64_t)1 << 20)

/* A slice in both files. */
struct pair {
    int64_t number; /* from 0, over all views */
    size_t view;    /* index of the view */
    int64_t rank;
    struct mpiio_slice *from, *to;
    int64_t size; /* bytes of the slice */
};

/* The pairs with numbers begin to end - 1. */
struct range {
    int64_t begin, end;
};

struct sweep {
    const struct view_sweep *files;
    int64_t file_size;    /* of the source */
    int64_t new_size;     /* of the new file, once it is complete */
    struct pair *pairs;   /* if all slices are kept open; else NULL */
    char *buffer, *other; /* a part each */
    int64_t part;
    struct view_progress progress;
    int64_t done;

    /* Results of the survey of slices. */
    struct range filled; /* slices outside have no bytes; all slices until the survey ends */
    struct range found;  /* slices with bytes that the survey has found so far */
    bool surveyed;
    struct vs_cover *cover; /* of the new file */
    bool same_sizes;        /* all bytes keep their positions */
    bool monotonic;
    bool overlapping; /* slices of the new file may share bytes */
    bool skipped;     /* holes were skipped */
    int64_t largest;  /* size of the largest slice */
    int64_t total;    /* total size of all slices; or INT64_MAX */

    /* Displacements up to which the source is copied unchanged, and must be copied before the
       next part. The latter begins with the lowest displacement of a view. */
    int64_t copied, needed;
};

/* Clears the progress line and reports an error. */
__attribute__((format(printf, 3, 4))) static int fail(struct sweep *sweep, int status,
                                                      const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    view_progress_end(&sweep->progress);
    view_message("%s", text);
    return status;
}

static int fail_file(struct sweep *sweep, const char *file, int error)
{
    return fail(sweep, VIEW_FAILED, "%s: %s", file, strerror(-error));
}

/* Returns "view NAME, rank R"; "rank R" if the view has no name. Valid until the next call. */
static const char *pair_text(const struct sweep *sweep, const struct pair *pair)
{
    static char text[320];
    const char *name = vs_spec_view_name(sweep->files->spec, pair->view);

    snprintf(text, sizeof(text), "%s%s%srank %" PRId64, name ? "view " : "", name ? name : "",
             name ? ", " : "", pair->rank);
    return text;
}

static int open_side(struct sweep *sweep, const struct vs_spec *spec, const struct pair *pair,
                     struct mpiio_store *store, struct mpiio_slice **slice)
{
    struct vs_error error = {0};
    struct vs_view *view;

    if (vs_spec_view(spec, pair->view, pair->rank, &view, &error)) {
        view_progress_end(&sweep->progress);
        return view_spec_failed(&error);
    }
    int result = mpiio_slice_new(store, view, sweep->files->narrow, slice);
    return result ? fail(sweep, VIEW_FAILED, "%s: %s", pair_text(sweep, pair), strerror(-result))
                  : VIEW_DONE;
}

static void close_pair(struct pair *pair)
{
    mpiio_slice_free(pair->from);
    mpiio_slice_free(pair->to);
    pair->from = pair->to = NULL;
}

static int open_source(struct sweep *sweep, struct pair *pair)
{
    int status = open_side(sweep, sweep->files->spec, pair, sweep->files->from, &pair->from);

    if (status)
        return status;
    pair->size = vs_view_slice_size(mpiio_slice_view(pair->from), sweep->file_size);
    return pair->size < 0 ? fail_file(sweep, vs_spec_file(sweep->files->spec), (int)pair->size)
                          : VIEW_DONE;
}

/*
 * Opens the slice in both files. An empty slice is opened in the source only during the survey, and
 * in the new file only after it, unless all slices are kept open: there may be millions.
 */
static int open_pair(struct sweep *sweep, struct pair *pair)
{
    bool may_have_bytes = pair->number >= sweep->filled.begin && pair->number < sweep->filled.end;
    int status = may_have_bytes ? open_source(sweep, pair) : VIEW_DONE;

    /* The survey needs the new view of rank 0 for its data representation. */
    if (status || !(sweep->surveyed || sweep->pairs || pair->size || pair->rank == 0))
        return status;
    return open_side(sweep, sweep->files->target, pair, sweep->files->to, &pair->to);
}

/* Returns the number of slices of a view: one if all ranks share it. */
static int64_t view_ranks(const struct sweep *sweep, size_t view)
{
    return vs_spec_view_is_common(sweep->files->spec, view) ? 1 : vs_spec_ranks(sweep->files->spec);
}

static struct range all_pairs(const struct sweep *sweep)
{
    struct range all = {0};

    for (size_t view = 0; view < vs_spec_view_count(sweep->files->spec); view++)
        all.end += view_ranks(sweep, view);
    return all;
}

/* A function that handles part number `number` of a slice. */
typedef int action(struct sweep *sweep, struct pair *pair, int64_t number);

static int do_pair(struct sweep *sweep, action *act, int64_t number, const struct pair *pair)
{
    struct pair own = *pair, *used = sweep->pairs ? &sweep->pairs[pair->number] : &own;
    int status = VIEW_DONE;

    if (!used->from && !used->to) {
        *used = own;
        status = open_pair(sweep, used);
    }
    if (!status)
        status = act(sweep, used, number);
    if (!sweep->pairs)
        close_pair(used);
    return status;
}

/* Calls act for the slices of a range until it fails. */
static int for_pairs(struct sweep *sweep, struct range range, action *act, int64_t number)
{
    int status = VIEW_DONE;
    int64_t before = 0;

    for (size_t view = 0; view < vs_spec_view_count(sweep->files->spec); view++) {
        int64_t ranks = view_ranks(sweep, view);
        for (int64_t rank = vs_max(range.begin - before, 0);
             rank < vs_min(range.end - before, ranks) && !status; rank++)
            status = do_pair(sweep, act, number,
                             &(struct pair){.number = before + rank, .view = view, .rank = rank});
        before += ranks;
    }
    return status;
}

/* Calls act for all slices with bytes, and for empty ones between them. */
static int for_each_pair(struct sweep *sweep, action *act, int64_t number)
{
    return for_pairs(sweep, sweep->filled, act, number);
}

static bool keeps_sizes(const struct vs_view *view)
{
    enum vs_datarep datarep = vs_view_facts(view)->datarep;

    return datarep == VS_NATIVE || datarep == VS_BIG_ENDIAN || datarep == VS_LITTLE_ENDIAN;
}

static int check_writable(struct sweep *sweep, const struct pair *pair)
{
    return mpiio_slice_is_writable(pair->to)
               ? VIEW_DONE
               : fail(sweep, VIEW_USAGE, "%s: the view would hold bytes of the file twice",
                      pair_text(sweep, pair));
}

/* Records the properties of a slice in the new file. */
static int survey_target(struct sweep *sweep, const struct pair *pair)
{
    const struct vs_view *to = mpiio_slice_view(pair->to);
    int status = check_writable(sweep, pair), error;

    if (status)
        return status;
    sweep->same_sizes = sweep->same_sizes && keeps_sizes(to);
    error = pair->size ? vs_cover_add(sweep->cover, vs_view_map(to), 1) : 0;
    return error ? fail_file(sweep, sweep->files->output, error) : VIEW_DONE;
}

/* Records the properties of a slice. */
static int survey_slice(struct sweep *sweep, struct pair *pair, int64_t number)
{
    const struct vs_view *from = mpiio_slice_view(pair->from);
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(from));

    (void)number;
    sweep->same_sizes = sweep->same_sizes && keeps_sizes(from);
    sweep->monotonic = sweep->monotonic && facts->monotonic;
    sweep->needed = vs_min(sweep->needed, facts->displacement);
    sweep->largest = vs_max(sweep->largest, pair->size);
    if (pair->size) {
        sweep->found.begin = vs_min(sweep->found.begin, pair->number);
        sweep->found.end = pair->number + 1;
    }
    sweep->total = vs_add_capped(sweep->total, pair->size);
    return pair->to ? survey_target(sweep, pair) : VIEW_DONE;
}

/* Returns where part number `number` begins: at an element boundary. */
static int64_t part_begin(const struct sweep *sweep, const struct pair *pair, int64_t number)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    if (number >= vs_ceil_div(pair->size, sweep->part))
        return pair->size;
    vs_elements_start(&cursor, mpiio_slice_view(pair->from), number * sweep->part, 1);
    return vs_elements_next(&cursor, &run) ? run.offset : pair->size;
}

static int step_sweep(struct sweep *sweep, int64_t bytes)
{
    sweep->done += bytes;
    view_progress_step(&sweep->progress, sweep->done);
    return VIEW_DONE;
}

/* Reads a whole part of a slice. */
static int read_part(struct sweep *sweep, struct mpiio_slice *slice, const char *file, char *buffer,
                     int64_t offset, int64_t length)
{
    for (int64_t have = 0; have < length;) {
        ssize_t got =
            mpiio_slice_read(slice, buffer + have, (size_t)(length - have), offset + have);
        if (got < 0)
            return fail_file(sweep, file, (int)got);
        if (!got)
            return fail(sweep, VIEW_FAILED, "%s: the file was made shorter meanwhile", file);
        have += got;
    }
    return VIEW_DONE;
}

static int write_all(struct mpiio_slice *slice, const char *buffer, int64_t offset, int64_t length)
{
    while (length > 0) {
        ssize_t put = mpiio_slice_write(slice, buffer, (size_t)length, offset);
        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        buffer += put;
        offset += put;
        length -= put;
    }
    return 0;
}

/* Finds the offset of the first element that cannot be written in a part. */
static int64_t find_culprit(const struct pair *pair, const char *buffer, int64_t offset,
                            int64_t length)
{
    int64_t begin = offset;

    for (;;) {
        struct vs_element_cursor cursor;
        struct vs_elements run;
        int64_t middle;
        vs_elements_start(&cursor, mpiio_slice_view(pair->from), begin + (length - 1) / 2, 1);
        if (!vs_elements_next(&cursor, &run))
            return begin;
        /* Split after the middle element, or before it if nothing follows. */
        middle = run.offset + run.native;
        if (middle >= begin + length)
            middle = run.offset;
        if (middle <= begin)
            return begin;
        if (write_all(pair->to, buffer + (begin - offset), begin, middle - begin)) {
            length = middle - begin;
        } else {
            length -= middle - begin;
            begin = middle;
        }
    }
}

/*
 * Returns true if a part lies in holes of the source. Their zeros are the same values in all
 * representations except possibly a user's own.
 */
static bool is_hole(const struct pair *pair, int64_t begin, int64_t length)
{
    if (vs_view_facts(mpiio_slice_view(pair->to))->datarep == VS_USER)
        return false;
    int64_t data = mpiio_slice_seek_data(pair->from, begin);
    return data == -ENXIO || data >= begin + length;
}

static int convert_part(struct sweep *sweep, struct pair *pair, int64_t number)
{
    int64_t begin = part_begin(sweep, pair, number);
    int64_t length = part_begin(sweep, pair, number + 1) - begin;
    int status, error;

    if (!length)
        return VIEW_DONE;
    if (is_hole(pair, begin, length)) {
        sweep->skipped = true;
        return step_sweep(sweep, length);
    }
    status = read_part(sweep, pair->from, vs_spec_file(sweep->files->spec), sweep->buffer, begin,
                       length);
    if (status)
        return status;
    error = write_all(pair->to, sweep->buffer, begin, length);
    if (!error)
        return step_sweep(sweep, length);
    if (error != -ERANGE && error != -EIO)
        return fail_file(sweep, sweep->files->output, error);
    return fail(sweep, VIEW_FAILED, "%s: %s: %s at slice offset %" PRId64, sweep->files->output,
                pair_text(sweep, pair),
                error == -ERANGE ? "a value does not fit" : strerror(-error),
                find_culprit(pair, sweep->buffer, begin, length));
}

/* Verifies that a part reads back unchanged: another view may have written other values over it. */
static int verify_part(struct sweep *sweep, struct pair *pair, int64_t number)
{
    int64_t begin = part_begin(sweep, pair, number);
    int64_t length = part_begin(sweep, pair, number + 1) - begin;
    int status;

    if (!length)
        return VIEW_DONE;
    status = read_part(sweep, pair->from, vs_spec_file(sweep->files->spec), sweep->buffer, begin,
                       length);
    if (!status)
        status = read_part(sweep, pair->to, sweep->files->output, sweep->other, begin, length);
    if (status)
        return status;
    int64_t same = 0;
    while (same < length && sweep->buffer[same] == sweep->other[same])
        same++;
    if (same < length)
        return fail(sweep, VIEW_USAGE,
                    "%s: slice offset %" PRId64
                    ": another view holds these bytes of the file as other types",
                    pair_text(sweep, pair), begin + same);
    return step_sweep(sweep, length);
}

/* Extends the new file if the slice ends in a hole. */
static int extend_file(struct sweep *sweep, struct pair *pair, int64_t number)
{
    int64_t size = mpiio_slice_size(pair->to);

    (void)number;
    if (size >= 0 && size < pair->size)
        size = mpiio_slice_resize(pair->to, pair->size);
    return size < 0 ? fail_file(sweep, sweep->files->output, (int)size) : VIEW_DONE;
}

/* Checks that the new slice ends where the old one does. */
static int check_size(struct sweep *sweep, struct pair *pair, int64_t number)
{
    int64_t size = vs_view_slice_size(mpiio_slice_view(pair->to), sweep->new_size);

    (void)number;
    if (size == pair->size)
        return check_writable(sweep, pair);
    return fail(sweep, VIEW_USAGE,
                "%s: the slice would have %" PRId64 " bytes in the new file, not %" PRId64,
                pair_text(sweep, pair), size, pair->size);
}

/* Copies length bytes of the source, data or not, to the same position. */
static int copy_bytes(struct sweep *sweep, int64_t offset, int64_t length)
{
    struct mpiio_counters unused = {0};

    while (length > 0) {
        int64_t got = mpiio_store_read_file(sweep->files->from, sweep->buffer,
                                            (size_t)vs_min(length, MAX_PART), offset);
        if (got == 0)
            return fail(sweep, VIEW_FAILED, "%s: the file was made shorter meanwhile",
                        vs_spec_file(sweep->files->spec));
        if (got < 0)
            return fail_file(sweep, vs_spec_file(sweep->files->spec), (int)got);
        /* Bytes after an error are read again, and the error is reported then. */
        int64_t put = mpiio_file_pwrite(mpiio_store_file(sweep->files->to), sweep->buffer,
                                        (size_t)got, offset, &unused);
        if (put < 0)
            return fail_file(sweep, sweep->files->output, (int)put);
        offset += put;
        length -= put;
    }
    return VIEW_DONE;
}

/* Copies the source up to a displacement, or its end. Holes are preserved. */
static int copy_up_to(struct sweep *sweep, int64_t end)
{
    struct mpiio_store *from = sweep->files->from;
    int status = VIEW_DONE;

    end = vs_min(end, sweep->file_size);
    while (!status && sweep->copied < end) {
        int64_t data = mpiio_store_seek(from, sweep->copied, SEEK_DATA), hole = end;
        if (data < 0)
            data = data == -ENXIO ? end : sweep->copied;
        if (data < end)
            hole = mpiio_store_seek(from, data, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        if (data < end)
            status = copy_bytes(sweep, data, hole - data);
        step_sweep(sweep, hole - sweep->copied);
        sweep->copied = hole;
    }
    return status;
}

/* Extends the range that must be copied before this part is converted over it. */
static int reach_of(struct sweep *sweep, struct pair *pair, int64_t number)
{
    int64_t end = part_begin(sweep, pair, number + 1);
    const struct vs_map *map = vs_view_map(mpiio_slice_view(pair->from));
    int64_t displacement = end ? vs_map_displacement(map, end - 1) : -1;

    sweep->needed = vs_max(sweep->needed, displacement + 1);
    return VIEW_DONE;
}

/*
 * Copies the bytes that must precede a conversion of parts. If all bytes keep their positions,
 * these are all up to the highest one of the parts; else those before the views.
 */
static int copy_before(struct sweep *sweep, int64_t number)
{
    int status = VIEW_DONE;

    if (sweep->same_sizes && !(sweep->monotonic && sweep->pairs))
        return copy_up_to(sweep, sweep->file_size);
    if (sweep->same_sizes)
        status = for_each_pair(sweep, reach_of, number);
    return status ? status : copy_up_to(sweep, sweep->needed);
}

static int convert_all(struct sweep *sweep)
{
    int64_t parts = vs_ceil_div(sweep->largest, sweep->part);
    int status = copy_before(sweep, 0);

    for (int64_t number = 0; number < parts && !status; number++) {
        if (number)
            status = copy_before(sweep, number);
        if (!status)
            status = for_each_pair(sweep, convert_part, number);
    }
    if (!status && sweep->same_sizes) {
        status = copy_up_to(sweep, sweep->file_size);
        if (!status && ftruncate(mpiio_store_fd(sweep->files->to), sweep->file_size))
            status = fail_file(sweep, sweep->files->output, -errno);
    }
    if (!status && sweep->skipped)
        status = for_each_pair(sweep, extend_file, 0);
    for (int64_t number = 0; sweep->overlapping && number < parts && !status; number++)
        status = for_each_pair(sweep, verify_part, number);
    sweep->new_size = lseek(mpiio_store_fd(sweep->files->to), 0, SEEK_END);
    return status ? status : for_pairs(sweep, all_pairs(sweep), check_size, 0);
}

/* Finds out if slices of the new file may share bytes. If so, all parts are verified at the end. */
static int find_overlaps(struct sweep *sweep)
{
    struct vs_cover_result result;
    int error = vs_cover_compute(sweep->cover, VS_COVER_STEPS, &result);

    if (error == -ENOMEM)
        return fail_file(sweep, sweep->files->output, error);
    sweep->overlapping = error || result.many;
    if (sweep->overlapping && sweep->files->narrow == MPIIO_NARROW_TRUNCATE)
        return fail(sweep, VIEW_USAGE,
                    "--narrow truncate: not with views that share bytes of the file");
    return VIEW_DONE;
}

static int prepare_sweep(struct sweep *sweep)
{
    int64_t count = all_pairs(sweep).end;
    struct stat st;
    int error = mpiio_store_stat(sweep->files->from, &st);

    if (error)
        return fail_file(sweep, vs_spec_file(sweep->files->spec), error);
    sweep->file_size = st.st_size;
    sweep->filled = all_pairs(sweep);
    sweep->part = count > MAX_OPEN ? MANY_PART : SWEPT / count;
    sweep->part = vs_max(MIN_PART, vs_min(sweep->part, MAX_PART));
    sweep->cover = vs_cover_new();
    /* A part begins at an element boundary, so it may be longer by one element. */
    sweep->buffer = malloc(MAX_PART + 64);
    sweep->other = malloc(MAX_PART + 64);
    if (count <= MAX_OPEN)
        sweep->pairs = calloc((size_t)count, sizeof(*sweep->pairs));
    return sweep->cover && sweep->buffer && sweep->other && (count > MAX_OPEN || sweep->pairs)
               ? VIEW_DONE
               : fail_file(sweep, sweep->files->output, -ENOMEM);
}

int view_sweep(const struct view_sweep *files)
{
    struct sweep own = {.files = files,
                        .same_sizes = true,
                        .monotonic = true,
                        .needed = INT64_MAX,
                        .found = {INT64_MAX, 0}};
    struct sweep *sweep = &own;
    int64_t total;
    int status = prepare_sweep(sweep);

    if (!status)
        status = for_each_pair(sweep, survey_slice, 0);
    sweep->filled = sweep->found;
    sweep->surveyed = true;
    if (!status)
        status = find_overlaps(sweep);
    if (!status) {
        if (__builtin_mul_overflow(sweep->total, sweep->overlapping ? 2 : 1, &total) ||
            __builtin_add_overflow(total, sweep->same_sizes ? sweep->file_size : 0, &total))
            total = 0;
        view_progress_start(&sweep->progress, true, NULL, total);
        status = convert_all(sweep);
        view_progress_end(&sweep->progress);
    }
    for (int64_t i = 0; sweep->pairs && i < all_pairs(sweep).end; i++)
        close_pair(&sweep->pairs[i]);
    free(sweep->pairs);
    free(sweep->buffer);
    free(sweep->other);
    vs_cover_free(sweep->cover);
    return status;
}
