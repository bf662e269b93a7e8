/* SPDX-License-Identifier: MIT */
#include "users.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "text.h"

struct search {
    const struct mounts_mount *mount;
    char *list;
    size_t size;
    pid_t pid;
    bool found;
    char own[64];       /* this process's mount namespace */
    char seen[256][64]; /* those that have been looked at */
    size_t count;
};

/* A path at the mount point or below. */
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
    struct search *search = data;
    char link[300];

    snprintf(link, sizeof(link), "fd/%s", name);
    search->found = links_inside(search, link);
    return !search->found;
}

/* A mapping is known by its filesystem. */
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
    search->found =
        links_inside(search, "cwd") || links_inside(search, "root") || links_inside(search, "exe");
    if (!search->found)
        umount_each_name(pid, "fd", visit_descriptor, search);
    if (search->found || maps_inside(search)) {
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

/* Whether a namespace comes up for the first time. More than there is room for are left out. */
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

/* A filesystem that has gone leaves its number to the next one, which has another source or owner.
 */
static bool is_copy(const struct mounts_entry *entry, const struct mounts_entry *was)
{
    return entry->major == was->major && entry->minor == was->minor && entry->owner == was->owner &&
           strcmp(entry->type, was->type) == 0 && strcmp(entry->source, was->source) == 0;
}

/* Where the filesystem is mounted as the process sees it. */
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
