/* SPDX-License-Identifier: MIT */
#include "readahead.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decodes the escapes \ooo of mountinfo (proc(5)) in place: spaces, tabs, newlines, backslashes. */
static void unescape(char *text)
{
    char *out = text;

    while (*text != '\0') {
        if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] != '\0' &&
            text[3] != '\0') {
            *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/*
 * Finds the device number of the topmost mount at mountpoint in mountinfo. A stat of the mount
 * would wait for this process itself.
 */
static bool find_device(const char *mountpoint, unsigned *major, unsigned *minor)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    if (table == NULL)
        return false;
    while (getline(&line, &size, table) > 0) {
        unsigned device[2];
        int start = 0;

        if (sscanf(line, "%*d %*d %u:%u %*s %n", &device[0], &device[1], &start) != 2)
            continue;
        line[(size_t)start + strcspn(line + start, " \n")] = '\0';
        unescape(line + start);
        if (strcmp(line + start, mountpoint) == 0) {
            *major = device[0];
            *minor = device[1];
            found = true;
        }
    }
    free(line);
    fclose(table);
    return found;
}

void fs_readahead_raise(const char *mountpoint, unsigned bytes)
{
    char path[64];
    unsigned major, minor;
    int file;

    if (geteuid() != 0 || !find_device(mountpoint, &major, &minor))
        return;
    snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major, minor);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        dprintf(file, "%u", bytes / 1024);
        close(file);
    }
}
