/* SPDX-License-Identifier: MIT */
#include "all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mounts/mountinfo.h"
#include "crew.h"

struct places {
    char **place; /* owned, as each of them is; the order of the kernel's table, the oldest first */
    size_t count;
};

static int add_place(struct places *places, const char *place)
{
    char **more = realloc(places->place, (places->count + 1) * sizeof(*more));

    if (more == NULL)
        return -ENOMEM;
    places->place = more;
    more[places->count] = strdup(place);
    if (more[places->count] == NULL)
        return -ENOMEM;
    places->count++;
    return 0;
}

static void release(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->place[i]);
    free(places->place);
}

/* Where the user has mounts. What is at one of these places by then, find_mount looks at again. */
static int find_places(uid_t owner, struct places *places)
{
    struct mounts_entry entry;
    FILE *table = fopen("/proc/self/mountinfo", "re");
    int error = table != NULL ? 0 : -errno;

    while (error == 0 && mounts_entry_next(table, &entry))
        if (strcmp(entry.type, "fuse.mpiio") == 0 && entry.owner == owner)
            error = add_place(places, entry.place);
    if (table != NULL)
        fclose(table);
    return error;
}

int unmount_all(const struct unmount_all *all)
{
    struct places places = {0};
    int error = find_places(all->owner, &places), status = 0;

    if (error != 0)
        fprintf(stderr, "mpiio-umount: cannot read the table of mounts: %s\n", strerror(-error));
    else
        status = unmount_crew(all, places.place, places.count);
    release(&places);
    return error != 0 ? 1 : status;
}
