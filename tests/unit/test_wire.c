/* SPDX-License-Identifier: MIT */
/* Tests the codec against bytes written by hand, in both directions, and messages that are too
   short or long. */

#include "unit.h"
#include "net/wire.h"

/* One field of each kind. */
struct fields {
    uint8_t u8;
    uint32_t u32;
    uint64_t u64;
    bool yes, no;
    int32_t none, error;
    uint8_t bytes[3];
    const char *string;
    uint32_t string_size;
    const char *text;
};

static const struct fields example = {.u8 = 0x01,
                                      .u32 = 0x02030405,
                                      .u64 = 0x060708090a0b0c0d,
                                      .yes = true,
                                      .error = -ENOSPC,
                                      .bytes = {0xfd, 0xfe, 0xff},
                                      .string = "a\0b",
                                      .string_size = 3,
                                      .text = "four"};

static const uint8_t expected[] = {
    0x01,                                              /* u8 */
    0x02, 0x03, 0x04, 0x05,                            /* u32 */
    0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d,    /* u64 */
    1,    0,                                           /* flags */
    0,    0,    0,    0,    0,    0,    0,    28,      /* errnos */
    0xfd, 0xfe, 0xff,                                  /* bytes */
    0,    0,    0,    3,    'a',  0,    'b',           /* string */
    0,    0,    0,    5,    'f',  'o',  'u',  'r',  0, /* text */
};

static void code(struct mpiio_wire *wire, struct fields *fields)
{
    fields->u8 = mpiio_wire_u8(wire, fields->u8, UINT8_MAX);
    mpiio_wire_u32(wire, &fields->u32);
    mpiio_wire_u64(wire, &fields->u64);
    mpiio_wire_flag(wire, &fields->yes);
    mpiio_wire_flag(wire, &fields->no);
    mpiio_wire_errno(wire, &fields->none);
    mpiio_wire_errno(wire, &fields->error);
    mpiio_wire_bytes(wire, fields->bytes, sizeof(fields->bytes));
    mpiio_wire_string(wire, &fields->string, &fields->string_size);
    mpiio_wire_text(wire, &fields->text, 5);
}

TEST(fields_are_written_as_bytes)
{
    uint8_t bytes[sizeof(expected) + 1];
    struct fields fields = example;
    struct mpiio_wire wire = {.to = bytes, .size = sizeof(bytes)};

    code(&wire, &fields);
    assert_false(wire.failed);
    assert_int_equal(wire.at, sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
}

TEST(fields_are_read_from_bytes)
{
    struct fields got;
    struct mpiio_wire wire = {.from = expected, .size = sizeof(expected)};

    memset(&got, 0xa5, sizeof(got));
    code(&wire, &got);
    assert_true(mpiio_wire_complete(&wire));
    assert_int_equal(got.u8, example.u8);
    assert_int_equal(got.u32, example.u32);
    assert_true(got.u64 == example.u64);
    assert_true(got.yes);
    assert_false(got.no);
    assert_int_equal(got.none, 0);
    assert_int_equal(got.error, -ENOSPC);
    assert_memory_equal(got.bytes, example.bytes, sizeof(got.bytes));
    assert_int_equal(got.string_size, 3);
    assert_memory_equal(got.string, "a\0b", 3);
    assert_string_equal(got.text, "four");
    assert_ptr_equal(got.text, expected + sizeof(expected) - 5);
}

/* Memory of exactly that size, so that a sanitizer detects accesses past it. */
TEST(no_room_is_passed)
{
    for (size_t size = 0; size < sizeof(expected); size++) {
        uint8_t *bytes = malloc(size + (size == 0));
        struct fields fields = example;
        struct mpiio_wire wire = {.to = bytes, .size = size};

        assert_non_null(bytes);
        code(&wire, &fields);
        assert_true(wire.failed);
        assert_true(wire.at <= size);
        assert_memory_equal(bytes, expected, wire.at);
        free(bytes);
    }
}

TEST(what_is_cut_is_zero)
{
    for (size_t size = 0; size < sizeof(expected); size++) {
        uint8_t *bytes = malloc(size + (size == 0));
        struct mpiio_wire wire = {.from = bytes, .size = size};
        struct fields got;

        assert_non_null(bytes);
        memcpy(bytes, expected, size);
        memset(&got, 0xa5, sizeof(got));
        code(&wire, &got);
        assert_true(wire.failed);
        assert_false(mpiio_wire_complete(&wire));
        assert_true(got.u8 == (size >= 1 ? example.u8 : 0));
        assert_true(got.u64 == (size >= 13 ? example.u64 : 0));
        assert_true(got.error == (size >= 23 ? -ENOSPC : 0));
        assert_int_equal(got.string_size, size >= 33 ? 3 : 0);
        assert_string_equal(got.text, "");
        free(bytes);
    }
}

TEST(what_is_longer_is_not_complete)
{
    uint8_t bytes[sizeof(expected) + 1] = {0};
    struct mpiio_wire wire = {.from = bytes, .size = sizeof(bytes)};
    struct fields got;

    memcpy(bytes, expected, sizeof(expected));
    code(&wire, &got);
    assert_false(wire.failed);
    assert_false(mpiio_wire_complete(&wire));
}

static struct mpiio_wire reader(const void *bytes, size_t size)
{
    return (struct mpiio_wire){.from = bytes, .size = size};
}

TEST(wrong_values_are_refused)
{
    static const struct {
        size_t size;
        uint8_t bytes[12];
    } texts[] = {
        {4, {0, 0, 0, 0}},                              /* no null byte at the end */
        {6, {0, 0, 0, 2, 'a', 'b'}},                    /* the same */
        {7, {0, 0, 0, 3, 'a', 0, 0}},                   /* two null bytes */
        {10, {0, 0, 0, 6, 'a', 'b', 'c', 'd', 'e', 0}}, /* longer than allowed */
        {8, {0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 0}},
    };
    struct mpiio_wire wire = reader("\2", 1);
    const char *text;
    int32_t error;
    bool flag;

    mpiio_wire_flag(&wire, &flag);
    assert_true(wire.failed);
    assert_false(flag);
    wire = reader("\0\0\x0f\xff\0\0\x10\0", 8);
    mpiio_wire_errno(&wire, &error);
    assert_false(wire.failed);
    assert_int_equal(error, -4095);
    mpiio_wire_errno(&wire, &error);
    assert_true(wire.failed);
    assert_int_equal(error, 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        wire = reader(texts[i].bytes, texts[i].size);
        text = NULL;
        mpiio_wire_text(&wire, &text, 5);
        assert_true(wire.failed);
        assert_string_equal(text, "");
    }
}

TEST(what_is_too_long_is_not_written)
{
    uint8_t bytes[64];
    struct mpiio_wire wire = {.to = bytes, .size = sizeof(bytes)};
    const char *text = "fives";

    mpiio_wire_text(&wire, &text, 5);
    assert_true(wire.failed);
}

TEST(a_failure_stays)
{
    struct mpiio_wire wire = reader("\1\2\3\4\5", 5);
    uint64_t u64 = 7;

    mpiio_wire_u64(&wire, &u64);
    assert_int_equal(mpiio_wire_u8(&wire, 7, UINT8_MAX), 0);
    assert_true(wire.failed);
    assert_true(u64 == 0);
    assert_int_equal(wire.at, 0);
}

TEST(only_what_is_read_is_expected_to_be_right)
{
    uint8_t bytes[1];
    struct mpiio_wire reading = reader("", 0), writing = {.to = bytes, .size = sizeof(bytes)};

    mpiio_wire_expect(&reading, true);
    assert_true(mpiio_wire_complete(&reading));
    mpiio_wire_expect(&reading, false);
    assert_true(reading.failed);
    mpiio_wire_expect(&reading, true);
    assert_true(reading.failed);
    mpiio_wire_expect(&writing, false);
    assert_false(writing.failed);
}
