/* SPDX-License-Identifier: MIT */
/* Tests the basic types: names and their spellings, sizes in memory and in external32, and
   alignments. */
#include <complex.h>
#include <ctype.h>
#include <float.h>
#include <wchar.h>

#include "spec_fixture.h"
#include "viewspec/spec.h"
#include "native.h"

struct basic {
    const char *name;
    size_t size, align;
    int64_t external;
};

#define C_TYPE(name, type, external) name, sizeof(type), _Alignof(type), external
#define SIZED(name, size, align)     name, size, align, size

/* MPI 3.1, table 13.2. The compiler supplies the sizes of C types. */
static const struct basic basics[] = {
    {C_TYPE("packed", char, 1)},
    {C_TYPE("byte", char, 1)},
    {C_TYPE("char", char, 1)},
    {C_TYPE("unsigned_char", unsigned char, 1)},
    {C_TYPE("signed_char", signed char, 1)},
    {C_TYPE("wchar", wchar_t, 2)},
    {C_TYPE("short", short, 2)},
    {C_TYPE("unsigned_short", unsigned short, 2)},
    {C_TYPE("int", int, 4)},
    {C_TYPE("unsigned", unsigned, 4)},
    {C_TYPE("long", long, 4)},
    {C_TYPE("unsigned_long", unsigned long, 4)},
    {C_TYPE("long_long_int", long long, 8)},
    {C_TYPE("unsigned_long_long", unsigned long long, 8)},
    {C_TYPE("float", float, 4)},
    {C_TYPE("double", double, 8)},
    {C_TYPE("long_double", long double, 16)},
    {C_TYPE("c_bool", bool, 1)},
    {C_TYPE("int8_t", int8_t, 1)},
    {C_TYPE("int16_t", int16_t, 2)},
    {C_TYPE("int32_t", int32_t, 4)},
    {C_TYPE("int64_t", int64_t, 8)},
    {C_TYPE("uint8_t", uint8_t, 1)},
    {C_TYPE("uint16_t", uint16_t, 2)},
    {C_TYPE("uint32_t", uint32_t, 4)},
    {C_TYPE("uint64_t", uint64_t, 8)},
    {C_TYPE("aint", ptrdiff_t, 8)},
    {C_TYPE("count", int64_t, 8)},
    {C_TYPE("offset", int64_t, 8)},
    {C_TYPE("c_complex", float complex, 8)},
    {C_TYPE("c_float_complex", float complex, 8)},
    {C_TYPE("c_double_complex", double complex, 16)},
    {C_TYPE("c_long_double_complex", long double complex, 32)},
    {C_TYPE("character", char, 1)},
    {C_TYPE("logical", int, 4)},
    {C_TYPE("integer", int, 4)},
    {C_TYPE("real", float, 4)},
    {C_TYPE("double_precision", double, 8)},
    {C_TYPE("complex", float complex, 8)},
    {C_TYPE("double_complex", double complex, 16)},
    {SIZED("integer1", 1, 1)},
    {SIZED("integer2", 2, 2)},
    {SIZED("integer4", 4, 4)},
    {SIZED("integer8", 8, 8)},
    {SIZED("integer16", 16, 16)},
    {SIZED("real2", 2, 2)},
    {SIZED("real4", 4, 4)},
    {SIZED("real8", 8, 8)},
    {SIZED("real16", 16, 16)},
    {SIZED("complex4", 4, 2)},
    {SIZED("complex8", 8, 4)},
    {SIZED("complex16", 16, 8)},
    {SIZED("complex32", 32, 16)},
    {C_TYPE("cxx_bool", bool, 1)},
    {C_TYPE("cxx_float_complex", float complex, 8)},
    {C_TYPE("cxx_double_complex", double complex, 16)},
    {C_TYPE("cxx_long_double_complex", long double complex, 32)},
};

#define COUNT (sizeof(basics) / sizeof(basics[0]))

/* Returns the facts of a view with this etype. */
static struct vs_view_facts facts_of(const char *etype, const char *datarep)
{
    struct vs_view *view = make_view("'etype': %s, 'datarep': '%s'", etype, datarep);
    struct vs_view_facts facts = *vs_view_facts(view);

    vs_view_unref(view);
    return facts;
}

static void expect_size(const char *name, const char *datarep, size_t native, int64_t file)
{
    char etype[68]; /* with quotes around the longest spelling */

    snprintf(etype, sizeof(etype), "'%s'", name);
    struct vs_view_facts facts = facts_of(etype, datarep);
    if (facts.etype_size != (int64_t)native || facts.etype_file_size != file ||
        facts.etype_extent != file)
        fail_msg("%s in %s: size %ld, in the file %ld, extent %ld", name, datarep,
                 (long)facts.etype_size, (long)facts.etype_file_size, (long)facts.etype_extent);
}

TEST(sizes)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct basic *basic = &basics[i];
        expect_size(basic->name, "native", basic->size, (int64_t)basic->size);
        expect_size(basic->name, "little-endian", basic->size, (int64_t)basic->size);
        expect_size(basic->name, "big-endian", basic->size, (int64_t)basic->size);
        expect_size(basic->name, "external32", basic->size, basic->external);
        expect_size(basic->name, "internal", basic->size, basic->external);
    }
}

TEST(spellings)
{
    for (size_t i = 0; i < COUNT; i++) {
        char name[64], upper[64];
        snprintf(name, sizeof(name), "MPI_%s", basics[i].name);
        expect_size(name, "native", basics[i].size, (int64_t)basics[i].size);
        for (size_t c = 0; c <= strlen(name); c++)
            upper[c] = (char)toupper(name[c]);
        expect_size(upper, "native", basics[i].size, (int64_t)basics[i].size);
        expect_size(upper + 4, "native", basics[i].size, (int64_t)basics[i].size);
    }
    expect_size("Mpi_Double", "native", 8, 8);
}

/* A struct of a byte and the type is padded to the type's alignment; in external32 it is not. */
TEST(alignment)
{
    char etype[256];

    for (size_t i = 0; i < COUNT; i++) {
        int64_t align = (int64_t)basics[i].align, size = (int64_t)basics[i].size;
        snprintf(etype, sizeof(etype),
                 "{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, %ld], 'types': "
                 "['%s', 'byte']}",
                 (long)size, basics[i].name);
        struct vs_view_facts facts = facts_of(etype, "native");
        if (facts.etype_extent != (size + 1 + align - 1) / align * align)
            fail_msg("%s: padded to %ld", basics[i].name, (long)facts.etype_extent);
        facts = facts_of(etype, "external32");
        assert_int_equal(facts.etype_extent, size + 1);
    }
}

/* The format of an x87 number is recognized by the length of its mantissa. */
TEST(long_double_is_the_compilers)
{
    const char *const names[] = {"long_double", "c_long_double_complex", "cxx_long_double_complex"};

    for (int i = 0; i < 3; i++)
        assert_int_equal(vs_basic_find(names[i])->extended, LDBL_MANT_DIG == 64);
    assert_int_equal(vs_basic_find("real16")->extended, 0);
}

/* Types whose bytes in the file equal those in memory, and other types. */
TEST(conversion)
{
    assert_true(facts_of("'double'", "native").identical);
    assert_int_equal(facts_of("'double'", "little-endian").identical, !NATIVE_IS_BIG);
    assert_int_equal(facts_of("'double'", "big-endian").identical, NATIVE_IS_BIG);
    assert_int_equal(facts_of("'double'", "external32").identical, NATIVE_IS_BIG);
    assert_false(facts_of("'long'", "external32").identical);
    assert_int_equal(facts_of("'long_double'", "external32").identical,
                     NATIVE_IS_BIG && LDBL_MANT_DIG == 113);
    assert_true(facts_of("'byte'", "external32").identical);
    assert_true(facts_of("'char'", "big-endian").identical);
}
