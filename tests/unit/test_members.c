/* SPDX-License-Identifier: MIT */
/*
 * Tests assembled files. A random whole is cut into members, byte by byte by the members' maps,
 * with headers and ghost cells. The file assembled from them must equal the whole through all
 * views, for reads and for writes.
 */
#include <sys/stat.h>

#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "folder_fixture.h"
#include "random_views.h"
#include "viewspec/members/members.h"

/* Members cover a window of the whole. It lies at the beginning, or across a block's border. */
#define WINDOW    60000
#define EDGE      ((1 << 20) - WINDOW / 2)
#define WHOLE_MAX (EDGE + WINDOW)
#define FILE_MAX  (WINDOW * 3 + 4096)
#define MEMBERS   40

/* Specs of members, and the whole that they must form. */
struct model {
    char text[16384];
    struct vs_spec *spec;
    int count;
    int base;               /* the displacement of the window */
    int64_t length;         /* of the original, which is cut */
    int64_t bytes[MEMBERS]; /* of each member; -1: all bytes of the original that its view shows */
    unsigned char whole[WHOLE_MAX];
    bool held[WHOLE_MAX];
    int64_t size; /* of the whole that the members form */
    unsigned char *file[MEMBERS];
    int64_t file_size[MEMBERS];
    struct mpiio_store *store;
    struct mpiio_cache *cache;
};

static struct model model;

static void close_whole(void)
{
    mpiio_store_drop_cache(model.store, model.cache);
    mpiio_store_close(model.store);
    vs_spec_free(model.spec);
    model.store = NULL;
    model.cache = NULL;
    model.spec = NULL;
}

/* Loads a spec in place of the previous one, whose store is closed. */
static struct vs_error load(const char *text)
{
    struct vs_error error = {0};
    char *json = quoted(strdup(text));

    close_whole();
    vs_spec_parse(json, strlen(json), "spec", folder, NULL, &model.spec, &error);
    free(json);
    return error;
}

static void member_path(int member, char *path, size_t size)
{
    snprintf(path, size, "%s/T.%03d.data", folder, member);
}

/* Generators of the texts of "view" and "local". */

static void random_cyclic(char *view, size_t size)
{
    int length = 1 + below(below(2) ? 20 : 3000);

    model.length = model.base + 1 + below(WINDOW);
    snprintf(view, size,
             "{'disp': '%d + %d * rank', 'filetype': {'type': 'resized', 'lb': 0, 'extent': '%d * "
             "ranks + %d', 'oldtype': {'type': 'contiguous', 'count': %d}}}",
             model.base + (below(3) ? 0 : below(100)), length, length, below(3) ? 0 : below(50),
             length);
}

static void random_darray(char *view, size_t size)
{
    int rows = 1 + below(60), columns = 1 + below(60), grid = 1 + below(3);
    const char *order = below(2) ? "C" : "Fortran", *rest = below(2) ? "block" : "cyclic";

    model.count = grid * (1 + below(5));
    model.length = model.base + 64 + (int64_t)rows * columns * 4 * 2;
    snprintf(
        view, size,
        "{'disp': %d, 'etype': 'int', 'filetype': {'type': 'darray', 'gsizes': [%d, %d], 'psizes': "
        "[%d, %d], 'distribs': ['cyclic', '%s'], 'dargs': [%d, null], 'order': '%s'}}",
        model.base + 64, rows, columns, grid, model.count / grid, rest, 1 + below(4), order);
}

/* Makes adjacent pieces of any length. */
static void random_pieces(char *view, size_t size)
{
    size_t used = (size_t)snprintf(view, size, "{'per_rank': [");
    int64_t at = model.base + (below(2) ? 0 : below(1000));

    for (int i = 0; i < model.count; i++) {
        model.bytes[i] = below(8) ? 1 + below(WINDOW / MEMBERS - 100) : 0;
        used +=
            (size_t)snprintf(view + used, size - used, "%s{'disp': %d}", i ? ", " : "", (int)at);
        at += model.bytes[i];
        /* No gap follows, because the member before it would count as too short. */
    }
    model.length = at;
    snprintf(view + used, size - used, "]}");
}

static void random_local(char *local, size_t size)
{
    int length = 4 * (1 + below(100));

    if (below(3) == 0)
        snprintf(local, size, "{}");
    else if (below(2))
        snprintf(local, size, "{'disp': '%d + rank'}", below(100));
    else
        snprintf(local, size,
                 "{'disp': %d, 'filetype': {'type': 'resized', 'lb': 0, 'extent': %d, 'oldtype': "
                 "{'type': 'contiguous', 'count': %d}}}",
                 below(50), length + 1 + below(200), length);
}

static void random_spec(int number)
{
    static void (*const kinds[])(char *, size_t) = {random_cyclic, random_darray, random_pieces};
    char view[8192], local[512];
    struct vs_error error;

    model.base = number % 2 ? EDGE : 0;
    model.count = 1 + below(MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        model.bytes[i] = -1;
    kinds[number % 3](view, sizeof(view));
    random_local(local, sizeof(local));
    snprintf(model.text, sizeof(model.text),
             "{'viewspec': 1, 'members': {'count': %d, 'file': 'T.{member:3}.data', 'view': %s, "
             "'local': %s}}",
             model.count, view, local);
    error = load(model.text);
    if (error.code)
        fail_msg("%s: %s: %s", model.text, error.pointer, error.reason);
}

/* Gets the views of a member's bytes, in the whole and in its file. */
static void get_views(int member, struct vs_view **view, struct vs_view **local)
{
    struct vs_error error = {0};

    assert_int_equal(vs_members_views(vs_spec_members(model.spec), member, view, local, &error), 0);
}

/* Cuts a member's bytes out of the whole. */
static void cut(int member)
{
    struct vs_view *view, *local;
    char path[512];

    get_views(member, &view, &local);
    if (model.bytes[member] < 0)
        model.bytes[member] = vs_view_positions(view, model.length);
    model.file[member] = malloc(FILE_MAX);
    model.file_size[member] = 0;
    fill_randomly(model.file[member], FILE_MAX);
    for (int64_t k = 0; k < model.bytes[member]; k++) {
        int64_t from = vs_map_displacement(vs_view_map(view), k);
        int64_t to = vs_map_displacement(vs_view_map(local), k);

        assert_true(from < WHOLE_MAX && to < FILE_MAX);
        model.file[member][to] = model.whole[from];
        model.held[from] = true;
        model.size = from >= model.size ? from + 1 : model.size;
        model.file_size[member] = to >= model.file_size[member] ? to + 1 : model.file_size[member];
    }
    member_path(member, path, sizeof(path));
    make_named_file(path, model.file[member], (size_t)model.file_size[member]);
    vs_view_unref(view);
    vs_view_unref(local);
}

/* Makes the members of a random spec, and assembles them. */
static void make_whole(int number, int flags)
{
    struct vs_error error = {0};

    srand((unsigned)number);
    random_spec(number);
    fill_randomly(model.whole, WHOLE_MAX);
    memset(model.held, 0, sizeof(model.held));
    model.size = 0;
    for (int i = 0; i < model.count; i++)
        cut(i);
    for (int k = 0; k < WHOLE_MAX; k++)
        if (!model.held[k])
            model.whole[k] = 0;
    if (mpiio_store_open_spec(model.spec, flags, &model.store, &error) != 0)
        fail_msg("%s: %s", model.text, error.reason);
    assert_int_equal(mpiio_store_size(model.store), model.size);
}

/* Closes the whole, and removes the files of the members. */
static void drop(void)
{
    char path[512];

    close_whole();
    for (int i = 0; i < model.count; i++) {
        free(model.file[i]);
        model.file[i] = NULL;
        member_path(i, path, sizeof(path));
        unlink(path);
    }
}

/* Makes a slice of the whole, with a random view. If number is -1, the slice shows all of it. */
static struct mpiio_slice *slice_of_whole(int number)
{
    struct vs_view *view =
        number < 0 ? vs_members_whole(vs_spec_members(model.spec)) : random_view(number);

    return make_slice(model.store, view);
}

static void check_read(struct mpiio_slice *slice, int64_t offset, int64_t length)
{
    static unsigned char buffer[WHOLE_MAX];
    const struct vs_map *map = vs_view_map(mpiio_slice_view(slice));
    int64_t size = vs_view_slice_size(mpiio_slice_view(slice), model.size);
    int64_t expected = offset >= size ? 0 : length < size - offset ? length : size - offset;
    struct vs_runs runs;
    struct vs_run run;

    assert_int_equal(mpiio_slice_size(slice), size);
    memset(buffer, 0xa5, sizeof(buffer));
    assert_int_equal(mpiio_slice_read(slice, buffer, (size_t)length, offset), expected);
    vs_runs_start(&runs, map, offset, expected);
    while (vs_runs_next(&runs, &run))
        if (memcmp(buffer + (run.position - offset), model.whole + run.displacement,
                   (size_t)run.length) != 0)
            fail_msg("%s: %lld bytes at %lld: those from %lld", model.text, (long long)expected,
                     (long long)offset, (long long)run.position);
}

/* Returns a random offset, usually within the window. */
static int64_t random_place(struct mpiio_slice *slice)
{
    const struct vs_map *map = vs_view_map(mpiio_slice_view(slice));

    return vs_map_lower_bound(map, below(5) ? model.base + below(WINDOW) : below(WHOLE_MAX));
}

static void check_all(int number)
{
    struct mpiio_slice *slice = slice_of_whole(number);

    check_read(slice, 0, WHOLE_MAX);
    for (int i = 0; i < 10; i++)
        check_read(slice, random_place(slice), 1 + below(below(2) ? 100 : 50000));
    mpiio_slice_free(slice);
}

/* Slices of the whole equal slices of the original. */
TEST(test_read)
{
    for (int number = 0; number < UNIT_ROUNDS(90); number++) {
        make_whole(number, O_RDONLY);
        check_all(-1);
        for (int kind = 0; kind < 5; kind++)
            check_all(kind);
        drop();
    }
}

/* Checks that the files equal the model. Bytes that are not of the whole must be unchanged. */
static void check_files(void)
{
    static unsigned char bytes[FILE_MAX];

    for (int i = 0; i < model.count; i++) {
        struct vs_view *view, *local;
        char path[512];
        FILE *file;

        get_views(i, &view, &local);
        for (int64_t k = 0; k < model.bytes[i]; k++)
            model.file[i][vs_map_displacement(vs_view_map(local), k)] =
                model.whole[vs_map_displacement(vs_view_map(view), k)];
        member_path(i, path, sizeof(path));
        file = fopen(path, "r");
        assert_int_equal(fread(bytes, 1, sizeof(bytes), file), model.file_size[i]);
        fclose(file);
        assert_memory_equal(bytes, model.file[i], (size_t)model.file_size[i]);
        vs_view_unref(view);
        vs_view_unref(local);
    }
}

/* Writes to a slice. Checks the result, and how many of the bytes some member holds. */
static void check_write(struct mpiio_slice *slice, int64_t offset, int64_t length)
{
    static unsigned char buffer[WHOLE_MAX];
    const struct vs_map *map = vs_view_map(mpiio_slice_view(slice));
    int64_t size = vs_view_slice_size(mpiio_slice_view(slice), model.size), expected = 0;
    ssize_t put;

    fill_randomly(buffer, (size_t)length);
    put = mpiio_slice_write(slice, buffer, (size_t)length, offset);
    while (expected < length && offset + expected < size &&
           model.held[vs_map_displacement(map, offset + expected)])
        expected++;
    if (expected == 0)
        expected = offset >= size ? -EFBIG : -ENXIO;
    if (put != expected)
        fail_msg("%s: %lld bytes at %lld: %lld, expected %lld", model.text, (long long)length,
                 (long long)offset, (long long)put, (long long)expected);
    for (int64_t k = 0; k < expected; k++)
        model.whole[vs_map_displacement(map, offset + k)] = buffer[k];
}

static void write_all(int number)
{
    struct mpiio_slice *slice = slice_of_whole(number);

    if (!mpiio_slice_is_writable(slice)) {
        mpiio_slice_free(slice);
        return;
    }
    for (int i = 0; i < 10; i++)
        check_write(slice, random_place(slice), 1 + below(below(2) ? 100 : 50000));
    check_read(slice, 0, WHOLE_MAX);
    mpiio_slice_free(slice);
}

/* Writes change the right bytes of the members and no others, with and without a cache. */
TEST(test_write)
{
    for (int number = 0; number < UNIT_ROUNDS(60); number++) {
        make_whole(number, O_RDWR);
        if (number % 2)
            assert_int_equal(mpiio_store_add_cache(model.store, 8 << 20, &model.cache), 0);
        for (int kind = -1; kind < 5; kind++)
            write_all(kind);
        check_all(-1);
        if (number % 2)
            assert_int_equal(mpiio_cache_store_all(model.cache), 0);
        assert_int_equal(mpiio_store_sync(model.store, false), 0);
        check_files();
        drop();
    }
}

static void check_seek(struct mpiio_slice *slice, int64_t offset)
{
    int64_t data = offset, hole = offset;

    while (data < model.size && !model.held[data])
        data++;
    while (hole < model.size && model.held[hole])
        hole++;
    assert_int_equal(mpiio_slice_seek_data(slice, offset), data == model.size ? -ENXIO : data);
    assert_int_equal(mpiio_slice_seek_hole(slice, offset), hole);
}

/* Bytes of no member are holes. Other bytes are where find_member reports them. */
TEST(test_places)
{
    for (int number = 0; number < UNIT_ROUNDS(60); number++) {
        struct mpiio_slice *slice;

        make_whole(number, O_RDONLY);
        slice = slice_of_whole(-1);
        for (int i = 0; i < 10 && model.size > 0; i++)
            check_seek(slice, below(2) ? below((int)model.size) : model.base);
        for (int64_t at = 0, i = 0; at < model.size && i < 300; i++) {
            struct mpiio_member_place place;

            assert_int_equal(mpiio_assembled_find(mpiio_store_file(model.store), at, &place), 0);
            assert_true(place.length > 0 && place.length <= model.size - at);
            for (int64_t k = 0; k < place.length; k++) {
                assert_int_equal(model.held[at + k], place.member >= 0);
                if (place.member >= 0)
                    assert_int_equal(model.file[place.member][place.displacement + k],
                                     model.whole[at + k]);
            }
            at += place.length;
        }
        mpiio_slice_free(slice);
        drop();
    }
}

/* Expects loading or opening to fail with a message of one line. */

static void expect_failure(const char *text, bool writable, const char *reason)
{
    struct vs_error error = load(text);

    if (!error.code)
        mpiio_store_open_spec(model.spec, writable ? O_RDWR : O_RDONLY, &model.store, &error);
    assert_true(error.code != 0);
    if (strstr(error.reason, reason) == NULL)
        fail_msg("%s: %s", text, error.reason);
}

static void make_member(int member, size_t size)
{
    char path[512], bytes[64];

    memset(bytes, 'a' + member, sizeof(bytes));
    member_path(member, path, sizeof(path));
    make_named_file(path, bytes, size);
}

#define FOUR(view, more)                                                                           \
    "{'viewspec': 1, 'members': {'count': 4, 'file': 'T.{member:3}.data', " more "'view': " view   \
    "}}"
#define STRIPES                                                                                    \
    "{'disp': '10 * rank', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 40, 'oldtype': "     \
    "{'type': 'contiguous', 'count': 10}}}"
#define ROWS                                                                                       \
    "{'filetype': {'type': 'subarray', 'sizes': [40], 'subsizes': [10], 'starts': ['10 * rank'], " \
    "'order': 'C'}}"
#define PAIRS                                                                                      \
    "{'tiles': 1, 'filetype': {'type': 'struct', 'blocklengths': [1, 2], 'displacements': [0, "    \
    "'12 + 2 * rank'], 'types': [{'type': 'subarray', 'sizes': [8], 'subsizes': [2], 'starts': "   \
    "['2 * rank'], 'order': 'C'}, 'byte']}}"
#define BEHIND "{'disp': '10 * rank'}"

#define ZERO "'missing': 'zero', "

/* Checks the bytes of the whole. A dot stands for a null byte. */
static void expect_whole(const char *text, const char *expected)
{
    struct vs_error error = load(text);
    struct mpiio_slice *slice;
    char bytes[1000] = "", halves[1000];

    if (error.code || mpiio_store_open_spec(model.spec, O_RDONLY, &model.store, &error) != 0)
        fail_msg("%s: %s", text, error.reason);
    slice = slice_of_whole(-1);
    /* Reads in two parts, and then at once. */
    for (size_t at = 0; at < strlen(expected); at += strlen(expected) / 2 + 1)
        mpiio_slice_read(slice, halves + at, strlen(expected) / 2 + 1, (int64_t)at);
    assert_int_equal(mpiio_slice_read(slice, bytes, sizeof(bytes), 0), strlen(expected));
    assert_memory_equal(bytes, halves, strlen(expected));
    for (char *c = bytes; c < bytes + strlen(expected); c++)
        *c = *c ? *c : '.';
    assert_string_equal(bytes, expected);
    mpiio_slice_free(slice);
}

TEST(test_short)
{
    for (int i = 0; i < 4; i++)
        make_member(i, 20);
    make_member(2, 15);
    /* Only a longer member could fill the hole. */
    expect_failure(FOUR(STRIPES, ""), false, "member 2, ");
    expect_failure(FOUR(STRIPES, ""), false, "too short: it has 15 bytes of data");
    expect_whole(
        FOUR(STRIPES, ZERO),
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddaaaaaaaaaabbbbbbbbbbccccc.....dddddddddd");
    /* Holes read as the fill value. If several fills overlap, the last one counts. */
    expect_whole(
        FOUR(STRIPES, "'missing': 43, "),
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddaaaaaaaaaabbbbbbbbbbccccc+++++dddddddddd");
    expect_whole(
        FOUR(STRIPES, ZERO "'fill': [{'at': 60, 'size': 20, 'value': '2b2d'}, {'at': 3, "
                           "'size': 1, 'every': 4, 'count': 17, 'value': '3D'}], "),
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddaaaaaaaaaabbbbbbbbbbccccc-+=+-dddddddddd");
    expect_failure(FOUR(STRIPES, "'missing': 256, "), false, "does not have this value");
    expect_failure(FOUR(STRIPES, "'missing': 1.5, "), false, "does not have this value");
    /* The struct has its subarray's extent. Its other part lies past that extent. */
    expect_whole(FOUR(PAIRS, "'fill': [{'at': 20, 'size': 3, 'value': '2b'}], "),
                 "aabbccdd....aabbccdd+++");
    /* An array is expected in full. */
    for (int i = 0; i < 4; i++)
        make_member(i, i == 3 ? 4 : 10);
    expect_failure(FOUR(ROWS, ""), false, "member 3, ");
    /* Adjacent pieces need no length, but a hole between them is an error. */
    expect_whole(FOUR(BEHIND, ""), "aaaaaaaaaabbbbbbbbbbccccccccccdddd");
    make_member(1, 9);
    expect_failure(FOUR(BEHIND, ""), false, "member 1, ");
    make_member(1, 11);
    expect_failure(FOUR(BEHIND, ""), false, "byte 20 of the whole is in member 2, too");
    expect_whole(FOUR(BEHIND, "'overlap': 'first', "), "aaaaaaaaaabbbbbbbbbbbcccccccccdddd");
    expect_whole(FOUR(BEHIND, "'overlap': 'last', "), "aaaaaaaaaabbbbbbbbbbccccccccccdddd");
    expect_failure(FOUR(BEHIND, "'overlap': 'last', "), true, "can only be read");
    model.count = 3;
    drop();
    expect_failure(FOUR(BEHIND, ""), false, "member 0, ");
    expect_failure(FOUR(BEHIND, ""), false, "no such file (missing=zero reads zeros instead)");
    expect_whole(FOUR(BEHIND, ZERO), "..............................dddd");
    model.count = 4;
    drop();
}

TEST(test_order)
{
    for (int i = 0; i < 4; i++)
        make_member(i, 20);
    expect_failure(FOUR("{'filetype': {'type': 'resized', 'lb': 0, 'extent': 2, 'oldtype': "
                        "{'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': 5}}}",
                        ""),
                   false, "not in the order of the whole");
    model.count = 4;
    drop();
}

TEST_GROUP(make_folder, remove_folder)
