/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/process.h"
#include "core/datarep.h"
#include "core/header.h"
#include "core/load.h"
#include "core/store_layers.h"
#include "fusefs/jobs/jobs.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/requests/requests.h"
#include "fusefs/requests/shared.h"
#include "fusefs/session.h"
#include "viewspec/members/members.h"

/* The most ranks of a view that are checked before mounting; the rest are checked at lookup. */
#define CHECKED_RANKS 1024

static void log_conversion(void *log, const char *message)
{
    fs_log_line(log, MPIIO_LOG_ERROR, "%s", message);
}

/*
 * Compares the digest of the spec's text, because the path may lead to another file on this node.
 */
static int check_digest(const struct fs_session *session)
{
    const struct fs_options *options = session->options;
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof(digest) + 1];
    bool shorthand;
    size_t length;
    const char *text = vs_spec_text(session->spec, &length, &shorthand);

    if (options->spec_digest == NULL)
        return 0;
    crypto_hash_sha256(digest, (const unsigned char *)text, length);
    sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
    if (strcmp(hex, options->spec_digest) == 0)
        return 0;
    return fs_fail(options, 2, "%s: the spec was changed before it was mounted (mount again)",
                   options->spec_name);
}

/*
 * Reports an error of the spec, and returns status. With --spec-name, the user has not seen the
 * text of the spec, so the line and the column are omitted.
 */
static int fail_spec(const struct fs_session *session, int status, struct vs_error *why)
{
    const struct fs_options *options = session->options;
    char text[1536];

    if (options->spec_name != options->spec && strcmp(why->source, options->spec) == 0) {
        snprintf(why->source, sizeof(why->source), "%s", options->spec_name);
        why->line = why->column = 0;
    }
    return fs_fail(options, status, "%s", vs_error_text(why, text, sizeof(text)));
}

static int load_spec(struct fs_session *session)
{
    struct mpiio_datarep_log conversions = {.report = log_conversion, .argument = &session->log};
    struct vs_overrides overrides = session->options->overrides;
    struct vs_error why = {0};
    const char *shorthand = session->options->shorthand;
    int error;

    overrides.from_options = true;
    overrides.datarep_argument = &conversions;
    error = shorthand != NULL
                ? mpiio_spec_load_shorthand(shorthand, &overrides, &session->spec, &why)
                : mpiio_spec_load(session->options->spec, &overrides, &session->spec, &why);
    if (error == 0)
        return check_digest(session);
    return fail_spec(session, 2, &why);
}

/* MPI 3.1, 13.3: the etypes of a filetype must not overlap if the file is open for writing. */
static int refuse_overlap(const struct fs_session *session, struct fs_node node)
{
    const char *name = vs_spec_view_name(session->spec, node.view);

    return fs_fail(
        session->options, 2,
        "%s: view%s%s, rank %lld: the view holds bytes of the file twice, so that it can "
        "only be mounted read-only (-o ro)",
        session->options->spec_name, name ? " " : "", name ? name : "", (long long)node.rank);
}

/* Compiles one rank's view and checks that it can be a slice. */
static int check_rank(struct fs_session *session, size_t view, int64_t rank)
{
    struct fs_slice *slice;
    struct fs_node node = {.kind = FS_SLICE, .view = view, .rank = rank};
    struct vs_error why = {0};
    int error = fs_slices_get(&session->slices, node, &slice, &why);
    int status = error == -ENOMEM ? 1 : 2;

    if (error == 0) {
        bool overlaps = session->read_only == 0 && !mpiio_slice_is_writable(slice->slice);

        fs_slices_put(&session->slices, slice);
        return overlaps ? refuse_overlap(session, node) : 0;
    }
    if (why.code != 0)
        return fail_spec(session, status, &why);
    return fs_fail(session->options, status, "%s: %s", session->options->spec_name,
                   strerror(-error));
}

static int check_view(struct fs_session *session, size_t view)
{
    int64_t ranks = session->tree.ranks;
    int64_t count = ranks <= CHECKED_RANKS ? ranks : CHECKED_RANKS;
    const char *name = vs_spec_view_name(session->spec, view);
    struct vs_error why = {0};
    int status = 0;

    if (name != NULL && strlen(name) >= FS_NAME_SIZE)
        return fs_fail(session->options, 2, "%s: the name of a view is longer than 255 bytes: %s",
                       session->options->spec_name, name);
    if (vs_spec_view_is_common(session->spec, view)) {
        /* check_rank finds and reports the same error. */
        if (vs_spec_view(session->spec, view, 0, &session->common[view], &why) != 0)
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
    size_t kept;
    int status = 0;

    fs_tree_init(&session->tree, session->spec, session->options->npy);
    if (session->options->local)
        fs_tree_localize(&session->tree, session->cluster.node, session->cluster.nodes);
    text = vs_spec_resolved(session->spec, true);
    if (text != NULL && asprintf(&session->resolved, "%s\n", text) < 0)
        session->resolved = NULL;
    free(text);
    session->common = calloc(session->tree.views + 1, sizeof(struct vs_view *));
    session->overlaps = (struct fs_overlaps){&session->slices, &session->notifier,
                                             calloc(session->tree.views + 1, sizeof(atomic_int))};
    if (session->resolved == NULL || session->common == NULL || session->overlaps.known == NULL)
        return fs_fail(session->options, 1, "out of memory");
    session->resolved_length = strlen(session->resolved);
    if (session->tree.whole)
        session->common[session->tree.views] = vs_members_whole(vs_spec_members(session->spec));
    if (fs_slices_init(&session->slices, &session->tree, session->store, session->common,
                       session->options->narrow, session->resolved_length) != 0)
        return fs_fail(session->options, 1, "out of memory");
    fs_read_buffers_init(&session->buffers, FS_READ_MAX);
    /*
     * Do not cache the slices of this check. They would take 4 MiB, and nobody has asked for them.
     */
    kept = session->slices.idle_limit;
    session->slices.idle_limit = 0;
    for (size_t view = 0; view < session->tree.views && status == 0; view++)
        status = check_view(session, view);
    session->slices.idle_limit = kept;
    return status;
}

/* Sets up the files for other programs that the options ask for. */
static int open_exports(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    unsigned wanted = (unsigned)options->nc << FS_NETCDF | (unsigned)options->vti << FS_VTK |
                      (unsigned)options->zarr << FS_ZARR;
    struct vs_error why = {0};
    int error;

    if (wanted == 0)
        return 0;
    error = fs_exports_init(&session->exports, &session->tree, session->store, wanted, &why);
    if (error == -EINVAL) {
        if (why.source[0] == '\0')
            snprintf(why.source, sizeof(why.source), "%s", options->spec);
        return fail_spec(session, 2, &why);
    }
    if (error != 0)
        return fs_fail(options, 1, "%s: %s", session->file, strerror(-error));
    if (session->exports.zarr != NULL && vs_spec_find_view(session->spec, "zarr") >= 0)
        return fs_fail(options, 2,
                       "%s: option zarr: the name is taken by a view (give the view another name)",
                       options->spec_name);
    session->tree.exports = &session->exports;
    return 0;
}

static bool is_no_permission(int error)
{
    return error == -EACCES || error == -EPERM || error == -EROFS || error == -ETXTBSY;
}

/*
 * Opens the shared file with the access that the mount options request. Without "rw", falls back to
 * read-only if the user may not write to it. Returns 0 or a negative errno.
 */
static int open_file(struct fs_session *session, struct vs_error *why)
{
    const struct fs_options *options = session->options;
    int error = -EROFS;

    if (options->access != FS_ACCESS_RO)
        error = mpiio_store_open_spec(session->spec, O_RDWR | (options->create ? O_CREAT : 0),
                                      &session->store, why);
    session->read_only = error;
    if (options->access == FS_ACCESS_RO ||
        (options->access == FS_ACCESS_BEST && is_no_permission(error))) {
        int only;

        *why = (struct vs_error){0};
        only = mpiio_store_open_spec(session->spec, O_RDONLY, &session->store, why);

        /* Report why a missing file could not be created. */
        error = only == -ENOENT && options->create ? error : only;
    }
    if (error == 0)
        mpiio_file_set_coherence(mpiio_store_file(session->store), options->coherence);
    return error;
}

/* Refuses a file whose header differs from the header that its spec was made from. */
static int check_header(const struct fs_session *session)
{
    char why[PATH_MAX + 256];

    if (mpiio_header_check(session->spec, why, sizeof(why)) == 0)
        return 0;
    return fs_fail(session->options, 1, "%s", why);
}

static void log_replaced(void *data, int64_t member, const char *path)
{
    struct fs_session *session = data;

    fs_log_line(&session->log, MPIIO_LOG_ERROR,
                "member %lld, %s: replaced by another file since it was mounted: access fails with "
                "ESTALE (unmount, and mount again)",
                (long long)member, path);
}

/* Reports why a file that is not assembled cannot be opened. Returns 1. */
static int refuse_file(const struct fs_session *session, int error)
{
    const char *path = vs_spec_file(session->spec);
    const char *advice = "";

    if (session->options->access == FS_ACCESS_RW && is_no_permission(error)) {
        struct mpiio_store *store;

        if (mpiio_store_open(path, O_RDONLY, &store) == 0) {
            mpiio_store_close(store);
            advice = " (mount it read-only with -o ro)";
        }
    } else if (error == -ENOENT && !session->options->create) {
        advice = " (create it with -o create, or name another with -f)";
    }
    return fs_fail(session->options, 1, "%s: %s%s", path,
                   error == -EINVAL ? "not a regular file or a block device" : strerror(-error),
                   advice);
}

/*
 * Opens the shared file. The name of an assembled one is a pattern, which realpath(3) cannot
 * resolve. Leaves session->file NULL, and sets errno, if the path cannot be kept. Returns an exit
 * status, 0 also in that case; open_store reports it.
 */
static int open_shared(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const char *path = vs_spec_file(session->spec);
    bool assembled = vs_spec_members(session->spec) != NULL;
    struct vs_error why = {0};
    int error;

    if (assembled && options->delete_on_close)
        return fs_fail(options, 2, "%s: delete_on_close is not possible with an assembled file",
                       options->spec_name);
    error = open_file(session, &why);
    if (error != 0 && !assembled)
        return refuse_file(session, error);
    if (error != 0)
        return why.code != 0 ? fail_spec(session, 1, &why)
                             : fs_fail(options, 1, "%s", strerror(-error));
    if (assembled)
        mpiio_assembled_on_replaced(mpiio_store_file(session->store), log_replaced, session);
    if (check_header(session) != 0)
        return 1;
    session->file = assembled ? strdup(path) : realpath(path, NULL);
    return 0;
}

/* Opens the shared file, and finds its path and the spec's. Returns an exit status. */
static int open_store(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    int status = options->sequential ? fs_sequential_prepare(session) : open_shared(session);

    if (status != 0)
        return status;
    /* Shorthand has no path, and a spec from a pipe has no usable one: use the file's instead. */
    if (session->file != NULL && options->shorthand == NULL)
        session->spec_path = realpath(options->spec, NULL);
    if (session->file != NULL && session->spec_path == NULL)
        session->spec_path = strdup(session->file);
    if (session->spec_path == NULL)
        return fs_fail(options, 1, "%s: %s", vs_spec_file(session->spec), strerror(errno));
    session->settling.store = session->store;
    session->durable =
        (struct fs_durable){.store = session->store, .writes = session->read_only == 0};
    return fs_removal_prepare(session);
}

/* Creates the write-back cache, if it is on, and the flusher that stores its data. */
static int set_up_cache(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    bool clustered = fs_cluster_is_on(&session->cluster);
    bool back = options->cache == FS_CACHE_BACK || (options->cache == FS_CACHE_AUTO && clustered);
    int error = 0;

    if (session->store != NULL) {
        mpiio_store_file(session->store)->wait = fs_workers_waits;
        mpiio_store_file(session->store)->wait_argument = &session->workers;
    }
    if (session->read_only != 0)
        back = false;
    if (back)
        error = mpiio_store_add_cache(session->store, options->dirty_max, &session->cache);
    if (error == 0 && (back || clustered))
        error = fs_flusher_init(&session->flusher, session);
    if (error == 0 && back)
        mpiio_cache_on_full(session->cache, fs_flusher_full, &session->flusher);
    if (error == -EFBIG)
        return fs_fail(options, 1,
                       "write-back: no room for its memory: %s (raise the limit with ulimit -f)",
                       strerror(-error));
    return error != 0 ? fs_fail(options, 1, "write-back: %s", mpiio_rlimit_text(error)) : 0;
}

/* Logs how the filesystem is treated if that slows down access, or was set by an option. */
static void log_filesystem(const struct fs_session *session)
{
    const struct mpiio_file *file = mpiio_store_file(session->store);
    const char *name = file->filesystem->name;
    enum mpiio_coherence coherence = file->coherence;

    if (session->options->coherence != MPIIO_COHERENCE_AUTO)
        fs_log_line(&session->log, MPIIO_LOG_INFO,
                    "%s: on %s, treated as coherence=%s (mount option)", session->file, name,
                    mpiio_coherence_name(coherence));
    else if (coherence != MPIIO_COHERENCE_LOCAL)
        fs_log_line(&session->log, MPIIO_LOG_INFO,
                    "%s: on %s, whose clients may have page caches of their own: treated as "
                    "coherence=%s",
                    session->file, name, mpiio_coherence_name(coherence));
}

static int open_log(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    int error = fs_log_open(&session->log, options->name, session->mountpoint, options->log,
                            options->foreground, options->log_level);

    if (error != 0)
        return fs_fail(options, 1, "%s: %s", options->log, strerror(-error));
    if (session->stream == NULL)
        log_filesystem(session);
    return 0;
}

/*
 * Lets the kernel hold back writes (mode unique) if no two slices share a byte. In this mode the
 * kernel assumes that a slice changes only by its own writes, and that it is zeros behind its end.
 * It would overwrite bytes of an overlapping slice, or behind the end, with its own.
 */
static int choose_mode(struct fs_session *session)
{
    bool disjoint = true, inside = false;
    int error = 0;

    if (!session->options->unique || session->cache != NULL || session->cluster.nodes > 1 ||
        fs_atomic_is_on(&session->atomic) || session->read_only != 0 || session->tree.views > 1 ||
        session->tree.npy || session->tree.whole || session->tree.exports != NULL)
        return 0;
    if (session->tree.ranks > 1)
        error = fs_overlaps_disjoint(&session->overlaps, 0, &disjoint);
    if (error == 0 && disjoint)
        error =
            fs_overlaps_ends_inside(&session->tree, 0, mpiio_store_size(session->store), &inside);
    if (error != 0)
        return fs_fail(session->options, 1, "%s: %s", session->options->spec_name,
                       strerror(-error));
    if (disjoint && !inside)
        session->mode = FS_MODE_UNIQUE;
    return 0;
}

static int set_up_pointers(struct fs_session *session)
{
    int error = fs_pointers_init(session);

    if (error == 0)
        error = fs_ordered_init(session);
    return error != 0
               ? fs_fail(session->options, 1, "shared file pointers: %s", mpiio_rlimit_text(error))
               : 0;
}

/* Initializes the parts that do not need the file. */
static void begin_session(struct fs_session *session, const struct fs_options *options)
{
    *session = (struct fs_session){.options = options,
                                   .mode = options->direct ? FS_MODE_DIRECT : FS_MODE_SHARED,
                                   .ready = -1,
                                   .pointers = {.record = {.folder = -1}},
                                   .log = {.fd = -1}};
    session->mounted = time(NULL);
    fs_trace_init(&session->trace, &session->log, &session->tree);
    fs_unwritten_init(&session->unwritten);
    session->flusher.wake = -1;
    fs_dropper_init(&session->dropper, session);
    fs_dropper_init(&session->notifier, session);
    fs_settling_init(&session->settling, &session->flusher, &session->workers);
    fs_jobs_init(&session->jobs, session);
    fs_atomic_init(&session->atomic, &session->workers);
}

int fs_mount_open(struct fs_session *session, const struct fs_options *options)
{
    /* Each step returns an exit status. */
    static int (*const steps[])(struct fs_session * session) = {
        fs_cluster_init,    load_spec,           fs_places_check,      open_store,
        fs_rights_init,     set_up_cache,        fs_pool_init,         fs_atomic_start,
        check_views,        open_exports,        choose_mode,          set_up_pointers,
        fs_sequential_open, fs_passthrough_init, fs_places_mountpoint, open_log,
    };
    int status = 0;

    begin_session(session, options);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && status == 0; i++)
        status = steps[i](session);
    return status;
}

void fs_mount_close(struct fs_session *session)
{
    /* Other nodes' events may arrive until this call returns. */
    fs_cluster_free(&session->cluster);
    fs_pool_free(&session->pool);
    /* Turn notifications may arrive until this call returns. */
    fs_pointers_free(&session->pointers);
    mpiio_ordered_free(session->ordered);
    mpiio_stream_free(session->stream);
    fs_flusher_free(&session->flusher);
    fs_jobs_free(&session->jobs);
    fs_dropper_free(&session->notifier);
    fs_dropper_free(&session->dropper);
    fs_settling_free(&session->settling);
    fs_atomic_free(&session->atomic);
    if (session->fuse != NULL)
        fuse_session_destroy(session->fuse);
    if (session->slices.open != NULL) {
        fs_slices_free(&session->slices);
        fs_read_buffers_free(&session->buffers);
    }
    fs_unwritten_free(&session->unwritten);
    if (session->common != NULL)
        for (size_t view = 0; view <= session->tree.views; view++)
            vs_view_unref(session->common[view]);
    free(session->common);
    fs_exports_free(&session->exports);
    free(session->overlaps.known);
    mpiio_store_drop_cache(session->store, session->cache);
    mpiio_store_close(session->store);
    vs_spec_free(session->spec);
    fs_trace_free(&session->trace);
    fs_log_close(&session->log);
    fs_rights_free(&session->rights);
    fs_removal_free(&session->removal);
    free(session->resolved);
    free(session->file);
    free(session->spec_path);
    free(session->mountpoint);
}
