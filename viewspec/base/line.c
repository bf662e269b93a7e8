/* SPDX-License-Identifier: MIT */
#include "line.h"

#include <stdint.h>
#include <string.h>

/*
 * Decodes the UTF-8 sequence at the beginning of text, which is not at its end. Returns its length
 * and sets *character. Returns 0 for anything else, also for overlong forms, surrogates and values
 * beyond U+10FFFF.
 */
static size_t take_character(const unsigned char *text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80    ? 1
                    : text[0] < 0xc0  ? 0
                    : text[0] < 0xe0  ? 2
                    : text[0] < 0xf0  ? 3
                    : text[0] <= 0xf4 ? 4
                                      : 0;

    *character = length > 1 ? text[0] & (0x7fU >> length) : text[0];
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text[i] & 0x3f);
    }
    if (*character < least[length] || *character > 0x10ffff ||
        (*character >= 0xd800 && *character < 0xe000))
        return 0;
    return length;
}

/* Control characters also include line and paragraph separators and Unicode's marks of direction.
 */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool vs_line_clean(char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    bool found = false;

    while (*from != '\0') {
        uint32_t character;
        size_t length = take_character(from, &character);

        if (length == 0 || is_control(character)) {
            *text++ = '?';
            found = true;
        } else {
            memmove(text, from, length);
            text += length;
        }
        from += length != 0 ? length : 1;
    }
    *text = '\0';
    return found;
}

void vs_line_copy(char *line, size_t capacity, const char *text, size_t size)
{
    size_t length = size < capacity ? size : capacity - 1;

    for (size_t i = 0; i < length; i++)
        line[i] = text[i] != '\0' ? text[i] : '?';
    line[length] = '\0';
    vs_line_clean(line);
}
