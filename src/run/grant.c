/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "grant.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/grant.h"
#include "core/slice.h"
#include "core/store_layers.h"
#include "viewspec/members/members.h"
#include "descriptors.h"
#include "stats.h"

#define STRANGERS   8   /* number of filesystems that are remembered as foreign */
#define LOCKED_MOST 256 /* locked files that are distinguished */

/* A mount: its page and the resolved spec. It is kept for the life of the process. */
struct run_mount {
    struct run_mount *next;
    uid_t owner; /* the effective user when the page was mapped */
    const struct mpiio_grant_page *page;
    struct vs_spec *spec;
    _Atomic int64_t *positions; /* of "shared"; NULL: not mapped yet; lock: lock */
};

/*
 * An open shared file of a mount, read-only or writable. It is closed with its last slice, unless
 * the program may have locks on it (grant.h).
 */
struct run_file {
    struct run_file *next;
    const struct run_mount *mount;
    bool writable;
    unsigned users;
    struct mpiio_store *store;
    int64_t grain; /* for a file of members: the minimum length of a granted read */
};

static struct run_mount *mounts; /* lock: lock */
static struct run_file *files;   /* lock: lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The files that the program locks. A thread holds locked_lock while it opens or closes a shared
 * file, so that no lock comes between the check and the open or close. Such a thread is in a
 * section (run_hold).
 */
static struct locked_file {
    uint64_t device, inode;
} locked[LOCKED_MOST];        /* lock: locked_lock */
static size_t locked_count;   /* lock: locked_lock */
static bool locked_overflown; /* lock: locked_lock; every file may be locked */
static pthread_mutex_t locked_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic dev_t strangers[STRANGERS]; /* device numbers */
static atomic_uint strangers_met;

/* The cached attributes of an open file, from the kernel alone: no request goes to the
   filesystem. */
struct known {
    dev_t device;
    int64_t size;
};

/* Returns true if fd may be a slice: FUSE's devices have major number 0. */
static bool may_be_slice(int fd, struct known *known)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &st) != 0 ||
        !S_ISREG(st.stx_mode) || st.stx_dev_major != 0)
        return false;
    *known = (struct known){.device = makedev(st.stx_dev_major, st.stx_dev_minor),
                            .size = (int64_t)st.stx_size};
    for (int i = 0; i < STRANGERS; i++)
        if (atomic_load_explicit(&strangers[i], memory_order_relaxed) == known->device)
            return false;
    return true;
}

/* Returns the mount whose page the answer names; NULL if there is no such page. Lock held. */
static struct run_mount *get_mount(const struct mpiio_grant_request *answer)
{
    struct vs_error error = {0};
    struct run_mount *mount;

    for (mount = mounts; mount != NULL; mount = mount->next)
        if (mount->page->token == answer->token)
            return mount;
    mount = calloc(1, sizeof(*mount));
    if (mount == NULL)
        return NULL;
    mount->owner = geteuid();
    mount->page = mpiio_grant_page_map(answer->process, answer->memory, answer->token);
    if (mount->page == NULL ||
        vs_spec_parse((const char *)(mount->page + 1), mount->page->text_length, "spec.json", "/",
                      NULL, &mount->spec, &error) != 0) {
        if (mount->page != NULL)
            mpiio_grant_page_unmap(mount->page);
        free(mount);
        return NULL;
    }
    mount->next = mounts;
    mounts = mount;
    return mount;
}

/*
 * Finds the mount and the grant of the answer; NULL if they cannot be verified. The answer may come
 * from another user's filesystem. The nonce proves that the page's daemon answered this request,
 * and the device proves that it serves this mount (src/DESIGN.md, "Grants"). The process may have
 * changed its user since it mapped the page. Lock held.
 */
static struct run_mount *prove_file(const struct mpiio_grant_request *answer, uint64_t nonce,
                                    dev_t device, struct mpiio_grant *grant)
{
    struct run_mount *mount = get_mount(answer);

    return mount != NULL && mount->owner == geteuid() && mount->page->mount.mount == device &&
                   mpiio_grant_take(mount->page, answer->slot, nonce, grant)
               ? mount
               : NULL;
}

/* Returns true if the program may have locks on the file. locked_lock held. */
static bool is_locked(uint64_t device, uint64_t inode)
{
    for (size_t i = 0; i < locked_count; i++)
        if (locked[i].device == device && locked[i].inode == inode)
            return true;
    return locked_overflown;
}

void run_locks_note(int fd)
{
    struct run_held held;
    struct stat st;

    run_hold(&held);
    pthread_mutex_lock(&locked_lock);
    if (fstat(fd, &st) == 0 && !is_locked(st.st_dev, st.st_ino)) {
        if (locked_count < LOCKED_MOST)
            locked[locked_count++] = (struct locked_file){st.st_dev, st.st_ino};
        else
            locked_overflown = true;
    }
    pthread_mutex_unlock(&locked_lock);
    run_unhold(&held);
}

/*
 * Opens the single file of the spec. Closing it would drop the program's locks, so a file with
 * locks is not opened.
 */
static bool open_single(const struct mpiio_grant_mount *mount, struct run_file *file)
{
    struct stat st;

    if (stat(mount->file, &st) != 0 || is_locked(st.st_dev, st.st_ino))
        return false;
    if (mpiio_store_open(mount->file, file->writable ? O_RDWR : O_RDONLY, &file->store) != 0)
        return false;
    return mpiio_store_fd(file->store) >= 0 && mpiio_store_stat(file->store, &st) == 0 &&
           st.st_dev == mount->device && st.st_ino == mount->inode;
}

/* Opens a file that is assembled from members, and checks that it is the daemon's. */
static bool open_members(const struct mpiio_grant_mount *mount, const struct vs_spec *spec,
                         struct run_file *file)
{
    struct vs_error error = {0};

    return locked_count == 0 && vs_members_count(vs_spec_members(spec)) <= run_own_most() / 2 &&
           mpiio_store_open_spec(spec, O_RDONLY, &file->store, &error) == 0 &&
           mpiio_assembled_identity(mpiio_store_file(file->store)) == mount->inode;
}

static struct run_file *open_file(const struct run_mount *mount, bool writable)
{
    const struct mpiio_grant_mount *granted = &mount->page->mount;
    bool has_members = vs_spec_members(mount->spec) != NULL, opened;
    struct run_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    *file = (struct run_file){.mount = mount, .writable = writable, .users = 1};
    opened = has_members ? open_members(granted, mount->spec, file) : open_single(granted, file);
    if (opened) {
        struct mpiio_file *shared = mpiio_store_file(file->store);

        mpiio_file_set_coherence(shared, (enum mpiio_coherence)granted->coherence);
        opened = !has_members || mpiio_assembled_hold(shared, &file->grain) == 0;
    }
    if (!opened) {
        mpiio_store_close(file->store);
        free(file);
        return NULL;
    }
    file->next = files;
    files = file;
    return file;
}

/*
 * Returns the mount's shared file, opened with the process's own rights; NULL if that fails. Mounts
 * do not share files, because the process may have opened one as another user. Lock held.
 */
static struct run_file *get_file(const struct run_mount *mount, bool writable)
{
    struct run_file *opened;

    for (struct run_file *file = files; file != NULL; file = file->next) {
        if (file->mount == mount && file->writable == writable) {
            file->users++;
            return file;
        }
    }
    pthread_mutex_lock(&locked_lock);
    opened = open_file(mount, writable);
    pthread_mutex_unlock(&locked_lock);
    return opened;
}

static bool may_be_locked(const struct run_file *file)
{
    const struct mpiio_grant_mount *mount = &file->mount->page->mount;

    return mpiio_store_fd(file->store) < 0 ? locked_count > 0
                                           : is_locked(mount->device, mount->inode);
}

/* Lock held. */
static void put_file(struct run_file *file)
{
    struct run_file **link = &files;

    if (--file->users > 0)
        return;
    pthread_mutex_lock(&locked_lock);
    if (!may_be_locked(file)) {
        while (*link != file)
            link = &(*link)->next;
        *link = file->next;
        mpiio_store_close(file->store);
        free(file);
    }
    pthread_mutex_unlock(&locked_lock);
}

/* Releases the resources of an open slice without users. */
static void drop_slice(struct run_open *open)
{
    if (open->slice == NULL)
        return;
    pthread_mutex_lock(&lock);
    mpiio_slice_free(open->slice);
    put_file(open->file);
    pthread_mutex_unlock(&lock);
    open->slice = NULL;
}

/* Returns a new reference to the view of the slice; NULL if it does not compile. For "shared",
   takes that of rank 0, because all ranks have the same. */
static struct vs_view *get_view(const struct mpiio_grant *grant, const struct vs_spec *spec)
{
    int64_t rank = grant->rank == MPIIO_GRANT_SHARED ? 0 : grant->rank;
    struct vs_error error = {0};
    struct vs_view *view;

    if (vs_spec_members(spec) != NULL && grant->view == vs_spec_view_count(spec))
        return vs_members_whole(vs_spec_members(spec));
    return vs_spec_view(spec, grant->view, rank, &view, &error) == 0 ? view : NULL;
}

/*
 * Sets *position to the shared file pointer of a "shared", or to NULL for another slice. Returns
 * false if the pointer cannot be mapped. The memory is the daemon's, because the page identifies it
 * (grant.h). Lock held.
 */
static bool find_position(struct run_mount *mount, const struct mpiio_grant *grant,
                          _Atomic int64_t **position)
{
    const struct mpiio_grant_mount *from = &mount->page->mount;

    *position = NULL;
    if (grant->rank != MPIIO_GRANT_SHARED)
        return true;
    if (mount->positions == NULL)
        mount->positions =
            mpiio_positions_map(from->process, from->positions, from->positions_inode, from->count);
    if (mount->positions == NULL || grant->view >= from->count)
        return false;
    *position = &mount->positions[grant->view];
    return true;
}

/* Prepares a granted slice. Returns NULL on success, else the reason of the failure. Lock held. */
static const char *set_up(struct run_mount *mount, const struct mpiio_grant *grant,
                          struct run_open *open)
{
    struct vs_view *view;

    open->mount = mount;
    if (!find_position(mount, grant, &open->shared))
        return "the shared file pointer cannot be mapped";
    open->file = get_file(mount, (grant->rights & MPIIO_GRANT_WRITE) != 0);
    if (open->file == NULL)
        return "the shared file cannot be opened";
    view = get_view(grant, mount->spec);
    if (view == NULL ||
        mpiio_slice_new(open->file->store, view, (enum mpiio_narrow)mount->page->mount.narrow,
                        &open->slice) != 0) {
        put_file(open->file);
        return "the view does not compile";
    }
    open->word = grant->word;
    open->value = grant->value;
    open->rights = grant->rights;
    open->mark = grant->cut != 0 ? RUN_MARK_UNASKED : RUN_MARK_NONE;
    open->least = open->file->grain;
    return NULL;
}

/* Returns the rights that the flags of fd permit. */
static uint32_t grant_possible(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & RUN_FOREIGN_FLAGS) != 0)
        return 0;
    return (flags & (O_SYNC | O_DSYNC)) != 0 ? MPIIO_GRANT_READ : MPIIO_GRANT_BOTH;
}

/* Verifies the answer and prepares the slice. Returns NULL on success, else the reason. Lock
   held. */
static const char *judge_open(int fd, const struct mpiio_grant_request *answer, uint64_t nonce,
                              const struct known *known, struct run_open *open)
{
    struct mpiio_grant grant;
    struct run_mount *mount = prove_file(answer, nonce, known->device, &grant);

    if (mount == NULL)
        return "the daemon cannot be looked at";
    grant.rights &= grant_possible(fd);
    atomic_store(&open->known, known->size);
    return grant.rights != 0 ? set_up(mount, &grant, open) : "the flags of open(2)";
}

/* Enters the grant of fd. Returns NULL on success, else the reason of the failure. */
static const char *enter_grant(int fd, struct mpiio_grant_request *answer, uint64_t nonce,
                               const struct known *known)
{
    struct run_open *open;
    const char *why;

    answer->why[sizeof(answer->why) - 1] = '\0';
    if (*answer->why)
        return answer->why;
    open = run_open_new(drop_slice);
    if (open == NULL)
        return "no memory";
    pthread_mutex_lock(&lock);
    why = judge_open(fd, answer, nonce, known, open);
    pthread_mutex_unlock(&lock);
    if (why == NULL)
        run_enter(fd, open);
    else
        run_release(open);
    return why;
}

void run_grant_ask(int fd)
{
    struct mpiio_grant_request request = {0};
    uint64_t nonce;
    struct known known;
    struct run_held held;
    const char *why;

    run_leave(fd); /* the previous file of this number was closed by a call that is not caught */
    if (run_inside > 0 || !may_be_slice(fd, &known) || !run_is_home())
        return;
    run_hold(&held);
    if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) {
        run_unhold(&held);
        return;
    }
    request.nonce = nonce;
    if (ioctl(fd, MPIIO_GRANT_ASK, &request) == 0) {
        why = enter_grant(fd, &request, nonce, &known);
        run_stats_add(RUN_OPENS, 1);
        if (why == NULL)
            run_stats_add(RUN_GRANTED, 1);
        else
            run_stats_refused(why);
    } else if (errno == ENOTTY || errno == EINVAL) {
        atomic_store(&strangers[atomic_fetch_add(&strangers_met, 1) % STRANGERS], known.device);
    }
    run_unhold(&held);
}

bool run_grant_holds(const struct run_open *open, uint32_t right)
{
    return mpiio_grant_holds(open->mount->page, open->word, open->value, right);
}

/*
 * The last page of the known size exists as a whole, so a write that ends in it needs no report.
 * Asking for the size makes the kernel update it, as a write through the mount would.
 */
void run_grant_wrote(struct run_open *open, int fd, int64_t end)
{
    int64_t known = atomic_load_explicit(&open->known, memory_order_relaxed);
    struct statx st;
    int64_t page;

    if (end <= known)
        return;
    page = sysconf(_SC_PAGESIZE);
    if (end <= (known + page - 1) / page * page ||
        (atomic_load(&open->mount->page->words[open->word]) & MPIIO_GRANT_WATCHED) == 0 ||
        statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) != 0)
        return;
    while (known < (int64_t)st.stx_size &&
           !atomic_compare_exchange_weak(&open->known, &known, (int64_t)st.stx_size))
        continue;
}

bool run_grant_stored(int fd, int64_t offset, int64_t length)
{
    struct mpiio_grant_range range = {.offset = offset, .length = length};

    return ioctl(fd, MPIIO_GRANT_WROTE, &range) == 0;
}

/* The mark of a slice that was opened with O_TRUNC: the end of its written part. */

/* Held during a request to the daemon about a mark, so that no write starts in between. Its holder
   is in a section (run_hold). */
static pthread_mutex_t mark_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t ask_daemon(struct run_open *open, int fd)
{
    int64_t mark;

    pthread_mutex_lock(&mark_lock);
    mark = atomic_load(&open->mark);
    if (mark == RUN_MARK_UNASKED) {
        if (ioctl(fd, MPIIO_GRANT_MARK, &mark) != 0 || mark < 0)
            mark = RUN_MARK_REPORTED;
        atomic_store(&open->mark, mark);
    }
    pthread_mutex_unlock(&mark_lock);
    return mark;
}

bool run_mark_passes(struct run_open *open, int fd, int64_t offset, int64_t length)
{
    int64_t mark = atomic_load(&open->mark), end;

    if (mark == RUN_MARK_NONE)
        return true;
    if (__builtin_add_overflow(offset, length, &end))
        return false;
    if (mark == RUN_MARK_UNASKED)
        mark = ask_daemon(open, fd);
    /* Count the bytes before writing them, so that a later filling of gaps never overwrites them.
     */
    while (mark >= offset && mark < end && !atomic_compare_exchange_weak(&open->mark, &mark, end))
        continue;
    return mark >= offset;
}

void run_mark_tell(struct run_open *open, int fd, bool others_write)
{
    int64_t mark = atomic_load(&open->mark);
    struct run_held held;

    if (mark == RUN_MARK_NONE || (mark == RUN_MARK_UNASKED && !others_write))
        return;
    run_hold(&held);
    pthread_mutex_lock(&mark_lock);
    mark = atomic_exchange(&open->mark, RUN_MARK_REPORTED);
    if (mark == RUN_MARK_UNASKED)
        mark = 0;
    if (mark != RUN_MARK_REPORTED)
        ioctl(fd, MPIIO_GRANT_MARK, &mark);
    atomic_fetch_and(&open->rights, ~MPIIO_GRANT_WRITE);
    pthread_mutex_unlock(&mark_lock);
    run_unhold(&held);
}

void run_mark_tell_of(int fd, bool others_write)
{
    struct run_open *open = run_acquire(fd);

    if (open != NULL)
        run_mark_tell(open, fd, others_write);
    run_release(open);
}

void run_mark_share(void)
{
    int end = run_descriptors_end();

    run_share();
    for (int fd = 0; fd < end; fd++)
        run_mark_tell_of(fd, true);
}

void run_grant_forget(void)
{
    mounts = NULL;
    files = NULL;
    locked_count = 0;
    locked_overflown = false;
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_init(&locked_lock, NULL);
    pthread_mutex_init(&mark_lock, NULL);
    run_inside = 0;
}
