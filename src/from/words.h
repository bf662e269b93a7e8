/* SPDX-License-Identifier: MIT */
#ifndef FROM_WORDS_H
#define FROM_WORDS_H

/* The words that headers in text consist of: strings in quotes, numbers, names, marks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a reader stands. Behind an error nothing is there any more. */
struct from_words {
    const char *at, *end;
    const char *wrong; /* what is, borrowed; NULL: nothing */
};

/* Notes what is wrong, unless something is. */
void from_words_fail(struct from_words *words, const char *what);

bool from_words_stopped(const struct from_words *words);

/* The next character that is no blank, which stays; '\0' behind the last. */
char from_words_peek(struct from_words *words);

/* Takes that character where it is the one wanted. need: it is an error where it is not. */
bool from_words_accept(struct from_words *words, char wanted);
void from_words_need(struct from_words *words, char wanted);

/* Takes a name of letters, digits and _ where it is this word. */
bool from_words_accept_word(struct from_words *words, const char *word);

/* Takes a decimal number, which is not negative; 0 with an error where there is none. */
int64_t from_words_number(struct from_words *words);

/*
 * Takes a string in single or double quotes, without what a backslash escapes; text, which may be
 * NULL, gets it, cut to size. False with an error where there is none.
 */
bool from_words_string(struct from_words *words, char *text, size_t size);

#endif
