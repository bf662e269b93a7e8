/* SPDX-License-Identifier: MIT */
#include "powerloss.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECTOR 512
#define PAGE   4096

static void *need(void *memory)
{
    if (memory == NULL)
        errx(2, "out of memory");
    return memory;
}

struct file *disk_file(const struct disk *disk, uint64_t inode)
{
    struct file *file = disk->files;

    while (file != NULL && file->st.st_ino != inode)
        file = file->next;
    return file;
}

struct name *disk_name(struct disk *disk, const char *text)
{
    struct name *name = disk->names;

    while (name != NULL && strcmp(name->text, text) != 0)
        name = name->next;
    return name;
}

struct name *disk_link(struct disk *disk, const char *text, struct file *file)
{
    struct name *name = disk_name(disk, text);

    if (name == NULL) {
        name = need(calloc(1, sizeof(*name)));
        name->text = need(strdup(text));
        name->next = disk->names;
        disk->names = name;
    }
    name->now = file;
    file->st.st_nlink++;
    return name;
}

/* Files without a name stay until the program exits, because they may be open. */
void disk_unlink(struct disk *disk, struct name *name)
{
    (void)disk;
    name->now->st.st_nlink--;
    name->now = NULL;
}

struct file *disk_create(struct disk *disk, mode_t mode, uid_t uid, gid_t gid)
{
    struct file *file = need(calloc(1, sizeof(*file)));

    file->st.st_ino = ++disk->inodes + 1;
    file->st.st_mode = S_IFREG | (mode & 07777);
    file->st.st_uid = uid;
    file->st.st_gid = gid;
    file->st.st_blksize = PAGE;
    clock_gettime(CLOCK_REALTIME, &file->st.st_mtim);
    file->st.st_ctim = file->st.st_atim = file->st.st_mtim;
    file->next = disk->files;
    disk->files = file;
    return file;
}

/* Changes. */

static void reserve(struct file *file, size_t size)
{
    size_t capacity = file->capacity > 0 ? file->capacity : 64 * PAGE;

    while (capacity < size)
        capacity *= 2;
    if (capacity == file->capacity)
        return;
    file->data = need(realloc(file->data, capacity));
    file->safe_data = need(realloc(file->safe_data, capacity));
    memset(file->data + file->capacity, 0, capacity - file->capacity);
    memset(file->safe_data + file->capacity, 0, capacity - file->capacity);
    file->capacity = capacity;
}

static void log_change(struct file *file, const char *bytes, size_t length, size_t offset)
{
    struct change *change = need(malloc(sizeof(*change) + length));

    *change = (struct change){.offset = offset, .length = length, .size = (size_t)file->st.st_size};
    if (length > 0)
        memcpy(change->bytes, bytes, length);
    if (file->first == NULL)
        file->first = change;
    else
        file->last->next = change;
    file->last = change;
    clock_gettime(CLOCK_REALTIME, &file->st.st_mtim);
    file->st.st_ctim = file->st.st_mtim;
    file->st.st_blocks = (file->st.st_size + SECTOR - 1) / SECTOR;
}

void file_write(struct file *file, const char *bytes, size_t length, size_t offset)
{
    reserve(file, offset + length);
    memcpy(file->data + offset, bytes, length);
    if (file->st.st_size < (off_t)(offset + length))
        file->st.st_size = (off_t)(offset + length);
    log_change(file, bytes, length, offset);
}

/* Logs the bytes that a truncation cuts off as a change to zeros. */
void file_resize(struct file *file, size_t size)
{
    size_t old = (size_t)file->st.st_size;

    reserve(file, size);
    file->st.st_size = (off_t)size;
    if (size < old)
        memset(file->data + size, 0, old - size);
    log_change(file, file->data + size, size < old ? old - size : 0, size);
}

static void forget_changes(struct file *file)
{
    while (file->first != NULL) {
        struct change *next = file->first->next;

        free(file->first);
        file->first = next;
    }
}

void disk_sync_file(struct disk *disk, struct file *file)
{
    if (file->capacity > 0)
        memcpy(file->safe_data, file->data, file->capacity);
    file->safe_size = (size_t)file->st.st_size;
    forget_changes(file);
    for (struct name *name = disk->names; name != NULL && !disk->strict; name = name->next)
        if (name->now == file)
            name->safe = file;
}

/* Stores the size of a new file that has no data, since journals order it with the file's name. */
static void sync_size(struct file *file)
{
    const struct change *change = file->first;

    while (change != NULL && change->length == 0)
        change = change->next;
    if (change == NULL)
        file->safe_size = (size_t)file->st.st_size;
}

void disk_sync_names(struct disk *disk)
{
    for (struct name *name = disk->names; name != NULL; name = name->next) {
        if (name->now != NULL && name->now != name->safe)
            sync_size(name->now);
        name->safe = name->now;
    }
}

/* The loss of power. */

static size_t count_changes(const struct file *file)
{
    size_t count = 0;

    for (const struct change *change = file->first; change != NULL; change = change->next)
        count++;
    return count;
}

/* Chooses how many of the first changes have reached the disk. */
static size_t choose(enum loss loss, size_t count, unsigned *seed)
{
    int draw = loss == LOSE_SOME ? rand_r(seed) % 3 : (int)loss;

    return draw == 0 ? 0 : draw == 1 ? count : (size_t)rand_r(seed) % (count + 1);
}

/* Lays the first changes over a piece of the durable bytes. */
static void settle_piece(struct file *file, size_t start, size_t end, size_t changes)
{
    for (struct change *change = file->first; changes-- > 0; change = change->next) {
        size_t first = change->offset > start ? change->offset : start;
        size_t last = change->offset + change->length;

        last = last < end ? last : end;
        if (first < last)
            memcpy(file->safe_data + first, change->bytes + first - change->offset, last - first);
    }
}

/*
 * Sets the durable bytes to those that survive. A file's pages reach a disk in any order and at any
 * time, and a write of a page may be torn between sectors. So each sector, or each page, gets its
 * contents after some number of the changes. The size does, too.
 */
static void settle(struct file *file, enum loss loss, unsigned *seed)
{
    size_t count = count_changes(file), piece = rand_r(seed) % 2 ? SECTOR : PAGE, sized;
    struct change *change = file->first;

    for (size_t at = 0; at < file->capacity; at += piece)
        settle_piece(file, at, at + piece, choose(loss, count, seed));
    for (sized = choose(loss, count, seed); sized > 0; sized--, change = change->next)
        file->safe_size = change->size;
}

static void write_file(int folder, const char *name, const struct file *file)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)file->safe_size) < 0 || fchmod(fd, file->st.st_mode) < 0 ||
        fchown(fd, file->st.st_uid, file->st.st_gid) < 0 ||
        pwrite(fd, file->safe_data, file->safe_size, 0) != (ssize_t)file->safe_size)
        err(2, "%s", name);
    close(fd);
}

void disk_lose(struct disk *disk, int folder, enum loss loss, unsigned seed)
{
    for (struct file *file = disk->files; file != NULL; file = file->next)
        settle(file, loss, &seed);
    for (struct name *name = disk->names; name != NULL; name = name->next) {
        struct name *other = disk->names;

        unlinkat(folder, name->text, 0);
        if (name->now != name->safe && choose(loss, 1, &seed) == 1)
            name->safe = name->now;
        while (other != name && (other->safe != name->safe || name->safe == NULL))
            other = other->next;
        if (other != name && linkat(folder, other->text, folder, name->text, 0) < 0)
            err(2, "%s", name->text);
        if (other == name && name->safe != NULL)
            write_file(folder, name->text, name->safe);
    }
}

static void load_file(struct disk *disk, int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    struct file *file;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        err(2, "%s", name);
    for (file = disk->files; file != NULL && file->loaded != st.st_ino; file = file->next)
        continue;
    if (file == NULL) {
        file = disk_create(disk, st.st_mode, st.st_uid, st.st_gid);
        file->loaded = st.st_ino;
        reserve(file, (size_t)st.st_size);
        file->st.st_size = st.st_size;
        file->st.st_blocks = (st.st_size + SECTOR - 1) / SECTOR;
        if (pread(fd, file->data, file->capacity, 0) != st.st_size)
            err(2, "%s", name);
    }
    disk_link(disk, name, file);
    disk_sync_file(disk, file);
    close(fd);
}

void disk_load(struct disk *disk, int folder)
{
    DIR *entries = fdopendir(dup(folder));
    struct dirent *entry;

    if (entries == NULL)
        err(2, "cannot list the disk");
    while ((entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            load_file(disk, folder, entry->d_name);
    closedir(entries);
    disk_sync_names(disk);
}
