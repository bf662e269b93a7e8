/* SPDX-License-Identifier: MIT */
/*
 * Tests the elements of views: random etypes against their elements written out one by one, in all
 * representations; every basic type; and etypes that are too large to be written out.
 */

#include "viewspec/element.h"
#include "made_up.h"
#include "random.h"

static const char *const datareps[] = {"native",   "little-endian", "big-endian",
                                       "internal", "external32",    "made-up"};

#define DATAREPS   (sizeof(datareps) / sizeof(datareps[0]))
#define MOST_BYTES 32 /* the longest basic type in any representation */

/*
 * A type as JSON, and its elements as numbers of basic types. No instance is longer than span. If
 * marked is true, the type's bounds were set explicitly, and would replace those of a struct around
 * it.
 */
struct made {
    char *json;
    int *basics;
    int count;
    long span;
    bool marked;
};

static void add(struct made *made, const struct made *part)
{
    made->basics = realloc(made->basics, sizeof(int) * (size_t)(made->count + part->count + 1));
    assert_non_null(made->basics);
    if (part->count > 0)
        memcpy(made->basics + made->count, part->basics, sizeof(int) * (size_t)part->count);
    made->count += part->count;
}

static void drop(struct made *made)
{
    free(made->json);
    free(made->basics);
}

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    return text;
}

/* Makes a basic type. It chooses from few, so that neighbours are often alike. */
static struct made random_basic(void)
{
    static const char *const names[] = {"byte", "long", "int", "wchar", "c_long_double_complex"};
    const char *name = below(3) ? names[below(5)] : vs_basic_at((size_t)below(VS_BASICS))->name;
    int number = (int)vs_basic_number(vs_basic_find(name));
    struct made made = {.json = print("'%s'", name), .span = MOST_BYTES}, one = {.count = 1};

    one.basics = &number;
    add(&made, &one);
    return made;
}

static struct made random_type(int depth);

/* Makes a type that repeats a single oldtype. */
static struct made random_repeat(int depth)
{
    struct made old = random_type(depth - 1), made = {0};
    int a = below(4), b = below(3), times = a * b;

    switch (below(6)) {
    case 0:
        made.json = print("{'type': 'contiguous', 'count': %d, 'oldtype': %s}", a, old.json);
        made.span = a * old.span;
        times = a;
        break;
    case 1:
        made.json =
            print("{'type': 'vector', 'count': %d, 'blocklength': %d, 'stride': %d, 'oldtype': %s}",
                  a, b, b + 1, old.json);
        made.span = a * (b + 1) * old.span;
        break;
    case 2:
        made.json = print(
            "{'type': 'hvector', 'count': %d, 'blocklength': %d, 'stride': %ld, 'oldtype': %s}", a,
            b, b * old.span, old.json);
        made.span = a * b * old.span;
        break;
    case 3:
        made.json = print("{'type': 'indexed', 'blocklengths': [%d, %d], 'displacements': [0, %d], "
                          "'oldtype': %s}",
                          a, b, a + below(2), old.json);
        made.span = (a + b + 1) * old.span;
        times = a + b;
        break;
    case 4:
        made.json = print("{'type': 'subarray', 'sizes': [5, 4], 'subsizes': [%d, %d], 'starts': "
                          "[1, 0], 'order': 'C', 'oldtype': %s}",
                          a, b, old.json);
        made.span = 20 * old.span;
        made.marked = true;
        break;
    default:
        made.json =
            print("{'type': 'resized', 'lb': 0, 'extent': %ld, 'oldtype': %s}", old.span, old.json);
        made.span = old.span;
        made.marked = true;
        times = 1;
    }
    made.marked = made.marked || old.marked;
    for (int i = 0; i < times; i++)
        add(&made, &old);
    drop(&old);
    return made;
}

static struct made random_struct(int depth)
{
    char *lengths = print("%s", ""), *displacements = print("%s", ""), *types = print("%s", "");
    struct made made = {0};

    for (int i = 0, n = 1 + below(4); i < n; i++) {
        struct made part = random_type(depth - 1);
        const char *comma = i ? ", " : "";
        int length = below(8) ? 1 + below(3) : 0;
        char *all[] = {lengths, displacements, types};
        lengths = print("%s%s%d", lengths, comma, length);
        displacements = print("%s%s%ld", displacements, comma, made.span);
        types = print("%s%s%s", types, comma, part.json);
        for (int k = 0; k < 3; k++)
            free(all[k]);
        for (int k = 0; k < length; k++)
            add(&made, &part);
        made.span += length * part.span;
        made.marked = made.marked || part.marked;
        drop(&part);
    }
    made.json =
        print("{'type': 'struct', 'blocklengths': [%s], 'displacements': [%s], 'types': [%s]}",
              lengths, displacements, types);
    made.span += MOST_BYTES; /* padding may follow */
    if (made.marked) {
        char *inner = made.json;
        made.json =
            print("{'type': 'resized', 'lb': 0, 'extent': %ld, 'oldtype': %s}", made.span, inner);
        free(inner);
    }
    free(lengths);
    free(displacements);
    free(types);
    return made;
}

static struct made random_type(int depth)
{
    if (depth == 0 || below(6) == 0)
        return random_basic();
    return below(2) ? random_struct(depth) : random_repeat(depth);
}

/* Makes an etype that has data, but not more than the test can check. */
static struct made random_etype(void)
{
    for (;;) {
        struct made made = random_type(1 + below(4));
        if (made.count > 0 && made.count < 2000)
            return made;
        drop(&made);
    }
}

static int64_t size_in(const char *datarep, int number)
{
    const struct vs_basic *basic = vs_basic_at((size_t)number);

    if (strcmp(datarep, "made-up") == 0)
        return made_up_size((size_t)number);
    return datarep[0] == 'e' || datarep[0] == 'i' ? basic->external : basic->size;
}

/* Several etypes written out: the offset and position of each element. The last entry is the
   end. */
struct plain {
    int count;
    const struct vs_basic **basics;
    int64_t *offsets, *positions;
};

static struct plain write_out(const struct made *etype, const char *datarep, int etypes)
{
    size_t n = (size_t)(etype->count * etypes);
    struct plain plain = {.count = (int)n};

    plain.basics = calloc(n, sizeof(*plain.basics));
    plain.offsets = calloc(n + 1, sizeof(*plain.offsets));
    plain.positions = calloc(n + 1, sizeof(*plain.positions));
    assert_true(plain.basics && plain.offsets && plain.positions);
    for (size_t i = 0; i < n; i++) {
        int number = etype->basics[i % (size_t)etype->count];
        plain.basics[i] = vs_basic_at((size_t)number);
        plain.offsets[i + 1] = plain.offsets[i] + plain.basics[i]->size;
        plain.positions[i + 1] = plain.positions[i] + size_in(datarep, number);
    }
    return plain;
}

static void free_plain(struct plain *plain)
{
    free(plain->basics);
    free(plain->offsets);
    free(plain->positions);
}

/* Checks that the runs of a range are exactly the elements first .. last, and that each run is
   as long as possible. */
static void check_range(const struct vs_view *view, const struct plain *plain, int64_t offset,
                        int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    const struct vs_basic *before = NULL;
    int at = 0;

    while (plain->offsets[at + 1] <= offset)
        at++;
    vs_elements_start(&cursor, view, offset, length);
    while (vs_elements_next(&cursor, &run)) {
        assert_true(run.count > 0 && at + run.count <= plain->count);
        assert_true(run.basic != before);
        assert_int_equal(run.offset, plain->offsets[at]);
        assert_int_equal(run.position, plain->positions[at]);
        assert_int_equal(run.native, run.basic->size);
        assert_int_equal(run.file, plain->positions[at + 1] - plain->positions[at]);
        for (int64_t i = 0; i < run.count; i++)
            assert_ptr_equal(plain->basics[at + i], run.basic);
        at += (int)run.count;
        before = run.basic;
    }
    assert_true(plain->offsets[at] >= offset + length);
    assert_true(plain->offsets[at - 1] < offset + length);
}

static void check_etype(const struct made *etype, const char *datarep)
{
    struct vs_view *view = view_in(datarep, etype->json);
    const struct vs_view_facts *facts = vs_view_facts(view);
    int etypes = 1 + 100 / etype->count + 1;
    struct plain plain = write_out(etype, datarep, etypes);
    int64_t end = plain.offsets[plain.count];
    bool uniform = true;

    assert_int_equal(facts->etype_size, plain.offsets[etype->count]);
    assert_int_equal(facts->etype_file_size, plain.positions[etype->count]);
    for (int i = 1; i < etype->count; i++)
        uniform = uniform && etype->basics[i] == etype->basics[0];
    assert_ptr_equal(facts->basic, uniform ? plain.basics[0] : NULL);
    check_range(view, &plain, 0, end);
    for (int i = 0; i < 30; i++) {
        int64_t offset = rand() % end;
        check_range(view, &plain, offset,
                    1 + rand() % (i % 2 || end - offset < 40 ? end - offset : 40));
    }
    vs_view_unref(view);
    free_plain(&plain);
}

TEST(random_etypes)
{
    srand(20240607);
    for (int i = 0; i < 1500; i++) {
        struct made etype = random_etype();
        check_etype(&etype, datareps[(size_t)i % DATAREPS]);
        drop(&etype);
    }
}

/* Each basic type alone, and behind a byte, so that elements also begin at odd offsets. */
TEST(all_basics)
{
    for (int number = 0; number < VS_BASICS; number++) {
        const char *name = vs_basic_at((size_t)number)->name;
        int basics[] = {(int)vs_basic_number(vs_basic_find("byte")), number, number};
        struct made alone = {.json = print("'MPI_%s'", name), .basics = basics + 1, .count = 1};
        struct made record = {.basics = basics, .count = 3};
        record.json = print("{'type': 'struct', 'blocklengths': [1, 2], 'displacements': [0, 32], "
                            "'types': ['byte', '%s']}",
                            name);
        assert_int_equal(vs_basic_number(vs_basic_at((size_t)number)), number);
        for (size_t d = 0; d < DATAREPS; d++) {
            check_etype(&alone, datareps[d]);
            check_etype(&record, datareps[d]);
        }
        free(alone.json);
        free(record.json);
    }
    assert_null(vs_basic_at(VS_BASICS));
}

static struct vs_elements first_run(const struct vs_view *view, int64_t offset, int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run = {0};

    vs_elements_start(&cursor, view, offset, length);
    assert_true(vs_elements_next(&cursor, &run));
    return run;
}

static void expect_none(const struct vs_view *view, int64_t offset, int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    vs_elements_start(&cursor, view, offset, length);
    assert_false(vs_elements_next(&cursor, &run));
}

/* Elements of one type make a single run, across the ends of etypes. */
TEST(one_type)
{
    static const char struct_text[] =
        "{'type': 'struct', 'blocklengths': [1, 0, 3], 'displacements': [0, 0, 16], 'types': "
        "[{'type': 'dup', 'oldtype': 'long'}, 'byte', {'type': 'contiguous', 'count': 2, "
        "'oldtype': 'long'}]}";
    struct vs_view *view = view_in("external32", struct_text);

    struct vs_elements run = first_run(view, 8 * 7000 + 5, 80004);
    assert_ptr_equal(run.basic, vs_basic_find("long"));
    assert_int_equal(run.offset, 8 * 7000);
    assert_int_equal(run.position, 4 * 7000);
    assert_int_equal(run.count, 10002);
    vs_view_unref(view);
}

/* Etypes far too large to be written out, and ranges near the end of 64 bits. */
TEST(huge_etypes)
{
    struct vs_view *view =
        view_in("external32",
                "{'type': 'contiguous', 'count': 100000000000000000, 'oldtype': {'type': 'struct', "
                "'blocklengths': [1, 1], 'displacements': [0, 8], 'types': ['long', 'byte']}}");
    int64_t records = INT64_C(99999999999999999);

    struct vs_elements run = first_run(view, records * 9 + 1, 20);
    assert_int_equal(run.offset, records * 9);
    assert_int_equal(run.position, records * 5);
    assert_int_equal(run.count, 1);
    run = first_run(view, records * 9 + 8, 1);
    assert_ptr_equal(run.basic, vs_basic_find("byte"));
    assert_int_equal(run.position, records * 5 + 4);
    vs_view_unref(view);
    view = view_in("native", "'double'");
    run = first_run(view, 0, INT64_MAX);
    assert_int_equal(run.count, INT64_MAX / 8);
    run = first_run(view, INT64_MAX / 8 * 8 - 1, INT64_MAX);
    assert_int_equal(run.count, 1);
    expect_none(view, INT64_MAX / 8 * 8, 1);
    expect_none(view, INT64_MAX, INT64_MAX);
    expect_none(view, -1, 10);
    expect_none(view, 8, 0);
    expect_none(view, 8, -1);
    vs_view_unref(view);
    view = view_in("external32", "'long'");
    assert_int_equal(first_run(view, 0, INT64_MAX).count, INT64_MAX / 8);
    vs_view_unref(view);
}

/* Types of the maximal depth. */
TEST(deep)
{
    char *json = print("'int'");
    struct made etype = {0};

    for (int depth = 0; depth < VS_ELEMENT_DEPTH; depth++) {
        char *inner = json;
        json = print("{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, %d], "
                     "'types': [%s, 'byte']}",
                     1000 + 100 * depth, inner);
        free(inner);
    }
    etype.json = json;
    etype.count = VS_ELEMENT_DEPTH + 1;
    etype.basics = calloc((size_t)etype.count, sizeof(int));
    assert_non_null(etype.basics);
    for (int i = 0; i < etype.count; i++)
        etype.basics[i] = (int)vs_basic_number(vs_basic_find(i ? "byte" : "int"));
    check_etype(&etype, "external32");
    drop(&etype);
}
