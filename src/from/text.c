/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Lines and spans. */

struct from_span from_span_trim(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return (struct from_span){at, (size_t)(end - at)};
}

struct from_lines from_lines_of(const struct from_bytes *head, struct from_file *file)
{
    const char *text = (const char *)head->bytes;

    return (struct from_lines){.file = file, .at = text, .end = text + head->length};
}

bool from_lines_next(struct from_lines *lines, struct from_span *line)
{
    if (lines->at == lines->end || lines->file->error->code)
        return false;
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    const char *end = newline ? newline : lines->end;

    *line = from_span_trim(lines->at, end);
    lines->at = newline ? newline + 1 : end;
    lines->number++;
    return true;
}

void from_lines_fail(struct from_lines *lines, const char *format, ...)
{
    char what[sizeof(lines->file->error->reason) / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    from_wrong(lines->file, "damaged %s header at line %" PRId64 ": %s", lines->file->format,
               lines->number, what);
}

bool from_span_is(struct from_span span, const char *word)
{
    return strlen(word) == span.length && !strncasecmp(span.at, word, span.length);
}

struct from_span from_span_of(const char *text)
{
    return (struct from_span){text, strlen(text)};
}

bool from_span_split(struct from_span span, const char *marks, struct from_span *left,
                     struct from_span *right)
{
    const char *end = span.at + span.length;

    for (const char *at = span.at; at < end; at++)
        if (*at && strchr(marks, *at)) {
            *left = from_span_trim(span.at, at);
            *right = from_span_trim(at + 1, end);
            return true;
        }
    return false;
}

bool from_span_word(struct from_span *rest, char mark, struct from_span *word)
{
    const char *end = rest->at + rest->length, *at = rest->at;

    while (at < end && (isspace((unsigned char)*at) || (mark && *at == mark)))
        at++;
    word->at = at;
    while (at < end && !isspace((unsigned char)*at) && !(mark && *at == mark))
        at++;
    word->length = (size_t)(at - word->at);
    *rest = (struct from_span){at, (size_t)(end - at)};
    return word->length > 0;
}

bool from_span_number(struct from_span span, int64_t least, int64_t *number)
{
    size_t i = span.length && (*span.at == '-' || *span.at == '+');
    int64_t value = 0;

    if (i == span.length)
        return false;
    for (; i < span.length; i++)
        if (!isdigit((unsigned char)span.at[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, span.at[i] - '0', &value))
            return false;
    value = *span.at == '-' ? -value : value;
    if (value >= least)
        *number = value;
    return value >= least;
}

int from_span_numbers(struct from_span span, int64_t least, int64_t *list, int most)
{
    struct from_span word;
    int count = 0;

    while (from_span_word(&span, ',', &word))
        if (count == most || !from_span_number(word, least, &list[count++]))
            return -1;
    return count;
}

/* Words. */

void from_words_fail(struct from_words *words, const char *what)
{
    if (!words->wrong)
        words->wrong = what;
}

char from_words_peek(struct from_words *words)
{
    while (words->at < words->end && isspace((unsigned char)*words->at))
        words->at++;
    return words->wrong || words->at == words->end ? '\0' : *words->at;
}

bool from_words_accept(struct from_words *words, char wanted)
{
    if (from_words_peek(words) != wanted || !wanted)
        return false;
    words->at++;
    return true;
}

void from_words_need(struct from_words *words, char wanted)
{
    static const char *const expected[] = {
        ['('] = "expected (", [')'] = "expected )", ['['] = "expected [", [']'] = "expected ]",
        ['{'] = "expected {", ['}'] = "expected }", [','] = "expected ,", [':'] = "expected :",
        ['='] = "expected =", [';'] = "expected ;"};

    if (!from_words_accept(words, wanted))
        from_words_fail(words, expected[(unsigned char)wanted]);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool from_words_accept_word(struct from_words *words, const char *word)
{
    size_t length = strlen(word);

    from_words_peek(words);
    if (words->wrong || (size_t)(words->end - words->at) < length ||
        memcmp(words->at, word, length) != 0)
        return false;
    if (words->at + length < words->end && is_name(words->at[length]))
        return false;
    words->at += length;
    return true;
}

int64_t from_words_number(struct from_words *words)
{
    bool is_number = isdigit((unsigned char)from_words_peek(words));
    struct from_span digits = {words->at, 0};
    int64_t number = 0;

    for (; words->at < words->end && isdigit((unsigned char)*words->at); words->at++)
        digits.length++;
    if (!from_span_number(digits, 0, &number))
        from_words_fail(words, is_number ? "a number is larger than 2^63-1" : "expected a number");
    return number;
}

bool from_words_string(struct from_words *words, char *text, size_t size)
{
    char quote = from_words_peek(words);
    size_t length = 0;

    if (quote != '\'' && quote != '"') {
        from_words_fail(words, "expected a string");
        return false;
    }
    for (words->at++; words->at < words->end && *words->at != quote; words->at++) {
        if (*words->at == '\\' && words->at + 1 < words->end)
            words->at++;
        if (length + 1 < size)
            text[length++] = *words->at;
    }
    if (words->at == words->end) {
        from_words_fail(words, "a string does not end");
        return false;
    }
    words->at++;
    if (size)
        text[length] = '\0';
    return true;
}
