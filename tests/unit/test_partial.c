/* SPDX-License-Identifier: MIT */
/*
 * Tests elements that are converted one by one: values that do not fit into the file, elements
 * written in parts, by several threads and stores, sizes, and holes.
 */

#include "native.h"
#include "slice_fixture.h"
#include "threads.h"

#define LONGS        "'etype': 'long', 'datarep': 'external32'"
#define LONG_DOUBLES "'etype': 'long_double', 'datarep': 'external32'"

static struct opened file;

/* Another slice of the same bytes, as a second rank has it. NULL: none. */
static struct mpiio_slice *second;

static int close_file(void **state)
{
    mpiio_slice_free(second);
    second = NULL;
    close_opened(&file);
    return 0;
}

TEST_GROUP(NULL, close_file)

/* Opens a file with a slice that refuses values which do not fit, in place of the previous one. */
static void open_file(struct vs_view *view)
{
    close_file(NULL);
    file = open_slice(O_RDWR, view);
}

static int open_longs(void **state)
{
    open_file(make_view(LONGS));
    return 0;
}

static void put(const void *bytes, size_t length, int64_t offset)
{
    write_bytes(file.slice, bytes, length, offset);
}

static void expect_file(const void *bytes, int64_t length)
{
    unsigned char found[256];

    assert_int_equal(pread(file.fd, found, sizeof(found), 0), length);
    assert_memory_equal(found, bytes, length);
}

/* Checks that the slice has exactly these bytes. */
static void expect_slice(const void *bytes, size_t length)
{
    unsigned char found[256];

    assert_int_equal(mpiio_slice_read(file.slice, found, sizeof(found), 0), length);
    assert_memory_equal(found, bytes, length);
}

static void expect_settled(struct mpiio_slice *slice, bool last)
{
    int64_t offset, length;

    assert_int_equal(mpiio_slice_settle(slice, last, &offset, &length), 0);
}

/* Settling fails, because the long at this offset is torn. */
static void expect_torn(bool last, int64_t offset)
{
    int64_t found = -1, length = -1;

    assert_int_equal(mpiio_slice_settle(file.slice, last, &found, &length), -ERANGE);
    assert_int_equal(found, offset);
    assert_int_equal(length, 8);
}

TEST(a_value_that_does_not_fit_leaves_the_file, open_longs)
{
    const int64_t values[] = {1, 2, INT64_C(1) << 31, 4}, good[] = {5, -6, INT32_MIN, INT32_MAX};

    put(good, sizeof(good), 0);
    assert_int_equal(mpiio_slice_write(file.slice, values, sizeof(values), 0), -ERANGE);
    assert_int_equal(mpiio_slice_write(file.slice, values, sizeof(values), 32), -ERANGE);
    /* The same, if the first value is written in part. */
    assert_int_equal(mpiio_slice_write(file.slice, (const char *)values + 3, sizeof(values) - 3, 3),
                     -ERANGE);
    expect_slice(good, sizeof(good));
    expect_file("\0\0\0\5\xff\xff\xff\xfa\x80\0\0\0\x7f\xff\xff\xff", 16);
}

TEST(narrow_truncate_keeps_the_lower_bytes, open_longs)
{
    const int64_t values[] = {INT64_C(0x123456789a), INT64_C(0x10000000007)};
    const int64_t back[] = {INT64_C(0x3456789a), 7};

    mpiio_slice_free(file.slice);
    file.slice = NULL;
    assert_int_equal(
        mpiio_slice_new(file.store, make_view(LONGS), MPIIO_NARROW_TRUNCATE, &file.slice), 0);
    put(values, 8, 0);
    for (int i = 0; i < 8; i++)
        put((const char *)&values[1] + i, 1, 8 + i);
    expect_settled(file.slice, false);
    expect_file("\x34\x56\x78\x9a\0\0\0\7", 8);
    expect_slice(back, sizeof(back));
}

/* While -1 is written in parts, some values between do not fit into the file. Reads return them,
   but they are not stored. */
TEST(a_torn_element_waits_for_its_rest, open_longs)
{
    const int64_t before = 5, after = -7, half = INT64_C(0x00000000fffffff9);
    const int low = NATIVE_IS_BIG ? 4 : 0, high = 4 - low;

    put(&before, 8, 0);
    put((const char *)&after + low, 4, low);
    expect_slice(&half, 8);
    expect_file("\0\0\0\5", 4);
    expect_torn(false, 0);
    put((const char *)&after + high, 4, high);
    expect_slice(&after, 8);
    expect_file("\xff\xff\xff\xf9", 4);
    expect_settled(file.slice, false);
}

TEST(a_torn_element_may_be_given_up, open_longs)
{
    const int64_t before[] = {5, 6};

    put(before, 16, 0);
    put("\1", 1, BYTE(5));
    put("\1", 1, 8 + BYTE(5));
    expect_torn(true, 0);
    expect_torn(true, 8);
    expect_settled(file.slice, true);
    expect_slice(before, 16);
    /* A writer of the whole element replaces its parts. */
    put("\1", 1, BYTE(5));
    put(before, 16, 0);
    expect_settled(file.slice, true);
    expect_slice(before, 16);
}

/* Only so many torn elements are kept; more are refused. */
TEST(so_many_elements_may_be_torn, open_longs)
{
    int64_t offset, length;
    int kept = 0;

    for (int i = 0; i < 5000; i++) {
        ssize_t done = mpiio_slice_write(file.slice, "\1", 1, (i * 7919 % 5000) * 8 + BYTE(5));

        assert_true(done == 1 || done == -ERANGE);
        kept += done == 1;
    }
    assert_int_equal(kept, 4096);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(mpiio_slice_settle(file.slice, true, &offset, &length), -ERANGE);
    expect_settled(file.slice, true);
}

/* A conversion to the file and back would change half an x87 number. */
TEST(extended_numbers_come_byte_by_byte)
{
    const long double values[] = {1.5L, -3.25e300L, 0x1.fffffffffffffffep+16383L, 0.0L};
    unsigned char bytes[64] = {0}, zeros[64] = {0};

    for (int i = 0; i < 4; i++)
        memcpy(bytes + 16 * i, &values[i], 10);
    open_file(make_view(LONG_DOUBLES));
    put(zeros, 64, 0);
    for (int i = 63; i >= 0; i--) {
        put(bytes + i, 1, i);
        memcpy(zeros + i, bytes + i, 1);
        expect_slice(zeros, 64);
    }
    expect_settled(file.slice, false);
    expect_slice(bytes, 64);
}

static void open_ranks(struct vs_view *view)
{
    open_file(vs_view_ref(view));
    second = make_slice(file.store, view);
}

/* x87 has encodings without the integer bit. The file has a NaN for such a number. */
#if LDBL_MANT_DIG == 64
static const unsigned char unnormal[10] = {1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x3f};

TEST(what_was_stored_is_not_stored_again)
{
    const long double newer = 6;
    unsigned char got[16];

    for (int last = 0; last < 2; last++) {
        open_ranks(make_view(LONG_DOUBLES));
        put(unnormal, 10, 0);
        expect_settled(file.slice, false);
        write_bytes(second, &newer, 10, 0);
        expect_settled(second, false);
        expect_settled(file.slice, last);
        expect_file("\x40\1\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
        /* The element is no longer visible, not even in part. */
        expect_bytes(file.slice, &newer, 4, 0);
        assert_int_equal(mpiio_slice_read(file.slice, got, 16, 0), 16);
        assert_memory_equal(got, &newer, 10);
    }
}

/* A value that the file cannot represent exactly still reads as it was written, and can be
   completed. */
TEST(what_was_stored_can_be_completed)
{
    const long double value = 1.5L;
    unsigned char seen[16] = {0};

    open_file(make_view(LONG_DOUBLES));
    memcpy(seen + 8, (const char *)&value + 8, 2);
    put(seen + 8, 8, 8);
    expect_settled(file.slice, false);
    expect_settled(file.slice, false);
    expect_bytes(file.slice, seen + 8, 8, 8);
    put(&value, 8, 0);
    memcpy(seen, &value, 8);
    expect_slice(seen, 16);
    expect_file("\x3f\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

#endif

#define NUMBERS 3

/* Two writers write parts and settle in any order. Settling again without a write in between
   changes nothing. */
TEST(settling_twice_changes_nothing)
{
    unsigned char before[NUMBERS * 32], after[NUMBERS * 32], bytes[NUMBERS * 32];
    const char *const etypes[] = {"long_double", "c_long_double_complex"};

    srand(1);
    for (int round = 0; round < UNIT_ROUNDS(2000); round++) {
        bool wrote[2] = {false, false};
        size_t size = round % 2 == 0 ? 16 : 32;

        open_ranks(make_view("'etype': '%s', 'datarep': 'external32'", etypes[round % 2]));
        assert_int_equal(mpiio_slice_resize(file.slice, (int64_t)(NUMBERS * size)), 0);
        for (int step = 0; step < 30; step++) {
            int who = rand() % 2;
            struct mpiio_slice *slice = who == 0 ? file.slice : second;
            size_t length = 1 + (size_t)rand() % (2 * size);
            size_t offset = (size_t)rand() % (NUMBERS * size - length);

            if (rand() % 2 == 0) {
                for (size_t i = 0; i < length; i++)
                    bytes[i] = (unsigned char)(rand() % 3 == 0 ? rand() : 0);
                write_bytes(slice, bytes, length, (int64_t)offset);
                wrote[who] = true;
                continue;
            }
            assert_true(pread(file.fd, before, sizeof(before), 0) > 0);
            expect_settled(slice, rand() % 4 == 0);
            assert_true(pread(file.fd, after, sizeof(after), 0) > 0);
            if (!wrote[who])
                assert_memory_equal(before, after, NUMBERS * size);
            wrote[who] = false;
        }
    }
}

/* The last byte of a number in memory may be its first byte in the file. */
TEST(the_file_grows_to_what_is_shown)
{
    const char *const datareps[] = {"external32", "big-endian"};
    const char *const etypes[] = {"int", "long", "c_double_complex", "long_double"};

    for (int i = 0; i < 8; i++) {
        int64_t size;

        open_file(
            make_view("'disp': 3, 'etype': '%s', 'datarep': '%s'", etypes[i / 2], datareps[i % 2]));
        size = vs_view_facts(mpiio_slice_view(file.slice))->etype_size;
        put("\3", 1, 3 * size - 1);
        assert_int_equal(mpiio_slice_size(file.slice), 3 * size);
        expect_bytes(file.slice, "\3", 1, 3 * size - 1);
    }
}

TEST(sizes_are_those_of_the_slice)
{
    int64_t offset;
    const int64_t value = 9;

    open_file(
        make_view("'etype': {'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 4], "
                  "'types': ['long', 'short']}, 'datarep': 'external32'"));
    assert_int_equal(mpiio_slice_resize(file.slice, 25), 0);
    assert_int_equal(stat_of(file.fd).st_size, 18);
    assert_int_equal(mpiio_slice_size(file.slice), 30);
    assert_int_equal(mpiio_slice_append(file.slice, &value, 8, &offset), 8);
    assert_int_equal(offset, 30);
    assert_int_equal(mpiio_slice_size(file.slice), 40);
    assert_int_equal(mpiio_slice_reserve(file.slice, 41, 60), 0);
    assert_int_equal(mpiio_slice_size(file.slice), 110);
    assert_int_equal(mpiio_slice_resize(file.slice, INT64_MAX), -EFBIG);
    assert_int_equal(mpiio_slice_write(file.slice, &value, 8, INT64_MAX - 7), -EFBIG);
}

/* The file may grow to the middle of a value. A value that is stored in part does not count, so a
   call that stores no whole value returns the error. */
TEST(a_full_file_ends_at_a_whole_value)
{
    const char *views[] = {LONGS, "'etype': 'double', 'datarep': 'external32'"};
    const int64_t values[] = {1, 2, 3};

    for (int i = 0; i < 2; i++) {
        int64_t size = i == 0 ? 4 : 8;

        open_file(make_view(views[i]));
        for (int64_t room = 0; room <= 3 * size; room++) {
            int64_t whole = room / size * 8;

            assert_int_equal(ftruncate(file.fd, 0), 0);
            limit_file((rlim_t)room);
            assert_int_equal(mpiio_slice_write(file.slice, values, 24, 0),
                             whole > 0 ? whole : -EFBIG);
            assert_int_equal(mpiio_slice_write(file.slice, (char *)values + 8, 16, 8),
                             whole > 8 ? whole - 8 : -EFBIG);
            limit_file(RLIM_INFINITY);
        }
    }
}

TEST(holes_are_found_by_whole_elements)
{
    const int64_t value = 9;

    /* 3 bytes in front, so an element lies across each border of a block. */
    open_file(make_view("'disp': 3, 'etype': 'long', 'datarep': 'external32'"));
    put(&value, 8, INT64_C(8) << 20);
    assert_int_equal(mpiio_slice_resize(file.slice, INT64_C(16) << 20), 0);
    assert_int_equal(mpiio_slice_seek_hole(file.slice, 5), 5);
    for (int64_t at = 0, data; (data = mpiio_slice_seek_data(file.slice, at)) >= 0;) {
        assert_true(data >= at);
        assert_true(data <= INT64_C(8) << 20 || data > INT64_C(15) << 20);
        at = mpiio_slice_seek_hole(file.slice, data);
        assert_true(at > data);
        /* At the border of a block, rounded up to an element. */
        assert_true((3 + at / 8 * 4 - 3) % 4096 == 0 || at == INT64_C(16) << 20);
        if (at == INT64_C(16) << 20)
            break;
    }
}

/* Many threads, and two stores, as two daemons have them. */

#define COUNT  1
#define ROUNDS UNIT_ROUNDS(2500)
#define PARTS  4

struct writer {
    struct mpiio_slice *slice;
    /* below PARTS: the byte of each long that it writes; else it writes whole neighbours */
    int number;
};

static unsigned char byte_of(int number, int index, int round)
{
    return (unsigned char)((number * 31 + index * 7 + round) & 0x7f);
}

/* Writes bytes that no other thread writes, and checks that they read back. */
static bool write_and_look(struct mpiio_slice *slice, const void *bytes, size_t length,
                           int64_t offset)
{
    unsigned char back[8];

    return mpiio_slice_write(slice, bytes, length, offset) == (ssize_t)length &&
           mpiio_slice_read(slice, back, length, offset) == (ssize_t)length &&
           memcmp(back, bytes, length) == 0;
}

/* Writes one byte of every second long, or the whole long behind it. */
static void *write_elements(void *argument)
{
    struct writer *writer = argument;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            unsigned char byte = byte_of(writer->number, i, round);
            int64_t whole = -byte;
            bool kept;

            if (writer->number < PARTS)
                kept = write_and_look(writer->slice, &byte, 1, 16 * i + BYTE(writer->number));
            else
                kept = write_and_look(writer->slice, &whole, 8, 16 * i + 8);
            if (!kept)
                return writer;
        }
    }
    return NULL;
}

TEST(parts_of_elements_are_not_lost)
{
    struct writer writers[PARTS + 1];
    struct opened other;
    int64_t values[2 * COUNT] = {0};

    open_file(make_view(LONGS));
    put(values, sizeof(values), 0);
    other = (struct opened){.fd = dup(file.fd), .store = open_store_for(file.fd, O_RDWR)};
    other.slice = make_slice(other.store, make_view(LONGS));
    for (int i = 0; i <= PARTS; i++)
        writers[i] = (struct writer){.slice = i % 2 ? file.slice : other.slice, .number = i};
    run_threads(PARTS + 1, write_elements, writers, sizeof(*writers));
    assert_int_equal(mpiio_slice_read(file.slice, values, sizeof(values), 0), sizeof(values));
    for (int i = 0; i < COUNT; i++) {
        int64_t expected = 0;

        for (int j = PARTS - 1; j >= 0; j--)
            expected = expected << 8 | byte_of(j, i, ROUNDS - 1);
        assert_int_equal(values[2 * i], expected);
        assert_int_equal(values[2 * i + 1], -(int64_t)byte_of(PARTS, i, ROUNDS - 1));
    }
    close_opened(&other);
}
