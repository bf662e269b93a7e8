/* SPDX-License-Identifier: MIT */
#include "digits.h"

#include <stddef.h>
#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

char *view_digits_before(char *end, uint64_t value)
{
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, pairs + 2 * (value % 100), 2);
    if (value >= 10)
        return memcpy(end - 2, pairs + 2 * value, 2);
    *--end = (char)('0' + value);
    return end;
}

char *view_write_unsigned(char *text, uint64_t value)
{
    char digits[20], *end = digits + sizeof(digits), *begin = view_digits_before(end, value);

    memcpy(text, begin, (size_t)(end - begin));
    return text + (end - begin);
}
