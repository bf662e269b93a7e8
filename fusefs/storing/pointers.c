/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fusefs/session.h"
#include "viewspec/map/alike.h"

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

static void wait_for_others(void *data, bool waits)
{
    struct fs_session *session = data;

    fs_workers_waits(&session->workers, waits);
}

static void log_line(void *data, enum mpiio_log_level level, const char *line)
{
    struct fs_session *session = data;

    fs_log_line(&session->log, level, "%s", line);
}

static void tell_turn(void *data, size_t view, uint64_t turn, bool own)
{
    struct fs_session *session = data;

    if (session->ordered != NULL)
        mpiio_ordered_turn(session->ordered, view, turn, own);
}

/* The log says where the file may lack what the share took last. */
static void tell_passed(void *data, size_t view, uint64_t share, int node, int64_t position)
{
    struct fs_session *session = data;
    const struct vs_view *common = session->common[view];

    fs_log_line(&session->log, MPIIO_LOG_ERROR,
                "%s%sordered: node %d has ended, or is silent, at the turn of rank %lld: what it "
                "took last, before byte %lld of a slice, may be missing",
                session->tree.folders ? vs_spec_view_name(session->spec, view) : "",
                session->tree.folders ? "/" : "", node,
                (long long)(share % (uint64_t)session->tree.ranks),
                (long long)(position * vs_view_facts(common)->etype_size));
}

int fs_pointers_init(struct fs_session *session)
{
    struct fs_pointers *self = &session->pointers;
    size_t views = session->tree.views;
    struct mpiio_pointers_options options = {
        .count = views < MPIIO_POINTERS_MAX ? views : MPIIO_POINTERS_MAX,
        .node = session->cluster.node,
        .nodes = session->cluster.nodes > 1 ? session->cluster.nodes : 1,
        .ranks = session->tree.ranks,
        .timeout = (int)session->options->peer_timeout,
        .local = session->cluster.local,
        .wait = wait_for_others,
        .log = log_line,
        .turn = tell_turn,
        .passed = tell_passed,
        .data = session};
    int64_t *start;
    int error = 0;

    if (session->mode->holds_writes || session->cluster.nodes > MPIIO_POINTERS_NODES)
        return 0;
    self->shared = calloc(views, sizeof(*self->shared));
    start = calloc(views, sizeof(*start));
    options.start = start;
    if (self->shared == NULL || start == NULL)
        error = -ENOMEM;
    else if (choose(session, start, &error) && error == 0)
        error = mpiio_pointers_new(&options, &self->pointers);
    free(start);
    if (error == 0 && self->pointers != NULL)
        session->tree.shared = self->shared;
    /* No network that others could come by: the control connections will tell. */
    if (error == 0 && self->pointers != NULL && options.nodes > 1 &&
        mpiio_pointers_listen(self->pointers, &self->place) != 0)
        self->place = NULL;
    return error;
}

int fs_pointers_meet(struct fs_session *session, const char *places, size_t size)
{
    struct fs_pointers *self = &session->pointers;
    bool all = size > 0;

    for (size_t at = 0; at < size; at += strlen(places + at) + 1)
        all = all && places[at] != '\0';
    if (all && self->pointers != NULL)
        return mpiio_pointers_meet(self->pointers, places, size);
    session->tree.shared = NULL;
    return 0;
}

int fs_pointers_start(struct fs_pointers *pointers)
{
    return pointers->pointers != NULL && pointers->place != NULL
               ? mpiio_pointers_start(pointers->pointers)
               : 0;
}

void fs_pointers_free(struct fs_pointers *pointers)
{
    mpiio_pointers_free(pointers->pointers);
    pointers->pointers = NULL;
    free(pointers->shared);
    free(pointers->place);
}
