/* SPDX-License-Identifier: MIT */
#include "unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "mounts/child.h"
#include "mounts/look.h"
#include "mounts/mount.h"
#include "process.h"
#include "viewspec/base/line.h"

/* Aborting a connection. */

/*
 * The kernel's control files of a mount's connection. One of them aborts the connection. No signal
 * ends a daemon that waits for an answer from its own mount (state D): it waits for the connection,
 * which lives as long as the daemon does. Aborting the connection ends all its requests, which
 * releases the daemon.
 */

/* Returns a new descriptor of the control filesystem, mounted nowhere, or -1. For root. */
static int mount_control(void)
{
    int control = fsopen("fusectl", FSOPEN_CLOEXEC);
    int folder = -1;

    if (control >= 0 && fsconfig(control, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        folder = fsmount(control, FSMOUNT_CLOEXEC, 0);
    if (control >= 0)
        close(control);
    return folder;
}

/*
 * Opens a control file of the mount's connection, while the mount exists: "abort" (O_WRONLY), or
 * "waiting" (O_PATH), which has a value as long as the connection is alive. The connection ends
 * with the last mount of the filesystem in any mount namespace. Returns a new descriptor, which
 * refers to that connection alone: after it has ended, the descriptor does not reach another
 * connection that gets its number. Returns a negative errno on failure: -ESTALE if the mount has
 * gone. A user other than root gets -ENOENT if /sys/fs/fuse/connections is not mounted; root does
 * not need that folder.
 */
static int open_control(const struct mounts_mount *mount, const char *file, int flags)
{
    char name[32];
    int folder =
        geteuid() == 0 ? mount_control() : open("/sys/fs/fuse/connections", O_PATH | O_CLOEXEC);
    int fd, error;

    if (folder < 0)
        return -errno;
    snprintf(name, sizeof(name), "%u/%s", mount->entry.minor, file);
    fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
    error = fd < 0 ? -errno : 0;
    close(folder);
    /* The number belongs to the mount while it exists, so no other connection had it meanwhile. */
    if (error == 0 && !mounts_is_there(mount)) {
        close(fd);
        error = -ESTALE;
    }
    return error != 0 ? error : fd;
}

/* Returns true if the connection of that descriptor is alive. Returns false if fd < 0. */
static bool is_connected(int fd)
{
    char path[MOUNTS_FD_LINK_SIZE], text[32];
    bool connected;

    if (fd < 0)
        return false;
    /* Open the file again, because it can be read only once. It is empty if the connection has
       ended. */
    mounts_fd_link(fd, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    connected = fd >= 0 && read(fd, text, sizeof(text)) > 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

/* Aborts the connection of the descriptor. Does nothing if it has ended, or fd < 0. */
static void abort_connection(int fd)
{
    if (fd >= 0 && write(fd, "1", 1) < 0)
        return; /* the connection has ended */
}

/* ms for a daemon to exit, after it has last waited for contributions to "ordered". */
#define PATIENCE 30000
/* ms for a mount to return its statistics. */
#define ANSWER 5000
/* ms after which copies of the mount are reported. A container that is starting may have a copy
   for a moment. */
#define COPIES     5000
#define AGAIN      1000 /* ms until copies are searched again */
#define NODES_MAX  (1 << 20)
#define LIST_MAX   1024
#define OUTPUT_MAX 1024
/* Attempts if a mount is busy but no user of it is visible, and ns between two. Listing open
   files, for example, makes a mount busy for a moment. */
#define BUSY_TRIES 50
#define BUSY_PAUSE 20000000

void unmount_say(const char *subject, const char *format, ...)
{
    char *text = NULL, *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text != NULL && asprintf(&line, "mpiio-umount: %s: %s", subject, text) >= 0) {
        vs_line_clean(line);
        fprintf(stderr, "%s\n", line);
        free(line);
    }
    free(text);
}

/* Returns the text for an error of a read from the mount. */
static const char *error_name(int error)
{
    return error == -ETIMEDOUT ? "no answer" : strerror(-error);
}

/* Returns true if the mount has gone: an mpiio-umount on another node may remove it at any time. */
static bool is_gone(const struct unmount *job)
{
    return !mounts_is_there(&job->mount);
}

/* With --all, returns true if the mount has gone, or something else has taken its place. */
static bool is_left(const struct unmount *job, int error)
{
    const struct mounts_entry *entry = &job->mount.entry;

    if (job->owner == NULL)
        return false;
    if (error != 0)
        return error == -EINVAL || error == -ESTALE || error == -ENOENT;
    return strcmp(entry->type, "fuse.mpiio") != 0 || entry->owner != *job->owner;
}

/* Returns 0, or 1 after printing why it cannot be unmounted, or -1 if there is nothing to do. */
static int find_mount(struct unmount *job)
{
    const char *type = job->mount.entry.type;
    int error = mounts_find(job->path, &job->mount);

    if (is_left(job, error))
        return -1;
    if (error != 0)
        unmount_say(job->mountpoint, "%s",
                    error == -EINVAL || error == -ESTALE ? "not mounted" : strerror(-error));
    else if (strcmp(type, "fuse.mpiio") != 0)
        unmount_say(job->mountpoint, "a mount of type %s, not fuse.mpiio", type);
    else
        return 0;
    return 1;
}

/* Finds the daemon, and asks the mount for the number of nodes. */
static void find_daemon(struct unmount *job, int limit)
{
    char stats[MOUNTS_TEXT_MAX];
    int error = mounts_look_stats(&job->mount, limit, stats);
    int64_t nodes = umount_stat(stats, "nodes", 1);
    bool ended = error == -ENOTCONN || error == -ECONNABORTED;

    /* The daemon of a mount that has gone may have a descriptor with the same number. */
    umount_daemon_find(&job->mount, umount_stat(stats, "pid", 0), ended, &job->daemon);
    job->dead = ended && job->daemon.pid == 0;
    job->silent = error == -ETIMEDOUT;
    if (error == 0 && nodes > 1 && nodes <= NODES_MAX && strstr(stats, "\"state\": \"ok\"") != NULL)
        job->nodes = nodes;
    else
        job->nodes = 1;
}

/* Stores in text how much could not be stored, prefixed by before; or "" if nothing was lost. */
static void add_lost(const struct unmount *job, const char *before, char *text, size_t size)
{
    char stats[MOUNTS_TEXT_MAX];
    int64_t lost, dirty;

    *text = '\0';
    if (mounts_look_stats(&job->mount, 2000, stats) != 0)
        return;
    lost = umount_stat(stats, "lost_bytes", 0);
    dirty = umount_stat(stats, "dirty_bytes", 0);
    if (lost > 0 || dirty > 0)
        snprintf(text, size, "%s%llu bytes could not be stored", before,
                 (unsigned long long)lost + (unsigned long long)dirty);
}

/*
 * Stores all data by an fsync of the mount point. With -f it does not wait for a daemon that does
 * not answer, and gives up data that cannot be stored. Returns true if unmounting can continue.
 */
static bool sync_all(struct unmount *job)
{
    int limit = job->force ? ANSWER : MOUNTS_NO_LIMIT;
    /* With --all, the mount has already had more time to answer. */
    bool hopeless = job->silent && job->owner != NULL;
    int error = hopeless ? -ETIMEDOUT : mounts_look_sync(&job->mount, limit);
    char lost[128] = "";

    /* If the connection or the daemon has ended, nothing can be stored any longer. */
    if (error == 0 || error == -ENOTCONN || error == -ECONNABORTED || is_gone(job))
        return true;
    job->lost = job->force;
    if (error == -EACCES && job->mount.entry.owner != (long)geteuid())
        snprintf(lost, sizeof(lost), " (only user %ld or root can unmount it)",
                 (long)job->mount.entry.owner);
    else if (!hopeless)
        add_lost(job, job->force ? "; given up: " : "; ", lost, sizeof(lost));
    if (job->force)
        unmount_say(job->mountpoint, "not synced: %s%s", error_name(error), lost);
    else
        unmount_say(job->mountpoint, "cannot sync: %s%s; still mounted", error_name(error), lost);
    return job->force;
}

/* Prints the daemon's reasons why the nodes stay mounted, or a line of its own if there are
   none. */
static void say_unsaved(const struct unmount *job, int error)
{
    char text[MOUNTS_TEXT_MAX];
    char *save = NULL, *line;

    if (mounts_look_attribute(&job->mount, "user.mpiio.unsaved", 2000, text) != 0 || *text == '\0')
        snprintf(text, sizeof(text), "cannot unmount all nodes: %s", error_name(error));
    for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        unmount_say(job->mountpoint, "%s", line);
}

/*
 * Makes all nodes store their data, and all except this one unmount. If a node has failed, the
 * others must be unmounted one by one. Returns true if unmounting can continue.
 */
static bool unmount_others(const struct unmount *job)
{
    const char *name = job->force ? "user.mpiio.unmount_force" : "user.mpiio.unmount";
    char text[MOUNTS_TEXT_MAX], users[LIST_MAX];
    int error;

    umount_users(&job->mount, users, sizeof(users));
    if (*users != '\0' && !job->force) {
        unmount_say(job->mountpoint, "busy: in use by %s", users);
        return false;
    }
    error = mounts_look_attribute(&job->mount, name, job->force ? 15000 : MOUNTS_NO_LIMIT, text);
    if (error == 0 || error == -ENOTCONN || is_gone(job))
        return true;
    say_unsaved(job, error);
    return job->force;
}

/* Unmounts in a child, which can be left behind if it blocks. */
static int detach_as_root(void *data, int out)
{
    const struct unmount *job = data;
    int error = mounts_detach(&job->mount, job->force);
    const char *text = error != 0 ? strerror(-error) : "";

    return write(out, text, strlen(text)) < 0 || error != 0;
}

static int detach_as_user(void *data, int out)
{
    const struct unmount *job = data;
    const char *argv[] = {"fusermount3", job->force ? "-uz" : "-u", "--", job->mount.entry.place,
                          NULL};

    setenv("LC_ALL", "C", 1);
    return mounts_child_exec(argv, out);
}

/* Tries to unmount; output gets the error text. Returns 0, or as mounts_child_finish. */
static int try_to_detach(const struct unmount *job, char output[OUTPUT_MAX])
{
    struct mounts_child child;
    size_t length = 0;
    int error = mounts_child_start(&child, geteuid() == 0 ? detach_as_root : detach_as_user,
                                   (void *)job, job->mount.parent);

    memset(output, 0, OUTPUT_MAX);
    if (error == 0)
        return mounts_child_finish(&child, output, OUTPUT_MAX - 1, &length,
                                   job->force ? 5000 : MOUNTS_NO_LIMIT);
    snprintf(output, OUTPUT_MAX, "%s", strerror(-error));
    return error;
}

/* Returns the reason in output's first line, without the names of fusermount3 and the mount. */
static const char *reason_in(const struct unmount *job, char *output)
{
    static const char program[] = "fusermount3: ";
    const char *place = job->mount.entry.place, *behind;

    output[strcspn(output, "\n")] = '\0';
    if (strncmp(output, program, strlen(program)) == 0)
        output += strlen(program);
    behind = strstr(output, place);
    if (behind != NULL && strncmp(behind + strlen(place), ": ", 2) == 0)
        return behind + strlen(place) + 2;
    return output;
}

/* Returns true if the mount is in use. users lists the processes that are visible. */
static bool is_busy(const struct unmount *job, const char *reason, char users[LIST_MAX])
{
    umount_users(&job->mount, users, LIST_MAX);
    return strcasestr(reason, "busy") != NULL || (*reason == '\0' && *users != '\0');
}

/*
 * Detaches the mount. -f also detaches a mount that is in use, and waits for a limited time: when
 * the daemon is killed, the kernel finishes what is left. If the mount is busy without a visible
 * user, it is tried again for a while. Returns true if the mount has gone.
 */
static bool detach_mount(const struct unmount *job)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE};
    char output[OUTPUT_MAX], users[LIST_MAX];
    const char *reason;
    bool busy;
    int tries = 0;

    do {
        int error = try_to_detach(job, output);

        if (error == 0 || is_gone(job) || (error == -ETIMEDOUT && job->force))
            return true;
        reason = reason_in(job, output);
        busy = is_busy(job, reason, users);
    } while (busy && *users == '\0' && ++tries < BUSY_TRIES && nanosleep(&pause, NULL) == 0);
    if (busy)
        unmount_say(job->mountpoint, "busy%s%s (-f unmounts it all the same)",
                    *users != '\0' ? ": in use by " : "", users);
    else
        unmount_say(job->mountpoint, "cannot unmount: %s%s",
                    *reason != '\0' ? reason : "not permitted",
                    strstr(reason, "/etc/mtab: No such file") != NULL
                        ? " (ln -s /proc/self/mounts /etc/mtab creates it)"
                        : "");
    return false;
}

/*
 * Waits for the daemon's end. If the filesystem is also mounted elsewhere, reports that instead:
 * sync_all() has stored everything except the waiting bytes of "ordered".
 */
static int await_end(const struct unmount *job)
{
    char copies[LIST_MAX];
    long pid = job->daemon.pid;
    int64_t before;
    bool unreported;

    if (mounts_process_ends_within(job->daemon.process, COPIES))
        return 0;
    *copies = '\0';
    if (!job->force) /* -f has ended the daemon even if copies exist */
        umount_copies(&job->mount, copies, sizeof(copies));
    /* A container that is starting may have a copy of the mount for a moment. Look again later. */
    if (*copies != '\0' || is_connected(job->waiting)) {
        if (mounts_process_ends_within(job->daemon.process, AGAIN))
            return 0;
        umount_copies(&job->mount, copies, sizeof(copies));
    }
    if (*copies == '\0' && is_connected(job->waiting))
        snprintf(copies, sizeof(copies), "in a mount namespace of another user");
    if (*copies != '\0') {
        int64_t bytes = job->ending >= 0 ? umount_ending_lost(job->ending, &unreported) : 0;
        char waits[80] = "";

        if (bytes > 0)
            snprintf(waits, sizeof(waits), "; %lld bytes of ordered wait for their turn",
                     (long long)bytes);
        unmount_say(
            job->mountpoint,
            "unmounted here, but still mounted %s%s; the daemon (process %ld) keeps running "
            "(SIGTERM to it unmounts everywhere)",
            copies, waits, pid);
        return bytes > 0;
    }
    do {
        before = umount_ending_waits(job->ending);
        if (mounts_process_ends_within(job->daemon.process, PATIENCE - COPIES))
            return 0;
    } while (before != umount_ending_waits(job->ending));
    unmount_say(job->mountpoint, "unmounted, but its daemon (process %ld) is still running", pid);
    return 1;
}

/*
 * With -f, kills a daemon that does not exit by itself. A daemon that waits for its own mount
 * cannot be killed; aborting the connection releases it.
 */
static void end_daemon(const struct unmount *job)
{
    if (!mounts_process_ends_within(job->daemon.process, 1000))
        pidfd_send_signal(job->daemon.process, SIGTERM, NULL, 0);
    if (!mounts_process_ends_within(job->daemon.process, 2000))
        pidfd_send_signal(job->daemon.process, SIGKILL, NULL, 0);
    if (!mounts_process_ends_within(job->daemon.process, 2000))
        abort_connection(job->abort);
}

/* Waits for the daemon of a detached mount, or ends it. Returns the status to exit with. */
static int await_daemon(const struct unmount *job)
{
    /* With --node, the daemon stays, without data: the other nodes cannot flush without it. */
    if (job->nodes > 1 && job->alone)
        return 0;
    /* A killed daemon may still exist, without descriptors that would identify it. */
    if (job->daemon.pid == 0) {
        abort_connection(job->abort);
        return 0;
    }
    if (job->force)
        end_daemon(job);
    if (is_gone(job))
        return await_end(job);
    unmount_say(job->mountpoint, "cannot unmount: no answer");
    return 1;
}

/* Reports what the daemon, which has exited, could not store. Returns the status to exit with. */
static int say_lost(const struct unmount *job)
{
    bool killed = false;
    int64_t lost = umount_ending_lost(job->ending, &killed);

    /* A line about what -f gives up has been printed before; "ordered" was not part of it. */
    if (lost <= 0 || (job->lost && !killed))
        return 0;
    if (killed)
        unmount_say(job->mountpoint,
                    "unmounted, but %lld bytes of ordered that waited for their turn are lost",
                    (long long)lost);
    else
        unmount_say(job->mountpoint, "unmounted, but %lld bytes could not be stored and are lost",
                    (long long)lost);
    return UNMOUNT_LOST;
}

/* Finishes after the mount was detached. Returns the status to exit with. */
static int end_detached(struct unmount *job)
{
    int status;

    if (job->dead && job->owner != NULL) {
        unmount_say(job->mountpoint, "its daemon had ended: what it had not stored is lost");
        job->lost = true;
    }
    status = await_daemon(job);
    if (status != 0 || job->ending < 0 || !mounts_process_ends_within(job->daemon.process, 0))
        return status;
    return say_lost(job);
}

int unmount_begin(struct unmount *job, int limit)
{
    int found = find_mount(job);

    /* The working folder of this process may be inside the mount. */
    if (found != 0 || chdir("/") != 0)
        return found >= 0;
    find_daemon(job, limit);
    return job->dead_only && !job->dead ? 0 : -1;
}

int unmount_finish(struct unmount *job)
{
    int status;

    if (job->silent && job->owner != NULL && !job->force) {
        unmount_say(job->mountpoint, "no answer; still mounted");
        return 1;
    }
    if (job->nodes > 1 && !job->alone && !unmount_others(job))
        return 1;
    if (!job->dead && !sync_all(job))
        return 1;
    /* Open these before the mount is detached: after that, its number may be reused. */
    job->abort = job->force ? open_control(&job->mount, "abort", O_WRONLY) : -1;
    job->waiting = job->force ? -1 : open_control(&job->mount, "waiting", O_PATH);
    job->ending = job->daemon.pid != 0 ? umount_ending_open(&job->daemon) : -1;
    status = detach_mount(job) ? end_detached(job) : 1;
    if (job->abort >= 0)
        close(job->abort);
    if (job->waiting >= 0)
        close(job->waiting);
    if (job->ending >= 0)
        close(job->ending);
    return status;
}

int unmount_run(struct unmount *job)
{
    int status = unmount_begin(job, ANSWER);

    if (status >= 0)
        return status;
    status = unmount_finish(job);
    close(job->mount.parent);
    return status;
}
