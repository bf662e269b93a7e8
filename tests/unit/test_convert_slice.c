/* SPDX-License-Identifier: MIT */
/*
 * Slices that are converted: random views in every representation, read and written at random
 * places, against a model that converts one value after the other by code of its own; and elements
 * that are written in parts.
 */
#include <errno.h>
#include <pthread.h>

#include "random_views.h"

/* What the model knows of a basic type. */
enum kind { INTEGER, UNSIGNED, FLOATING, EXTENDED };

struct basic {
    const char *name;
    enum kind kind;
    int native, external, parts;
};

static const struct basic basics[] = {
    {"byte", UNSIGNED, 1, 1, 1},
    {"char", INTEGER, 1, 1, 1},
    {"short", INTEGER, 2, 2, 1},
    {"unsigned_short", UNSIGNED, 2, 2, 1},
    {"wchar", UNSIGNED, 4, 2, 1},
    {"int", INTEGER, 4, 4, 1},
    {"long", INTEGER, 8, 4, 1},
    {"unsigned_long", UNSIGNED, 8, 4, 1},
    {"int64_t", INTEGER, 8, 8, 1},
    {"float", FLOATING, 4, 4, 1},
    {"double", FLOATING, 8, 8, 1},
    {"long_double", EXTENDED, 16, 16, 1},
    {"c_double_complex", FLOATING, 16, 16, 2},
    {"c_long_double_complex", EXTENDED, 32, 32, 2},
    {"logical", UNSIGNED, 4, 4, 1},
};

#define BASICS ((int)(sizeof(basics) / sizeof(basics[0])))

enum datarep { EXTERNAL32, BIG, LITTLE };

static const char *const datarep_names[] = {"external32", "big-endian", "little-endian"};

/* Conversion of one value: a complex number has two. */

static void reverse(unsigned char *to, const unsigned char *from, int size)
{
    for (int i = 0; i < size; i++)
        to[i] = from[size - 1 - i];
}

__extension__ typedef unsigned __int128 uint128;

/* binary128, as a number: its fraction has 49 bits more, and the leading 1 is left out. */
static void extended_to_quad(unsigned char *to, const unsigned char *native)
{
    uint128 number;
    uint64_t mantissa;
    uint16_t sign_and_exponent;

    memcpy(&mantissa, native, 8);
    memcpy(&sign_and_exponent, native + 8, 2);
    number = (uint128)sign_and_exponent << 112 | (uint128)(mantissa & INT64_MAX) << 49;
    for (int i = 0; i < 16; i++)
        to[i] = (unsigned char)(number >> (8 * (15 - i)));
}

static void quad_to_extended(unsigned char *to, const unsigned char *file)
{
    uint128 number = 0;
    uint64_t mantissa;
    uint16_t sign_and_exponent;

    for (int i = 0; i < 16; i++)
        number = number << 8 | file[i];
    mantissa = (uint64_t)(number >> 49) | (uint64_t)1 << 63;
    sign_and_exponent = (uint16_t)(number >> 112);
    memset(to, 0, 16);
    memcpy(to, &mantissa, 8);
    memcpy(to + 8, &sign_and_exponent, 2);
}

static void value_to_file(unsigned char *to, const unsigned char *native, const struct basic *basic,
                          enum datarep datarep)
{
    int size = basic->native / basic->parts;

    if (datarep == LITTLE)
        memcpy(to, native, (size_t)size);
    else if (datarep == EXTERNAL32 && basic->kind == EXTENDED)
        extended_to_quad(to, native);
    else
        reverse(to, native, datarep == BIG ? size : basic->external / basic->parts);
}

static void value_to_native(unsigned char *to, const unsigned char *file, const struct basic *basic,
                            enum datarep datarep)
{
    int size = basic->native / basic->parts;
    int stored = datarep == EXTERNAL32 ? basic->external / basic->parts : size;

    if (datarep == LITTLE) {
        memcpy(to, file, (size_t)size);
    } else if (datarep == EXTERNAL32 && basic->kind == EXTENDED) {
        quad_to_extended(to, file);
    } else {
        memset(to, basic->kind == INTEGER && file[0] >= 128 ? 0xff : 0, (size_t)size);
        reverse(to, file, stored);
    }
}

/* A value that the file has room for. */
static void random_value(unsigned char *to, const struct basic *basic, enum datarep datarep)
{
    unsigned char file[16];

    for (int i = 0; i < 16; i += 4) {
        int random = rand(); /* 31 bits: the highest is made here */

        random ^= (int)((unsigned)random << 16);
        memcpy(file + i, &random, 4);
    }
    if (basic->kind == EXTENDED) { /* a number that is neither tiny nor huge, nor has more bits */
        file[0] = (unsigned char)(rand() % 2 ? 0x40 : 0xc0);
        file[9] = (unsigned char)(file[9] & 0xfe);
        memset(file + 10, 0, 6);
        quad_to_extended(to, file);
        if (datarep != EXTERNAL32)
            memset(to + 10, 0, 6);
        return;
    }
    value_to_native(to, file, basic, datarep);
}

/* The model: the slice's elements, where they lie, and its native bytes. */

#define MOST_ELEMENTS 20000
#define FILE_BYTES    (1 << 20)

struct element {
    const struct basic *basic;
    int64_t offset, position;
};

struct sample {
    enum datarep datarep;
    const struct basic *etype[8];
    int etype_count;
    struct vs_view *view;
    struct mpiio_slice *slice;
    int64_t etype_native, etype_file;
    int64_t elements;
    struct element *element;
    int64_t native_bytes;
    unsigned char *native; /* what the slice must read as */
    unsigned char *file;   /* what the file must hold, FILE_BYTES */
};

static int stored_size(const struct sample *sample, const struct basic *basic)
{
    return sample->datarep == EXTERNAL32 ? basic->external : basic->native;
}

/* A basic type, or a struct of some. */
static void random_etype(struct sample *sample, char *text, size_t size)
{
    char lengths[128] = "", places[256] = "", types[512] = "";
    int64_t place = 0;
    int parts = 2 + below(3);

    sample->etype_count = 0;
    if (below(2)) {
        sample->etype[sample->etype_count++] = &basics[below(BASICS)];
        snprintf(text, size, "\"%s\"", sample->etype[0]->name);
        return;
    }
    for (int i = 0; i < parts; i++) {
        const struct basic *basic = &basics[below(BASICS)];
        int count = 1 + below(2);
        size_t l = strlen(lengths), p = strlen(places), t = strlen(types);

        for (int j = 0; j < count; j++)
            sample->etype[sample->etype_count++] = basic;
        snprintf(lengths + l, sizeof(lengths) - l, "%s%d", i ? "," : "", count);
        snprintf(places + p, sizeof(places) - p, "%s%" PRId64, i ? "," : "", place);
        snprintf(types + t, sizeof(types) - t, "%s\"%s\"", i ? "," : "", basic->name);
        place += count * basic->native + below(3);
    }
    snprintf(text, size,
             "{\"type\": \"struct\", \"blocklengths\": [%s], \"displacements\": [%s], "
             "\"types\": [%s]}",
             lengths, places, types);
}

static void random_sample_view(struct sample *sample)
{
    char etype[1200];
    int length = 1 + below(below(2) ? 4 : 300);

    random_etype(sample, etype, sizeof(etype));
    sample->view =
        make_view("\"disp\": %d, \"datarep\": \"%s\", \"etype\": %s, \"filetype\": {\"type\": "
                  "\"vector\", \"count\": %d, \"blocklength\": %d, \"stride\": %d}",
                  below(100), datarep_names[sample->datarep], etype, 1 + below(5), length,
                  length + below(2 * length));
}

static void add_elements(struct sample *sample)
{
    int64_t etypes = vs_view_positions(sample->view, FILE_BYTES / 2);
    int64_t offset = 0, position = 0;

    sample->etype_native = sample->etype_file = 0;
    for (int i = 0; i < sample->etype_count; i++) {
        sample->etype_native += sample->etype[i]->native;
        sample->etype_file += stored_size(sample, sample->etype[i]);
    }
    etypes /= sample->etype_file;
    if (etypes > MOST_ELEMENTS / sample->etype_count)
        etypes = MOST_ELEMENTS / sample->etype_count;
    sample->elements = etypes * sample->etype_count;
    sample->element = calloc((size_t)sample->elements + 1, sizeof(*sample->element));
    assert_non_null(sample->element);
    for (int64_t i = 0; i < sample->elements; i++) {
        const struct basic *basic = sample->etype[i % sample->etype_count];

        sample->element[i] = (struct element){basic, offset, position};
        offset += basic->native;
        position += stored_size(sample, basic);
    }
    sample->native_bytes = offset;
}

/* The element's bytes in the model's file; a basic type is never divided. */
static unsigned char *place_of(const struct sample *sample, const struct element *element)
{
    return sample->file + vs_map_displacement(vs_view_map(sample->view), element->position);
}

static void element_to_file(const struct sample *sample, const struct element *element,
                            const unsigned char *native)
{
    const struct basic *basic = element->basic;
    unsigned char *place = place_of(sample, element);

    for (int i = 0; i < basic->parts; i++)
        value_to_file(place + i * stored_size(sample, basic) / basic->parts,
                      native + i * basic->native / basic->parts, basic, sample->datarep);
}

static void random_element(const struct sample *sample, const struct element *element,
                           unsigned char *to)
{
    for (int i = 0; i < element->basic->parts; i++)
        random_value(to + i * element->basic->native / element->basic->parts, element->basic,
                     sample->datarep);
}

static void make_sample(struct sample *sample, int number, int fd, struct mpiio_store *store)
{
    sample->datarep = (enum datarep)(number % 3);
    random_sample_view(sample);
    add_elements(sample);
    sample->native = malloc((size_t)sample->native_bytes + 1);
    sample->file = malloc(FILE_BYTES);
    assert_true(sample->native != NULL && sample->file != NULL);
    for (int i = 0; i < FILE_BYTES; i++)
        sample->file[i] = (unsigned char)rand();
    for (int64_t i = 0; i < sample->elements; i++) {
        unsigned char *native = sample->native + sample->element[i].offset;

        random_element(sample, &sample->element[i], native);
        element_to_file(sample, &sample->element[i], native);
    }
    write_file(fd, sample->file, FILE_BYTES, 0);
    sample->slice = make_slice(store, sample->view);
}

static void free_sample(struct sample *sample)
{
    mpiio_slice_free(sample->slice);
    free(sample->element);
    free(sample->native);
    free(sample->file);
}

static void random_range(const struct sample *sample, int64_t *offset, size_t *length)
{
    *offset = rand() % sample->native_bytes;
    *length = (size_t)(rand() % (sample->native_bytes - *offset)) + 1;
    if (below(2) && *length > 40)
        *length = 1 + (size_t)below(40);
}

static unsigned char buffer[4 << 20];

static void check_read(const struct sample *sample, int64_t offset, size_t length)
{
    unsigned char *to = buffer + below(16);

    assert_int_equal(mpiio_slice_read(sample->slice, to, length, offset), length);
    for (size_t i = 0; i < length; i++) {
        if (to[i] != sample->native[offset + (int64_t)i]) {
            fail_msg("%s: slice offset %" PRId64 " is %d, should be %d (read from %" PRId64 ")",
                     datarep_names[sample->datarep], offset + (int64_t)i, to[i],
                     sample->native[offset + (int64_t)i], offset);
        }
    }
}

static void check_file(const struct sample *sample, int fd)
{
    assert_int_equal(pread(fd, buffer, FILE_BYTES, 0), FILE_BYTES);
    for (int64_t i = 0; i < FILE_BYTES; i++)
        if (buffer[i] != sample->file[i])
            fail_msg("%s: displacement %" PRId64 " is %d, should be %d",
                     datarep_names[sample->datarep], i, buffer[i], sample->file[i]);
}

static void random_reads(void **state)
{
    int fd = make_file();
    struct mpiio_store *store = open_store(fd);

    (void)state;
    srand(11);
    for (int number = 0; number < 90; number++) {
        struct sample sample;

        make_sample(&sample, number, fd, store);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int i = 0; i < 40; i++) {
            int64_t offset;
            size_t length;

            random_range(&sample, &offset, &length);
            check_read(&sample, offset, length);
        }
        free_sample(&sample);
    }
    mpiio_store_close(store);
    close(fd);
}

/* Parts of other values come over the present ones; what cannot be stored yet is kept. */
static void random_write(struct sample *sample)
{
    unsigned char *other = malloc((size_t)sample->native_bytes);
    int64_t offset;
    size_t length;

    assert_non_null(other);
    random_range(sample, &offset, &length);
    for (int64_t i = 0; i < sample->elements; i++) {
        const struct element *element = &sample->element[i];

        if (element->offset + element->basic->native > offset &&
            element->offset < offset + (int64_t)length)
            random_element(sample, element, other + element->offset);
    }
    assert_int_equal(mpiio_slice_write(sample->slice, other + offset, length, offset), length);
    memcpy(sample->native + offset, other + offset, length);
    check_read(sample, offset, length);
    free(other);
}

static void random_writes(void **state)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);

    (void)state;
    srand(12);
    for (int number = 0; number < 90; number++) {
        struct sample sample;
        int64_t offset, length;

        make_sample(&sample, number, fd, store);
        for (int i = 0; i < 15; i++)
            random_write(&sample);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int64_t i = 0; i < sample.elements; i++) {
            unsigned char *native = sample.native + sample.element[i].offset;

            random_element(&sample, &sample.element[i], native);
            element_to_file(&sample, &sample.element[i], native);
        }
        assert_int_equal(
            mpiio_slice_write(sample.slice, sample.native, (size_t)sample.native_bytes, 0),
            sample.native_bytes);
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_file(&sample, fd);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        free_sample(&sample);
    }
    mpiio_store_close(store);
    close(fd);
}

/* The same bytes one after the other, in steps that do not fit the elements. */
static void steps_of_any_size(void **state)
{
    int fd = make_file();
    struct mpiio_store *store = open_store_for(fd, O_RDWR);

    (void)state;
    srand(13);
    for (int number = 0; number < 60; number++) {
        struct sample sample;
        int64_t offset, length;
        size_t step = 1 + (size_t)below(20);

        make_sample(&sample, number, fd, store);
        if (sample.native_bytes > 3000)
            sample.elements = 3000 / 32;
        sample.native_bytes = sample.element[sample.elements].offset;
        for (int64_t i = 0; i < sample.elements; i++) {
            unsigned char *native = sample.native + sample.element[i].offset;

            random_element(&sample, &sample.element[i], native);
            element_to_file(&sample, &sample.element[i], native);
            sample.native_bytes = sample.element[i].offset + sample.element[i].basic->native;
        }
        for (int64_t at = 0; at < sample.native_bytes; at += (int64_t)step) {
            size_t part = sample.native_bytes - at < (int64_t)step
                              ? (size_t)(sample.native_bytes - at)
                              : step;

            assert_int_equal(mpiio_slice_write(sample.slice, sample.native + at, part, at), part);
        }
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_file(&sample, fd);
        free_sample(&sample);
    }
    mpiio_store_close(store);
    close(fd);
}

/* Single slices. */

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

static void a_value_that_does_not_fit_leaves_the_file(void **state)
{
    const int64_t values[] = {1, 2, INT64_C(1) << 31, 4}, good[] = {5, -6, INT32_MIN, INT32_MAX};
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, good, sizeof(good), 0);
    assert_int_equal(mpiio_slice_write(fixture.slice, values, sizeof(values), 0), -ERANGE);
    assert_int_equal(mpiio_slice_write(fixture.slice, values, sizeof(values), 32), -ERANGE);
    /* The same where the first is given in part. */
    assert_int_equal(
        mpiio_slice_write(fixture.slice, (const char *)values + 3, sizeof(values) - 3, 3), -ERANGE);
    expect_slice(&fixture, good, sizeof(good));
    expect_file(&fixture, "\0\0\0\5\xff\xff\xff\xfa\x80\0\0\0\x7f\xff\xff\xff", 16);
    close_fixture(&fixture);
}

static void narrow_truncate_keeps_the_lower_bytes(void **state)
{
    const int64_t values[] = {INT64_C(0x123456789a), INT64_C(0x10000000007)};
    const int64_t back[] = {INT64_C(0x3456789a), 7};
    struct fixture fixture;
    int64_t offset, length;

    (void)state;
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

/* -1 in parts has values between that do not fit; they are seen, but not stored. */
static void a_torn_element_waits_for_its_rest(void **state)
{
    const int64_t before = 5, after = -7, half = INT64_C(0x00000000fffffff9);
    struct fixture fixture;
    int64_t offset = -1, length = -1;

    (void)state;
    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, &before, 8, 0);
    put(&fixture, &after, 4, 0);
    expect_slice(&fixture, &half, 8);
    expect_file(&fixture, "\0\0\0\5", 4);
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), -ERANGE);
    assert_int_equal(offset, 0);
    assert_int_equal(length, 8);
    put(&fixture, (const char *)&after + 4, 4, 4);
    expect_slice(&fixture, &after, 8);
    expect_file(&fixture, "\xff\xff\xff\xf9", 4);
    assert_int_equal(mpiio_slice_settle(fixture.slice, false, &offset, &length), 0);
    close_fixture(&fixture);
}

static void a_torn_element_may_be_given_up(void **state)
{
    const int64_t before[] = {5, 6};
    struct fixture fixture;
    int64_t offset = -1, length = -1;

    (void)state;
    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    put(&fixture, before, 16, 0);
    put(&fixture, "\1", 1, 5);
    put(&fixture, "\1", 1, 13);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(offset, 0);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(offset, 8);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    expect_slice(&fixture, before, 16);
    /* Whoever writes the whole element takes its parts away. */
    put(&fixture, "\1", 1, 5);
    put(&fixture, before, 16, 0);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    expect_slice(&fixture, before, 16);
    close_fixture(&fixture);
}

/* More than are kept: the rest is refused. */
static void so_many_elements_may_be_torn(void **state)
{
    struct fixture fixture;
    int64_t offset = -1, length = -1;
    int kept = 0;

    (void)state;
    open_fixture(&fixture, "\"etype\": \"long\", \"datarep\": \"external32\"", MPIIO_NARROW_REFUSE);
    for (int i = 0; i < 5000; i++) {
        ssize_t done = mpiio_slice_write(fixture.slice, "\1", 1, (i * 7919 % 5000) * 8 + 5);

        assert_true(done == 1 || done == -ERANGE);
        kept += done == 1;
    }
    assert_int_equal(kept, 4096);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), -ERANGE);
    assert_int_equal(mpiio_slice_settle(fixture.slice, true, &offset, &length), 0);
    close_fixture(&fixture);
}

/* Half an x87 number would be changed by its way to the file and back. */
static void extended_numbers_come_byte_by_byte(void **state)
{
    const long double values[] = {1.5L, -3.25e300L, 0x1.fffffffffffffffep+16383L, 0.0L};
    unsigned char bytes[64] = {0}, zeros[64] = {0};
    struct fixture fixture;
    int64_t offset, length;

    (void)state;
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

/* The last byte of a number may come first in the file. */
static void the_file_grows_to_what_is_shown(void **state)
{
    const char *const datareps[] = {"external32", "big-endian"};
    const char *const etypes[] = {"int", "long", "c_double_complex", "long_double"};

    (void)state;
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

static void sizes_are_those_of_the_slice(void **state)
{
    struct fixture fixture;
    struct stat st;
    int64_t offset;
    const int64_t value = 9;

    (void)state;
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

static void holes_are_found_by_whole_elements(void **state)
{
    const int64_t value = 9;
    struct fixture fixture;
    struct stat st;

    (void)state;
    /* 3 bytes in front: an element lies across each border of blocks. */
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
        /* The border of a block, rounded up to an element. */
        assert_true((3 + at / 8 * 4 - 3) % 4096 == 0 || at == INT64_C(16) << 20);
        if (at == INT64_C(16) << 20)
            break;
    }
    close_fixture(&fixture);
}

/* Many threads, and two stores as two daemons have them. */

#define LONGS  1
#define ROUNDS 2500
#define PARTS  4

struct writer {
    pthread_t thread;
    struct mpiio_slice *slice;
    int number; /* below PARTS: which byte of each long; else it writes whole neighbours */
    bool failed;
};

static unsigned char byte_of(int number, int index, int round)
{
    return (unsigned char)((number * 31 + index * 7 + round) & 0x7f);
}

/* Nobody else writes those bytes: they are what they were written as. */
static bool write_and_look(struct mpiio_slice *slice, const void *bytes, size_t length,
                           int64_t offset)
{
    unsigned char back[8];

    return mpiio_slice_write(slice, bytes, length, offset) == (ssize_t)length &&
           mpiio_slice_read(slice, back, length, offset) == (ssize_t)length &&
           memcmp(back, bytes, length) == 0;
}

/* Every second long is written in parts, and the one behind it as a whole. */
static void *write_elements(void *argument)
{
    struct writer *writer = argument;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LONGS; i++) {
            unsigned char byte = byte_of(writer->number, i, round);
            int64_t whole = -byte;
            bool kept;

            if (writer->number < PARTS)
                kept = write_and_look(writer->slice, &byte, 1, 16 * i + writer->number);
            else
                kept = write_and_look(writer->slice, &whole, 8, 16 * i + 8);
            writer->failed = writer->failed || !kept;
        }
    }
    return NULL;
}

static void parts_of_elements_are_not_lost(void **state)
{
    struct writer writers[PARTS + 1];
    struct fixture one, other;
    int64_t values[2 * LONGS] = {0};

    (void)state;
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

/* NaN payloads, infinities, denormals and negative zero pass both ways. */
static void special_numbers_survive(void **state)
{
    const uint64_t values[] = {UINT64_C(0x7ff8000000abcdef),
                               UINT64_C(0xfff4000000000001),
                               UINT64_C(0x7ff0000000000000),
                               UINT64_C(0xfff0000000000000),
                               1,
                               UINT64_C(0x8000000000000000)};
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, "\"etype\": \"double\", \"datarep\": \"external32\"",
                 MPIIO_NARROW_REFUSE);
    put(&fixture, values, sizeof(values), 0);
    expect_slice(&fixture, values, sizeof(values));
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_reads),
        cmocka_unit_test(random_writes),
        cmocka_unit_test(steps_of_any_size),
        cmocka_unit_test(a_value_that_does_not_fit_leaves_the_file),
        cmocka_unit_test(narrow_truncate_keeps_the_lower_bytes),
        cmocka_unit_test(a_torn_element_waits_for_its_rest),
        cmocka_unit_test(a_torn_element_may_be_given_up),
        cmocka_unit_test(so_many_elements_may_be_torn),
        cmocka_unit_test(extended_numbers_come_byte_by_byte),
        cmocka_unit_test(the_file_grows_to_what_is_shown),
        cmocka_unit_test(sizes_are_those_of_the_slice),
        cmocka_unit_test(holes_are_found_by_whole_elements),
        cmocka_unit_test(parts_of_elements_are_not_lost),
        cmocka_unit_test(special_numbers_survive),
    };

    return cmocka_run_group_tests_name("convert_slice", tests, NULL, NULL);
}
