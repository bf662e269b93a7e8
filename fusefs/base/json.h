/* SPDX-License-Identifier: MIT */
#ifndef FS_JSON_H
#define FS_JSON_H

#include <stdio.h>

/* Writes text as a JSON string. Each byte is treated as a Latin-1 character. */
static inline void fs_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < ' ' || byte >= 0x7f)
            fprintf(out, "\\u%04x", byte);
        else
            fprintf(out, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
    }
    fputc('"', out);
}

#endif
