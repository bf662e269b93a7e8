/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/complain.h"
#include "fusefs/base/below.h"
#include "fusefs/session.h"
#include "viewspec/members/members.h"

static int refuse_below(const struct fs_session *session, const char *what, const char *path)
{
    mpiio_complain(session->options->name,
                   "%s%s: lies below the mount point, %s, and would be hidden by the mount "
                   "(mount elsewhere)",
                   what, path, session->options->mountpoint);
    return 1;
}

static int check_members_place(const struct fs_session *session, struct fs_below *below)
{
    const struct vs_members *members = vs_spec_members(session->spec);
    int status = 0;

    for (int64_t i = 0; i < vs_members_count(members) && status == 0; i++) {
        char *path = vs_members_file(members, i);
        char what[40];

        snprintf(what, sizeof(what), "member %lld, ", (long long)i);
        if (path != NULL && fs_below_has(below, path))
            status = refuse_below(session, what, path);
        free(path);
    }
    return status;
}

/* Returns the real path of the file, or of its folder where there is no file yet; NULL: neither. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL), *copy;

    if (real != NULL || errno != ENOENT)
        return real;
    copy = strdup(path);
    if (copy != NULL && asprintf(&real, "%s/.", dirname(copy)) < 0)
        real = NULL;
    free(copy);
    copy = real != NULL ? realpath(real, NULL) : NULL;
    free(real);
    return copy;
}

/*
 * Refuses a path that the mount would hide. The daemon opens it before it mounts, so it cannot wait
 * for itself; but users could not reach the file any longer.
 */
static int check_place(const struct fs_session *session, struct fs_below *below, const char *path)
{
    char *real = path != NULL ? resolve(path) : NULL;
    int status = 0;

    if (real != NULL && fs_below_has(below, real))
        status = refuse_below(session, "", path);
    free(real);
    return status;
}

int fs_places_check(const struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const char *paths[] = {options->shorthand == NULL ? options->spec : NULL, options->log,
                           vs_spec_members(session->spec) == NULL ? vs_spec_file(session->spec)
                                                                  : NULL};
    struct fs_below below;
    int status = 0;

    /* A later check reports a mount point that does not exist. */
    if (fs_below_init(&below, options->mountpoint) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && status == 0; i++)
        status = check_place(session, &below, paths[i]);
    if (status == 0 && vs_spec_members(session->spec) != NULL)
        status = check_members_place(session, &below);
    fs_below_free(&below);
    return status;
}
