/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fusefs/session.h"
#include "viewspec/alike.h"

/* Whether all ranks have the view; then it is kept as such. */
static bool is_common(struct fs_session *session, size_t view)
{
    struct vs_error why = {0};

    return session->common[view] != NULL ||
           (vs_spec_view_alike(session->spec, view, VS_ALIKE_STEPS) &&
            vs_spec_view(session->spec, view, 0, &session->common[view], &why) == 0);
}

static bool fits(struct fs_session *session, size_t view)
{
    return view < MPIIO_POINTERS_MAX && is_common(session, view) &&
           vs_view_gaps(session->common[view]) == NULL &&
           vs_map_facts(vs_view_map(session->common[view]))->tile_size > 0;
}

/* The end of a view's slice, in etypes. */
static int find_end(const struct fs_session *session, size_t view, int64_t *end)
{
    const struct vs_view *common = session->common[view];
    struct stat st;
    int64_t size;
    int error = mpiio_store_stat(session->store, &st);

    if (error != 0)
        return error;
    size = vs_view_slice_size(common, st.st_size);
    if (size < 0)
        return (int)size;
    *end = size / vs_view_facts(common)->etype_size;
    return 0;
}

/* Finds who has a "shared", and where its pointer begins. True where some have. */
static bool choose(struct fs_session *session, int64_t *start, int *error)
{
    bool any = false;

    for (size_t view = 0; view < session->tree.views && *error == 0; view++) {
        session->pointers.shared[view] = fits(session, view);
        any = any || session->pointers.shared[view];
        if (session->pointers.shared[view] && session->options->append)
            *error = find_end(session, view, &start[view]);
    }
    return any;
}

int fs_pointers_init(struct fs_session *session)
{
    struct fs_pointers *self = &session->pointers;
    struct mpiio_pointers_options options = {.count = session->tree.views};
    int64_t *start;
    int error = 0;

    if (session->mode->holds_writes || session->cluster.nodes > 1)
        return 0;
    self->shared = calloc(options.count, sizeof(*self->shared));
    start = calloc(options.count, sizeof(*start));
    options.start = start;
    if (self->shared == NULL || start == NULL)
        error = -ENOMEM;
    else if (choose(session, start, &error) && error == 0)
        error = mpiio_pointers_new(&options, &self->pointers);
    free(start);
    if (error == 0)
        session->tree.shared = self->shared;
    return error;
}

void fs_pointers_free(struct fs_pointers *pointers)
{
    mpiio_pointers_free(pointers->pointers);
    pointers->pointers = NULL;
    free(pointers->shared);
}
