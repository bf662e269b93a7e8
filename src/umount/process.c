/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewspec/base/line.h"

void umount_each_process(bool (*visit)(void *data, pid_t pid), void *data)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    bool more = true;

    while (folder != NULL && more && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            more = visit(data, (pid_t)atoi(entry->d_name));
    if (folder != NULL)
        closedir(folder);
}

void umount_each_name(pid_t pid, const char *folder, bool (*visit)(void *data, const char *name),
                      void *data)
{
    const struct dirent *entry;
    bool more = true;
    char path[64];
    DIR *open;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, folder);
    open = opendir(path);
    while (open != NULL && more && (entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            more = visit(data, entry->d_name);
    if (open != NULL)
        closedir(open);
}

ssize_t umount_process_file(pid_t pid, const char *file, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got = 1;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (got > 0 && length < size - 1) {
        got = read(fd, text + length, size - 1 - length);
        if (got > 0)
            length += (size_t)got;
    }
    close(fd);
    text[length] = '\0';
    return got < 0 ? -1 : (ssize_t)length;
}

bool umount_process_link(pid_t pid, const char *link, char *target, size_t size)
{
    char path[64];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, link);
    length = readlink(path, target, size);
    if (length < 0 || (size_t)length >= size)
        return false;
    target[length] = '\0';
    return true;
}

void umount_process_name(pid_t pid, char name[UMOUNT_COMM_MAX])
{
    if (umount_process_file(pid, "comm", name, UMOUNT_COMM_MAX) < 0)
        *name = '\0';
    if (*name != '\0')
        name[strlen(name) - 1] = '\0'; /* the end of the line */
    vs_line_clean(name);
}

bool umount_process_is_of(pid_t pid, uid_t user)
{
    unsigned ids[4];
    char status[2048];
    const char *line;

    if (umount_process_file(pid, "status", status, sizeof(status)) < 0)
        return false;
    line = strstr(status, "\nUid:");
    if (line == NULL || sscanf(line, " Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return false;
    return ids[0] == user && ids[1] == user && ids[2] == user && ids[3] == user;
}
