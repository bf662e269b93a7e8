/* SPDX-License-Identifier: MIT */
#include "assembled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "viewspec/base/hash.h"
#include "viewspec/base/integer.h"
#include "assembled_private.h"

static struct timespec latest(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec) ? a : b;
}

static void take_times(struct stat *st, const struct stat *member)
{
    st->st_mtim = latest(member->st_mtim, st->st_mtim);
    st->st_ctim = latest(member->st_ctim, st->st_ctim);
    st->st_atim = latest(member->st_atim, st->st_atim);
}

/*
 * Restricts the mode in st, which applies to its owner and group, to the rights that member also
 * grants. A right stays only if member grants it to all users to whom st grants it. Other users
 * than a member's owner may or may not be in its group, so only rights of both classes count. Other
 * users than the first member's owner may own another member.
 */
static void restrict_mode(struct stat *st, const struct stat *member)
{
    mode_t owner = member->st_mode >> 6 & 7, group = member->st_mode >> 3 & 7;
    mode_t other = member->st_mode & 7, either = group & other;
    bool same_owner = member->st_uid == st->st_uid, same_group = member->st_gid == st->st_gid;
    mode_t of_owner = same_owner ? owner : either;
    mode_t of_group = (same_owner ? 7 : owner) & (same_group ? group : either);
    mode_t of_other = (same_owner ? 7 : owner) & (same_group ? other : either);

    st->st_mode &= ~(mode_t)0777 | of_owner << 6 | of_group << 3 | of_other;
}

/* Takes the current owner, group and mode of the first member, and restricts the mode by other
   members. */
static void take_rights(bool first, struct stat *st, const struct stat *member)
{
    if (!first) {
        restrict_mode(st, member);
        return;
    }
    st->st_uid = member->st_uid;
    st->st_gid = member->st_gid;
    st->st_mode = member->st_mode;
}

static int get_stat(struct mpiio_file *file, struct stat *st)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    int64_t count = vs_members_count(self->members);
    bool first = true;

    *st = self->st;
    /* Examining more members takes too long. The file then always appears to have just changed, so
       that nobody relies on earlier reads. */
    if (count > MPIIO_MEMBERS_JUDGED) {
        clock_gettime(CLOCK_REALTIME, &st->st_ctim);
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        struct stat member;

        if (!mpiio_assembled_has(self, i))
            continue;
        if (mpiio_member_stat(self, (size_t)i, &member) == 0) {
            take_times(st, &member);
            take_rights(first, st, &member);
        } else {
            st->st_mode &= ~(mode_t)0777; /* removed or replaced: deny access */
        }
        first = false;
    }
    return 0;
}

static int64_t get_size(struct mpiio_source *source)
{
    return ((struct mpiio_assembled *)source)->st.st_size;
}

static int64_t seek_assembled(struct mpiio_source *source, int64_t displacement, int whence)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)source;
    int64_t found;

    if (displacement < 0 || displacement >= self->st.st_size)
        return -ENXIO;
    if (mpiio_fills_any(&self->fills)) /* no byte is known to be zero */
        return whence == SEEK_HOLE ? self->st.st_size : displacement;
    found = vs_assembly_seek(self->places, displacement, whence == SEEK_HOLE);
    return whence == SEEK_DATA && found == self->st.st_size ? -ENXIO : found;
}

/* The offset of an assembled file's locks: beyond all data of the member whose file has them. */
#define LOCK_BASE ((int64_t)1 << 61)

/* Marks all members as written: the writer is outside this process, and may have written any. */
static void note_write(struct mpiio_file *file, int64_t start, int64_t end)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    (void)start;
    (void)end;
    for (int64_t i = 0; i < vs_members_count(self->members); i++)
        if (mpiio_assembled_has(self, i))
            mpiio_assembled_mark_written(self, (size_t)i);
}

/* Must be called before any member is open. */
static void be_exact(struct mpiio_file *file)
{
    ((struct mpiio_assembled *)file)->exact = true;
}

static int allocate_space(struct mpiio_file *file, int64_t displacement, int64_t length)
{
    (void)file, (void)displacement, (void)length;
    return -EOPNOTSUPP;
}

static int grow_file(struct mpiio_file *file, int64_t end)
{
    return end > mpiio_file_size(file) ? -EFBIG : 0;
}

static int set_member_times(struct mpiio_assembled *self, size_t member,
                            const struct timespec times[2])
{
    char link[MPIIO_FD_LINK_SIZE];
    int fd = mpiio_assembled_open_path(&self->file, (int64_t)member);
    int error;

    if (fd < 0)
        return fd;
    mpiio_fd_link(fd, link);
    error = utimensat(AT_FDCWD, link, times, 0) < 0 ? -errno : 0;
    close(fd);
    return error;
}

static int set_times(struct mpiio_file *file, const struct timespec times[2])
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    int error = 0;

    for (int64_t i = 0; i < vs_members_count(self->members) && error == 0; i++)
        if (mpiio_assembled_has(self, i))
            error = set_member_times(self, (size_t)i, times);
    return error;
}

int64_t mpiio_assembled_first(const struct mpiio_file *file)
{
    const struct mpiio_assembled *self = (const struct mpiio_assembled *)file;
    int64_t first = 0;

    while (first + 1 < vs_members_count(self->members) && !mpiio_assembled_has(self, first))
        first++;
    return first;
}

static void close_all(struct mpiio_file *file)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    if (file->lock_fd >= 0)
        close(file->lock_fd);
    mpiio_members_close(self);
    vs_assembly_free(self->places);
    free(self->identities);
    free(self->written);
    free(self->fills.list);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->syncing);
    free(self);
}

static const struct mpiio_source_ops source_ops = {
    .read_runs = mpiio_read_runs,
    .write_runs = mpiio_assembled_write_runs,
    .size = get_size,
    .seek = seek_assembled,
};

static const struct mpiio_file_ops ops = {
    .close = close_all,
    .stat = get_stat,
    .wrote = note_write,
    .sync = mpiio_assembled_sync,
    .set_times = set_times,
    .await_writers = mpiio_assembled_await_writers,
    .refresh = mpiio_assembled_refresh,
    .pread = mpiio_assembled_read,
    .be_exact = be_exact,
    .write_ranges = mpiio_assembled_write_ranges,
    .admit = mpiio_assembled_admit,
    .allocate = allocate_space,
    .grow = grow_file,
};

/* Checking the members. */

/* Reports an error of a member at the location of the members in the spec. */
static int fail_member(const struct mpiio_assembled *self, int64_t member, int code,
                       const char *what, struct vs_error *why)
{
    char *path = vs_members_file(self->members, member);

    vs_members_fail(self->members, code, why, "member %" PRId64 ", %s: %s", member,
                    path != NULL ? path : "?", what);
    free(path);
    return code;
}

/* Checks that this process may open the file of a descriptor with the rights that the members
   need. */
static int check_access(const struct mpiio_assembled *self, int fd)
{
    const int rights = self->file.writable ? R_OK | W_OK : R_OK;
    char link[MPIIO_FD_LINK_SIZE];

    mpiio_fd_link(fd, link);
    return faccessat(AT_FDCWD, link, rights, AT_EACCESS) != 0 ? -errno : 0;
}

/* Records the filesystem of a member's descriptor. The least coherent one counts as the file's.
   Skips fstatfs(2) if the device is the previous member's. */
static void note_filesystem(struct mpiio_assembled *self, int fd, int64_t member)
{
    const struct mpiio_filesystem *found;

    if (self->file.filesystem != NULL && member > 0 &&
        self->identities[member].device == self->identities[member - 1].device)
        return;
    found = mpiio_filesystem_of(fd);
    if (self->file.filesystem == NULL || found->coherence > self->file.filesystem->coherence)
        self->file.filesystem = found;
}

/* Checks a member's file. Returns 1 if it exists, 0 if it is missing and may be, or a negative
   errno. */
static int look_at_member(struct mpiio_assembled *self, int64_t member, struct stat *st,
                          struct vs_error *why)
{
    char *path = vs_members_file(self->members, member);
    int fd = path != NULL ? mpiio_member_identify(path, st, &self->identities[member]) : -ENOMEM;
    int error = fd < 0 ? fd : check_access(self, fd);

    if (error == 0)
        note_filesystem(self, fd, member);
    if (fd >= 0)
        close(fd);
    free(path);
    if (error == -ENOENT && (self->allows_missing || self->creates))
        return 0;
    if (error < 0)
        return fail_member(self, member, error,
                           error == -EINVAL   ? "not a regular file"
                           : error == -ENOENT ? "no such file (missing=zero reads zeros instead)"
                                              : strerror(-error),
                           why);
    return 1;
}

/* Returns the number of positions of its view that a member's file of that size contains. */
static int64_t bytes_held(const struct vs_view *view, const struct vs_view *local, int64_t size)
{
    int64_t etype = vs_view_facts(view)->etype_file_size;
    int64_t limit = vs_map_facts(vs_view_map(view))->limit;
    int64_t bytes = vs_view_positions(local, size);

    bytes = bytes < limit ? bytes : limit;
    return bytes - bytes % etype;
}

static uint64_t add_identity(uint64_t digest, const struct mpiio_member_identity *identity,
                             int64_t member, int64_t bytes)
{
    digest = vs_hash_mix(digest, (uint64_t)member);
    digest = vs_hash_mix(digest, (uint64_t)bytes);
    digest = vs_hash_mix(digest, identity->device);
    digest = vs_hash_mix(digest, identity->inode);
    return vs_hash_mix(digest, (uint64_t)identity->birth);
}

static void take_stat(struct mpiio_assembled *self, const struct stat *st)
{
    if (self->st.st_mode == 0)
        self->st = *st;
    else
        self->st.st_blocks += st->st_blocks;
    take_times(&self->st, st);
}

static int add_member(struct mpiio_assembled *self, int64_t member, const struct vs_view *view,
                      const struct vs_view *local, struct vs_error *why)
{
    bool needed = vs_map_facts(vs_view_map(view))->tile_size > 0;
    struct stat st;
    int present = needed ? look_at_member(self, member, &st, why) : 0, error;
    int64_t bytes = 0;

    if (present < 0)
        return present;
    if (present)
        take_stat(self, &st);
    if (vs_view_gaps(view) != NULL || vs_view_gaps(local) != NULL)
        return fail_member(self, member, -EINVAL, "a buftype with gaps: members have none", why);
    if (!vs_map_facts(vs_view_map(local))->disjoint)
        return fail_member(self, member, -EINVAL, "\"local\" selects bytes twice", why);
    if (present)
        bytes = bytes_held(view, local, st.st_size);
    if (bytes > 0)
        self->identity = add_identity(self->identity, &self->identities[member], member, bytes);
    error = vs_assembly_add(self->places, view, bytes);
    if (error == -EINVAL)
        return fail_member(self, member, error,
                           "\"view\" selects bytes twice, or not in the order of the whole", why);
    return error == 0 ? 0 : fail_member(self, member, error, strerror(-error), why);
}

/* Adds all members to new places. */
static int add_members(struct mpiio_assembled *self, struct vs_error *why)
{
    const struct vs_members *members = self->members;
    int error = 0;

    vs_assembly_free(self->places);
    self->places = vs_assembly_new(self->overlap != VS_OVERLAP_ERROR);
    self->st = (struct stat){0};
    self->identity = VS_HASH_START;
    if (self->places == NULL)
        return vs_members_fail(members, -ENOMEM, why, "%s", strerror(ENOMEM));
    for (int64_t i = 0; i < vs_members_count(members) && error == 0; i++) {
        struct vs_view *view, *local;

        error = vs_members_views(members, i, &view, &local, why);
        if (error == 0)
            error = add_member(self, i, view, local, why);
        vs_view_unref(view);
        vs_view_unref(local);
    }
    return error;
}

/* Reports why the members do not fit together. */
static int fail_fit(const struct mpiio_assembled *self, const struct vs_assembly_fault *fault,
                    struct vs_error *why)
{
    int64_t member = (int64_t)fault->member;
    char what[200];

    switch (fault->kind) {
    case VS_ASSEMBLY_OVERLAP:
        snprintf(what, sizeof(what),
                 "byte %" PRId64 " of the whole is in member %zu, too (\"overlap\": \"first\" or "
                 "\"last\" says whose counts)",
                 fault->displacement, fault->other);
        break;
    case VS_ASSEMBLY_SHORT:
        snprintf(what, sizeof(what),
                 "too short: it has %" PRId64 " bytes of data and should have %" PRId64
                 " (missing=zero reads zeros instead)",
                 vs_assembly_bytes(self->places, fault->member), fault->expected);
        break;
    case VS_ASSEMBLY_TOO_MANY:
        return vs_members_fail(self->members, -E2BIG, why,
                               "the members lie among each other in too many ways to be compared");
    default:
        return 0;
    }
    return fail_member(self, member, -EINVAL, what, why);
}

static int check_fit(struct mpiio_assembled *self, struct vs_error *why)
{
    struct vs_assembly_fault fault;

    vs_assembly_finish(self->places, vs_members_facts(self->members)->filled);
    self->st.st_size = vs_assembly_size(self->places);
    if (vs_assembly_check(self->places, &fault) != 0)
        return vs_members_fail(self->members, -ENOMEM, why, "%s", strerror(ENOMEM));
    if (self->allows_missing && fault.kind == VS_ASSEMBLY_SHORT)
        return 0;
    return fail_fit(self, &fault, why);
}

/* Refuses to write if two members are one file, because a write through one would change the
   other's bytes. */
static int refuse_twins(const struct mpiio_assembled *self, struct vs_error *why)
{
    const struct vs_members *members = self->members;
    struct mpiio_member_twins twins;
    int found = mpiio_member_find_twins(self->identities, vs_members_count(members), &twins);
    char *first, *second;

    if (found == 0)
        return 0;
    if (found < 0)
        return vs_members_fail(members, found, why, "%s", strerror(-found));
    first = vs_members_file(members, twins.first);
    second = vs_members_file(members, twins.second);
    vs_members_fail(members, -EROFS, why,
                    "member %" PRId64 ", %s: the same file as member %" PRId64
                    ", %s: they can only be read (mpiio-mount -o ro)",
                    twins.second, second != NULL ? second : "?", twins.first,
                    first != NULL ? first : "?");
    free(first);
    free(second);
    return -EROFS;
}

/* Opens a descriptor of one member for the locks of all, and for queries of its filesystem. */
static int open_lock(struct mpiio_assembled *self, struct vs_error *why)
{
    int64_t first = mpiio_assembled_first(&self->file);
    int fd = mpiio_assembled_open_path(&self->file, first);
    int error = fd < 0 ? fd : 0;

    if (fd >= 0) {
        self->file.lock_fd = mpiio_fd_reopen(fd, self->file.writable ? O_RDWR : O_RDONLY);
        error = self->file.lock_fd < 0 ? self->file.lock_fd : 0;
        close(fd);
    }
    return error == 0 ? 0 : fail_member(self, first, error, strerror(-error), why);
}

/* Creates the missing members, and then checks all members again. */
static int create_missing(struct mpiio_assembled *self, struct vs_error *why)
{
    int64_t made;

    vs_assembly_finish(self->places, 0);
    made = mpiio_members_create(self->members, self->places, why);
    self->creates = false;
    return made <= 0 ? (int)made : add_members(self, why);
}

static int init_assembled(struct mpiio_assembled *self, const struct vs_members *members,
                          bool writable, struct vs_error *why)
{
    int64_t count = vs_members_count(members);
    int error;

    self->members = members;
    self->file.writable = writable;
    mpiio_members_limit_open(self);
    if (writable && self->overlap != VS_OVERLAP_ERROR)
        return vs_members_fail(members, -EROFS, why,
                               "members that may overlap can only be read (mpiio-mount -o ro)");
    self->written = calloc((size_t)(count + 63) / 64, sizeof(*self->written));
    self->identities = calloc((size_t)count, sizeof(*self->identities));
    if (self->written == NULL || self->identities == NULL)
        return vs_members_fail(members, -ENOMEM, why, "%s", strerror(ENOMEM));
    error = add_members(self, why);
    if (error == 0 && self->creates)
        error = create_missing(self, why);
    if (error == 0 && self->st.st_mode == 0)
        error = vs_members_fail(members, -ENOENT, why, "none of the members is there");
    if (error == 0)
        error = check_fit(self, why);
    if (error == 0 && writable)
        error = refuse_twins(self, why);
    return error == 0 ? open_lock(self, why) : error;
}

int mpiio_assemble(const struct vs_members *members, int flags, struct mpiio_fills fills,
                   struct mpiio_file **file, struct vs_error *why)
{
    bool writable = (flags & O_ACCMODE) == O_RDWR;
    struct mpiio_assembled *self = calloc(1, sizeof(*self));
    int error;

    if (self == NULL) {
        free(fills.list);
        return vs_members_fail(members, -ENOMEM, why, "%s", strerror(ENOMEM));
    }
    self->file.source.ops = &source_ops;
    self->file.ops = &ops;
    self->file.lock_fd = -1;
    self->file.lock_base = LOCK_BASE;
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_init(&self->syncing, NULL);
    self->overlap = vs_members_facts(members)->overlap;
    self->allows_missing = vs_members_facts(members)->missing != VS_MISSING_ERROR;
    self->fills = fills;
    self->creates = (flags & O_CREAT) != 0;
    error = init_assembled(self, members, writable, why);
    if (error != 0) {
        close_all(&self->file);
        return error;
    }
    mpiio_file_init(&self->file, -1, writable);
    *file = &self->file;
    return 0;
}

uint64_t mpiio_assembled_digest(const struct mpiio_file *file)
{
    const struct mpiio_assembled *self = (const struct mpiio_assembled *)file;
    uint64_t digest = VS_HASH_START;

    for (int64_t i = 0; i < vs_members_count(self->members); i++)
        digest = vs_hash_mix(digest, (uint64_t)vs_assembly_bytes(self->places, (size_t)i));
    return digest;
}

static uint64_t add_time(uint64_t digest, struct timespec time)
{
    return vs_hash_mix(vs_hash_mix(digest, (uint64_t)time.tv_sec), (uint64_t)time.tv_nsec);
}

uint64_t mpiio_assembled_writes(const struct mpiio_file *file)
{
    return atomic_load(&((const struct mpiio_assembled *)file)->writes);
}

uint64_t mpiio_assembled_state(const struct mpiio_file *file, struct timespec times[2])
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    struct stat newest = {0};
    uint64_t digest = VS_HASH_START;

    for (int64_t i = 0; i < vs_members_count(self->members); i++) {
        struct stat st;

        if (mpiio_assembled_has(self, i) && mpiio_member_stat(self, (size_t)i, &st) == 0) {
            take_times(&newest, &st);
            digest = add_time(digest, st.st_mtim);
            digest = add_time(digest, st.st_ctim);
            digest = vs_hash_mix(digest, (uint64_t)st.st_size);
        }
        digest = vs_hash_mix(digest, mpiio_assembled_has(self, i));
    }
    times[0] = newest.st_mtim;
    times[1] = newest.st_ctim;
    return digest;
}

int64_t mpiio_assembled_held(const struct mpiio_file *file, int64_t member)
{
    const struct mpiio_assembled *self = (const struct mpiio_assembled *)file;

    return vs_assembly_bytes(self->places, (size_t)member);
}

uint64_t mpiio_assembled_identity(const struct mpiio_file *file)
{
    return ((const struct mpiio_assembled *)file)->identity;
}

int mpiio_assembled_find_twins(const struct mpiio_file *file, struct mpiio_member_twins *twins)
{
    const struct mpiio_assembled *self = (const struct mpiio_assembled *)file;

    return mpiio_member_find_twins(self->identities, vs_members_count(self->members), twins);
}

void mpiio_assembled_on_replaced(struct mpiio_file *file,
                                 void (*replaced)(void *argument, int64_t member, const char *path),
                                 void *argument)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    self->replaced = replaced;
    self->replaced_argument = argument;
}
