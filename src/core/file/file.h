/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILE_H
#define MPIIO_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "freshness.h"
#include "source.h"
#include "window.h"

/*
 * Write-behind: sends blocks of the file that were filled completely, by any number of writers, to
 * the device while others are being filled. So an fsync at the end has little left to do. Other
 * blocks are left to the kernel: bytes of other slices may come soon, and the block would be stored
 * twice. A block that is filled repeatedly is sent once until the next fsync. Only timing is
 * affected: a wrong guess costs time.
 */
#define MPIIO_WRITE_BEHIND_BLOCK ((int64_t)4 << 20)
#define MPIIO_WRITE_BEHIND_COUNT 64

struct mpiio_write_behind {
    bool off;             /* leave everything to the kernel; set before the file is used */
    pthread_mutex_t lock; /* held for counting, never during a system call */
    pthread_cond_t wake;  /* for the thread: there is work, or it must exit; with lock */
    pthread_t thread;
    bool running;                            /* thread was started; guarded by lock */
    bool stopping;                           /* guarded by lock */
    int queued;                              /* number of full blocks; guarded by lock */
    int64_t queue[MPIIO_WRITE_BEHIND_COUNT]; /* their numbers; guarded by lock */
    struct mpiio_filling {
        /* number of the block: its displacement divided by its size; guarded by lock */
        int64_t number;
        int64_t bytes; /* written to it so far; 0: not in use; -1: full; guarded by lock */
    } filling[MPIIO_WRITE_BEHIND_COUNT];
};

struct mpiio_file;

/*
 * Records that bytes, spread evenly, were written to [start, end) of the file. A thread, started on
 * first use, writes back the blocks that this fills. Thread-safe.
 */
void mpiio_write_behind_wrote(struct mpiio_file *file, int64_t start, int64_t end, int64_t bytes);

/* Records that the file will be synced: blocks that are filled again are sent again. Thread-safe.
 */
void mpiio_write_behind_synced(struct mpiio_file *file);

/*
 * The operations of a kind of file, in addition to its operations as a layer (source.h). The kinds
 * are a descriptor (file.h), and an assembly of other files (core/members/). Functions return 0 (or
 * a count) or a negative errno. All except close and be_exact are thread-safe.
 */
struct mpiio_file_ops {
    /* Frees the file. */
    void (*close)(struct mpiio_file *file);

    /* Like fstat(2). st_size is the device's size for a block device. */
    int (*stat)(struct mpiio_file *file, struct stat *st);

    /* Like mpiio_store_wrote, mpiio_store_sync and mpiio_store_set_times (store.h). */
    void (*wrote)(struct mpiio_file *file, int64_t start, int64_t end);
    int (*sync)(struct mpiio_file *file, bool data_only);
    int (*set_times)(struct mpiio_file *file, const struct timespec times[2]);

    /*
     * Waits until all calls of write(2) in progress in other programs have returned. Works if the
     * filesystem makes readers wait for writers: ext4, xfs, btrfs, tmpfs, and overlays of them. On
     * other filesystems returns at once. Does not wait for writes with O_DIRECT or stores through
     * mappings.
     */
    int (*await_writers)(struct mpiio_file *file);

    /* Called by mpiio_file_refresh if the file is not coherent. */
    int (*refresh)(struct mpiio_file *file);

    /*
     * Reads all length bytes at displacement, like pread(2). Returns fewer only at the end of the
     * file, or a negative errno. Adds to the calls and bytes in done, the caller's own counters.
     */
    int64_t (*pread)(struct mpiio_file *file, void *buffer, size_t length, int64_t displacement,
                     struct mpiio_counters *done);

    /* Turns off the kernel's readahead for mpiio_store_read_file, because other nodes read the
       following bytes. */
    void (*be_exact)(struct mpiio_file *file);

    /* Like mpiio_write_ranges (below). */
    void (*write_ranges)(struct mpiio_file *file, struct mpiio_transfer *transfer);

    /* For a file of fixed length, else NULL. Sets bytes to the number of a transfer's bytes,
       from the first on, that may be written. Stops before a hole, with error -ENXIO, or after
       an error. */
    void (*admit)(struct mpiio_file *file, struct mpiio_transfer *transfer);

    /* Allocates [displacement, displacement + length), length > 0, like fallocate(2) with mode
       0. The file then reaches at least the end of that range. -EOPNOTSUPP if its length is
       fixed. */
    int (*allocate)(struct mpiio_file *file, int64_t displacement, int64_t length);

    /*
     * Extends the file to end (> 0) if it is shorter. Never shortens it. Preserves data that
     * another writer stores there meanwhile (see descriptor.c for filesystems without fallocate).
     * -EFBIG if the file's length is fixed.
     */
    int (*grow)(struct mpiio_file *file, int64_t end);
};

#define MPIIO_COUNTERS (sizeof(struct mpiio_counters) / sizeof(uint64_t))

/*
 * The shared file, the lowest layer of the data path, and the state that its readers and writers
 * share: windows, write-behind, and counters. Independent of slices and of a cache.
 *
 * Functions return 0 (or a count) or a negative errno, and are thread-safe unless stated otherwise.
 */
struct mpiio_file {
    struct mpiio_source source; /* the first member */
    const struct mpiio_file_ops *ops;
    int fd;    /* -1: the file is assembled */
    int exact; /* for mpiio_store_read_file: fd, or another one after be_exact */
    /* for locks (exclusion.h) and fstatvfs(2): fd, or the first existing member's; -1: none */
    int lock_fd;
    int64_t lock_base; /* added to the displacements of locks */
    bool writable;
    const struct mpiio_filesystem *filesystem;
    enum mpiio_coherence coherence; /* set before the file is used */
    enum mpiio_coherence chosen;    /* by mpiio_file_set_coherence; AUTO: none; also for members */
    struct mpiio_freshness freshness; /* of a descriptor that is not coherent */
    /* for writing if the file is writable; refused if it is assembled or not coherent */
    struct mpiio_windows windows;
    struct mpiio_write_behind write_behind;
    /*
     * Callbacks, set before the file is used; may be NULL. check is called immediately before each
     * system call, or batch of stores through a mapping, that changes the file (store_layers.h). A
     * writer calls wait with true before it waits for another program's lock of the file, or for
     * room or a flush of write-back (cache.h), and with false afterwards.
     */
    void (*check)(void *argument);
    void *check_argument;
    void (*wait)(void *argument, bool waits);
    void *wait_argument;
    /* asked before the file is read (source.h); borrowed; may be NULL */
    struct mpiio_reader *reader;
    pthread_mutex_t grow_lock; /* held while space after the end is prepared for scattering */
    _Atomic uint64_t counters[MPIIO_COUNTERS]; /* in the order of struct mpiio_counters */
};

/*
 * Initializes a file whose ops and filesystem are set and whose other members are 0. fd is -1, or a
 * descriptor that close will close.
 */
void mpiio_file_init(struct mpiio_file *file, int fd, bool writable);

/* Closes and frees the file. NULL is allowed; no other call may be in progress. */
void mpiio_file_close(struct mpiio_file *file);

/* Overrides the coherence that the filesystem's type implies, for all members of an assembled file,
   unless coherence is MPIIO_COHERENCE_AUTO. Must be called before the file is used. */
void mpiio_file_set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence);

/* Returns the current size in bytes, or a negative errno. */
static inline int64_t mpiio_file_size(struct mpiio_file *file)
{
    return file->source.ops->size(&file->source);
}

/* Returns true if writing never extends the file. */
static inline bool mpiio_file_is_fixed(const struct mpiio_file *file)
{
    return file->ops->admit != NULL;
}

/* Returns true if all users of the file, on all hosts, see the same pages of it. */
static inline bool mpiio_file_is_coherent(const struct mpiio_file *file)
{
    return file->coherence == MPIIO_COHERENCE_LOCAL;
}

/*
 * Makes this host see what others wrote and closed before this call (freshness.h). Does nothing if
 * the file is coherent. Returns 0 or a negative errno.
 */
int mpiio_file_refresh(struct mpiio_file *file);

/*
 * Makes the writes before this call visible to hosts that refresh after it. A client may delay
 * sending data to the server, even beyond the release of a lock. Does nothing if the file is
 * coherent. Returns 0 or a negative errno.
 */
int mpiio_file_publish(struct mpiio_file *file);

/*
 * Adds the counts of one call to the counters. A call counts in its own structure and adds only
 * once, because all threads share the counters.
 */
void mpiio_file_count(struct mpiio_file *file, const struct mpiio_counters *done);

/* Calls check. Call immediately before the file is changed. */
static inline void mpiio_file_check(const struct mpiio_file *file)
{
    if (file->check != NULL)
        file->check(file->check_argument);
}

/* Calls wait. */
static inline void mpiio_file_waits(const struct mpiio_file *file, bool waits)
{
    if (file->wait != NULL)
        file->wait(file->wait_argument, waits);
}

/* Reads from a descriptor, as the pread of file operations. */
int64_t mpiio_file_pread_all(int fd, void *buffer, size_t length, int64_t displacement,
                             struct mpiio_counters *done);

/*
 * Reads like mpiio_file_pread_all if all bytes are in the page cache. Otherwise returns false and
 * counts nothing. Also returns false on a filesystem that cannot tell.
 */
bool mpiio_file_read_cached(struct mpiio_file *file, void *buffer, size_t length,
                            int64_t displacement, struct mpiio_counters *done);

/*
 * Writes length bytes at displacement, like pwrite(2). Returns the number of bytes written, which
 * is less than length after an error, or a negative errno if none were. Adds to the calls and bytes
 * in done, the caller's own counters.
 */
int64_t mpiio_file_pwrite(struct mpiio_file *file, const void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done);

/* Opens the file at path as mpiio_store_open does (store.h), as a descriptor. The caller owns the
   new file. */
int mpiio_file_open(const char *path, int flags, struct mpiio_file **file);

/*
 * The read plan: moves positions of a map from the file to packed memory, each run in the cheapest
 * way, unless the file has a reader that supplies all of them (source.h).
 *
 *   direct   a read call per run: long runs, and short ones that lie far apart
 *   mapped   gathered from windows of the file (window.h), guarded (guard.h): dense runs
 *   blocks   gathered from blocks of at most 256 KiB that are read into memory: for short requests,
 *            if the file cannot be mapped, if new windows cost more than they save, or if a mapped
 *            page was missing. Runs with large gaps between them are read by calls in this case, if
 *            they are in the page cache.
 */

/*
 * Reads a transfer from source, a struct mpiio_file. A mapping shows zeros between the file's end
 * and the end of its page. So bytes after the end may be read as zeros, and transfer->end does not
 * show that. The caller must compare with the file's size after the call. Local, thread-safe, holds
 * no lock during I/O.
 */
void mpiio_read_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * The write plan: moves packed memory to positions of a map in the file, each run in the cheapest
 * way. It never reads data to write it back, so that only the written bytes change, even if others
 * write adjacent bytes.
 *
 *   direct   a write call per run: long runs, short ones that lie far apart, and a few
 *   mapped   scattered into a shared mapping of the file, guarded (guard.h): dense short runs.
 *            After the end of the file, space is allocated and large pages are made first.
 *            Not used if clients have their own page caches (coherence): they write
 *            back whole pages, including stale bytes beside the runs.
 *            If the file cannot be mapped, or a page is missing (the disk is full, the file was
 *            truncated), each run is written by a call, which extends the file or returns the
 *            actual error.
 *
 * The last run is always written by a call, after all others. Stores through a mapping update the
 * file's times only if they are the first ones to a page, and other programs rely on the times.
 */

/*
 * Writes a transfer to source, a struct mpiio_file of a descriptor. The map must not contain a byte
 * of the file twice. If fewer bytes are written than the transfer's length, error is the negative
 * errno, or 0 if that is not known. After an error, bytes after that count may or may not be
 * written.
 *
 * On return all written data is in the page cache, and so visible to every other process of this
 * machine. Local, thread-safe, holds no lock during I/O.
 */
void mpiio_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Writes the transfer's ranges. They ascend and do not overlap. There may be none. Bytes between
 * them are neither read nor written. Sets bytes to the byte of the buffer up to which all ranges
 * are written: the end of the last range or, after an error, the progress in the range that failed.
 * Later ranges may or may not be written. Otherwise like mpiio_write_runs.
 */
void mpiio_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer);

#endif
