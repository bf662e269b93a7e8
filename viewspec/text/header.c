/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "viewspec/spec_private.h"
#include "viewspec/base/path.h"

/* The spec's "header": checksums of the file's header. This source does not read the file. */

#define SUM_DIGITS 8

/* Parses the sum, eight hexadecimal digits; returns false if it is not a sum. */
static bool read_sum(const json_t *value, uint32_t *sum)
{
    static const char digits[] = "0123456789abcdef";
    const char *text = json_string_value(value);
    if (text == NULL || strlen(text) != SUM_DIGITS || strspn(text, digits) != SUM_DIGITS)
        return false;
    *sum = (uint32_t)strtoul(text, NULL, 16);
    return true;
}

/* Checks a number of bytes. It may be absent, and otherwise must be `least` or more. */
static int check_bytes(const struct vs_text *text, const struct vs_place *up, json_t *part,
                       const char *key, int64_t least, struct vs_error *error)
{
    json_t *value = json_object_get(part, key);
    struct vs_place place = {.up = up, .key = key};
    if (value == NULL || (json_is_integer(value) && json_integer_value(value) >= least))
        return 0;
    return vs_fail(error, text, &place, false, "expected a number of bytes, %lld or more",
                   (long long)least);
}

static int settle_name(const struct vs_text *text, const struct vs_place *up, json_t *part,
                       const char *folder, struct vs_error *error)
{
    json_t *value = json_object_get(part, "file");
    struct vs_place place = {.up = up, .key = "file"};
    const char *name = json_string_value(value);
    char *path;
    int failed;

    if (value == NULL)
        return 0;
    if (name == NULL || !name[0])
        return vs_fail(error, text, &place, false, "expected a file's name");
    path = vs_path_from(folder, name);
    failed = path ? json_object_set_new(part, "file", json_string(path)) : -1;
    free(path);
    return failed ? vs_fail_memory(error, text) : 0;
}

static int settle_part(const struct vs_text *text, const struct vs_place *place, json_t *part,
                       const char *folder, struct vs_error *error)
{
    static const char *const keys[] = {"file", "at", "size", "crc32", NULL};
    struct vs_place sum_place = {.up = place, .key = "crc32"};
    json_t *value = json_object_get(part, "crc32");
    uint32_t sum;
    if (vs_check_keys(error, text, place, part, keys))
        return error->code;
    if (!json_object_get(part, "size") || value == NULL)
        return vs_fail(error, text, place, false, "\"size\" or \"crc32\" is missing");
    if (!read_sum(value, &sum))
        return vs_fail(error, text, &sum_place, false,
                       "expected a string of 8 hexadecimal digits in lower case");
    if (check_bytes(text, place, part, "at", 0, error) ||
        check_bytes(text, place, part, "size", 1, error))
        return error->code;
    return settle_name(text, place, part, folder, error);
}

int vs_header_settle(const struct vs_text *text, json_t *root, const char *folder,
                     const struct vs_overrides *overrides, struct vs_error *error)
{
    json_t *parts = json_object_get(root, "header"), *part;
    struct vs_place place = {.key = "header"};
    size_t index;
    if (parts && !json_is_array(parts))
        return vs_fail(error, text, &place, false, "expected an array, got %s",
                       vs_kind_name(parts));
    json_array_foreach(parts, index, part)
    {
        struct vs_place entry = {.up = &place, .index = index};
        if (settle_part(text, &entry, part, folder, error))
            return error->code;
    }
    /* Another representation means another file, whose header is unknown. */
    if (overrides->datarep && parts)
        json_object_del(root, "header");
    return 0;
}

bool vs_spec_header(const struct vs_spec *spec, size_t index, struct vs_header *header)
{
    const json_t *parts = json_object_get(spec->root, "header");
    const json_t *part = json_array_get(parts, index);
    if (part == NULL)
        return false;
    *header = (struct vs_header){.file = json_string_value(json_object_get(part, "file")),
                                 .at = json_integer_value(json_object_get(part, "at")),
                                 .size = json_integer_value(json_object_get(part, "size"))};
    return read_sum(json_object_get(part, "crc32"), &header->crc32);
}
