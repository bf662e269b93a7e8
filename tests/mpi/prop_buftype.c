/* SPDX-License-Identifier: MIT */
/*
 * Tests slices in the order of memory: random filetypes and buftypes over the same etypes. A naive
 * model has the displacement of each etype in both. MPI_Pack from the file and MPI_Unpack to memory
 * must give the same bytes as the model. So must the slice, read and written in random parts.
 *
 *   prop_buftype [--seed N] [--count N]
 *
 * Without --seed it uses a fixed seed and a new one, for half of the types each. A type that fails
 * is printed as a spec, with the seed that makes it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/slice.h"
#include "buftype_types.h"
#include "tap.h"

#define MAX_BYTES  (1 << 19)
#define FIXED_SEED 95

static long checked, unpacked, refused;

/* The model. */

static int64_t hi_of(const struct etype *etype, bool external, int side)
{
    const struct value *last = &etype->values[etype->count - 1];

    return side == MEMORY ? last->memory_at + last->memory
                          : last->file_at + (external ? last->file : last->memory);
}

/* Lays out all values of the tiles. Returns false if they overlap, or do not fit in memory. */
static bool lay_out(struct sample *s)
{
    const struct etype *etype = s->etype;
    int64_t etype_hi = hi_of(etype, s->external, MEMORY), behind = 0;
    int64_t extent = extent_of(&s->buftype, MEMORY);
    unsigned char *used = calloc(1, MAX_BYTES); /* marks the spans of etypes */
    bool sound = true;

    s->values = calloc((size_t)(s->tiles * s->filetype.count * etype->count), sizeof(*s->values));
    for (int t = 0; t < s->tiles; t++) {
        for (int e = 0; e < s->filetype.count && sound; e++) {
            int64_t file = s->disp + t * extent_of(&s->filetype, FILE_SIDE) +
                           s->filetype.side[FILE_SIDE].at[e];
            int64_t memory = t * extent + s->buftype.side[MEMORY].at[e];

            if (memory < 0 || memory + etype_hi > MAX_BYTES || file + 32 > MAX_BYTES) {
                sound = false;
                break;
            }
            for (int64_t b = memory; b < memory + etype_hi; b++)
                sound = sound && !used[b]++;
            behind = memory + etype_hi > behind ? memory + etype_hi : behind;
            for (int v = 0; v < etype->count; v++) {
                struct value value = etype->values[v];

                value.file = s->external ? value.file : value.memory;
                value.file_at += (int)file;
                value.memory_at += (int)memory;
                s->values[s->value_count++] = value;
            }
        }
    }
    free(used);
    s->memory_size = s->tiles * extent > behind ? s->tiles * extent : behind;
    s->file_size = s->value_count
                       ? s->values[s->value_count - 1].file_at + s->values[s->value_count - 1].file
                       : 0;
    return sound;
}

static void copy_value(const struct sample *s, const struct value *value, const unsigned char *file,
                       unsigned char *memory)
{
    unsigned char *to = memory + value->memory_at;
    bool negative = s->external && value->file < value->memory && file[value->file_at] >= 128;

    memset(to, negative ? 0xff : 0, (size_t)value->memory);
    for (int b = 0; b < value->file; b++)
        to[b] = file[value->file_at + (s->swaps ? value->file - 1 - b : b)];
}

/* Makes the slice that a file shows, and marks which of its bytes are data. */
static void show(const struct sample *s, const unsigned char *file, unsigned char *memory)
{
    memset(memory, 0, (size_t)s->memory_size);
    for (int i = 0; i < s->value_count; i++) {
        copy_value(s, &s->values[i], file, memory);
        memset(s->is_data + s->values[i].memory_at, 1, (size_t)s->values[i].memory);
    }
}

/* Returns true if tiles that follow each other do not overlap in memory. */
static bool tiles_fit(const struct sample *s)
{
    int64_t low = INT64_MAX, high = INT64_MIN;

    for (int e = 0; e < s->buftype.count; e++) {
        int64_t at = s->buftype.side[MEMORY].at[e];
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    return high + hi_of(s->etype, s->external, MEMORY) - low <= extent_of(&s->buftype, MEMORY);
}

/* Returns the slice's length for a file of file_size bytes. */
static int64_t length_by(const struct sample *s, int64_t file_size)
{
    int per_tile = s->filetype.count * s->etype->count, whole = 0;
    int64_t extent = extent_of(&s->buftype, MEMORY), missing = INT64_MAX, length = 0;
    bool united = s->tiles < 2 || !tiles_fit(s);

    for (int i = 0; i < s->value_count; i += s->etype->count) {
        const struct value *last = &s->values[i + s->etype->count - 1];
        int64_t origin = s->values[i].memory_at;

        if (last->file_at + last->file > file_size && origin < missing)
            missing = origin;
    }
    for (int i = 0; i < s->value_count; i++)
        if (s->values[i].memory_at < missing &&
            s->values[i].memory_at + s->values[i].memory > length)
            length = s->values[i].memory_at + s->values[i].memory;
    if (missing == INT64_MAX)
        return s->memory_size;
    /* Each whole tile before that ends where the next one begins. */
    while (!united && whole + 1 < s->tiles &&
           s->values[(whole + 1) * per_tile - 1].file_at +
                   s->values[(whole + 1) * per_tile - 1].file <=
               file_size)
        whole++;
    return !united && whole * extent > length ? whole * extent : length;
}

/* The checks. */

static bool check_mpi(struct sample *s)
{
    unsigned char *packed, *memory;
    int size, at = 0;

    if (s->external || s->swaps)
        return true;
    MPI_Type_size(s->filetype.mpi, &size);
    packed = malloc((size_t)size * (size_t)s->tiles + 1);
    memory = calloc(1, (size_t)s->memory_size + 1);
    MPI_Type_commit(&s->filetype.mpi);
    MPI_Type_commit(&s->buftype.mpi);
    MPI_Pack(s->file + s->disp, s->tiles, s->filetype.mpi, packed, size * s->tiles, &at,
             MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(packed, size * s->tiles, &at, memory, s->tiles, s->buftype.mpi, MPI_COMM_SELF);
    bool same = memcmp(memory, s->want, (size_t)s->memory_size) == 0;
    unpacked++;
    free(packed);
    free(memory);
    return same;
}

/* Checks the map's answer for each position, in both directions. */
static bool check_map(const struct vs_view *view, const struct sample *s)
{
    const struct vs_map *map = vs_view_map(view);
    int64_t positions = vs_view_positions(view, s->file_size), highest = -1;

    for (int64_t p = 0; p < positions; p++) {
        int64_t displacement = vs_map_displacement(map, p);

        if (vs_map_find(map, displacement) != p)
            return false;
        if (displacement > highest && vs_map_lower_bound(map, displacement) != p)
            return false;
        highest = displacement > highest ? displacement : highest;
    }
    return true;
}

static bool check_sizes(const struct vs_view *view, const struct sample *s)
{
    for (int i = 0; i < 40; i++) {
        int64_t size = i ? below((int)s->file_size + 20 * s->ends) : s->file_size;

        if (vs_view_slice_size(view, size) != length_by(s, size))
            return false;
    }
    return true;
}

static void random_range(int64_t length, int64_t *from, int64_t *count)
{
    *from = below((int)length);
    *count = 1 + below((int)(length - *from));
    if (below(2) && *count > 50)
        *count = 1 + below(50);
}

static bool check_reads(struct mpiio_slice *slice, const struct sample *s,
                        const unsigned char *want)
{
    unsigned char *buffer = malloc((size_t)s->memory_size + 1);
    bool good = true;

    for (int i = 0; i < 12 && good; i++) {
        int64_t from = 0, count = s->memory_size;

        if (i)
            random_range(s->memory_size, &from, &count);
        memset(buffer, 0x55, (size_t)count);
        good = mpiio_slice_read(slice, buffer, (size_t)count, from) == count &&
               memcmp(buffer, want + from, (size_t)count) == 0;
    }
    free(buffer);
    return good;
}

/* Writes parts of another slice, and in the end all of it. Gaps must refuse everything but
   zeros. */
static bool check_writes(struct mpiio_slice *slice, struct sample *s, int fd)
{
    unsigned char *now = malloc((size_t)s->memory_size + 1);
    bool good = true;

    memcpy(now, s->want, (size_t)s->memory_size);
    for (int i = 0; i < 12 && good; i++) {
        int64_t from = 0, count = s->memory_size, gap;

        if (i < 11)
            random_range(s->memory_size, &from, &count);
        gap = from + below((int)count);
        if (!s->is_data[gap]) {
            s->replace[gap] = 1;
            good = mpiio_slice_write(slice, s->replace + from, (size_t)count, from) == -EPERM;
            s->replace[gap] = 0;
        }
        good = good && mpiio_slice_write(slice, s->replace + from, (size_t)count, from) == count;
        memcpy(now + from, s->replace + from, (size_t)count);
        good = good && check_reads(slice, s, now);
    }
    for (int i = 0; i < s->value_count; i++)
        memcpy(s->file + s->values[i].file_at, s->other + s->values[i].file_at,
               (size_t)s->values[i].file);
    good = good && pread(fd, s->other, (size_t)s->file_size, 0) == s->file_size &&
           memcmp(s->other, s->file, (size_t)s->file_size) == 0;
    free(now);
    return good;
}

/* Writes the slice to an empty file, from its beginning on. Each part must be readable
   immediately. */
static bool check_growth(struct mpiio_slice *slice, const struct sample *s)
{
    unsigned char *buffer = malloc((size_t)s->memory_size + 1);
    bool good = mpiio_slice_size(slice) == 0;

    for (int64_t done = 0; done < s->memory_size && good;) {
        int64_t count = 1 + below((int)(s->memory_size - done)), got, last;

        if (count > 200 && below(2))
            count = 1 + below(200);
        good = mpiio_slice_write(slice, s->want + done, (size_t)count, done) == count;
        done += count;
        /* A gap at the end only counts once the data after it is written. */
        for (last = done; last > 0 && !s->is_data[last - 1];)
            last--;
        got = mpiio_slice_read(slice, buffer, (size_t)done, 0);
        good = good && got >= last && memcmp(buffer, s->want, (size_t)got) == 0;
    }
    if (good)
        good = mpiio_slice_write(slice, s->want, (size_t)s->memory_size, 0) == s->memory_size &&
               mpiio_slice_size(slice) == s->memory_size;
    if (good && s->ends)
        good = mpiio_slice_write(slice, "", 1, s->memory_size) == -EFBIG &&
               mpiio_slice_resize(slice, s->memory_size + 1) == -EFBIG;
    free(buffer);
    return good;
}

static struct mpiio_slice *open_slice(struct vs_view *view, int *fd, struct mpiio_store **store)
{
    struct mpiio_slice *slice;
    char path[64];

    *fd = memfd_create("slice", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    if (mpiio_store_open(path, O_RDWR, store) != 0 ||
        mpiio_slice_new(*store, vs_view_ref(view), MPIIO_NARROW_REFUSE, &slice) != 0)
        abort();
    return slice;
}

static const char *check_slices(struct vs_view *view, struct sample *s)
{
    struct mpiio_store *store;
    const char *wrong = NULL;
    struct mpiio_slice *slice;
    int fd;

    slice = open_slice(view, &fd, &store);
    if (!check_growth(slice, s))
        wrong = "growing";
    mpiio_slice_free(slice);
    mpiio_store_close(store);
    close(fd);
    slice = open_slice(view, &fd, &store);
    if (pwrite(fd, s->file, (size_t)s->file_size, 0) != s->file_size)
        abort();
    if (wrong == NULL && !check_reads(slice, s, s->want))
        wrong = "reading";
    if (wrong == NULL && !check_writes(slice, s, fd))
        wrong = "writing";
    mpiio_slice_free(slice);
    mpiio_store_close(store);
    close(fd);
    return wrong;
}

static const char *check(struct vs_view *view, struct sample *s)
{
    size_t file = (size_t)s->file_size + 1, memory = (size_t)s->memory_size + 1;
    const char *wrong = NULL;

    s->file = malloc(file);
    s->other = malloc(file);
    s->want = malloc(memory);
    s->replace = malloc(memory);
    s->is_data = calloc(1, memory);
    for (size_t i = 0; i < file; i++) {
        s->file[i] = (unsigned char)below(256);
        s->other[i] = (unsigned char)below(256);
    }
    show(s, s->file, s->want);
    show(s, s->other, s->replace);
    if (!check_mpi(s))
        wrong = "MPI_Unpack has other bytes than the model";
    else if (!check_map(view, s))
        wrong = "the map and its inverse differ";
    else if (!check_sizes(view, s))
        wrong = "a size";
    else
        wrong = check_slices(view, s);
    free(s->file);
    free(s->other);
    free(s->want);
    free(s->replace);
    free(s->is_data);
    return wrong;
}

static char *spec_of(const struct sample *s, const char *datarep)
{
    char tiles[40] = "";

    if (s->ends)
        snprintf(tiles, sizeof(tiles), "\"tiles\":%d,", s->tiles);
    return text_of("{\"viewspec\":1,\"file\":\"f\",\"view\":{\"disp\":%d,\"datarep\":\"%s\",%s"
                   "\"etype\":%s,\"filetype\":%s,\"buftype\":%s}}",
                   (int)s->disp, datarep, tiles, s->etype->text, s->filetype.text, s->buftype.text);
}

static bool try_one(int number)
{
    static const char *const datareps[] = {"native", "native", "external32", "big-endian"};
    const char *datarep = datareps[below(4)];
    int factors[3] = {1 + below(6), 1 + below(6), 1 + below(4)};
    struct sample s = {.etype = &etypes[below(ETYPES)], .tiles = 1 + below(3), .ends = below(2)};
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;
    const char *wrong = NULL;
    unsigned start = seed;

    s.external = strcmp(datarep, "external32") == 0;
    s.swaps = strcmp(datarep, "native") != 0;
    s.disp = below(2) * 24;
    s.filetype = make_filetype(&s, factors);
    refactor(factors);
    s.buftype = make_buftype(&s, factors);
    bool sound = lay_out(&s) && (s.ends || tiles_fit(&s));
    char *text = spec_of(&s, datarep);
    if (vs_spec_parse(text, strlen(text), "spec", "/", NULL, &spec, &error) == 0 &&
        vs_spec_view(spec, 0, 0, &view, &error) != 0)
        view = NULL;
    if (view == NULL)
        wrong = sound || !strstr(error.pointer, "buftype") ? error.reason : NULL;
    else
        wrong = sound ? check(view, &s) : "it is not refused";
    checked += view != NULL;
    refused += view == NULL;
    if (wrong)
        printf("# %d (seed %u): %s: %s\n", number, start, wrong, text);
    vs_view_unref(view);
    vs_spec_free(spec);
    type_free(&s.filetype);
    type_free(&s.buftype);
    free(s.values);
    free(text);
    return wrong == NULL;
}

/* Returns how many types failed. */
static int run_seed(unsigned from, int count)
{
    int bad = 0;

    seed = from;
    printf("# seed %u, %d types\n", from, count);
    fflush(stdout);
    for (int i = 0; i < count && bad < 5; i++)
        bad += !try_one(i);
    return bad;
}

int main(int argc, char **argv)
{
    int count = 10000, bad = 0;
    const char *from = NULL;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
            from = argv[i + 1];
        } else if (i + 1 < argc && !strcmp(argv[i], "--count")) {
            count = atoi(argv[i + 1]);
        } else {
            fprintf(stderr, "usage: prop_buftype [--seed N] [--count N]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    if (from) {
        bad = run_seed((unsigned)strtoul(from, NULL, 10), count);
    } else {
        bad = run_seed(FIXED_SEED, count / 2);
        bad += run_seed((unsigned)time(NULL) * 1000003u + (unsigned)getpid(), count - count / 2);
    }
    ok(bad == 0,
       "random buftypes give what MPI has in memory (%ld, %ld of them by MPI_Unpack; %ld "
       "are refused)",
       checked, unpacked, refused);
    ok(checked >= (from ? 0 : count / 4 * 3), "enough of them are legal");
    MPI_Finalize();
    return tap_end();
}
