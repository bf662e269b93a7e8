/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../src/core/load.h"

/* So many ranks of a view are checked before mounting; the rest when they are looked up. */
#define CHECKED_RANKS 1024

static int load_spec(struct fs_session *session)
{
    struct vs_error error = {0};
    char text[1536];

    if (mpiio_spec_load(session->options->spec, &session->options->overrides, &session->spec,
                        &error) == 0)
        return 0;
    fs_complain(session->options, "%s", vs_error_text(&error, text, sizeof(text)));
    return 2;
}

/* Compiles one rank's view and sees that slices can be made of it. */
static int check_rank(struct fs_session *session, size_t view, int64_t rank)
{
    struct fs_slice *slice;
    struct fs_node node = {.kind = FS_SLICE, .view = view, .rank = rank};
    struct vs_error error = {0};
    char text[1536];
    int failed = fs_slices_get(&session->slices, node, &slice, &error);

    if (failed == 0) {
        fs_slices_put(&session->slices, slice);
        return 0;
    }
    if (error.code != 0)
        fs_complain(session->options, "%s", vs_error_text(&error, text, sizeof(text)));
    else if (failed == -ENOTSUP)
        fs_complain(session->options, "%s: the view's data representation cannot be read",
                    session->options->spec);
    else
        fs_complain(session->options, "%s: %s", session->options->spec, strerror(-failed));
    return failed == -ENOMEM ? 1 : 2;
}

static int check_view(struct fs_session *session, size_t view)
{
    int64_t ranks = session->tree.ranks;
    int64_t count = ranks <= CHECKED_RANKS ? ranks : CHECKED_RANKS;
    const char *name = vs_spec_view_name(session->spec, view);
    struct vs_error error = {0};
    int status = 0;

    if (name != NULL && strlen(name) >= FS_NAME_SIZE) {
        fs_complain(session->options, "%s: the name of a view is longer than 255 bytes: %s",
                    session->options->spec, name);
        return 2;
    }
    if (vs_spec_view_is_common(session->spec, view)) {
        /* An error here is found and told by check_rank. */
        if (vs_spec_view(session->spec, view, 0, &session->common[view], &error) != 0)
            session->common[view] = NULL;
        count = 1;
    }
    for (int64_t i = 0; i < count && status == 0; i++) {
        int64_t rank = count == 1 ? 0 : i * (ranks - 1) / (count - 1);

        status = check_rank(session, view, rank);
    }
    return status;
}

static int check_views(struct fs_session *session)
{
    char *text;
    int status = 0;

    fs_tree_init(&session->tree, session->spec);
    text = vs_spec_resolved(session->spec);
    if (text != NULL && asprintf(&session->resolved, "%s\n", text) < 0)
        session->resolved = NULL;
    free(text);
    session->common = calloc(session->tree.views, sizeof(struct vs_view *));
    if (session->resolved == NULL || session->common == NULL) {
        fs_complain(session->options, "out of memory");
        return 1;
    }
    session->resolved_length = strlen(session->resolved);
    if (pthread_key_create(&session->buffer, free) != 0 ||
        fs_slices_init(&session->slices, &session->tree, session->store, session->common,
                       session->resolved_length) != 0) {
        fs_complain(session->options, "out of memory");
        return 1;
    }
    session->has_slices = true;
    for (size_t view = 0; view < session->tree.views && status == 0; view++)
        status = check_view(session, view);
    return status;
}

static int open_store(struct fs_session *session)
{
    const char *path = vs_spec_file(session->spec);
    int failed = mpiio_store_open(path, O_RDONLY, &session->store);

    if (failed != 0) {
        fs_complain(session->options, "%s: %s", path,
                    failed == -EINVAL ? "not a regular file or a block device" : strerror(-failed));
        return 1;
    }
    session->file = realpath(path, NULL);
    session->spec_path = realpath(session->options->spec, NULL);
    if (session->file == NULL || session->spec_path == NULL) {
        fs_complain(session->options, "%s: %s",
                    session->file == NULL ? path : session->options->spec, strerror(errno));
        return 1;
    }
    return 0;
}

static int check_mountpoint(struct fs_session *session)
{
    const char *path = session->options->mountpoint;
    struct stat st;

    session->mountpoint = realpath(path, NULL);
    if (session->mountpoint == NULL || stat(session->mountpoint, &st) != 0) {
        fs_complain(session->options, "%s: %s", path,
                    errno == ENOTCONN ? "a mount whose daemon is gone: unmount it first"
                                      : strerror(errno));
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) {
        fs_complain(session->options, "%s: %s", path, strerror(ENOTDIR));
        return 1;
    }
    return 0;
}

static int open_log(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    int failed = fs_log_open(&session->log, options->name, options->log, options->foreground);

    if (failed != 0) {
        fs_complain(options, "%s: %s", options->log, strerror(-failed));
        return 1;
    }
    return 0;
}

int fs_session_open(struct fs_session *session, const struct fs_options *options)
{
    int status;

    *session = (struct fs_session){.options = options, .ready = -1, .log = {.fd = -1}};
    session->mounted = time(NULL);
    status = load_spec(session);
    if (status == 0)
        status = open_store(session);
    if (status == 0)
        status = check_views(session);
    if (status == 0)
        status = check_mountpoint(session);
    if (status == 0)
        status = open_log(session);
    return status;
}

void fs_session_close(struct fs_session *session)
{
    if (session->fuse != NULL)
        fuse_session_destroy(session->fuse);
    if (session->has_slices) {
        fs_slices_free(&session->slices);
        free(pthread_getspecific(session->buffer));
        pthread_key_delete(session->buffer);
    }
    if (session->common != NULL)
        for (size_t view = 0; view < session->tree.views; view++)
            vs_view_unref(session->common[view]);
    free(session->common);
    mpiio_store_close(session->store);
    vs_spec_free(session->spec);
    fs_log_close(&session->log);
    free(session->resolved);
    free(session->file);
    free(session->spec_path);
    free(session->mountpoint);
}
