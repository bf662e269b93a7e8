/* SPDX-License-Identifier: MIT */
#ifndef POWERLOSS_H
#define POWERLOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A disk of one folder, in memory. Each file has its volatile bytes, its durable bytes, and a log
 * of the changes between them; a name has its volatile and its durable file.
 */

struct change {
    struct change *next;
    size_t offset, length; /* of the bytes; none: only the size has changed */
    size_t size;           /* the file's size after the change */
    char bytes[];
};

struct file {
    struct file *next;
    struct stat st; /* volatile; st_size is the size */
    char *data, *safe_data;
    size_t capacity, safe_size; /* capacity: of both buffers, which are zero beyond the size */
    struct change *first, *last;
    ino_t loaded; /* the inode on the disk that it was loaded from */
};

struct name {
    struct name *next;
    char *text;
    struct file *now, *safe; /* NULL: does not exist */
};

struct disk {
    struct file *files;
    struct name *names;
    uint64_t inodes;
    bool strict; /* an fsync of a file does not store its name */
};

/* The fate of changes that are not durable: each is lost, kept, or either at random. */
enum loss { LOSE_ALL, LOSE_NONE, LOSE_SOME };

/* All sizes and offsets are checked by the caller. Exits if memory is short. */
struct file *disk_file(const struct disk *disk, uint64_t inode);
struct name *disk_name(struct disk *disk, const char *text);
struct name *disk_link(struct disk *disk, const char *text, struct file *file);
void disk_unlink(struct disk *disk, struct name *name);
struct file *disk_create(struct disk *disk, mode_t mode, uid_t uid, gid_t gid);
void file_write(struct file *file, const char *bytes, size_t length, size_t offset);
void file_resize(struct file *file, size_t size);
void disk_sync_file(struct disk *disk, struct file *file);
void disk_sync_names(struct disk *disk);

/* Reads the disk from a folder, or writes to it the files that survive a loss of power. */
void disk_load(struct disk *disk, int folder);
void disk_lose(struct disk *disk, int folder, enum loss loss, unsigned seed);

#endif
