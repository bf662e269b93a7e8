/* SPDX-License-Identifier: MIT */
#include "unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts/child.h"
#include "mounts/mount.h"

/*
 * Unmounts many mounts, each in a worker process of its own, so that a mount that does not answer
 * delays no other.
 */

#define ASK       10000 /* ms for all mounts together to answer */
#define MARGIN    2000  /* further ms for the workers to notice a timeout */
#define SEQUENCE  20000 /* ms for unmounting one by one */
#define FORCED    60000 /* ms for the rest, with force */
#define CREW_MAX  1024  /* workers at once; the mount_max of fuse.conf is 1000 */
#define SAID_MAX  4096
#define HAS_ASKED '\1' /* a worker writes this before its lines, once the mount has answered */

struct worker {
    const struct unmount *all;
    char *place; /* owned */
    struct mounts_child child;
    /* in the worker: it waits here for its turn, which begins when the crew closes its end */
    int turn;
    bool runs, answered;
    int status; /* once it has exited */
    char said[SAID_MAX];
    size_t length;
};

struct crew {
    struct worker *workers;
    struct pollfd *waits; /* two for each worker */
    size_t count;
};

/* Runs in the worker's process; its lines go to out. */
static int run_work(void *data, int out)
{
    const struct worker *worker = data;
    struct unmount job = *worker->all;
    const char asked = HAS_ASKED;
    char byte;
    int status;

    if (dup2(out, STDERR_FILENO) < 0)
        return 1;
    job.mountpoint = job.path = worker->place;
    status = unmount_begin(&job, ASK);
    if (status < 0 && !job.silent) {
        if (write(out, &asked, 1) != 1 || read(worker->turn, &byte, 1) < 0)
            return 1;
    }
    if (status < 0)
        status = unmount_finish(&job);
    return status == 0 && job.lost ? UNMOUNT_LOST : status;
}

static void start_worker(struct worker *worker)
{
    int ends[2] = {-1, -1};
    int error = pipe2(ends, O_CLOEXEC) != 0 ? -errno : 0;

    worker->turn = ends[0];
    if (error == 0)
        error = mounts_child_start(&worker->child, run_work, worker, ends[0]);
    worker->runs = error == 0;
    worker->turn = ends[1];
    if (ends[0] >= 0)
        close(ends[0]);
    if (worker->runs)
        return;
    worker->status = 1;
    unmount_say(worker->place, "cannot unmount: %s", strerror(-error));
}

static void give_turn(struct worker *worker)
{
    if (worker->turn >= 0)
        close(worker->turn);
    worker->turn = -1;
}

/* Prints what the worker has said. */
static void end_worker(struct worker *worker, int status)
{
    fwrite(worker->said, 1, worker->length, stderr);
    give_turn(worker);
    worker->runs = false;
    worker->status = status;
}

/* Reads available output of the worker, without waiting. */
static void hear_worker(struct worker *worker)
{
    char text[SAID_MAX];
    ssize_t got = read(worker->child.answer, text, sizeof(text));

    for (ssize_t i = 0; i < got; i++)
        if (text[i] == HAS_ASKED)
            worker->answered = true;
        else if (worker->length < SAID_MAX)
            worker->said[worker->length++] = text[i];
}

static void collect_worker(struct worker *worker)
{
    char rest[SAID_MAX];
    size_t length;
    int status;

    /* The worker has exited: all its output is in the pipe. */
    fcntl(worker->child.answer, F_SETFL, O_NONBLOCK);
    hear_worker(worker);
    status = mounts_child_finish(&worker->child, rest, sizeof(rest), &length, 0);
    end_worker(worker, status == 0 || status == UNMOUNT_LOST ? status : 1);
}

/* Returns true while a worker of [first, last) runs, and has not answered if unanswered is true. */
static bool any_runs(const struct crew *crew, size_t first, size_t last, bool unanswered)
{
    for (size_t i = first; i < last; i++)
        if (crew->workers[i].runs && !(unanswered && crew->workers[i].answered))
            return true;
    return false;
}

/* Waits while any_runs returns true, until the time `end` at most; -1: no limit. */
static void attend_workers(struct crew *crew, size_t first, size_t last, bool unanswered,
                           long long end)
{
    while (any_runs(crew, first, last, unanswered)) {
        long long left = end < 0 ? -1 : end - mounts_now();

        if (end >= 0 && left <= 0)
            return;
        for (size_t i = 0; i < crew->count; i++) {
            const struct worker *worker = &crew->workers[i];

            crew->waits[2 * i].fd = worker->runs ? worker->child.answer : -1;
            crew->waits[2 * i + 1].fd = worker->runs ? worker->child.process : -1;
        }
        if (poll(crew->waits, 2 * crew->count, (int)left) <= 0)
            continue;
        for (size_t i = 0; i < crew->count; i++)
            if (crew->waits[2 * i + 1].revents != 0)
                collect_worker(&crew->workers[i]);
            else if (crew->waits[2 * i].revents & POLLIN)
                hear_worker(&crew->workers[i]);
    }
}

/* Abandons workers: those whose mounts have not answered, or all that still run. */
static void give_up(struct crew *crew, bool unanswered)
{
    for (size_t i = 0; i < crew->count; i++) {
        struct worker *worker = &crew->workers[i];

        if (!any_runs(crew, i, i + 1, unanswered))
            continue;
        mounts_child_abandon(&worker->child);
        end_worker(worker, 1);
        unmount_say(worker->place, "no answer; still mounted");
    }
}

/* Runs the workers, which are in the order of the table. */
static void lead_workers(struct crew *crew, bool force)
{
    long long sequence;

    for (size_t i = crew->count; i > 0; i--)
        start_worker(&crew->workers[i - 1]);
    attend_workers(crew, 0, crew->count, true, mounts_now() + ASK + MARGIN);
    if (!force)
        give_up(crew, true);
    sequence = mounts_now() + SEQUENCE;
    for (size_t i = crew->count; i > 0; i--) {
        give_turn(&crew->workers[i - 1]);
        /* With force, mounts that have not answered go on independently: their data cannot be
           stored anyway. */
        if (crew->workers[i - 1].answered)
            attend_workers(crew, i - 1, i, false, sequence);
    }
    attend_workers(crew, 0, crew->count, false, force ? mounts_now() + FORCED : MOUNTS_NO_LIMIT);
    give_up(crew, false);
}

/* Unmounts at most CREW_MAX mounts. */
static int unmount_some(struct worker *workers, size_t count, bool force)
{
    struct crew crew = {workers, calloc(2 * count, sizeof(*crew.waits)), count};
    int status = 0;

    if (crew.waits == NULL) {
        fprintf(stderr, "mpiio-umount: %s\n", strerror(ENOMEM));
        return 1;
    }
    for (size_t i = 0; i < 2 * count; i++)
        crew.waits[i].events = POLLIN;
    lead_workers(&crew, force);
    for (size_t i = 0; i < count; i++)
        status = umount_worse(status, workers[i].status);
    free(crew.waits);
    return status;
}

/* All mounts of a user, in the order of the kernel's table, the oldest first. */
struct mounts {
    struct worker *workers; /* owned, as are their places */
    size_t count, room;
};

static int add_worker(struct mounts *mounts, const struct unmount *all, const char *place)
{
    struct worker *more;

    if (mounts->count == mounts->room) {
        mounts->room = 2 * mounts->room + 16;
        more = reallocarray(mounts->workers, mounts->room, sizeof(*more));
        if (more == NULL)
            return -ENOMEM;
        mounts->workers = more;
    }
    mounts->workers[mounts->count] = (struct worker){.all = all, .place = strdup(place)};
    return mounts->workers[mounts->count++].place != NULL ? 0 : -ENOMEM;
}

/* Finds the user's mounts. find_mount checks each place again when its turn comes. */
static int find_mounts(const struct unmount *all, struct mounts *mounts)
{
    struct mounts_entry entry;
    FILE *table = fopen("/proc/self/mountinfo", "re");
    int error = table != NULL ? 0 : -errno;

    while (error == 0 && mounts_entry_next(table, &entry))
        if (strcmp(entry.type, "fuse.mpiio") == 0 && entry.owner == *all->owner)
            error = add_worker(mounts, all, entry.place);
    if (table != NULL)
        fclose(table);
    return error;
}

/*
 * Unmounts in batches. The newest 1024 mounts are asked at once, and have 10 s to answer. Mounts
 * that answer are unmounted one after the other, the newest first, because the shared file of one
 * may be on an older mount. After 20 s, the rest is unmounted at once. With force this may take 60
 * s. Then come the next 1024 mounts, if there are more.
 *
 * Without force there is no limit for storing: it waits for a mount that has answered until its
 * fsync finishes.
 */
int unmount_all(const struct unmount *all)
{
    struct mounts mounts = {0};
    int error = find_mounts(all, &mounts), status = 0;
    size_t left = mounts.count, some;

    if (error != 0) {
        fprintf(stderr, "mpiio-umount: cannot read the table of mounts: %s\n", strerror(-error));
        status = 1;
        left = 0;
    }
    mounts_child_make_room(left < CREW_MAX ? left : CREW_MAX);
    for (; left > 0; left -= some) {
        some = left < CREW_MAX ? left : CREW_MAX;
        status = umount_worse(status, unmount_some(&mounts.workers[left - some], some, all->force));
    }
    for (size_t i = 0; i < mounts.count; i++)
        free(mounts.workers[i].place);
    free(mounts.workers);
    return status;
}
