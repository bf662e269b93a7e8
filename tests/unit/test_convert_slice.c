/* SPDX-License-Identifier: MIT */
/*
 * Tests converted slices: random views in every representation, read and written at random places,
 * against a model. The model converts values one by one, with code that shares nothing with the
 * library's.
 */
#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "native.h"
#include "random_views.h"

/* The model of a basic type. */
enum kind { INTEGER, UNSIGNED, FLOATING, EXTENDED };

struct basic {
    const char *name;
    enum kind kind;
    int native, external, parts;
};

#define LONG_DOUBLE (LDBL_MANT_DIG == 64 ? EXTENDED : FLOATING)

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
    {"long_double", LONG_DOUBLE, 16, 16, 1},
    {"c_double_complex", FLOATING, 16, 16, 2},
    {"c_long_double_complex", LONG_DOUBLE, 32, 32, 2},
    {"logical", UNSIGNED, 4, 4, 1},
};

#define BASICS ((int)(sizeof(basics) / sizeof(basics[0])))

enum datarep { EXTERNAL32, BIG, LITTLE };

static const char *const datarep_names[] = {"external32", "big-endian", "little-endian"};

/* Conversion of one value. A complex number has two. */

/* Returns where the byte with this number lies in a value of size bytes. Byte 0 is the least
   significant one. */
static int byte_at(int number, int size, bool big)
{
    return big ? size - 1 - number : number;
}

__extension__ typedef unsigned __int128 uint128;

/* Makes a binary128 of an x87 number: its fraction has 49 bits more, and omits the leading 1. */
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
    int stored = datarep == EXTERNAL32 ? basic->external / basic->parts : size;

    if (datarep == EXTERNAL32 && basic->kind == EXTENDED) {
        extended_to_quad(to, native);
        return;
    }
    for (int i = 0; i < stored; i++)
        to[byte_at(i, stored, datarep != LITTLE)] = native[byte_at(i, size, NATIVE_IS_BIG)];
}

static void value_to_native(unsigned char *to, const unsigned char *file, const struct basic *basic,
                            enum datarep datarep)
{
    int size = basic->native / basic->parts;
    int stored = datarep == EXTERNAL32 ? basic->external / basic->parts : size;

    if (datarep == EXTERNAL32 && basic->kind == EXTENDED) {
        quad_to_extended(to, file);
        return;
    }
    memset(to, basic->kind == INTEGER && file[0] >= 128 ? 0xff : 0, (size_t)size);
    for (int i = 0; i < stored; i++)
        to[byte_at(i, size, NATIVE_IS_BIG)] = file[byte_at(i, stored, datarep != LITTLE)];
}

/* Makes a random value that the file can represent. */
static void random_value(unsigned char *to, const struct basic *basic, enum datarep datarep)
{
    unsigned char file[16];

    for (int i = 0; i < 16; i += 4) {
        int random = rand(); /* 31 bits; the next line makes the highest one */

        random ^= (int)((unsigned)random << 16);
        memcpy(file + i, &random, 4);
    }
    /* neither tiny nor huge, and no more bits than an x87 number has */
    if (basic->kind == EXTENDED) {
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

/* The model: a slice's elements, their displacements, and its native bytes. */

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
    unsigned char *file;   /* what the file must hold; FILE_BYTES long */
};

static int stored_size(const struct sample *sample, const struct basic *basic)
{
    return sample->datarep == EXTERNAL32 ? basic->external : basic->native;
}

/* Makes a basic type, or a struct of several. */
static void random_etype(struct sample *sample, char *text, size_t size)
{
    char lengths[128] = "", places[256] = "", types[512] = "";
    int64_t place = 0;
    int parts = 2 + below(3);

    sample->etype_count = 0;
    if (below(2)) {
        sample->etype[sample->etype_count++] = &basics[below(BASICS)];
        snprintf(text, size, "'%s'", sample->etype[0]->name);
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
        snprintf(types + t, sizeof(types) - t, "%s'%s'", i ? "," : "", basic->name);
        place += count * basic->native + below(3);
    }
    snprintf(text, size,
             "{'type': 'struct', 'blocklengths': [%s], 'displacements': [%s], 'types': [%s]}",
             lengths, places, types);
}

static void random_sample_view(struct sample *sample)
{
    char etype[1200];
    int length = 1 + below(below(2) ? 4 : 300);

    random_etype(sample, etype, sizeof(etype));
    sample->view = make_view("'disp': %d, 'datarep': '%s', 'etype': %s, 'filetype': {'type': "
                             "'vector', 'count': %d, 'blocklength': %d, 'stride': %d}",
                             below(100), datarep_names[sample->datarep], etype, 1 + below(5),
                             length, length + below(2 * length));
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

/* Returns the element's bytes in the model's file. A basic type is always contiguous there. */
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

/* Gives all elements random values, in the slice and in the model's file. */
static void random_values(struct sample *sample)
{
    for (int64_t i = 0; i < sample->elements; i++) {
        unsigned char *native = sample->native + sample->element[i].offset;

        random_element(sample, &sample->element[i], native);
        element_to_file(sample, &sample->element[i], native);
    }
}

static void make_sample(struct sample *sample, int number, const struct opened *file)
{
    sample->datarep = (enum datarep)(number % 3);
    random_sample_view(sample);
    add_elements(sample);
    sample->native = malloc((size_t)sample->native_bytes + 1);
    sample->file = malloc(FILE_BYTES);
    assert_true(sample->native != NULL && sample->file != NULL);
    fill_randomly(sample->file, FILE_BYTES);
    random_values(sample);
    write_file(file->fd, sample->file, FILE_BYTES, 0);
    sample->slice = make_slice(file->store, sample->view);
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

/* Replaces parts of some values by parts of others. Elements that cannot be stored yet are kept. */
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
    write_bytes(sample->slice, other + offset, length, offset);
    memcpy(sample->native + offset, other + offset, length);
    check_read(sample, offset, length);
    free(other);
}

/* Writes samples through the store, or through write-back. */
static void write_samples(bool held_back)
{
    struct opened file = open_slice(O_RDWR, NULL);
    struct mpiio_cache *cache = NULL;

    srand(12);
    if (held_back)
        assert_int_equal(mpiio_store_add_cache(file.store, 64 << 20, &cache), 0);
    for (int number = 0; number < UNIT_ROUNDS(90); number++) {
        struct sample sample;
        int64_t offset, length;

        make_sample(&sample, number, &file);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        for (int i = 0; i < 15; i++)
            random_write(&sample);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        random_values(&sample);
        write_bytes(sample.slice, sample.native, (size_t)sample.native_bytes, 0);
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        if (held_back)
            assert_int_equal(mpiio_cache_store_all(cache), 0);
        check_file(&sample, file.fd);
        check_read(&sample, 0, (size_t)sample.native_bytes);
        free_sample(&sample);
    }
    mpiio_store_drop_cache(file.store, cache);
    close_opened(&file);
}

TEST(random_writes_at_once_and_held_back)
{
    write_samples(false);
    write_samples(true);
}

/* Reads and writes the same bytes in order, in steps that are not multiples of the elements. */
TEST(steps_of_any_size)
{
    struct opened file = open_slice(O_RDWR, NULL);

    srand(13);
    for (int number = 0; number < UNIT_ROUNDS(60); number++) {
        struct sample sample;
        int64_t offset, length;
        size_t step = 1 + (size_t)below(20);

        make_sample(&sample, number, &file);
        if (sample.native_bytes > 3000) {
            sample.elements = 3000 / 32;
            sample.native_bytes = sample.element[sample.elements].offset;
        }
        random_values(&sample);
        for (int64_t at = 0; at < sample.native_bytes; at += (int64_t)step) {
            size_t part = sample.native_bytes - at < (int64_t)step
                              ? (size_t)(sample.native_bytes - at)
                              : step;

            write_bytes(sample.slice, sample.native + at, part, at);
        }
        assert_int_equal(mpiio_slice_settle(sample.slice, false, &offset, &length), 0);
        check_file(&sample, file.fd);
        free_sample(&sample);
    }
    close_opened(&file);
}

/* A lock that another open file description holds, and the waits that the store has reported. */
static struct {
    int fd, begun, under_way;
} other;

static void lock_all(short kind)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET};

    assert_int_equal(fcntl(other.fd, F_OFD_SETLK, &range), 0);
}

static void on_wait(void *argument, bool waits)
{
    assert_ptr_equal(argument, &other);
    if (waits) {
        other.begun++;
        lock_all(F_UNLCK);
    }
    other.under_way += waits ? 1 : -1;
}

/* Waits are reported, because the program that holds the lock may need the mount before it
   unlocks the file. */
TEST(a_wait_for_a_lock_is_reported)
{
    struct opened file =
        open_slice(O_RDWR, make_view("'etype': 'long', 'datarep': 'external32', 'filetype': "
                                     "{'type': 'contiguous', 'count': 1}"));
    const long value = 1;

    other.fd = open_again(file.fd);
    file.store->file->wait = on_wait;
    file.store->file->wait_argument = &other;
    alarm(60);
    write_bytes(file.slice, &value, 8, 0);
    assert_int_equal(other.begun, 0);
    for (size_t length = 8; length >= 4; length -= 4) {
        other.begun = 0;
        lock_all(F_WRLCK);
        write_bytes(file.slice, &value, length, 0);
        assert_int_equal(other.begun, 1);
        assert_int_equal(other.under_way, 0);
    }
    alarm(0);
    close_opened(&file);
    close(other.fd);
}
