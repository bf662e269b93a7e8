/* SPDX-License-Identifier: MIT */
/*
 * Tests NumPy headers: the local arrays of subarrays and darrays, dtypes of all basic types and of
 * nested etypes, lengths that do not change, and headers read back.
 */

#include "spec_fixture.h"
#include "native.h"
#include "viewspec/npy.h"

static struct vs_npy *npy; /* the header of the running test */

static int free_header(void **state)
{
    vs_npy_free(npy);
    npy = NULL;
    return 0;
}

TEST_GROUP(NULL, free_header)

/* Makes the header of a view in place of the previous one. */
static void make_header(struct vs_view *view)
{
    free_header(NULL);
    assert_int_equal(vs_npy_new(view, &npy), 0);
}

/* Makes the header for rank's slice. members are keys of the view. */
static void make_npy(int ranks, int64_t rank, const char *members)
{
    struct vs_view *view = view_from(
        rank, NULL, "{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': {%s}}", ranks, members);

    make_header(view);
    vs_view_unref(view);
}

/* Returns the header's text without its padding, and checks everything around it. The caller
   frees it. */
static char *text_of(int64_t size)
{
    size_t length = (size_t)vs_npy_length(npy), start, end = length - 1;
    unsigned char *header = malloc(length);
    char *text;

    assert_non_null(header);
    memset(header, 'x', length);
    vs_npy_header(npy, size, (char *)header);
    assert_int_equal(length % 64, 0);
    assert_memory_equal(header, "\x93NUMPY", 6);
    assert_int_equal(header[7], 0);
    start = header[6] == 1 ? 10 : 12;
    assert_int_equal(header[6], length - 10 <= 65535 ? 1 : 2);
    assert_int_equal(header[8] | header[9] << 8 | (start == 12 ? header[10] << 16 : 0),
                     length - start);
    assert_int_equal(vs_npy_size(npy, (char *)header), size);
    assert_int_equal(header[end], '\n');
    while (header[end - 1] == ' ')
        end--;
    text = strndup((char *)header + start, end - start);
    assert_int_equal(strlen(text), end - start);
    free(header);
    return text;
}

/* Checks the header's text. expected is that of a little-endian machine. */
static void check(int64_t size, const char *expected)
{
    char *text = text_of(size), *here = strdup(expected);

    assert_non_null(here);
    for (char *order = here; NATIVE_IS_BIG && (order = strchr(order, '<')) != NULL;)
        *order = '>';
    assert_string_equal(text, here);
    free(here);
    free(text);
}

static void check_once(int ranks, int64_t rank, const char *members, int64_t size,
                       const char *expected)
{
    make_npy(ranks, rank, members);
    check(size, expected);
}

/* Checks the header of the slice of a single rank. */
static void check_alone(const char *members, int64_t size, const char *expected)
{
    check_once(1, 0, members, size, expected);
}

#define HEADER(descr, order, shape)                                                                \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': (" shape "), }"
#define F8(order, shape)   HEADER("'<f8'", order, shape)
#define LIST(descr, shape) HEADER(descr, "False", shape)
#define DARRAY(order)                                                                              \
    "'etype': 'double', 'filetype': {'type': 'darray', 'gsizes': [7, 10], 'psizes': [2, 2], "      \
    "'distribs': ['block', 'cyclic'], 'dargs': [null, 3], 'order': '" order "'}"

TEST(test_darray)
{
    check_once(4, 0, DARRAY("C"), 4 * 6 * 8, F8("False", "4, 6"));
    check_once(4, 1, DARRAY("C"), 4 * 4 * 8, F8("False", "4, 4"));
    check_once(4, 3, DARRAY("C"), 3 * 4 * 8, F8("False", "3, 4"));
    check_once(4, 2, DARRAY("Fortran"), 3 * 6 * 8, F8("True", "3, 6"));
}

TEST(test_tiles)
{
    make_npy(4, 0, DARRAY("C"));
    check(0, F8("False", "0,"));
    check(2 * 192, F8("False", "2, 4, 6"));
    check(1000 * 192, F8("False", "1000, 4, 6"));
    check(INT64_MAX / 192 * 192, F8("False", "48038396025285290, 4, 6"));
    check(200, F8("False", "25,"));
    check(184, F8("False", "23,"));
    check_once(4, 0, DARRAY("Fortran"), 2 * 192, F8("True", "4, 6, 2"));
}

#define SUBARRAY(sub, order, old)                                                                  \
    "'filetype': {'type': 'subarray', 'sizes': [5, 6, 7], 'subsizes': " sub                        \
    ", 'starts': [0, 1, 2], 'order': '" order "'" old "}"
#define DOUBLE "'etype': 'double', "

TEST(test_subarray)
{
    check_alone(DOUBLE SUBARRAY("[2, 3, 4]", "C", ""), 192, F8("False", "2, 3, 4"));
    check_alone(DOUBLE SUBARRAY("[2, 3, 4]", "Fortran", ""), 192, F8("True", "2, 3, 4"));
    /* Like NumPy, prints C order if at most one index varies. */
    check_alone(DOUBLE SUBARRAY("[1, 3, 1]", "Fortran", ""), 24, F8("False", "1, 3, 1"));
    check_alone(DOUBLE SUBARRAY("[2, 0, 4]", "Fortran", ""), 0, F8("False", "2, 0, 4"));
}

/* If an array's element is several etypes, they are its last dimension. A filetype that only
   contains an array has one dimension. */
TEST(test_no_array)
{
    check_alone(
        DOUBLE SUBARRAY("[2, 3, 4]", "C", ", 'oldtype': {'type': 'contiguous', 'count': 2}"), 384,
        F8("False", "2, 3, 4, 2"));
    check_alone(DOUBLE SUBARRAY("[1, 1, 1]", "C",
                                ", 'oldtype': " /* an array of arrays */
                                "{'type': 'subarray', 'sizes': [2, 2], 'subsizes': [2, 2], "
                                "'starts': [0, 0], 'order': 'C'}"),
                32, F8("False", "1, 1, 1, 4"));
    check_alone(DOUBLE "'filetype': {'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': 2, "
                       "'oldtype': {'type': 'subarray', 'sizes': [2, 2], 'subsizes': [2, 2], "
                       "'starts': [0, 0], 'order': 'C'}}",
                64, F8("False", "8,"));
    check_alone(DOUBLE "'filetype': {'type': 'contiguous', 'count': 3}", 24, F8("False", "3,"));
    check_once(2, 0, DOUBLE "'filetype': {'type': 'scatter'}", 24, F8("False", "3,"));
    check_alone("'disp': 0", 5, LIST("'|u1'", "5,"));
    /* The etype's own array does not count, only the filetype's. */
    check_alone("'etype': {'type': 'subarray', 'sizes': [2, 2], 'subsizes': [2, 2], 'starts': [0, "
                "0], 'order': 'C', 'oldtype': 'double'}",
                64, F8("False", "8,"));
}

/* dup and resized keep the array: the bounds say where the next tile begins. */
TEST(test_resized)
{
    check_alone(DOUBLE
                "'filetype': {'type': 'dup', 'oldtype': {'type': 'resized', 'lb': 0, "
                "'extent': 800, 'oldtype': {'type': 'subarray', 'sizes': [4, 4], 'subsizes': "
                "[2, 3], 'starts': [0, 0], 'order': 'C'}}}",
                96, F8("False", "2, 2, 3"));
    check_alone(DOUBLE "'filetype': {'type': 'dup', 'oldtype': {'type': 'subarray', 'sizes': [4, "
                       "4], 'subsizes': [2, 3], 'starts': [0, 0], 'order': 'C'}}",
                96, F8("False", "2, 2, 3"));
}

#define GAPS(etype, count, buftype)                                                                \
    "'etype': " etype ", 'tiles': 1, 'filetype': {'type': 'contiguous', 'count': " count           \
    "}, 'buftype': " buftype
#define HVECTOR(stride) "{'type': 'hvector', 'count': 3, 'blocklength': 1, 'stride': " stride "}"

/* Gaps that are multiples of the value's size become values. Other gaps make the dtype bytes. */
TEST(test_gaps)
{
    check_alone(GAPS("'double'", "3", HVECTOR("16")), 40, F8("False", "5,"));
    check_alone(GAPS("'double'", "3", HVECTOR("12")), 32, LIST("'|u1'", "32,"));
    check_alone(GAPS("'int'", "3", HVECTOR("12")), 28, LIST("'<i4'", "7,"));
    /* Gaps inside an etype. */
    check_alone(
        GAPS("{'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': 2, 'oldtype': 'int'}", "3",
             HVECTOR("16")),
        44, LIST("'<i4'", "11,"));
    check_alone(GAPS("'double'", "3", HVECTOR("16") ", 'shape': [5, 1]"), 40, F8("False", "5, 1"));
}

TEST(test_several_values)
{
    const char *etype = "'etype': {'type': 'contiguous', 'count': 5, 'oldtype': 'double'}, ";
    char members[512];

    snprintf(members, sizeof(members), "%s%s", etype, SUBARRAY("[2, 3, 4]", "C", ""));
    check_alone(members, 960, F8("False", "2, 3, 4, 5"));
    check_alone(members, 1920, F8("False", "2, 2, 3, 4, 5"));
    check_alone(members, 40, F8("False", "5,"));
    snprintf(members, sizeof(members), "%s%s", etype, SUBARRAY("[2, 3, 4]", "Fortran", ""));
    check_alone(members, 1920, F8("True", "5, 2, 3, 4, 2"));
}

/* Arrays with more dimensions than NumPy has become one-dimensional. */
TEST(test_dimensions)
{
    char members[2048], list[128] = "[2";
    char shape[256] = "2";

    for (int n = 2; n <= 31; n++) {
        size_t used = strlen(list);

        snprintf(list + used, sizeof(list) - used, ", %d", n > 3 ? 1 : 2);
        if (n == 30 || n == 31) {
            snprintf(members, sizeof(members),
                     DOUBLE "'filetype': {'type': 'subarray', 'sizes': %s], 'subsizes': %s], "
                            "'starts': [0%.*s], 'order': 'C'}",
                     list, list, (n - 1) * 3,
                     ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                     "0, 0, 0, 0, 0, 0");
            snprintf(shape, sizeof(shape), F8("False", "%s%s"), n == 30 ? list + 1 : "8",
                     n == 30 ? "" : ",");
            check_alone(members, 64, shape);
        }
    }
}

/* NumPy has floats of 16 bytes if C's long double has 16 bytes. */
#if LDBL_MANT_DIG == 113
#define REAL16    "<f16"
#define COMPLEX32 "<c32"
#else
#define REAL16    "|V16"
#define COMPLEX32 "|V32"
#endif

TEST(test_basics)
{
    static const struct {
        const char *name, *descr;
    } cases[] = {
        {"packed", "|u1"},     {"byte", "|u1"},
        {"char", "|S1"},       {"signed_char", "|i1"},
        {"wchar", "<u4"},      {"unsigned_short", "<u2"},
        {"long", "<i8"},       {"uint64_t", "<u8"},
        {"float", "<f4"},      {"long_double", "<f16"},
        {"c_bool", "|b1"},     {"logical", "<i4"},
        {"c_complex", "<c8"},  {"c_long_double_complex", "<c32"},
        {"character", "|S1"},  {"complex", "<c8"},
        {"integer16", "|V16"}, {"real2", "<f2"},
        {"real16", REAL16},    {"complex4", "|V4"},
        {"complex16", "<c16"}, {"complex32", COMPLEX32},
        {"aint", "<i8"},       {"double_complex", "<c16"},
        {"cxx_bool", "|b1"},   {"integer2", "<i2"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char members[128], expected[128];

        snprintf(members, sizeof(members), "'etype': '%s'", cases[i].name);
        snprintf(expected, sizeof(expected), LIST("'%s'", "3,"), cases[i].descr);
        check_alone(members, 3 * vs_basic_find(cases[i].name)->size, expected);
    }
    /* The slice is native, whatever the representation in the file is. */
    check_alone("'etype': 'long', 'datarep': 'external32'", 16, LIST("'<i8'", "2,"));
}

#define STRUCT(types, lengths, places)                                                             \
    "{'type': 'struct', 'types': [" types "], 'blocklengths': [" lengths                           \
    "], 'displacements': [" places "]}"

TEST(test_structures)
{
    static const char inner[] = STRUCT("'char', 'double'", "1, 2", "0, 8");
    char members[1024];

    snprintf(members, sizeof(members), "'etype': " STRUCT("'int', %s", "2, 3", "0, 8"), inner);
    check_alone(members, 2 * (8 + 3 * 17),
                "{'descr': [('f0', '<i4', (2,)), ('f1', [('f0', '|S1'), ('f1', '<f8', (2,))], "
                "(3,))], 'fortran_order': False, 'shape': (2,), }");
    /* An etype that repeats a structure is several values. */
    snprintf(members, sizeof(members), "'etype': {'type': 'contiguous', 'count': 4, 'oldtype': %s}",
             inner);
    check_alone(members, 4 * 17,
                "{'descr': [('f0', '|S1'), ('f1', '<f8', (2,))], 'fortran_order': False, "
                "'shape': (4,), }");
}

/* Named types double forty times. Written out in full they would fill any memory. */
TEST(test_endless)
{
    char text[8192] =
        "{'viewspec': 1, 'file': 'f', 'types': {'t0': " STRUCT("'int', 'char'", "1, 1", "0, 4");
    struct vs_view *view;

    for (int i = 1; i <= 22; i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used,
                 ", 't%d': " STRUCT("'t%d', 'char', 't%d'", "1, 1, 1", "0, %ld, %ld"), i, i - 1,
                 i - 1, 16L << 2 * i, 32L << 2 * i);
    }
    strcat(text, "}, 'view': {'etype': 't22'}}");
    view = view_from(0, NULL, "%s", text);
    make_header(view);
    check(2 * vs_view_facts(view)->etype_size, LIST("'|V25165823'", "2,"));
    vs_view_unref(view);
    /* A dtype of more than 2^31-1 bytes becomes bytes. */
    check_alone("'etype': " STRUCT("'int', 'char'", "1000000000, 1", "0, 4000000000"), 4000000001,
                LIST("'|u1'", "4000000001,"));
}

/* More than 65535 bytes need version 2.0 of the format. */
TEST(test_long)
{
    const size_t size = 1 << 20;
    char *members = malloc(size), *text;
    FILE *out = fmemopen(members, size, "w");

    assert_non_null(out);
    fputs("'etype': {'type': 'struct', 'blocklengths': [1", out);
    for (int i = 1; i < 5000; i++)
        fputs(", 1", out);
    fputs("], 'displacements': [0", out);
    for (int i = 1; i < 5000; i++)
        fprintf(out, ", %d", 8 * i);
    fputs("], 'types': ['int'", out);
    for (int i = 1; i < 5000; i++)
        fputs(i % 2 ? ", 'double'" : ", 'int'", out);
    fputs("]}", out);
    fclose(out);
    make_npy(1, 0, members);
    assert_true(vs_npy_length(npy) > 65545);
    text = text_of(30000);
    assert_non_null(strstr(text, NATIVE_IS_BIG ? "('f4999', '>f8')]" : "('f4999', '<f8')]"));
    assert_non_null(strstr(text, ")], 'fortran_order': False, 'shape': (1,), }"));
    free(text);
    free(members);
}

/* The header is as long as numpy.save's, and has room for every size. */
TEST(test_length)
{
    make_npy(4, 0, DARRAY("C"));
    assert_int_equal(vs_npy_length(npy), 128);
    for (int64_t size = 1; size > 0 && size < INT64_MAX / 7; size *= 3)
        free(text_of(size / 8 * 8));
}

TEST(test_read_back)
{
    static const char *const wrong[] = {
        "9, 6",
        "4,  6",
        "4, 6,",
        "04, 6",
        "-4, 6",
        "4, x",
        "99999999999999999999, 6",
        "24",
        "",
        "4, 6), 'shape': (4, 6",
        "9223372036854775807, 2",
    };
    char header[128], text[128];

    make_npy(4, 0, DARRAY("C"));
    vs_npy_header(npy, 192, header);
    assert_int_equal(vs_npy_size(npy, header), 192);
    header[127] = ' ';
    assert_int_equal(vs_npy_size(npy, header), -EINVAL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        vs_npy_header(npy, 192, header);
        memset(header + 10, ' ', 117);
        snprintf(text, sizeof(text), LIST("'<f8'", "%s"), wrong[i]);
        memcpy(header + 10, text, strlen(text));
        assert_int_equal(vs_npy_size(npy, header), -EINVAL);
    }
    memset(header, '1', sizeof(header));
    memcpy(header, "'shape': (", 10);
    assert_int_equal(vs_npy_size(npy, header), -EINVAL);
    memset(header, 0, sizeof(header));
    assert_int_equal(vs_npy_size(npy, header), -EINVAL);
}
