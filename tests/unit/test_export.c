/* SPDX-License-Identifier: MIT */
/*
 * Tests exports: the header of netCDF files by a decoder of its own, the names and numbers of
 * chunks, lengths, and reads of padded and swapped values in parts. tests/bats/exports.bats
 * compares exports with what NumPy and other programs read.
 */

#include "slice_fixture.h"
#include "core/export.h"
#include "viewspec/export/export.h"

/* 7 x 9 shorts with a header of 6 bytes, in blocks of 4 x 5, one record or several. */
#define ROWS    7
#define COLUMNS 9
#define RECORD  (ROWS * COLUMNS * 2)
#define HEADER  6
#define VIEW(order, datarep)                                                                       \
    "{'viewspec': 1, 'file': 'f', 'ranks': 4, 'view': {'name': 't', 'dims': ['lat', "              \
    "'longitude'], 'disp': 6, 'etype': 'short', 'datarep': '" datarep                              \
    "', 'filetype': {'type': 'darray', 'gsizes': [7, 9], 'distribs': ['block', 'block'], "         \
    "'dargs': [null, null], 'psizes': [2, 2], 'order': '" order "'}}}"

/* The exports of the running test. */
static struct fixture {
    struct vs_spec *spec;
    struct vs_global *global;
    struct mpiio_store *store;
    struct vs_zarr *zarr;
    int64_t file_size, node; /* node: of the only array, t */
} fixture;

/* Returns the byte of the file at a displacement. */
static unsigned char byte_at(int64_t displacement)
{
    return (unsigned char)(displacement * 7 + displacement / 251);
}

static int tear_down(void **state)
{
    vs_zarr_free(fixture.zarr);
    mpiio_store_close(fixture.store);
    vs_global_free(fixture.global);
    vs_spec_free(fixture.spec);
    fixture = (struct fixture){0};
    return 0;
}

TEST_GROUP(NULL, tear_down)

/* Makes the exports of a file in place of the previous ones. Takes over the descriptor. */
static void set_up_file(const char *text, int fd)
{
    const struct vs_global *globals[1];
    struct vs_error error = {0};
    struct vs_zarr_entry entry;

    tear_down(NULL);
    fixture.spec = spec_from("%s", text);
    fixture.store = open_store_for(fd, O_RDONLY);
    close(fd);
    fixture.file_size = mpiio_store_size(fixture.store);
    assert_int_equal(vs_global_new(fixture.spec, 0, fixture.file_size, &fixture.global, &error), 0);
    globals[0] = fixture.global;
    assert_int_equal(vs_zarr_new(globals, 1, fixture.file_size, &fixture.zarr, &error), 0);
    assert_true(vs_zarr_find(fixture.zarr, 0, fixture.file_size, "t", &entry));
    fixture.node = entry.node;
}

/* Makes a file of some records, and its exports. */
static void set_up(const char *text, int64_t records)
{
    int fd = make_file();

    for (int64_t i = 0; i < HEADER + records * RECORD; i++)
        write_file(fd, &(unsigned char){byte_at(i)}, 1, i);
    set_up_file(text, fd);
}

/* Returns all bytes of a file, and checks that reads of parts of it return the same. */
static unsigned char *read_all(struct vs_export *file, int64_t *length)
{
    struct mpiio_export *export;
    unsigned char *all, *part;
    int64_t sum = 0;

    for (size_t i = 0; i < file->count; i++)
        sum += file->pieces[i].length;
    assert_int_equal(sum, file->length);
    *length = sum;
    all = malloc((size_t)sum + 2);
    part = malloc((size_t)sum + 2);
    assert_int_equal(mpiio_export_open(fixture.store, file, &export), 0);
    assert_int_equal(file->count, 0);
    assert_int_equal(mpiio_export_read(export, (char *)all, (size_t)sum + 2, 0), sum);
    assert_int_equal(mpiio_export_read(export, (char *)part, 10, sum), 0);
    for (int round = 0; round < UNIT_ROUNDS(400); round++) {
        int64_t offset = rand() % (sum + 1), size = rand() % (round % 2 ? 9 : sum + 1);
        int64_t want = size < sum - offset ? size : sum - offset;

        part[want] = 0xaa;
        assert_int_equal(mpiio_export_read(export, (char *)part, (size_t)size, offset), want);
        assert_memory_equal(part, all + offset, want);
        assert_int_equal(part[want], 0xaa); /* nothing is written beyond the bytes */
    }
    free(part);
    mpiio_export_close(export);
    return all;
}

static int64_t number(const unsigned char **at, int bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | *(*at)++;
    return (int64_t)value;
}

static void check_name(const unsigned char **at, const char *name)
{
    int64_t length = number(at, 8);

    assert_int_equal(length, strlen(name));
    assert_memory_equal(*at, name, length);
    for (*at += length; length % 4; length++)
        assert_int_equal(number(at, 1), 0);
}

/* Checks the header of a CDF-5 file of one variable. Returns where its data begin. */
static int64_t check_header(const unsigned char *bytes, int64_t rows, int64_t columns)
{
    const unsigned char *at = bytes;
    int64_t begin;

    assert_memory_equal(at, "CDF\5", 4);
    at += 4;
    assert_int_equal(number(&at, 8), 0);  /* records */
    assert_int_equal(number(&at, 4), 10); /* the tag of dimensions */
    assert_int_equal(number(&at, 8), 2);
    check_name(&at, "lat");
    assert_int_equal(number(&at, 8), rows);
    check_name(&at, "longitude");
    assert_int_equal(number(&at, 8), columns);
    assert_int_equal(number(&at, 4), 0); /* no attributes */
    assert_int_equal(number(&at, 8), 0);
    assert_int_equal(number(&at, 4), 11); /* the tag of variables */
    assert_int_equal(number(&at, 8), 1);
    check_name(&at, "t");
    assert_int_equal(number(&at, 8), 2); /* its dimensions */
    assert_int_equal(number(&at, 8), 0);
    assert_int_equal(number(&at, 8), 1);
    assert_int_equal(number(&at, 4), 0);
    assert_int_equal(number(&at, 8), 0);
    assert_int_equal(number(&at, 4), 3); /* NC_SHORT */
    assert_int_equal(number(&at, 8), (rows * columns * 2 + 3) / 4 * 4);
    begin = number(&at, 8);
    assert_int_equal(begin % 4, 0);
    assert_true(begin >= at - bytes && begin < at - bytes + 4);
    return begin;
}

/* Returns the displacement of an element. */
static int64_t place(int64_t row, int64_t column)
{
    return HEADER + (row * COLUMNS + column) * 2;
}

TEST(netcdf_header_and_values)
{
    static const char *const texts[] = {VIEW("C", "little-endian"), VIEW("C", "big-endian")};

    for (int big = 0; big < 2; big++) {
        set_up(texts[big], 1);
        for (int rank = -1; rank < 4; rank++) {
            int64_t top = rank > 1 ? 4 : 0, left = rank > 0 && rank % 2 ? 5 : 0;
            int64_t rows = rank < 0 ? ROWS : rank > 1 ? 3 : 4;
            int64_t columns = rank < 0 ? COLUMNS : left ? 4 : 5;
            struct vs_export file = {0};
            struct vs_error error = {0};
            unsigned char *bytes;
            int64_t length, at;
            int result;

            result = rank < 0
                         ? vs_netcdf.all(fixture.global, fixture.file_size, 1, &file, &error)
                         : vs_netcdf.rank(fixture.global, rank, fixture.file_size, &file, &error);
            assert_int_equal(result, 0);
            bytes = read_all(&file, &length);
            at = check_header(bytes, rows, columns);
            assert_int_equal(length, at + (rows * columns * 2 + 3) / 4 * 4);
            for (int64_t i = 0; i < rows * columns; i++) {
                int64_t from = place(top + i / columns, left + i % columns);

                assert_int_equal(bytes[at + 2 * i], byte_at(from + !big));
                assert_int_equal(bytes[at + 2 * i + 1], byte_at(from + big));
            }
            for (at += rows * columns * 2; at < length; at++)
                assert_int_equal(bytes[at], 0);
            free(bytes);
        }
    }
}

/* Returns a file of an array. It has the length that is announced. */
static struct vs_export chunk_of(int64_t node, int64_t number, int64_t file_size)
{
    struct vs_export file = {0};
    struct vs_error error = {0};

    assert_int_equal(vs_zarr_file(fixture.zarr, node, number, file_size, &file, &error), 0);
    assert_int_equal(vs_zarr_length(fixture.zarr, node, number, file_size), file.length);
    return file;
}

TEST(chunks_are_padded)
{
    set_up(VIEW("C", "native"), 1);
    for (int row = 0; row < 2; row++) {
        for (int column = 0; column < 2; column++) {
            struct vs_zarr_entry entry;
            struct vs_export file;
            char name[8];
            int64_t length;
            unsigned char *bytes;

            snprintf(name, sizeof(name), "%d.%d", row, column);
            assert_true(vs_zarr_find(fixture.zarr, fixture.node, fixture.file_size, name, &entry));
            file = chunk_of(fixture.node, entry.file, fixture.file_size);
            bytes = read_all(&file, &length);
            assert_int_equal(length, 4 * 5 * 2);
            for (int i = 0; i < 40; i++) {
                int64_t r = row * 4 + i / 10, c = column * 5 + i / 2 % 5;

                assert_int_equal(bytes[i],
                                 r < ROWS && c < COLUMNS ? byte_at(place(r, c) + i % 2) : 0);
            }
            free(bytes);
        }
    }
}

/* Checks that each listed entry is found by its name, is listed once, and has its length. */
static int64_t check_entries(int64_t node, int64_t file_size)
{
    struct vs_zarr_entry entry, found;
    char name[VS_ZARR_NAME];
    int64_t count = 0, last = -1;

    while (vs_zarr_entry(fixture.zarr, node, file_size, count, name, &entry)) {
        struct vs_export file;

        assert_true(vs_zarr_find(fixture.zarr, node, file_size, name, &found));
        assert_int_equal(found.node, entry.node);
        count++;
        if (entry.node >= 0)
            continue;
        assert_int_equal(found.file, entry.file);
        assert_true(entry.file > last);
        last = entry.file;
        file = chunk_of(node, entry.file, file_size);
        vs_export_free(&file);
    }
    return count;
}

TEST(names_of_chunks)
{
    static const char *const wrong[] = {
        "",     "0",    "0.",   ".0",   "0.0.0", "2.0",   "0.2",
        "00.0", "0.-1", "+0.0", " 0.0", "0.0 ",  "0x0.0", "0.99999999999999999999"};
    struct vs_zarr_entry entry;

    set_up(VIEW("Fortran", "native"), 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(vs_zarr_find(fixture.zarr, fixture.node, fixture.file_size, wrong[i], &entry));
    assert_false(vs_zarr_find(fixture.zarr, 0, fixture.file_size, "0.0", &entry));
    assert_false(vs_zarr_find(fixture.zarr, fixture.node, fixture.file_size, ".zmetadata", &entry));
    assert_int_equal(check_entries(fixture.node, fixture.file_size), 2 + 4);
    assert_int_equal(check_entries(0, fixture.file_size), 3 + 1);
    assert_int_equal(vs_zarr_length(fixture.zarr, fixture.node, 3 + 4, fixture.file_size), -ENOENT);
}

/* A chunk keeps its number and shape when the file grows, and exists when it has shrunk. */
TEST(chunks_of_a_growing_file)
{
    static const char *const texts[] = {VIEW("C", "native"), VIEW("Fortran", "native")};
    static const int64_t records[] = {2, 3, 2000, 1, 0};
    int64_t numbers[8], length = 0;

    for (int fortran = 0; fortran < 2; fortran++) {
        set_up(texts[fortran], 2);
        for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
            int64_t size = HEADER + records[i] * RECORD;

            for (int chunk = 0; chunk < 8; chunk++) {
                int record = chunk / 4, row = chunk / 2 % 2, column = chunk % 2;
                struct vs_zarr_entry entry;
                char name[16];

                snprintf(name, sizeof(name), "%d.%d.%d", fortran ? row : record,
                         fortran ? column : row, fortran ? record : column);
                assert_true(vs_zarr_find(fixture.zarr, fixture.node, size, name, &entry));
                if (i == 0)
                    numbers[chunk] = entry.file;
                assert_int_equal(entry.file, numbers[chunk]);
                if (i == 0 && chunk == 0)
                    length = vs_zarr_length(fixture.zarr, fixture.node, entry.file, size);
                assert_int_equal(vs_zarr_length(fixture.zarr, fixture.node, entry.file, size),
                                 length);
            }
            check_entries(fixture.node, size);
        }
        assert_false(vs_zarr_find(fixture.zarr, fixture.node, fixture.file_size,
                                  fortran ? "1.1.2305843009213693951" : "2305843009213693951.1.1",
                                  &(struct vs_zarr_entry){0}));
    }
}

TEST(a_file_that_is_truncated_while_open)
{
    char bytes[2 * RECORD + 1000];
    struct mpiio_export *export;
    struct vs_export file = {0};
    struct vs_error error = {0};
    int64_t length;
    int fd;

    set_up(VIEW("C", "native"), 2);
    assert_int_equal(vs_netcdf.all(fixture.global, fixture.file_size, 1, &file, &error), 0);
    length = file.length;
    assert_int_equal(mpiio_export_open(fixture.store, &file, &export), 0);
    fd = open_again(mpiio_store_fd(fixture.store));
    assert_int_equal(ftruncate(fd, HEADER + RECORD), 0);
    close(fd);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(mpiio_export_read(export, bytes, sizeof(bytes), 0), length);
    for (int i = 0; i < RECORD; i++)
        assert_int_equal(bytes[length - RECORD + i], 0);
    mpiio_export_close(export);
}

/* A chunk of a large array, and four bytes of the file that it has from byte 1000 on. */
struct large {
    const char *types; /* etype and filetype */
    int64_t file_size;
    const char *chunk;
    int64_t length, at;
};

static void check_large(const struct large *large)
{
    char text[512], bytes[4];
    struct vs_zarr_entry entry;
    struct vs_export file;
    struct mpiio_export *export;
    int fd = make_file();

    snprintf(text, sizeof(text),
             "{'viewspec': 1, 'file': 'f', 'view': {'name': 't', 'disp': 6, %s}}", large->types);
    write_file(fd, "\1\2\3\4", 4, large->at);
    assert_int_equal(ftruncate(fd, large->file_size), 0);
    set_up_file(text, fd);
    assert_true(vs_zarr_find(fixture.zarr, fixture.node, fixture.file_size, large->chunk, &entry));
    file = chunk_of(fixture.node, entry.file, fixture.file_size);
    assert_int_equal(file.length, large->length);
    assert_int_equal(mpiio_export_open(fixture.store, &file, &export), 0);
    assert_int_equal(mpiio_export_read(export, bytes, 4, 1000), 4);
    assert_memory_equal(bytes, "\1\2\3\4", 4);
    mpiio_export_close(export);
}

#define BYTES(count) "{'type': 'contiguous', 'count': " count ", 'oldtype': 'byte'}"
#define TWO(order)                                                                                 \
    "{'type': 'subarray', 'sizes': [2], 'subsizes': [2], 'starts': [0], 'order': '" order "'}"

/* An array of which only whole records can be cut out, and elements larger than a chunk. */
TEST(chunks_of_large_arrays)
{
    static const int64_t chunk = (int64_t)64 << 20;
    const struct large cases[] = {
        {"'etype': " BYTES("2") ", 'filetype': {'type': 'contiguous', 'count': 60000000}",
         HEADER + 120000000, "1.0", chunk, HEADER + chunk + 1000},
        {"'etype': " BYTES("100000000") ", 'filetype': " TWO("C"), HEADER + 200000000, "1.1", chunk,
         HEADER + 100000000 + chunk + 1000},
        {"'etype': " BYTES("100000000") ", 'filetype': " TWO("Fortran"), HEADER + 200000000, "1.1",
         chunk, HEADER + 100000000 + chunk + 1000},
        {"'etype': " BYTES("100000000") ", 'filetype': {'type': 'contiguous', 'count': 2}",
         HEADER + 200000000, "1.1", chunk, HEADER + 100000000 + chunk + 1000},
        {"'etype': " BYTES("100000000"), HEADER + 300000000, "2.1", chunk,
         HEADER + 200000000 + chunk + 1000},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_large(&cases[i]);
}
