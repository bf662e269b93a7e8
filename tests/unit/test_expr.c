/* SPDX-License-Identifier: MIT */
/* Tests expressions of specs: fixed ones, and random ones against 128-bit arithmetic. */

#include "random.h"
#include "spec_fixture.h"
#include "viewspec/spec.h"

__extension__ typedef __int128 wide;

#define RANK  3
#define RANKS 7

/* The names that "let" defines beside the expression. */
#define LET "'n': 100, 'big': 9223372036854775807, 'less': 'n - 200'"

/* Evaluates text for RANK of RANKS. A displacement is never negative, so two displacements carry
   the value. */
static int evaluate(const char *text, int64_t *value, struct vs_error *error)
{
    char *json = NULL;
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;

    assert_true(asprintf(&json,
                         "{'viewspec': 1, 'file': 'f', 'ranks': %d, 'let': {" LET
                         ", 'value': '%s'}, 'views': {'high': {'disp': 'value / 4294967296 + "
                         "2147483648'}, 'low': {'disp': 'value %% 4294967296'}}}",
                         RANKS, text) > 0);
    int rc = vs_spec_parse(quoted(json), strlen(json), "text", "/", NULL, &spec, error);
    if (!rc)
        rc = vs_spec_view(spec, 0, RANK, &view, error);
    if (!rc) {
        int64_t high = disp_at(spec, 0, RANK) - 2147483648;
        *value = high * 4294967296 + disp_at(spec, 1, RANK);
    }
    vs_view_unref(view);
    vs_spec_free(spec);
    free(json);
    return rc;
}

/* Expressions, and their values for RANK of RANKS. */
static const struct {
    const char *text;
    int64_t value;
} expressions[] = {
    {"0", 0},
    {"9223372036854775807", INT64_MAX},
    {"0 - 9223372036854775807 - 1", INT64_MIN},
    {"-9223372036854775807 - 1", INT64_MIN},
    {"2+3*4", 14},
    {"(2+3)*4", 20},
    {"2*3+4", 10},
    {"10-3-2", 5},
    {"10-(3-2)", 9},
    {"100/10/2", 5},
    {"100/10*2", 20},
    {"100%7*2", 4},
    {"7/2", 3},
    {"(0-7)/2", -4},
    {"7/(0-2)", -4},
    {"(0-7)/(0-2)", 3},
    {"7%2", 1},
    {"(0-7)%2", 1},
    {"7%(0-2)", -1},
    {"(0-7)%(0-2)", -1},
    {"(0-8)/2", -4},
    {"(0-8)%2", 0},
    {"min(3,5)", 3},
    {"max(3,5)", 5},
    {"min(max(1,2),max(4,3))*2", 4},
    {"max( rank , ranks )", RANKS},
    {"rank", RANK},
    {"rank*n+ranks", RANK * 100 + RANKS},
    {"n/ranks", 14},
    {"less", -100},
    {"big", INT64_MAX},
    {"((((((((1))))))))", 1},
    {" \\t1 +\\n2 ", 3},
    {"007", 7},
    {"- 5", -5},
    {"2 - -3", 5},
    {"-(2+3)*2", -10},
    {"big - big", 0},
    {"big / (0-1)", -INT64_MAX},
    {"(0 - big - 1) % (0 - 1)", 0},
};

TEST(values)
{
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        struct vs_error error = {0};
        int64_t value = 0;
        if (evaluate(expressions[i].text, &value, &error))
            fail_msg("%s: %s", expressions[i].text, error.reason);
        if (value != expressions[i].value)
            fail_msg("%s is %" PRId64 ", expected %" PRId64, expressions[i].text, value,
                     expressions[i].value);
    }
}

static const char *const refusals[] = {
    "", "+", "2+", "*2", "(1", "1)", "()", "1 2", "1,2", "min", "min(1)", "min(1,2,3)", "min 1,2",
    "min(,2)", "x", "x$", "$", "1.0", "1e3", "0x10", "2^3", "2**3", "rank rank", "Rank", "ranks2",
    "value", "\\u0000", "1\\u00a02",
    /* without a value */
    "1/0", "1%0", "n/(rank-3)", "9223372036854775808", "99999999999999999999999999", "big+1",
    "0-big-2", "big*2", "(0-big-1)/(0-1)", "(0-big-1)*(0-1)", "-(0-big-1)",
    "4294967296*4294967296"};

TEST(refused)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct vs_error error = {0};
        int64_t value = 0;
        int rc = evaluate(refusals[i], &value, &error);
        if (rc != -EINVAL)
            fail_msg("%s gives %d and %" PRId64 ", expected an error", refusals[i], rc, value);
        assert_true(error.reason[0] != '\0');
    }
}

/* Makes random expressions, and computes their values at the same time. */
struct maker {
    char text[4096];
    size_t length;
    int64_t rank;
    bool wrong; /* overflow or division by zero somewhere */
};

static void put(struct maker *maker, const char *text)
{
    size_t length = strlen(text);

    assert_true(maker->length + length < sizeof(maker->text));
    memcpy(maker->text + maker->length, text, length + 1);
    maker->length += length;
}

static int64_t settle(struct maker *maker, wide value)
{
    if (value < INT64_MIN || value > INT64_MAX) {
        maker->wrong = true;
        return 1;
    }
    return (int64_t)value;
}

static int64_t number(struct maker *maker)
{
    const struct {
        const char *name;
        int64_t value;
    } names[] = {
        {"rank", maker->rank}, {"ranks", RANKS}, {"n", 100}, {"big", INT64_MAX}, {"less", -100}};
    char text[32];
    int64_t value = below(12);

    if (below(4) == 0) {
        unsigned i = (unsigned)below(sizeof(names) / sizeof(names[0]));
        put(maker, names[i].name);
        return names[i].value;
    }
    if (below(5) == 0)
        value = (int64_t)(random_bits() >> (1 + below(60)));
    snprintf(text, sizeof(text), "%" PRId64, value);
    put(maker, text);
    return value;
}

static int64_t apply(struct maker *maker, char operator, int64_t a, int64_t b)
{
    wide quotient;

    switch (operator) {
    case '+':
        return settle(maker, (wide)a + b);
    case '-':
        return settle(maker, (wide)a - b);
    case '*':
        return settle(maker, (wide)a * b);
    default:
        if (b == 0) {
            maker->wrong = true;
            return 1;
        }
        quotient = (wide)a / b;
        if ((wide)a % b != 0 && (a < 0) != (b < 0))
            quotient--;
        return operator== '/' ? settle(maker, quotient) : settle(maker, (wide)a - quotient * b);
    }
}

static int64_t factor(struct maker *maker, int depth);

/* Makes operators of one level of precedence, which associate from left to right. */
static int64_t chain(struct maker *maker, int depth, bool products)
{
    int64_t value = products ? factor(maker, depth) : chain(maker, depth, true);

    while (below(3) == 0) {
        char text[4] = {' ', products ? "*/%"[below(3)] : "+-"[below(2)], ' ', 0};
        put(maker, below(2) ? text : (char[2]){text[1], 0});
        value = apply(maker, text[1], value,
                      products ? factor(maker, depth) : chain(maker, depth, true));
    }
    return value;
}

static int64_t factor(struct maker *maker, int depth)
{
    int choice = depth == 0 ? 9 : below(8);
    int64_t a, b;

    if (choice > 2)
        return number(maker);
    if (choice == 0) {
        put(maker, "(");
        a = chain(maker, depth - 1, false);
        put(maker, ")");
        return a;
    }
    put(maker, choice == 1 ? "min(" : "max(");
    a = chain(maker, depth - 1, false);
    put(maker, ",");
    b = chain(maker, depth - 1, false);
    put(maker, ")");
    return (a < b) == (choice == 1) ? a : b;
}

/* Makes the expression that belongs to a seed, with rank's value in it. */
static int64_t make(struct maker *maker, unsigned seed, int64_t rank)
{
    srand(seed);
    maker->length = 0;
    maker->wrong = false;
    maker->rank = rank;
    return chain(maker, 5, false);
}

TEST(random_expressions)
{
    struct maker maker;
    int wrong = 0;

    for (unsigned i = 0; i < 4000; i++) {
        struct vs_error error = {0};
        int64_t value = 0, expected;
        /* Loading a spec compiles the view of rank 0, so an error there is reported first. */
        make(&maker, i, 0);
        bool bad = maker.wrong;
        expected = make(&maker, i, RANK);
        bad = bad || maker.wrong;
        int rc = evaluate(maker.text, &value, &error);
        if (rc != (bad ? -EINVAL : 0))
            fail_msg("%d, %s: %s", rc, error.reason, maker.text);
        if (!rc && value != expected)
            fail_msg("%s is %" PRId64 ", expected %" PRId64, maker.text, value, expected);
        wrong += bad;
    }
    assert_in_range(wrong, 100, 3900);
}
