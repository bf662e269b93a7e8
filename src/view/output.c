/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "core/base/filesystem.h"

/* Files that appear under their names only when they are complete. */

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};

/* Hidden names that the signal handler removes. They are changed while the signals are blocked. */
static const char *volatile to_remove[2];

static void remove_and_die(int signal_number)
{
    for (size_t i = 0; i < 2; i++)
        if (to_remove[i])
            unlink(to_remove[i]);
    signal(signal_number, SIG_DFL);
    raise(signal_number); /* delivered when this handler returns */
}

static void block_signals(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* Replaces a name in the list that the handler removes. NULL: none. */
static void note_hidden(const char *old, const char *new)
{
    for (size_t i = 0; i < 2; i++)
        if (to_remove[i] == old) {
            to_remove[i] = new;
            return;
        }
}

static void forget_hidden(struct view_output *output)
{
    note_hidden(output->hidden, NULL);
    free(output->hidden);
    output->hidden = NULL;
}

/* Installs the handler. Signals that the shell ignores for the command stay ignored. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = remove_and_die}, old;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

/* Returns the folder of path as a new string, or NULL. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Returns FOLDER/.NAME.XXXXXX, for mkstemp, as a new string, or NULL. */
static char *hidden_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *hidden;

    /* A name has at most 255 bytes. */
    return asprintf(&hidden, "%.*s.%.240s.XXXXXX", (int)(name - path), path, name) < 0 ? NULL
                                                                                       : hidden;
}

static int open_hidden(struct view_output *output)
{
    sigset_t before;
    char *hidden = hidden_name(output->path);

    if (hidden == NULL)
        return view_failed(output->path, -ENOMEM);
    catch_signals();
    block_signals(&before);
    output->fd = mkostemp(hidden, O_CLOEXEC);
    int error = errno;
    if (output->fd >= 0) {
        output->hidden = hidden;
        note_hidden(NULL, hidden);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (output->fd >= 0)
        return VIEW_DONE;
    free(hidden);
    return view_failed(output->path, -error);
}

int view_output_open(struct view_output *output, const char *path, bool force)
{
    struct stat st;
    int there = lstat(path, &st) ? -errno : 1;

    *output = (struct view_output){.path = path, .fd = -1};
    if (there < 0 && there != -ENOENT)
        return view_failed(path, there);
    if (there > 0 && (!force || !S_ISREG(st.st_mode))) {
        view_message("%s: %s", path,
                     S_ISREG(st.st_mode) ? "the file is there already (--force overwrites it)"
                                         : "is there already, and not a regular file");
        return VIEW_FAILED;
    }
    char *folder = folder_of(path);
    if (folder == NULL)
        return view_failed(path, -ENOMEM);
    output->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int error = errno;
    free(folder);
    if (output->fd >= 0)
        return VIEW_DONE;
    /* These are open(2)'s errors for filesystems and kernels that lack O_TMPFILE. */
    return error == EOPNOTSUPP || error == EISDIR ? open_hidden(output) : view_failed(path, -error);
}

/* Links a file without a name to name. Returns 0 or a negative errno. */
static int link_as(const struct view_output *output, const char *name)
{
    char self[MPIIO_FD_LINK_SIZE];

    mpiio_fd_link(output->fd, self);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Replaces the file of that name. Only rename(2) can do that, so the new file gets a hidden name
   first. */
static int replace_file(struct view_output *output)
{
    if (!output->hidden) {
        char *hidden = hidden_name(output->path);
        int error = -ENOMEM;
        for (int i = 0; hidden && i < 1000; i++) {
            snprintf(strrchr(hidden, '.'), 8, ".%06u", (unsigned)(getpid() + i) % 1000000U);
            error = link_as(output, hidden);
            if (error != -EEXIST)
                break;
        }
        if (error) {
            free(hidden);
            return error;
        }
        output->hidden = hidden;
    }
    if (rename(output->hidden, output->path))
        return -errno;
    forget_hidden(output);
    return 0;
}

/* Links the file to a name that must be new. */
static int name_new(struct view_output *output)
{
    if (!output->hidden)
        return link_as(output, output->path);
    if (!link(output->hidden, output->path))
        return 0;
    /* A filesystem without hard links may support this. */
    if (errno != EPERM && errno != EOPNOTSUPP)
        return -errno;
    if (renameat2(AT_FDCWD, output->hidden, AT_FDCWD, output->path, RENAME_NOREPLACE))
        return -errno;
    forget_hidden(output);
    return 0;
}

/* Stores the name on the device by an fsync of its folder. */
static int sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int error = folder ? mpiio_folder_sync(folder) : -ENOMEM;

    free(folder);
    return error;
}

int view_output_commit(struct view_output *output, mode_t mode, bool force)
{
    sigset_t before;
    int error = fchmod(output->fd, mode) || fsync(output->fd) ? -errno : 0;

    if (!error) {
        block_signals(&before);
        error = force ? replace_file(output) : name_new(output);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    if (!error)
        error = sync_folder(output->path);
    return error ? view_failed(output->path, error) : VIEW_DONE;
}

void view_output_close(struct view_output *output)
{
    sigset_t before;

    if (output->hidden) {
        block_signals(&before);
        unlink(output->hidden);
        forget_hidden(output);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
}
