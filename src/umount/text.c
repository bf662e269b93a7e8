/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void umount_list_process(char *list, size_t size, const char *name, long number)
{
    size_t length = strlen(list);

    snprintf(list + length, size - length, "%s%s (%ld)", length > 0 ? ", " : "", name, number);
}

int64_t umount_stat(const char *text, const char *key, int64_t fallback)
{
    char quoted[64], *end;
    const char *at;
    long long value;

    snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    at = strstr(text, quoted);
    if (at == NULL)
        return fallback;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':')
        return fallback;
    at += strspn(at, " ");
    if (*at < '0' || *at > '9')
        return fallback;
    errno = 0;
    value = strtoll(at, &end, 10);
    return errno == 0 ? value : fallback;
}
