/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <ctype.h>
#include <string.h>

void from_words_fail(struct from_words *words, const char *what)
{
    if (!words->wrong)
        words->wrong = what;
}

bool from_words_stopped(const struct from_words *words)
{
    return words->wrong;
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
    static const struct {
        char mark;
        const char *what;
    } expected[] = {{'(', "expected ("}, {')', "expected )"}, {'[', "expected ["},
                    {']', "expected ]"}, {'{', "expected {"}, {'}', "expected }"},
                    {',', "expected ,"}, {':', "expected :"}, {'=', "expected ="},
                    {';', "expected ;"}};

    if (from_words_accept(words, wanted))
        return;
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
        if (expected[i].mark == wanted)
            from_words_fail(words, expected[i].what);
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
    int64_t number = 0;
    bool over = false;

    if (!isdigit((unsigned char)from_words_peek(words))) {
        from_words_fail(words, "expected a number");
        return 0;
    }
    for (; words->at < words->end && isdigit((unsigned char)*words->at); words->at++)
        over |= __builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, *words->at - '0', &number);
    if (over)
        from_words_fail(words, "a number is larger than 2^63-1");
    return over ? 0 : number;
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
