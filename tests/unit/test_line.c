/* SPDX-License-Identifier: MIT */
/* Tests lines of untrusted text: what reaches a terminal, and what is replaced. */

#include "unit.h"
#include "viewspec/error.h"
#include "viewspec/base/line.h"

/* Texts, and the lines that they become. NULL: unchanged. */
static const struct {
    const char *text, *line;
} cases[] = {
    {"", NULL},
    {"view \"a\\b\": ~", NULL},
    {"Größe 場 🙂 \xc2\xa0", NULL},
    {"a\nb\rc\td", "a?b?c?d"},
    {"\033]0;title\007\x7f", "?]0;title??"},
    {"\xc2\x9b"
     "31m \xc2\x80 \xc2\x9f",
     "?31m ? ?"},
    {"\x9b"
     "31m",
     "?31m"},
    {"\xe2\x80\xa8 \xe2\x80\xa9 \xe2\x80\xae \xe2\x81\xa6", "? ? ? ?"},
    {"\xff\xfe\xc2", "???"},
    {"\xc2"
     "a",
     "?a"},
    {"\xe5\xa0", "??"},
    {"\xc0\x9b", "??"},             /* an overlong encoding of ESC */
    {"\xe0\x82\x9b", "???"},        /* an overlong encoding of U+009B */
    {"\xed\xa0\x80", "???"},        /* a surrogate */
    {"\xf4\x90\x80\x80", "????"},   /* beyond the last code point */
    {"\xf5\x80\x80\x80z", "????z"}, /* no valid sequence begins so */
};

TEST(test_lines_are_clean)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char line[64];
        bool changed = cases[i].line != NULL;

        snprintf(line, sizeof(line), "%s", cases[i].text);
        assert_int_equal(vs_line_clean(line), changed);
        assert_string_equal(line, changed ? cases[i].line : cases[i].text);
        /* A cleaned line counts as clean. */
        assert_false(vs_line_clean(line));
    }
}

TEST(test_copies_are_cut)
{
    char line[8];

    vs_line_copy(line, sizeof(line), "a\nb\x80 cdefgh", 12);
    assert_string_equal(line, "a?b? cd");
    vs_line_copy(line, sizeof(line), "a\0b", 3);
    assert_string_equal(line, "a?b");
    /* A character that fits only in part is dropped. */
    vs_line_copy(line, sizeof(line), "123456\xc3\xa4", 8);
    assert_string_equal(line, "123456?");
    vs_line_copy(line, 1, "abc", 3);
    assert_string_equal(line, "");
}

TEST(test_errors_of_specs_are_one_line)
{
    const struct vs_error error = {.code = -22,
                                   .line = 3,
                                   .column = 1,
                                   .source = "a\nb.json",
                                   .pointer = "/let/\033[2J\xc3\xa4",
                                   .reason = "no \xc2\x9bsuch"};
    char text[128];

    assert_string_equal(vs_error_text(&error, text, sizeof(text)),
                        "a?b.json:3:1: /let/?[2J\xc3\xa4: no ?such");
}
