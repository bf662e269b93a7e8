/* SPDX-License-Identifier: MIT */
#include "mounts.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void start_look(struct view_mount *mount)
{
    mount->look = malloc(sizeof(*mount->look));
    mount->error = mount->look != NULL ? mounts_look_start(mount->look, mount->place) : -ENOMEM;
    if (mount->error == 0)
        return;
    free(mount->look);
    mount->look = NULL;
}

/* Makes the text that has been read the newest statistics. */
static void keep_stats(struct view_mount *mount, const char *text)
{
    json_t *stats = json_loads(text, 0, NULL);

    if (stats == NULL) {
        mount->error = -EIO;
        return;
    }
    json_decref(mount->before);
    mount->before = mount->stats;
    mount->time_before = mount->time;
    mount->stats = stats;
    mount->time = now();
}

/* Returns true once the look has brought something, or failed. */
static bool take_look(struct view_mount *mount)
{
    char text[MOUNTS_TEXT_MAX];
    int error;

    if (mount->look == NULL)
        return true;
    error = mounts_look_take(mount->look, text);
    if (error == -EINPROGRESS)
        return false;
    free(mount->look);
    mount->look = NULL;
    mount->error = error;
    if (error == 0)
        keep_stats(mount, text);
    return true;
}

void view_mounts_read(struct view_mounts *mounts, int limit)
{
    int64_t end = now() + (int64_t)limit * 1000000;
    size_t left = mounts->count;

    mounts_child_reap(); /* there may be no mount left to start a child for */
    mounts_child_make_room(mounts->count);
    for (size_t i = 0; i < mounts->count; i++)
        if (!mounts->list[i].look)
            start_look(&mounts->list[i]);
    while (left) {
        left = 0;
        for (size_t i = 0; i < mounts->count; i++)
            left += !take_look(&mounts->list[i]);
        if (left && now() > end)
            break;
        if (left)
            usleep(1000);
    }
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->list[i].look)
            mounts->list[i].error = -ETIMEDOUT;
}

static void release(struct view_mount *mount)
{
    if (mount->look) {
        mounts_look_abandon(mount->look);
        free(mount->look);
    }
    free(mount->place);
    json_decref(mount->stats);
    json_decref(mount->before);
}

/* Moves what is known of a mount from old, or begins anew. */
static int add_mount(struct view_mounts *mounts, struct view_mounts *old, const char *place)
{
    struct view_mount *list = realloc(mounts->list, (mounts->count + 1) * sizeof(*list));

    if (list == NULL)
        return -ENOMEM;
    mounts->list = list;
    list[mounts->count] = (struct view_mount){0};
    for (size_t i = 0; i < old->count; i++)
        if (old->list[i].place && !strcmp(old->list[i].place, place)) {
            list[mounts->count++] = old->list[i];
            old->list[i] = (struct view_mount){0};
            return 0;
        }
    list[mounts->count].place = strdup(place);
    return list[mounts->count].place ? (mounts->count++, 0) : -ENOMEM;
}

static bool is_known(const struct view_mounts *mounts, const char *place)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (!strcmp(mounts->list[i].place, place))
            return true;
    return false;
}

/*
 * The mount point as the kernel's table has it, new; NULL where there is no such folder. Nobody who
 * serves it is asked: it may hang.
 */
static char *whole_path(const char *place)
{
    char *copy = strdup(place), *slash, *folder, *whole = NULL;

    for (size_t length = copy ? strlen(copy) : 0; length > 1 && copy[length - 1] == '/';)
        copy[--length] = '\0';
    slash = copy ? strrchr(copy, '/') : NULL;
    if (slash)
        *slash = '\0';
    folder = copy ? realpath(slash ? (*copy ? copy : "/") : ".", NULL) : NULL;
    if (folder &&
        asprintf(&whole, "%s/%s", strcmp(folder, "/") ? folder : "", slash ? slash + 1 : copy) < 0)
        whole = NULL;
    free(folder);
    free(copy);
    return whole;
}

/* Adds the mount at a place of the table, if it is one of ours, and one of those wanted (NULL:
 * any). */
static int take_entry(struct view_mounts *mounts, struct view_mounts *old,
                      const struct mntent *entry, const char *wanted)
{
    if (strcmp(entry->mnt_type, "fuse.mpiio") != 0 || is_known(mounts, entry->mnt_dir) ||
        (wanted && strcmp(entry->mnt_dir, wanted) != 0))
        return 0;
    return add_mount(mounts, old, entry->mnt_dir);
}

/* Adds the mounts of the table, or the one at a place: -ENOENT where it is not there. */
static int search(struct view_mounts *mounts, struct view_mounts *old, const char *place)
{
    char *wanted = place ? whole_path(place) : NULL;
    FILE *table = setmntent("/proc/self/mounts", "re");
    struct mntent *entry;
    int error = table ? 0 : -errno;

    if (place && wanted == NULL)
        error = -ENOENT;
    while (!error && (entry = getmntent(table)))
        error = take_entry(mounts, old, entry, wanted);
    if (!error && wanted && !is_known(mounts, wanted))
        error = -ENOENT;
    if (table)
        endmntent(table);
    free(wanted);
    return error;
}

int view_mounts_find(struct view_mounts *mounts, char *const *places, size_t count,
                     const char **missing)
{
    struct view_mounts old = *mounts;
    int error = 0;

    *mounts = (struct view_mounts){0};
    if (!count)
        error = search(mounts, &old, NULL);
    for (size_t i = 0; i < count && !error; i++) {
        error = search(mounts, &old, places[i]);
        if (error == -ENOENT)
            *missing = places[i];
    }
    view_mounts_free(&old);
    return error;
}

void view_mounts_free(struct view_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        release(&mounts->list[i]);
    free(mounts->list);
    *mounts = (struct view_mounts){0};
}

int64_t view_stat(const json_t *stats, const char *path)
{
    char key[64];

    for (size_t length; *path && stats; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        stats = json_object_get(stats, key);
    }
    return json_integer_value(stats);
}

double view_stat_rate(const struct view_mount *mount, const char *path)
{
    int64_t more = view_stat(mount->stats, path) - view_stat(mount->before, path);
    double seconds = (double)(mount->time - mount->time_before) / 1e9;

    return mount->before && seconds > 0 && more > 0 ? (double)more / seconds : 0;
}
