/* SPDX-License-Identifier: MIT */
#include "mountinfo.h"

#include <stdlib.h>
#include <string.h>

/* Fields before those that may be missing; the mount point is one of them. */
enum { ID, PARENT, DEVICE, ROOT, PLACE, OPTIONS, FIELDS };

static bool is_octal(const char *text)
{
    return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' && text[2] >= '0' &&
           text[2] <= '7';
}

/* Undoes the kernel's \ooo. False where there is no room. */
static bool unescape(const char *text, char *to, size_t size)
{
    size_t length = 0;

    while (*text != '\0' && length + 1 < size) {
        if (*text == '\\' && is_octal(text + 1)) {
            to[length++] = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
            text += 4;
        } else {
            to[length++] = *text++;
        }
    }
    to[length] = '\0';
    return *text == '\0';
}

/* The number behind name= in a list of options; 0 where there is none. */
static unsigned option(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (list != NULL) {
        if (strncmp(list, name, length) == 0 && list[length] == '=')
            return (unsigned)strtoul(list + length + 1, NULL, 10);
        list = strchr(list, ',');
        list += list != NULL;
    }
    return 0;
}

bool mounts_entry_parse(char *line, struct mounts_entry *entry)
{
    char *fields[FIELDS], *save = NULL, *word, *type, *source, *options;

    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " \n", &save);
        if (fields[i] == NULL)
            return false;
    }
    do {
        word = strtok_r(NULL, " \n", &save);
    } while (word != NULL && strcmp(word, "-") != 0);
    type = strtok_r(NULL, " \n", &save);
    source = strtok_r(NULL, " \n", &save);
    options = strtok_r(NULL, " \n", &save);
    if (word == NULL || type == NULL)
        return false;
    snprintf(entry->source, sizeof(entry->source), "%s", source != NULL ? source : "");
    entry->id = atoi(fields[ID]);
    entry->owner = option(options, "user_id");
    entry->group = option(options, "group_id");
    return sscanf(fields[DEVICE], "%u:%u", &entry->major, &entry->minor) == 2 &&
           unescape(fields[PLACE], entry->place, sizeof(entry->place)) &&
           unescape(type, entry->type, sizeof(entry->type));
}

bool mounts_entry_next(FILE *table, struct mounts_entry *entry)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    while (!found && getline(&line, &size, table) > 0)
        found = mounts_entry_parse(line, entry);
    free(line);
    return found;
}
