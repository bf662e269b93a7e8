/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "grant.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/grant.h"
#include "core/slice.h"
#include "core/store_members.h"
#include "viewspec/members/member_views.h"
#include "descriptors.h"
#include "own.h"
#include "stats.h"

#define STRANGERS 8 /* filesystems that are remembered to be none of ours */

_Thread_local int run_inside __attribute__((tls_model("initial-exec")));

/* A mount: its page, and the spec as it was resolved. Kept for the life of the process. */
struct run_mount {
    struct run_mount *next;
    const struct mpiio_grant_page *page;
    struct vs_spec *spec;
};

/* A shared file that is open, for reading only or not. Closed with its last slice. */
struct run_file {
    struct run_file *next;
    uint64_t device, inode;
    bool writable;
    unsigned users;
    struct mpiio_store *store;
    int64_t grain; /* of its members */
};

static struct run_mount *mounts; /* lock: lock */
static struct run_file *files;   /* lock: lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint32_t strangers[STRANGERS]; /* minor numbers of their devices, plus one */
static atomic_uint strangers_met;

/* Whether fd can be a slice: FUSE's devices have no major number. */
static bool may_be_slice(int fd, uint32_t *device)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0 ||
        !S_ISREG(st.stx_mode) || st.stx_dev_major != 0)
        return false;
    *device = st.stx_dev_minor + 1;
    for (int i = 0; i < STRANGERS; i++)
        if (atomic_load_explicit(&strangers[i], memory_order_relaxed) == *device)
            return false;
    return true;
}

/*
 * The page of the daemon that gave the grant, which is to be the process of that number here, and
 * this user's: it says which file is opened with our rights, and another user's would have root
 * open any.
 */
static const struct mpiio_grant_page *map_page(const struct mpiio_grant *grant)
{
    static const char memory[] = "/memfd:" MPIIO_GRANT_MEMORY;
    char path[64], target[sizeof(memory)];
    struct stat st;
    const struct mpiio_grant_page *page;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", grant->process, grant->memory);
    if (readlink(path, target, sizeof(target)) != sizeof(target) ||
        memcmp(target, memory, sizeof(memory) - 1) != 0)
        return NULL;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    page = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_size >= (off_t)sizeof(*page))
        page = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    if (page->token == grant->token && sizeof(*page) + page->text_length == (uint64_t)st.st_size)
        return page;
    munmap((void *)page, (size_t)st.st_size);
    return NULL;
}

static struct run_mount *find_mount(uint64_t token)
{
    struct run_mount *mount = mounts;

    while (mount != NULL && mount->page->token != token)
        mount = mount->next;
    return mount;
}

/* The mount of the grant; NULL where its daemon cannot be reached. Lock held. */
static struct run_mount *get_mount(const struct mpiio_grant *grant)
{
    struct run_mount *mount = find_mount(grant->token);
    struct vs_error error = {0};

    if (mount != NULL)
        return mount;
    mount = calloc(1, sizeof(*mount));
    if (mount == NULL)
        return NULL;
    mount->page = map_page(grant);
    if (mount->page == NULL ||
        vs_spec_parse((const char *)(mount->page + 1), mount->page->text_length, "spec.json", "/",
                      NULL, &mount->spec, &error) != 0) {
        if (mount->page != NULL)
            munmap((void *)mount->page, sizeof(*mount->page) + mount->page->text_length);
        free(mount);
        return NULL;
    }
    mount->next = mounts;
    mounts = mount;
    return mount;
}

/* Opens the one file that the spec names. */
static bool open_single(const struct mpiio_grant *grant, struct run_file *file)
{
    struct stat st;

    if (mpiio_store_open(grant->file, file->writable ? O_RDWR : O_RDONLY, &file->store) != 0)
        return false;
    return mpiio_store_fd(file->store) >= 0 && mpiio_store_stat(file->store, &st) == 0 &&
           st.st_dev == file->device && st.st_ino == file->inode;
}

/* Opens all members, now: they are to be those that the daemon has. */
static bool open_members(const struct mpiio_grant *grant, const struct vs_spec *spec,
                         struct run_file *file)
{
    struct vs_error error = {0};

    return vs_members_count(vs_spec_members(spec)) <= run_own_most() / 2 &&
           mpiio_store_open_spec(spec, O_RDONLY, grant->missing_zero != 0, &file->store, &error) ==
               0 &&
           mpiio_store_identity(file->store) == file->inode &&
           mpiio_store_hold_members(file->store, &file->grain) == 0;
}

static struct run_file *open_file(const struct mpiio_grant *grant, const struct vs_spec *spec,
                                  bool writable)
{
    struct run_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    *file = (struct run_file){
        .device = grant->device, .inode = grant->inode, .writable = writable, .users = 1};
    if (!(vs_spec_members(spec) != NULL ? open_members(grant, spec, file)
                                        : open_single(grant, file))) {
        mpiio_store_close(file->store);
        free(file);
        return NULL;
    }
    file->next = files;
    files = file;
    return file;
}

/* The shared file, open with the process's own rights; NULL where they do not do. Lock held. */
static struct run_file *get_file(const struct mpiio_grant *grant, const struct vs_spec *spec,
                                 bool writable)
{
    for (struct run_file *file = files; file != NULL; file = file->next) {
        if (file->device == grant->device && file->inode == grant->inode &&
            file->writable == writable) {
            file->users++;
            return file;
        }
    }
    return open_file(grant, spec, writable);
}

/* Lock held. */
static void put_file(struct run_file *file)
{
    struct run_file **link = &files;

    if (--file->users > 0)
        return;
    while (*link != file)
        link = &(*link)->next;
    *link = file->next;
    mpiio_store_close(file->store);
    free(file);
}

/* Gives up what an open slice of no users has. */
static void drop(struct run_open *open)
{
    if (open->slice == NULL)
        return;
    run_inside++;
    pthread_mutex_lock(&lock);
    mpiio_slice_free(open->slice);
    put_file(open->file);
    pthread_mutex_unlock(&lock);
    run_inside--;
    open->slice = NULL;
}

/* The view of the slice, a new reference; NULL: it does not compile. */
static struct vs_view *get_view(const struct mpiio_grant *grant, const struct vs_spec *spec)
{
    struct vs_error error = {0};
    struct vs_view *view;

    if (vs_spec_members(spec) != NULL && grant->view == vs_spec_view_count(spec))
        return vs_members_whole(vs_spec_members(spec));
    return vs_spec_view(spec, grant->view, grant->rank, &view, &error) == 0 ? view : NULL;
}

/* Lock held. NULL: it is set up; else why it is not. */
static const char *set_up(const struct mpiio_grant *grant, struct run_open *open)
{
    struct vs_view *view;

    open->mount = get_mount(grant);
    if (open->mount == NULL)
        return "the daemon cannot be looked at";
    open->file = get_file(grant, open->mount->spec, (grant->rights & MPIIO_GRANT_WRITE) != 0);
    if (open->file == NULL)
        return "the shared file cannot be opened";
    view = grant->word < MPIIO_GRANT_WORDS ? get_view(grant, open->mount->spec) : NULL;
    if (view == NULL || mpiio_slice_new(open->file->store, view, (enum mpiio_narrow)grant->narrow,
                                        &open->slice) != 0) {
        put_file(open->file);
        return "the view does not compile";
    }
    open->word = grant->word;
    open->value = grant->value;
    open->rights = grant->rights;
    open->least = open->file->grain;
    return NULL;
}

/* The rights that go with how fd was opened. */
static uint32_t possible(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & RUN_FOREIGN_FLAGS) != 0)
        return 0;
    return (flags & (O_SYNC | O_DSYNC)) != 0 ? MPIIO_GRANT_READ : MPIIO_GRANT_BOTH;
}

/* NULL: fd is granted; else why it is not. */
static const char *ask(int fd, struct mpiio_grant *grant)
{
    uint32_t rights = possible(fd);
    struct run_open *open;
    const char *why;

    if (*grant->why)
        return grant->why;
    grant->rights &= rights;
    if (grant->rights == 0)
        return "the flags of open(2)";
    open = run_open_new(drop);
    if (open == NULL)
        return "no memory";
    pthread_mutex_lock(&lock);
    why = set_up(grant, open);
    pthread_mutex_unlock(&lock);
    if (why == NULL)
        run_enter(fd, open);
    else
        run_release(open);
    return why;
}

bool run_grant_ask(int fd)
{
    struct mpiio_grant grant;
    uint32_t device;
    const char *why = "";
    int error = errno;

    if (run_inside > 0 || !may_be_slice(fd, &device) || !run_is_home())
        return false;
    run_inside++;
    if (ioctl(fd, MPIIO_GRANT_ASK, &grant) == 0) {
        grant.why[sizeof(grant.why) - 1] = grant.file[sizeof(grant.file) - 1] = '\0';
        why = ask(fd, &grant);
        run_stats_add(RUN_OPENS, 1);
        if (why == NULL)
            run_stats_add(RUN_GRANTED, 1);
        else
            run_stats_refused(why);
    } else if (errno == ENOTTY || errno == EINVAL) {
        atomic_store(&strangers[atomic_fetch_add(&strangers_met, 1) % STRANGERS], device);
    }
    run_inside--;
    errno = error;
    return why == NULL;
}

bool run_grant_holds(const struct run_open *open, uint32_t right)
{
    return mpiio_grant_holds(open->mount->page, open->word, open->value, right);
}

void run_grant_abandon(void)
{
    pthread_mutex_lock(&lock);
    files = NULL;
    pthread_mutex_unlock(&lock);
}

void run_grant_forget(void)
{
    mounts = NULL;
    files = NULL;
    pthread_mutex_init(&lock, NULL);
    run_inside = 0;
}
