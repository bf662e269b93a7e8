/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/complain.h"
#include "core/base/process.h"
#include "core/base/thread.h"
#include "fusefs/jobs/jobs.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/passthrough.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/requests/requests.h"
#include "fusefs/requests/shared.h"
#include "fusefs/session.h"
#include "fusefs/storing/nodes.h"
#include "mounts/ending.h"

/* Mounting, and serving until the mount ends. */

static int add_option(char **list, const char *name, const char *value)
{
    char *option;
    int error;

    if (asprintf(&option, "%s%s", name, value) < 0)
        return -1;
    error = fuse_opt_add_opt_escaped(list, option);
    free(option);
    return error;
}

/* The argument vector for libfuse: a name and, behind -o, all options. */
static int fuse_arguments(const struct fs_session *session, struct fuse_args *arguments)
{
    const struct fs_options *options = session->options;
    char number[16];
    char *list = NULL;
    int error = 0;

    snprintf(number, sizeof(number), "%d", (int)options->max_read);
    if (options->fuse != NULL)
        error = fuse_opt_add_opt(&list, options->fuse);
    if (error == 0 && options->allow_other && !options->default_permissions)
        error = fuse_opt_add_opt(&list, "default_permissions");
    if (error == 0 && !options->has_fsname)
        error = add_option(&list, "fsname=", session->spec_path);
    if (error == 0 && !options->has_subtype)
        error = fuse_opt_add_opt(&list, "subtype=mpiio");
    if (error == 0 && options->access == FS_ACCESS_RO)
        error = fuse_opt_add_opt(&list, "ro");
    if (error == 0)
        error = add_option(&list, "max_read=", number);
    if (error == 0 &&
        (fuse_opt_add_arg(arguments, options->name) != 0 ||
         fuse_opt_add_arg(arguments, "-o") != 0 || fuse_opt_add_arg(arguments, list) != 0))
        error = -1;
    free(list);
    return error;
}

static int mount_session(struct fs_session *session)
{
    struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
    int error = fuse_arguments(session, &arguments);

    if (error == 0) {
        session->fuse =
            fuse_session_new(&arguments, &fs_operations, sizeof(fs_operations), session);
        error = session->fuse ? fuse_session_mount(session->fuse, session->mountpoint) : -1;
        /* A descriptor is mounted by the caller, at a place that is not known here. */
        if (session->options->fuse_fd < 0)
            session->device = fs_device_at(session->mountpoint);
        if (error == 0) {
            error = fs_init_answer_amend(session);
            if (error != 0)
                fuse_session_unmount(session->fuse);
        }
    }
    fuse_opt_free_args(&arguments);
    return error;
}

/* The first line of what was written to file, without the names of programs before it. */
static void first_line(int file, char *line, size_t size)
{
    ssize_t length = pread(file, line, size - 1, 0);
    static const char *const names[] = {"fuse: ", "fusermount3: ", "fusermount: "};

    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(line, names[i], strlen(names[i])) == 0)
            memmove(line, line + strlen(names[i]), strlen(line + strlen(names[i])) + 1);
}

/* Names the limit that was reached where line gives the text of its error. */
static void name_limit(char *line, size_t size)
{
    static const int errors[] = {EAGAIN, EMFILE, ENFILE};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        char *text = strstr(line, strerror(errors[i]));

        if (text != NULL)
            snprintf(text, size - (size_t)(text - line), "%s", mpiio_rlimit_text(-errors[i]));
    }
}

/* Returns a hint for an error of fusermount3, or "" (always for root). */
static const char *advice(const char *line)
{
    if (geteuid() == 0)
        return "";
    if (strstr(line, "exec fusermount3: No such file") != NULL)
        return " (install the package fuse3)";
    if (strstr(line, "mount failed: Operation not permitted") != NULL)
        return " (fusermount3 has to be set-user-ID root; a container needs CAP_SYS_ADMIN)";
    return "";
}

/*
 * libfuse and fusermount3 speak to stderr in their own ways: what they say is caught and told in
 * ours if the mount fails.
 */
static int mount_quietly(struct fs_session *session)
{
    int saved = dup(STDERR_FILENO);
    int caught = memfd_create("stderr", MFD_CLOEXEC);
    char line[512];
    int error;

    if (saved >= 0 && caught >= 0)
        dup2(caught, STDERR_FILENO);
    error = mount_session(session);
    if (saved >= 0 && caught >= 0)
        dup2(saved, STDERR_FILENO);
    if (error != 0) {
        first_line(caught, line, sizeof(line));
        name_limit(line, sizeof(line));
        mpiio_complain(session->options->name, "%s: cannot mount%s%s%s",
                       session->options->mountpoint, *line ? ": " : "", line, advice(line));
    }
    if (saved >= 0)
        close(saved);
    if (caught >= 0)
        close(caught);
    return error;
}

/*
 * The threads that handle SIGTERM, SIGINT and SIGHUP. The listener waits for these signals. On the
 * first one it starts the worker, which stores all written data while the mount still serves, and
 * then ends fs_workers_run. On later signals, and after the unmount, the listener logs what the
 * daemon waits for. Only SIGKILL makes the daemon discard unsaved data.
 */
struct signals {
    struct fs_session *session; /* borrowed */
    sigset_t set;               /* the signals */
    pthread_t listener, worker;
    atomic_bool ended; /* the listener exits on the next signal */

    pthread_mutex_t lock;
    bool working; /* the worker was started; lock: lock */
    bool over;    /* fs_workers_run has returned; lock: lock */
};

static void *store_all(void *data)
{
    struct signals *stop = data;
    struct fs_session *session = stop->session;
    int error = fs_sync_all(session);

    if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "not all is stored: %s", strerror(-error));
    /* Release writers that wait for space in the cache, because none will become free. */
    mpiio_cache_stop(session->cache);
    /* The notifier may wait for pages that are locked for reads that no worker has taken yet. */
    fs_fifo_drain(&session->notifier.fifo);
    fs_workers_end(&session->workers);
    return NULL;
}

/* Logs why the daemon ignores the signal. Only SIGKILL may lose data or break up the nodes. */
static void tell_signal(struct fs_session *session, bool over)
{
    const char *state = over && fs_cluster_is_on(&session->cluster)
                            ? "unmounted, and waiting for the other nodes to be"
                            : "still storing what was written";

    fs_log_line(&session->log, MPIIO_LOG_WARNING,
                "%s: SIGKILL would lose what is not stored, %lld bytes held here", state,
                (long long)fs_unsaved(session));
}

static void *listen(void *data)
{
    struct signals *stop = data;
    int number;

    while (sigwait(&stop->set, &number) == 0 && !atomic_load(&stop->ended)) {
        bool first, over;

        pthread_mutex_lock(&stop->lock);
        over = stop->over;
        first = !over && !stop->working && mpiio_thread_start(&stop->worker, store_all, stop) == 0;
        stop->working = stop->working || first;
        pthread_mutex_unlock(&stop->lock);
        if (!first)
            tell_signal(stop->session, over);
    }
    return NULL;
}

/*
 * Starts the listener. Call it after the notifier has started and before fs_workers_run, in the
 * same thread. Blocks the signals for good, because a second signal must not end the process
 * between fs_workers_run and the unmount. Returns 0 or a negative errno.
 */
static int signals_start(struct signals *stop, struct fs_session *session)
{
    int error;

    *stop = (struct signals){.session = session};
    pthread_mutex_init(&stop->lock, NULL);
    sigemptyset(&stop->set);
    sigaddset(&stop->set, SIGTERM);
    sigaddset(&stop->set, SIGINT);
    sigaddset(&stop->set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop->set, NULL);
    error = mpiio_thread_start(&stop->listener, listen, stop);
    if (error != 0)
        pthread_mutex_destroy(&stop->lock);
    return error;
}

/*
 * Waits for the worker, and prevents the listener from starting it later. Call it after
 * fs_workers_run has returned and before the notifier stops.
 */
static void signals_over(struct signals *stop)
{
    bool working;

    pthread_mutex_lock(&stop->lock);
    stop->over = true;
    working = stop->working;
    pthread_mutex_unlock(&stop->lock);
    if (working)
        pthread_join(stop->worker, NULL);
}

/* Stops the listener. Call it when the daemon has nothing left to wait for. */
static void signals_end(struct signals *stop)
{
    atomic_store(&stop->ended, true);
    pthread_kill(stop->listener, SIGTERM);
    pthread_join(stop->listener, NULL);
    pthread_mutex_destroy(&stop->lock);
}

/*
 * Serves until a signal or an unmount. Returns 0 or a negative errno; stop is to be ended where
 * *listens is true.
 */
static int serve(struct fs_session *session, struct signals *stop, bool *listens)
{
    struct fs_workers *workers = &session->workers;
    struct fs_fifo *const fifos[] = {&session->notifier.fifo, &session->dropper.fifo,
                                     &session->settling.fifo, &session->jobs.fifo};
    int error = fs_flusher_start(&session->flusher);

    for (size_t i = 0; i < sizeof(fifos) / sizeof(*fifos) && error == 0; i++)
        error = fs_fifo_start(fifos[i]);
    if (error == 0 && session->pool.pool != NULL)
        error = mpiio_pool_start(session->pool.pool);
    if (error == 0 && session->ordered != NULL && fs_cluster_is_on(&session->cluster))
        error = mpiio_ordered_start(session->ordered);
    if (error == 0 && session->tree.shared != NULL)
        error = mpiio_pointers_start(session->pointers.pointers);
    if (error == 0 && session->options->direct)
        error =
            fs_prefetch_start(&session->prefetchers, session, (unsigned)session->options->threads);
    fs_workers_init(workers, session->fuse, session->options->threads);
    if (error == 0)
        error = signals_start(stop, session);
    if (error == 0) {
        *listens = true;
        fs_grants_start(session);
        error = fs_workers_run(workers, fs_ordered_stop, session);
        fs_grants_end(session);
        signals_over(stop);
    }
    fs_prefetch_stop(&session->prefetchers);
    fs_workers_free(workers);
    for (int i = 0; i < 3; i++) /* settle stops that of the jobs */
        fs_fifo_stop(fifos[i]);
    return error;
}

/* Stores what was written since the last flush. */
static void flush_rest(struct fs_session *session)
{
    struct fs_flusher *flusher = &session->flusher;
    int error = 0;

    if (!fs_flusher_is_clean(flusher, true))
        error = fs_flusher_wait(flusher, true);
    if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "not all is stored: %s", strerror(-error));
}

/*
 * Places and stores what is left after the unmount. A node among several then waits until the
 * others have placed and stored theirs, because mpiio-umount waits for one daemon alone.
 */
static void settle(struct fs_session *session, struct mounts_ending *ending)
{
    struct fs_flusher *flusher = &session->flusher;
    bool node = fs_cluster_is_on(&session->cluster) && flusher->started;

    if (node && session->ordered != NULL)
        mpiio_ordered_close(session->ordered);
    fs_jobs_stop(&session->jobs);
    if (node) {
        flush_rest(session);
        fs_nodes_leave(session);
    }
    fs_ordered_finish(session, ending);
    if (!flusher->started)
        return;
    flush_rest(session);
    fs_flusher_finish(flusher);
    if (node)
        fs_nodes_quit(session);
    fs_flusher_stop(flusher);
}

/* Reports to mpiio-umount and to the log how many bytes are lost. Returns true if none are. */
static bool tell_lost(struct fs_session *session, struct mounts_ending *ending)
{
    int64_t lost = fs_unsaved(session);

    if (lost != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "%lld bytes that could not be stored are lost",
                    (long long)lost);
    if (ending != NULL)
        atomic_store(&ending->lost, lost);
    return lost == 0;
}

/* Makes the memory for that report, with what is lost if the daemon is killed. NULL: none. */
static struct mounts_ending *make_ending(struct fs_session *session)
{
    int memory;
    struct mounts_ending *ending =
        mpiio_sealed_memory(MOUNTS_ENDING, sizeof(*ending), F_SEAL_SEAL, &memory);

    if (ending == NULL)
        return NULL;
    atomic_store(&ending->lost, -1);
    if (session->ordered != NULL)
        mpiio_ordered_show(session->ordered, &ending->waiting);
    return ending;
}

static int serve_and_unmount(struct fs_session *session)
{
    struct mounts_ending *ending = make_ending(session);
    struct signals stop;
    bool listens = false;
    int error = serve(session, &stop, &listens);
    bool stored;

    /* It may have been taken away while files were open; what it was mounted on stays. */
    if (session->device != 0 && fs_device_at(session->mountpoint) == session->device)
        fuse_session_unmount(session->fuse);
    settle(session, ending);
    fs_removal_end(session, error);
    if (listens)
        signals_end(&stop);
    stored = tell_lost(session, ending);
    if (error != 0 && session->ready >= 0)
        mpiio_complain(session->options->name, "cannot serve the mount: %s",
                       mpiio_rlimit_text(error));
    else if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "the mount ended: %s",
                    mpiio_rlimit_text(error));
    return error == 0 && stored ? 0 : 1;
}

/* Waits for the child to serve, or to end. */
static int await_child(struct fs_session *session, pid_t child, int ready)
{
    char byte;
    int status;
    ssize_t got;

    while ((got = read(ready, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (got == 1)
        return 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        mpiio_complain(session->options->name, "the daemon was killed by signal %d",
                       WTERMSIG(status));
    fuse_session_unmount(session->fuse);
    return 1;
}

static int serve_in_child(struct fs_session *session)
{
    int ends[2];
    int status;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        mpiio_complain(session->options->name, "cannot start the daemon: %s",
                       mpiio_rlimit_text(-errno));
        fuse_session_unmount(session->fuse);
        return 1;
    }
    if (child == 0) {
        close(ends[0]);
        session->ready = ends[1];
        setsid();
        umask(0);
        return chdir("/") == 0 ? serve_and_unmount(session) : 1;
    }
    close(ends[1]);
    status = await_child(session, child, ends[0]);
    close(ends[0]);
    /* The mount is the child's now. libfuse would unmount it in order to release it. */
    if (status == 0)
        _exit(0);
    return status;
}

static const struct mpiio_peers_events peers_events = {
    .log = fs_session_log,
    .on_epoch = fs_flusher_on_epoch,
    .on_finished = fs_flusher_on_finished,
    .progress = fs_nodes_on_progress,
    .on_lease = fs_nodes_on_lease,
    .on_prepare = fs_atomic_on_prepare,
    .on_settled = fs_atomic_on_settled,
    .on_unmount = fs_unmount_on_unmount,
    .on_end = fs_nodes_on_end,
    .on_degraded = fs_nodes_on_degraded,
    .on_alone = fs_nodes_on_alone,
};

/* The engine has made this process a daemon. */
static int serve_as_node(struct fs_session *session)
{
    int status = fs_nodes_meet(session, &peers_events);

    if (status != 0 || mount_quietly(session) != 0)
        return 1;
    status = fs_nodes_await_start(session);
    if (status != 0) {
        fuse_session_unmount(session->fuse);
        return status;
    }
    umask(0);
    return chdir("/") == 0 ? serve_and_unmount(session) : 1;
}

int fs_session_run(struct fs_session *session)
{
    if (fs_cluster_is_on(&session->cluster))
        return serve_as_node(session);
    if (mount_quietly(session) != 0)
        return 1;
    return session->options->foreground ? serve_and_unmount(session) : serve_in_child(session);
}
