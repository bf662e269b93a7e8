/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewspec/base/line.h"

/* Untrusted text. */

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

/* Processes. */

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

bool umount_each_name(pid_t pid, const char *folder, bool (*visit)(void *data, const char *name),
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
    return more;
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
        name[strlen(name) - 1] = '\0'; /* remove the newline */
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

/* Finding users of a mount. */

struct search {
    const struct mounts_mount *mount;
    char *list;
    size_t size;
    pid_t pid;
    char own[64];       /* this process's mount namespace */
    char seen[256][64]; /* the namespaces that have been examined */
    size_t count;
};

/* Returns true for a path at the mount point or below. */
static bool is_inside(const struct search *search, const char *path)
{
    const char *place = search->mount->entry.place;
    size_t length = strlen(place);

    return strncmp(path, place, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool links_inside(const struct search *search, const char *link)
{
    char target[PATH_MAX];

    return umount_process_link(search->pid, link, target, sizeof(target)) &&
           is_inside(search, target);
}

static bool visit_descriptor(void *data, const char *name)
{
    char link[300];

    snprintf(link, sizeof(link), "fd/%s", name);
    return !links_inside(data, link);
}

/* A mapping is matched by the device number of its filesystem. */
static bool maps_inside(const struct search *search)
{
    unsigned major, minor;
    bool found = false;
    char *line = NULL, path[64];
    size_t size = 0;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)search->pid);
    maps = fopen(path, "re");
    while (maps != NULL && !found && getline(&line, &size, maps) > 0)
        found = sscanf(line, "%*s %*s %*s %x:%x", &major, &minor) == 2 &&
                major == search->mount->entry.major && minor == search->mount->entry.minor;
    free(line);
    if (maps != NULL)
        fclose(maps);
    return found;
}

static bool visit_user(void *data, pid_t pid)
{
    struct search *search = data;
    char name[UMOUNT_COMM_MAX];

    search->pid = pid;
    if (pid == getpid())
        return true;
    if (links_inside(search, "cwd") || links_inside(search, "root") ||
        links_inside(search, "exe") || !umount_each_name(pid, "fd", visit_descriptor, search) ||
        maps_inside(search)) {
        umount_process_name(pid, name);
        if (*name != '\0')
            umount_list_process(search->list, search->size, name, pid);
    }
    return true;
}

void umount_users(const struct mounts_mount *mount, char *list, size_t size)
{
    struct search search = {.mount = mount, .list = list, .size = size};

    *list = '\0';
    umount_each_process(visit_user, &search);
}

/* Returns true if a namespace is new. Ignores namespaces that exceed the room of the table. */
static bool is_new(struct search *search, const char *namespace)
{
    for (size_t i = 0; i < search->count; i++)
        if (strcmp(search->seen[i], namespace) == 0)
            return false;
    if (search->count == sizeof(search->seen) / sizeof(*search->seen))
        return false;
    strcpy(search->seen[search->count++], namespace);
    return true;
}

/* Compares source and owner, too: once a filesystem has gone, the next one may get its number. */
static bool is_copy(const struct mounts_entry *entry, const struct mounts_entry *was)
{
    return entry->major == was->major && entry->minor == was->minor && entry->owner == was->owner &&
           strcmp(entry->type, was->type) == 0 && strcmp(entry->source, was->source) == 0;
}

/* Finds the mount of the filesystem in the namespace of the process. */
static bool find_copy(const struct search *search, struct mounts_entry *entry)
{
    bool found = false;
    char path[64];
    FILE *table;

    snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)search->pid);
    table = fopen(path, "re");
    while (table != NULL && !found && mounts_entry_next(table, entry))
        found = is_copy(entry, &search->mount->entry);
    if (table != NULL)
        fclose(table);
    return found;
}

static bool visit_namespace(void *data, pid_t pid)
{
    struct search *search = data;
    char namespace[64], name[UMOUNT_COMM_MAX];
    struct mounts_entry entry;
    size_t length = strlen(search->list);

    search->pid = pid;
    if (!umount_process_link(pid, "ns/mnt", namespace, sizeof(namespace)) ||
        !is_new(search, namespace) || !find_copy(search, &entry))
        return true;
    umount_process_name(pid, name);
    if (strcmp(namespace, search->own) == 0)
        snprintf(search->list + length, search->size - length, "%sat %s", length > 0 ? ", " : "",
                 entry.place);
    else
        snprintf(search->list + length, search->size - length,
                 "%sin the mount namespace of %s (%d)", length > 0 ? ", " : "", name, (int)pid);
    return true;
}

void umount_copies(const struct mounts_mount *mount, char *list, size_t size)
{
    struct search search = {.mount = mount, .list = list, .size = size};

    *list = '\0';
    if (!umount_process_link(getpid(), "ns/mnt", search.own, sizeof(search.own)))
        *search.own = '\0';
    umount_each_process(visit_namespace, &search);
}
