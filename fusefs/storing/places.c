/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fusefs/session.h"

char *fs_places_text(const struct fs_session *session)
{
    const char *pointers = session->pointers.place;
    char *text;

    if (asprintf(&text, "%s\n%s", fs_pool_addresses(&session->pool),
                 pointers != NULL ? pointers : "") < 0)
        return NULL;
    return text;
}

/* The first or second line of each, and a zero byte: *chosen bytes; 0: all are empty. */
static char *choose(const char *places, size_t size, bool second, size_t *chosen)
{
    char *list = malloc(size + 1);
    bool any = false;

    *chosen = 0;
    for (size_t at = 0; list != NULL && at < size; at += strlen(places + at) + 1) {
        const char *text = places + at;
        size_t first = strcspn(text, "\n"), length = second ? 0 : first;

        if (second && text[first] == '\n') {
            text += first + 1;
            length = strlen(text);
        }
        memcpy(list + *chosen, text, length);
        list[*chosen + length] = '\0';
        *chosen += length + 1;
        any = any || length > 0;
    }
    if (!any)
        *chosen = 0;
    return list;
}

int fs_places_meet(struct fs_session *session, const char *places, size_t size)
{
    size_t of_pools, of_pointers;
    char *pools, *pointers;
    int error = -ENOMEM;

    if (size > 0 && places[size - 1] != '\0')
        return -EPROTO;
    pools = choose(places, size, false, &of_pools);
    pointers = choose(places, size, true, &of_pointers);
    if (pools != NULL && pointers != NULL)
        error = fs_pool_meet(session, pools, of_pools);
    if (error == 0)
        error = fs_pointers_meet(session, pointers, of_pointers);
    free(pools);
    free(pointers);
    return error;
}
