/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "engine_client.h"

/* An engine that is at work is looked at so often, in ms. */
#define INTERVAL 1000

void fs_watch_kill(const struct fs_cluster *cluster)
{
    struct pollfd gone = {.fd = cluster->engine, .events = POLLIN};

    pidfd_send_signal(cluster->engine, SIGKILL, NULL, 0);
    while (poll(&gone, 1, -1) < 0 && errno == EINTR)
        continue;
}

/* True where the engine's process is stopped, as by SIGSTOP. */
static bool is_stopped(const struct fs_cluster *cluster)
{
    char path[64], text[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)cluster->engine_pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    fclose(file);
    state = strrchr(text, ')');
    return state != NULL && (state[2] == 'T' || state[2] == 't');
}

int fs_watch_await(const struct fs_cluster *cluster, int timeout)
{
    struct pollfd file = {.fd = mpiio_channel_fd(cluster->channel), .events = POLLIN};
    int stopped = 0;

    for (;;) {
        int changed = poll(&file, 1, INTERVAL);

        if (changed > 0)
            return 0;
        if (changed < 0 && errno != EINTR)
            return -errno;
        stopped = changed == 0 && is_stopped(cluster) ? stopped + INTERVAL : 0;
        if (stopped >= timeout)
            return -ETIMEDOUT;
    }
}

void fs_watch_progress(const struct fs_cluster *cluster, struct mpiio_progress *progress)
{
    mpiio_progress_read(cluster->progress, progress);
    if (progress->waiting && is_stopped(cluster))
        progress->waiting = false;
}
