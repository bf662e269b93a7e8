/* SPDX-License-Identifier: MIT */
#include "sizes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int mpiio_parse_size(const char *text, int64_t *value)
{
    static const char suffixes[] = "kmgt";
    const char *suffix;
    int64_t number = 0;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            return -ERANGE;
    if (*text) {
        suffix = strchr(suffixes, tolower((unsigned char)*text));
        if (suffix == NULL || text[1])
            return -EINVAL;
        if (__builtin_mul_overflow(number, INT64_C(1024) << (10 * (suffix - suffixes)), &number))
            return -ERANGE;
    }
    *value = number;
    return 0;
}

const char *mpiio_format_size(int64_t bytes, char *text)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 10000) {
        snprintf(text, MPIIO_SIZE_TEXT, "%d byte%s", (int)bytes, bytes == 1 ? "" : "s");
        return text;
    }
    while (size >= 1000 && unit + 1 < sizeof(names) / sizeof(*names)) {
        size /= 1024;
        unit++;
    }
    snprintf(text, MPIIO_SIZE_TEXT, "%.*f %s", size < 100 ? 1 : 0, size, names[unit]);
    return text;
}
