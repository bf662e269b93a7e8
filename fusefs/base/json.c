/* SPDX-License-Identifier: MIT */
#include "json.h"

void fs_json_string(FILE *out, const char *text)
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
