/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILE_H
#define MPIIO_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "core/counters.h"
#include "viewspec/map.h"
#include "range.h"
#include "reader.h"
#include "window.h"
#include "write_behind.h"

/*
 * What a file that is assembled from others (core/members/) does where one with a descriptor asks
 * the kernel. It has a fixed length, and is never mapped. self is the assembly's own; the
 * functions are thread-safe but for close, and the rest is as the functions of this header, of
 * read_plan.h and of write_plan.h that they stand for.
 */
struct mpiio_file_kind {
    void (*close)(void *self);
    int (*stat)(void *self, struct stat *st);
    int64_t (*size)(void *self);
    int (*lock_fd)(void *self); /* a descriptor of its own that stands for all of it in locks */
    int64_t (*seek)(void *self, int64_t displacement, int whence);
    void (*wrote)(void *self, int64_t start, int64_t end);
    int (*sync)(void *self, bool data_only);
    int (*set_times)(void *self, const struct timespec times[2]);
    int (*statfs)(void *self, struct statvfs *st);
    int64_t (*pread)(void *self, void *buffer, size_t length, int64_t displacement,
                     struct mpiio_counters *done);
    size_t (*write_runs)(void *self, const struct vs_map *map, int64_t position, size_t length,
                         const void *buffer, int *error, struct mpiio_counters *done);
    int64_t (*write_ranges)(void *self, const char *image, int64_t displacement,
                            const struct mpiio_range *ranges, size_t count, int *error,
                            struct mpiio_counters *done);
    /* How many of the positions [position, position + length) may be written, from the first on:
       fewer before a byte that is nowhere, with error set to -ENXIO, or after another error. */
    size_t (*admit)(void *self, const struct vs_map *map, int64_t position, size_t length,
                    int *error);
    void (*be_exact)(void *self); /* whatever is read: nothing is read ahead of it */
    void (*check_changes)(void *self, void (*check)(void *argument), void *argument);
};

/*
 * The shared file as an open descriptor, with what its readers and writers share: windows, what is
 * on its way to the device, and counters. It knows neither slices nor a cache.
 *
 * Functions return 0 (or a count) or a negative errno, and are thread-safe unless it is said.
 */
struct mpiio_file {
    int fd;    /* -1 with a kind */
    int exact; /* another one, for mpiio_file_pread_exactly; -1: there is none */
    const struct mpiio_file_kind *kind; /* NULL: a descriptor */
    void *self;                         /* of the kind's functions */
    bool writable;
    bool local;                   /* this system alone changes its size: no other is to be asked */
    struct mpiio_windows windows; /* for writing too where the file is writable */
    struct mpiio_write_behind write_behind;
    void (*check)(
        void *argument); /* called before the file is changed (store_fence.h); NULL: nothing is */
    void *check_argument;
    struct mpiio_reader
        *reader;               /* asked before the file is read (reader.h); borrowed; NULL: none */
    pthread_mutex_t grow_lock; /* held while space behind the end is prepared for a scatter */
    atomic_uint_fast64_t slice_reads;
    atomic_uint_fast64_t slice_read_bytes;
    atomic_uint_fast64_t store_reads;
    atomic_uint_fast64_t store_read_bytes;
    atomic_uint_fast64_t store_map_bytes;
    atomic_uint_fast64_t slice_writes;
    atomic_uint_fast64_t slice_write_bytes;
    atomic_uint_fast64_t store_writes;
    atomic_uint_fast64_t store_write_bytes;
    atomic_uint_fast64_t store_map_write_bytes;
};

/*
 * Opens the file at path as mpiio_store_open does (store.h). The new file is the caller's. Closing
 * excludes all other calls; NULL is allowed.
 */
int mpiio_file_open(const char *path, int flags, struct mpiio_file **file);
void mpiio_file_close(struct mpiio_file *file);

/*
 * A file of that kind, which takes over self, also where it fails: with -ENOMEM or another negative
 * errno.
 */
int mpiio_file_of_kind(const struct mpiio_file_kind *kind, void *self, bool writable,
                       struct mpiio_file **file);

/* Whether the file never gets longer, whatever is written. */
static inline bool mpiio_file_is_fixed(const struct mpiio_file *file)
{
    return file->kind != NULL;
}

/*
 * Where its bytes are locked (file_lock.h): a descriptor, borrowed, or -1, and in *base what is
 * added to their displacements. Those of a kind are locked behind all data of one of its files.
 */
#define MPIIO_FILE_LOCK_BASE ((int64_t)1 << 61)
int mpiio_file_lock_place(const struct mpiio_file *file, int64_t *base);

/* fstat(2). st_size is the device's size for a block device. */
int mpiio_file_stat(struct mpiio_file *file, struct stat *st);

/* The present size in bytes, or a negative errno. */
int64_t mpiio_file_size(struct mpiio_file *file);

/* lseek(2) for SEEK_DATA and SEEK_HOLE: a displacement or a negative errno. */
int64_t mpiio_file_seek(struct mpiio_file *file, int64_t displacement, int whence);

/* fstatvfs(2). */
int mpiio_file_statfs(struct mpiio_file *file, struct statvfs *st);

/*
 * Adds what one call did to the counters. A call counts for itself and adds once: the counters are
 * shared by all threads.
 */
void mpiio_file_count(struct mpiio_file *file, const struct mpiio_counters *done);

/* A snapshot of the counters. */
void mpiio_file_counters(const struct mpiio_file *file, struct mpiio_counters *counters);

/* Called right before the file is changed. */
static inline void mpiio_file_check(const struct mpiio_file *file)
{
    if (file->check != NULL)
        file->check(file->check_argument);
}

/*
 * pread(2) of all length bytes at displacement: fewer only where the file ends. Negative errno;
 * adds to the calls and bytes in done, the caller's own.
 */
int64_t mpiio_file_pread(struct mpiio_file *file, void *buffer, size_t length, int64_t displacement,
                         struct mpiio_counters *done);

/*
 * The same, but the kernel is to read no more of the file than that, from mpiio_file_be_exact on:
 * what comes next is for others to read. Where there can be no descriptor for it, as
 * mpiio_file_pread.
 */
int64_t mpiio_file_pread_exactly(struct mpiio_file *file, void *buffer, size_t length,
                                 int64_t displacement, struct mpiio_counters *done);
void mpiio_file_be_exact(struct mpiio_file *file);

/*
 * As mpiio_file_pread where all of it is in the page cache: else false, and nothing is counted. A
 * filesystem that cannot tell has nothing there.
 */
bool mpiio_file_read_cached(struct mpiio_file *file, void *buffer, size_t length,
                            int64_t displacement, struct mpiio_counters *done);

/*
 * pwrite(2) of all length bytes at displacement. Returns how many were written: fewer than length
 * where an error came after some; a negative errno where none was. Adds to the calls and bytes in
 * done, the caller's own.
 */
int64_t mpiio_file_pwrite(struct mpiio_file *file, const void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done);

/*
 * How many of the positions [position, position + length) of map may be written, from the first on:
 * all of them, but in a file of a kind; error is set where it is fewer.
 */
static inline size_t mpiio_file_admit(struct mpiio_file *file, const struct vs_map *map,
                                      int64_t position, size_t length, int *error)
{
    *error = 0;
    return file->kind == NULL ? length
                              : file->kind->admit(file->self, map, position, length, error);
}

/*
 * fallocate(2), mode 0, of [displacement, displacement + length), length > 0: allocates what is
 * missing, and the file reaches at least the end. 0 or a negative errno; -EOPNOTSUPP where it is of
 * a kind.
 */
int mpiio_file_allocate(struct mpiio_file *file, int64_t displacement, int64_t length);

/*
 * Makes the file reach end (> 0) at least, never shorter: what another writer stored there
 * meanwhile stays (but see file.c for filesystems without fallocate). 0 or a negative errno; -EFBIG
 * where its length is fixed.
 */
int mpiio_file_grow(struct mpiio_file *file, int64_t end);

/* As mpiio_store_wrote, mpiio_store_sync and mpiio_store_set_times (store.h). */
void mpiio_file_wrote(struct mpiio_file *file, int64_t start, int64_t end);
int mpiio_file_sync(struct mpiio_file *file, bool data_only);
int mpiio_file_set_times(struct mpiio_file *file, const struct timespec times[2]);

/*
 * Has check(argument) called right before each system call, or batch of stores through a mapping,
 * that changes the file through file (store_fence.h). Before the file is used.
 */
void mpiio_file_check_changes(struct mpiio_file *file, void (*check)(void *argument),
                              void *argument);

#endif
