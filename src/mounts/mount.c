/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* The mount table of the kernel. */

/* The fixed fields, before the optional ones. PLACE is the mount point. */
enum { ID, PARENT, DEVICE, ROOT, PLACE, OPTIONS, FIELDS };

static bool is_octal(const char *text)
{
    return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' && text[2] >= '0' &&
           text[2] <= '7';
}

/* Decodes the kernel's \ooo escapes. Returns false if the result does not fit. */
static bool unescape_field(const char *text, char *to, size_t size)
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

/* Returns the number after name= in a list of options, or 0 if there is none. */
static unsigned option_number(const char *list, const char *name)
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
    entry->owner = option_number(options, "user_id");
    entry->group = option_number(options, "group_id");
    return sscanf(fields[DEVICE], "%u:%u", &entry->major, &entry->minor) == 2 &&
           unescape_field(fields[PLACE], entry->place, sizeof(entry->place)) &&
           unescape_field(type, entry->type, sizeof(entry->type));
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

/* Mounts. */

/* Returns the id of the mount that a descriptor belongs to. The kernel answers without the
   daemon. */
static int mount_id(int fd)
{
    char path[64], line[128];
    int id = -1;
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    if (info == NULL)
        return -1;
    while (id < 0 && fgets(line, sizeof(line), info) != NULL)
        if (sscanf(line, "mnt_id: %d", &id) != 1)
            id = -1;
    fclose(info);
    return id;
}

/* Finds the line of the table with that id. Returns 0 or a negative errno. */
static int find_entry(int id, struct mounts_entry *entry)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    bool found = false;

    if (table == NULL)
        return -errno;
    while (!found && mounts_entry_next(table, entry))
        found = entry->id == id;
    fclose(table);
    return found ? 0 : -EINVAL;
}

/* Stores the path of a descriptor, without links, in path. Returns 0 or a negative errno. */
static int path_of(int fd, char *path, size_t size)
{
    char link[MOUNTS_FD_LINK_SIZE];
    ssize_t length;

    mounts_fd_link(fd, link);
    length = readlink(link, path, size);
    if (length < 0)
        return -errno;
    if ((size_t)length >= size)
        return -ENAMETOOLONG;
    path[length] = '\0';
    return 0;
}

/*
 * Returns true if the mount still exists under that id. Once a mount has gone, the kernel reuses
 * its ids first.
 */
static bool is_there(const struct mounts_mount *mount, int id)
{
    const struct mounts_entry *was = &mount->entry;
    struct mounts_entry now;

    return id == was->id && find_entry(id, &now) == 0 && now.major == was->major &&
           now.minor == was->minor && now.owner == was->owner && strcmp(now.type, was->type) == 0 &&
           strcmp(now.place, was->place) == 0;
}

int mounts_open(const struct mounts_mount *mount)
{
    int fd = openat(mount->parent, mount->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? -ESTALE : -errno;
    if (is_there(mount, mount_id(fd)))
        return fd;
    close(fd);
    return -ESTALE;
}

/* Opens the parent folder of path, which has no links. */
static int hold_parent(struct mounts_mount *mount, char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL || strlen(slash + 1) >= sizeof(mount->name))
        return -EINVAL;
    strcpy(mount->name, slash[1] != '\0' ? slash + 1 : ".");
    slash[slash == path] = '\0';
    mount->parent = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return mount->parent >= 0 ? 0 : -errno;
}

int mounts_find(const char *path, struct mounts_mount *mount)
{
    char place[PATH_MAX];
    int fd = open(path, O_PATH | O_CLOEXEC);
    int error;

    if (fd < 0)
        return -errno;
    error = path_of(fd, place, sizeof(place));
    if (error == 0)
        error = find_entry(mount_id(fd), &mount->entry);
    close(fd);
    if (error == 0 && strcmp(place, mount->entry.place) != 0)
        error = -EINVAL; /* below a mount */
    if (error == 0)
        error = hold_parent(mount, place);
    if (error != 0)
        return error;
    fd = mounts_open(mount);
    close(fd < 0 ? mount->parent : fd);
    return fd < 0 ? fd : 0;
}

bool mounts_is_there(const struct mounts_mount *mount)
{
    return is_there(mount, mount->entry.id);
}

int mounts_detach(const struct mounts_mount *mount, bool lazily)
{
    char link[MOUNTS_FD_LINK_SIZE];
    int fd = mounts_open(mount);
    int error;

    if (fd < 0)
        return fd;
    if (lazily) {
        /* Unmount by the descriptor, so that no renaming can redirect it to another mount. */
        mounts_fd_link(fd, link);
        error = umount2(link, MNT_DETACH) == 0 ? 0 : -errno;
        close(fd);
        return error;
    }
    /* An open descriptor would make the mount busy. The open parent folder and NOFOLLOW protect
       this call instead. */
    close(fd);
    if (fchdir(mount->parent) != 0)
        return -errno;
    error = umount2(mount->name, UMOUNT_NOFOLLOW) == 0 ? 0 : -errno;
    return chdir("/") == 0 ? error : -errno;
}
