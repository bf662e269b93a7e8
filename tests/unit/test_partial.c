/* SPDX-License-Identifier: MIT */
/*
 * Tests elements that are converted one by one: values that do not fit into the file, elements
 * written in parts, by several threads and stores, sizes, and holes.
 */
#include <pthread.h>
#include <sys/stat.h>

#include "native.h"
#include "slice_fixture.h"

struct fixture {
    int fd;
    struct mpiio_store *store;
    struct mpiio_slice *slice;
};

static void open_fixture(struct fixture *fixture, const char *keys, enum mpiio_narrow narrow)
{
    fixture->fd = make_file();
    fixture->store = open_store_for(fixture->fd, O_RDWR);
    assert_int_equal(
        mpiio_slice_new(fixture->store, make_view("%s", keys), narrow, &fixture->slice), 0);
}

static void close_fixture(struct fixture *fixture)
{
    mpiio_slice_free(fixture->slice);
    mpiio_store_close(fixture->store);
    close(fixture->fd);
}

static void put(const struct fixture *fixture, const void *bytes, size_t length, int64_t offset)
{
    assert_int_equal(mpiio_slice_write(fixture->slice, bytes, length, offset), length);
}

static void expect_file(const struct fixture *fixture, const void *bytes, int64_t length)
{
    unsigned char found[256];

    assert_int_equal(pread(fixture->fd, found, sizeof(found), 0), length);
    assert_memory_equal(found, bytes, length);
}

static void expect_slice(const struct fixture *fixture, const void *bytes, size_t length)
{
    unsigned char found[256];

    assert_int_equal(mpiio_slice_read(fixture->slice, found, sizeof(found), 0), length);
    assert_memory_equal(found, bytes, length);
}

TEST(a_value_that_does_not_fit_leaves_the_file)
{
    const int64_t values[] = {1, 2, INT64_C(1) << 31, 4}, good[] = {5, -6, INT32_MIN, INT32_MAX};
    struct fixture fixture;

    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, good, sizeof(good), 0);
    assert_int_equal(mpiio_slice_write(fixture.slice, values, sizeof(values), 0), -ERANGE);
    assert_int_equal(mpiio_slice_write(fixture.slice, values, sizeof(values), 32), -ERANGE);
    /* The same, if the first value is written in part. */
    assert_int_equal(
        mpiio_slice_write(fixture.slice, (const char *)values + 3, sizeof(values) - 3, 3), -ERANGE);
    expect_slice(&fixture, good, sizeof(good));
    expect_file(&fixture, "\0\0\0\5\xff\xff\xff\xfa\x80\0\0\0\x7f\xff\xff\xff", 16);
    close_fixture(&fixture);
}

TEST(narrow_truncate_keeps_the_lower_bytes)
{
    const int64_t values[] = {INT64_C(0x123456789a), INT64_C(0x10000000007)};
    const int64_t back[] = {INT64_C(0x3456789a), 7};
    struct fixture fixture;
    int64_t offset, length;

    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_TRUNCATE);
    put(&fixture, values, 8, 0);
    for (int i = 0; i < 8; i++)
        put(&fixture, (const char *)&values[1] + i, 1, 8 + i);
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), 0);
    expect_file(&fixture, "\x34\x56\x78\x9a\0\0\0\7", 8);
    expect_slice(&fixture, back, sizeof(back));
    close_fixture(&fixture);
}

/* While -1 is written in parts, some values between do not fit into the file. Reads return them,
   but they are not stored. */
TEST(a_torn_element_waits_for_its_rest)
{
    const int64_t before = 5, after = -7, half = INT64_C(0x00000000fffffff9);
    const int low = NATIVE_IS_BIG ? 4 : 0, high = 4 - low;
    struct fixture fixture;
    int64_t offset = -1, length = -1;

    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, &before, 8, 0);
    put(&fixture, (const char *)&after + low, 4, low);
    expect_slice(&fixture, &half, 8);
    expect_file(&fixture, "\0\0\0\5", 4);
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), -ERANGE);
    assert_int_equal(offset, 0);
    assert_int_equal(length, 8);
    put(&fixture, (const char *)&after + high, 4, high);
    expect_slice(&fixture, &after, 8);
    expect_file(&fixture, "\xff\xff\xff\xf9", 4);
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), 0);
    close_fixture(&fixture);
}

TEST(a_torn_element_may_be_given_up)
{
    const int64_t before[] = {5, 6};
    struct fixture fixture;
    int64_t offset = -1, length = -1;

    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, before, 16, 0);
    put(&fixture, "\1", 1, BYTE(5));
    put(&fixture, "\1", 1, 8 + BYTE(5));
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(offset, 0);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(offset, 8);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    expect_slice(&fixture, before, 16);
    /* A writer of the whole element replaces its parts. */
    put(&fixture, "\1", 1, BYTE(5));
    put(&fixture, before, 16, 0);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    expect_slice(&fixture, before, 16);
    close_fixture(&fixture);
}

/* Only so many torn elements are kept; more are refused. */
TEST(so_many_elements_may_be_torn)
{
    struct fixture fixture;
    int64_t offset = -1, length = -1;
    int kept = 0;

    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    for (int i = 0; i < 5000; i++) {
        ssize_t done = mpiio_slice_write(fixture.slice, "\1", 1, (i * 7919 % 5000) * 8 + BYTE(5));

        assert_true(done == 1 || done == -ERANGE);
        kept += done == 1;
    }
    assert_int_equal(kept, 4096);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    close_fixture(&fixture);
}

/* A conversion to the file and back would change half an x87 number. */
TEST(extended_numbers_come_byte_by_byte)
{
    const long double values[] = {1.5L, -3.25e300L, 0x1.fffffffffffffffep+16383L, 0.0L};
    unsigned char bytes[64] = {0}, zeros[64] = {0};
    struct fixture fixture;
    int64_t offset, length;

    for (int i = 0; i < 4; i++)
        memcpy(bytes + 16 * i, &values[i], 10);
    open_fixture(&fixture, "\"etype\": \"long_double\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    put(&fixture, zeros, 64, 0);
    for (int i = 63; i >= 0; i--) {
        put(&fixture, bytes + i, 1, i);
        memcpy(zeros + i, bytes + i, 1);
        expect_slice(&fixture, zeros, 64);
    }
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), 0);
    expect_slice(&fixture, bytes, 64);
    close_fixture(&fixture);
}

/* Two slices of the same bytes in external32, as two ranks have them. */
struct ranks {
    struct fixture first;
    struct mpiio_slice *second;
};

static void open_ranks(struct ranks *ranks, const char *keys)
{
    open_fixture(&ranks->first, keys, MPIIO_NARROW_REFUSE);
    assert_int_equal(mpiio_slice_new(ranks->first.store, make_view("%s", keys), MPIIO_NARROW_REFUSE,
                                     &ranks->second),
                     0);
}

static void close_ranks(struct ranks *ranks)
{
    mpiio_slice_free(ranks->second);
    close_fixture(&ranks->first);
}

static void expect_settled(struct mpiio_slice *slice, bool last)
{
    int64_t offset, length;

    assert_int_equal(mpiio_slice_settle(slice, last, &offset, &length), 0);
}

/* x87 has encodings without the integer bit. The file has a NaN for such a number. */
#if LDBL_MANT_DIG == 64
static const unsigned char unnormal[10] = {1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x3f};

TEST(what_was_stored_is_not_stored_again)
{
    const long double newer = 6;
    unsigned char got[16];
    struct ranks ranks;

    for (int last = 0; last < 2; last++) {
        open_ranks(&ranks, "\"etype\": \"long_double\", \"datarep\": \"external32\"");
        put(&ranks.first, unnormal, 10, 0);
        expect_settled(ranks.first.slice, false);
        assert_int_equal(mpiio_slice_write(ranks.second, &newer, 10, 0), 10);
        expect_settled(ranks.second, false);
        expect_settled(ranks.first.slice, last);
        expect_file(&ranks.first, "\x40\1\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
        /* The element is no longer visible, not even in part. */
        assert_int_equal(mpiio_slice_read(ranks.first.slice, got, 4, 0), 4);
        assert_memory_equal(got, &newer, 4);
        assert_int_equal(mpiio_slice_read(ranks.first.slice, got, 16, 0), 16);
        assert_memory_equal(got, &newer, 10);
        close_ranks(&ranks);
    }
}

/* A value that the file cannot represent exactly still reads as it was written, and can be
   completed. */
TEST(what_was_stored_can_be_completed)
{
    const long double value = 1.5L;
    struct fixture fixture;
    unsigned char seen[16] = {0}, got[8];

    open_fixture(&fixture, "\"etype\": \"long_double\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    memcpy(seen + 8, (const char *)&value + 8, 2);
    put(&fixture, seen + 8, 8, 8);
    expect_settled(fixture.slice, false);
    expect_settled(fixture.slice, false);
    assert_int_equal(mpiio_slice_read(fixture.slice, got, 8, 8), 8);
    assert_memory_equal(got, seen + 8, 8);
    put(&fixture, &value, 8, 0);
    memcpy(seen, &value, 8);
    expect_slice(&fixture, seen, 16);
    expect_file(&fixture, "\x3f\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    close_fixture(&fixture);
}

#endif

#define NUMBERS 3

/* Two writers write parts and settle in any order. Settling again without a write in between
   changes nothing. */
TEST(settling_twice_changes_nothing)
{
    unsigned char before[NUMBERS * 32], after[NUMBERS * 32], bytes[NUMBERS * 32];
    const char *const etypes[] = {"long_double", "c_long_double_complex"};
    struct ranks ranks;

    srand(1);
    for (int round = 0; round < UNIT_ROUNDS(2000); round++) {
        bool wrote[2] = {false, false};
        size_t size = round % 2 == 0 ? 16 : 32;
        char keys[128];

        snprintf(keys, sizeof(keys), "\"etype\": \"%s\", \"datarep\": \"external32\"",
                 etypes[round % 2]);
        open_ranks(&ranks, keys);
        assert_int_equal(mpiio_slice_resize(ranks.first.slice, (int64_t)(NUMBERS * size)), 0);
        for (int step = 0; step < 30; step++) {
            int who = rand() % 2;
            struct mpiio_slice *slice = who == 0 ? ranks.first.slice : ranks.second;
            size_t length = 1 + (size_t)rand() % (2 * size);
            size_t offset = (size_t)rand() % (NUMBERS * size - length);

            if (rand() % 2 == 0) {
                for (size_t i = 0; i < length; i++)
                    bytes[i] = (unsigned char)(rand() % 3 == 0 ? rand() : 0);
                assert_int_equal(mpiio_slice_write(slice, bytes, length, (int64_t)offset), length);
                wrote[who] = true;
                continue;
            }
            assert_true(pread(ranks.first.fd, before, sizeof(before), 0) > 0);
            expect_settled(slice, rand() % 4 == 0);
            assert_true(pread(ranks.first.fd, after, sizeof(after), 0) > 0);
            if (!wrote[who])
                assert_memory_equal(before, after, NUMBERS * size);
            wrote[who] = false;
        }
        close_ranks(&ranks);
    }
}

/* The last byte of a number in memory may be its first byte in the file. */
TEST(the_file_grows_to_what_is_shown)
{
    const char *const datareps[] = {"external32", "big-endian"};
    const char *const etypes[] = {"int", "long", "c_double_complex", "long_double"};

    for (int i = 0; i < 8; i++) {
        struct fixture fixture;
        char keys[256];
        unsigned char byte = 0;
        int64_t size;

        snprintf(keys, sizeof(keys), "\"disp\": 3, \"etype\": \"%s\", \"datarep\": \"%s\"",
                 etypes[i / 2], datareps[i % 2]);
        open_fixture(&fixture, keys, MPIIO_NARROW_REFUSE);
        size = vs_view_facts(mpiio_slice_view(fixture.slice))->etype_size;
        put(&fixture, "\3", 1, 3 * size - 1);
        assert_int_equal(mpiio_slice_size(fixture.slice), 3 * size);
        assert_int_equal(mpiio_slice_read(fixture.slice, &byte, 1, 3 * size - 1), 1);
        assert_int_equal(byte, 3);
        close_fixture(&fixture);
    }
}

TEST(sizes_are_those_of_the_slice)
{
    struct fixture fixture;
    struct stat st;
    int64_t offset;
    const int64_t value = 9;

    open_fixture(&fixture,
                 "\"etype\": {\"type\": \"struct\", \"blocklengths\": [1, 1], \"displacements\": "
                 "[0, 4], \"types\": [\"long\", \"short\"]}, \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    assert_int_equal(mpiio_slice_resize(fixture.slice, 25), 0);
    assert_int_equal(fstat(fixture.fd, &st), 0);
    assert_int_equal(st.st_size, 18);
    assert_int_equal(mpiio_slice_size(fixture.slice), 30);
    assert_int_equal(mpiio_slice_append(fixture.slice, &value, 8, &offset), 8);
    assert_int_equal(offset, 30);
    assert_int_equal(mpiio_slice_size(fixture.slice), 40);
    assert_int_equal(mpiio_slice_reserve(fixture.slice, 41, 60), 0);
    assert_int_equal(mpiio_slice_size(fixture.slice), 110);
    assert_int_equal(mpiio_slice_resize(fixture.slice, INT64_MAX), -EFBIG);
    assert_int_equal(mpiio_slice_write(fixture.slice, &value, 8, INT64_MAX - 7), -EFBIG);
    close_fixture(&fixture);
}

TEST(holes_are_found_by_whole_elements)
{
    const int64_t value = 9;
    struct fixture fixture;
    struct stat st;

    /* 3 bytes in front, so an element lies across each border of a block. */
    open_fixture(&fixture, "\"disp\": 3, \"etype\": \"long\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    put(&fixture, &value, 8, INT64_C(8) << 20);
    assert_int_equal(mpiio_slice_resize(fixture.slice, INT64_C(16) << 20), 0);
    assert_int_equal(fstat(fixture.fd, &st), 0);
    assert_int_equal(mpiio_slice_seek_hole(fixture.slice, 5), 5);
    for (int64_t at = 0, data; (data = mpiio_slice_seek_data(fixture.slice, at)) >= 0;) {
        assert_true(data >= at);
        assert_true(data <= INT64_C(8) << 20 || data > INT64_C(15) << 20);
        at = mpiio_slice_seek_hole(fixture.slice, data);
        assert_true(at > data);
        /* At the border of a block, rounded up to an element. */
        assert_true((3 + at / 8 * 4 - 3) % 4096 == 0 || at == INT64_C(16) << 20);
        if (at == INT64_C(16) << 20)
            break;
    }
    close_fixture(&fixture);
}

/* Many threads, and two stores, as two daemons have them. */

#define LONGS  1
#define ROUNDS UNIT_ROUNDS(2500)
#define PARTS  4

struct writer {
    pthread_t thread;
    struct mpiio_slice *slice;
    /* below PARTS: the byte of each long that it writes; else it writes whole neighbours */
    int number;
    bool failed;
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
        for (int i = 0; i < LONGS; i++) {
            unsigned char byte = byte_of(writer->number, i, round);
            int64_t whole = -byte;
            bool kept;

            if (writer->number < PARTS)
                kept = write_and_look(writer->slice, &byte, 1, 16 * i + BYTE(writer->number));
            else
                kept = write_and_look(writer->slice, &whole, 8, 16 * i + 8);
            writer->failed = writer->failed || !kept;
        }
    }
    return NULL;
}

TEST(parts_of_elements_are_not_lost)
{
    struct writer writers[PARTS + 1];
    struct fixture one, other;
    int64_t values[2 * LONGS] = {0};

    open_fixture(&one, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&one, values, sizeof(values), 0);
    other.fd = dup(one.fd);
    other.store = open_store_for(one.fd, O_RDWR);
    other.slice =
        make_slice(other.store, make_view("\"etype\": \"long\", \"datarep\": \"external32\""));
    for (int i = 0; i <= PARTS; i++) {
        writers[i] = (struct writer){.slice = i % 2 ? one.slice : other.slice, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_elements, &writers[i]), 0);
    }
    for (int i = 0; i <= PARTS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_false(writers[i].failed);
    }
    assert_int_equal(mpiio_slice_read(one.slice, values, sizeof(values), 0), sizeof(values));
    for (int i = 0; i < LONGS; i++) {
        int64_t expected = 0;

        for (int j = PARTS - 1; j >= 0; j--)
            expected = expected << 8 | byte_of(j, i, ROUNDS - 1);
        assert_int_equal(values[2 * i], expected);
        assert_int_equal(values[2 * i + 1], -(int64_t)byte_of(PARTS, i, ROUNDS - 1));
    }
    close_fixture(&other);
    close_fixture(&one);
}

/* NaN payloads, infinities, denormals and negative zero survive both conversions. */
TEST(special_numbers_survive)
{
    const uint64_t values[] = {UINT64_C(0x7ff8000000abcdef),
                               UINT64_C(0xfff4000000000001),
                               UINT64_C(0x7ff0000000000000),
                               UINT64_C(0xfff0000000000000),
                               1,
                               UINT64_C(0x8000000000000000)};
    struct fixture fixture;

    open_fixture(&fixture, "\"etype\": \"double\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    put(&fixture, values, sizeof(values), 0);
    expect_slice(&fixture, values, sizeof(values));
    close_fixture(&fixture);
}
