/* SPDX-License-Identifier: MIT */
#include "record_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "net/handshake.h"
#include "net/wire.h"
#include "core/base/clock.h"

/* The file. */
#define MAGIC        0x4d50494f50545231 /* "MPIOPTR1": the format's version 1 */
#define HEADER_BYTES 56
#define HEADER_ROOM  512
#define PAGE         4096
#define ENTRY_BYTES  40
#define SUM_BYTES    8

/* The number of times that a node looks for the record that node 0 has created, and the ns between
   two attempts. */
#define PROOF_LOOKS 20
#define PROOF_PAUSE 100000000

/* The number of times that node 0 looks whether other nodes have given up a mount that failed, and
   the ns between two looks. */
#define ABANDON_LOOKS 100
#define ABANDON_PAUSE 10000000

/* Bytes of the log that are allocated when the record is created. */
#define LOG_FIRST (64 << 10)

/* The length in bytes at which a log is replaced, if a snapshot is much shorter. */
#define LOG_MAX (1 << 20)

struct header {
    uint64_t generation;
    int64_t base;
    uint64_t count; /* of entries in the snapshot at the beginning of the log */
    uint64_t sum;   /* checksum */
    bool mine;      /* its identity is this mount's */
};

static int64_t log_start(const struct mpiio_record *record)
{
    return MPIIO_RECORD_BEATS_AT + (8 * (int64_t)record->nodes + PAGE - 1) / PAGE * PAGE;
}

/* The header. */

static void code_header(struct mpiio_wire *wire, struct header *header, uint64_t *magic,
                        uint8_t identity[MPIIO_RECORD_IDENTITY])
{
    mpiio_wire_u64(wire, magic);
    mpiio_wire_bytes(wire, identity, MPIIO_RECORD_IDENTITY);
    mpiio_wire_u64(wire, &header->generation);
    mpiio_wire_u64(wire, (uint64_t *)&header->base);
    mpiio_wire_u64(wire, &header->count);
}

/* Encodes a header of this mount, and sets its checksum. */
static void encode_header(const struct mpiio_record *record, struct header *header,
                          uint8_t bytes[HEADER_BYTES])
{
    struct mpiio_wire wire = {.to = bytes, .size = HEADER_BYTES};
    uint8_t identity[MPIIO_RECORD_IDENTITY];
    uint64_t magic = MAGIC;

    memcpy(identity, record->identity, sizeof(identity));
    code_header(&wire, header, &magic, identity);
    header->sum = mpiio_siphash(identity, bytes, wire.at);
    mpiio_wire_u64(&wire, &header->sum);
}

/* Overwrites the older of the two headers. The current one stays in force until this one is
   complete. */
static int write_header(const struct mpiio_record *record, struct header *header)
{
    uint8_t bytes[HEADER_BYTES];

    encode_header(record, header, bytes);
    return mpiio_record_write(record, bytes, sizeof(bytes),
                              (int64_t)(header->generation % 2) * HEADER_ROOM);
}

static bool decode_header(const struct mpiio_record *record, const uint8_t *bytes,
                          struct header *header)
{
    struct mpiio_wire wire = {.from = bytes, .size = HEADER_BYTES};
    uint8_t identity[MPIIO_RECORD_IDENTITY];
    uint64_t magic, sum;

    code_header(&wire, header, &magic, identity);
    sum = mpiio_siphash(identity, bytes, wire.at);
    mpiio_wire_u64(&wire, &header->sum);
    header->mine = memcmp(identity, record->identity, sizeof(identity)) == 0;
    return mpiio_wire_complete(&wire) && magic == MAGIC && sum == header->sum &&
           header->generation > 0 && header->base >= MPIIO_RECORD_BEATS_AT;
}

/*
 * Returns 1 and the newer of the valid headers; 0 if the headers are empty, as after a crash of the
 * node that created the file; -EEXIST if the file is not a record; or another negative errno.
 */
static int read_header(const struct mpiio_record *record, struct header *header)
{
    uint8_t bytes[2 * HEADER_ROOM] = {0};
    ssize_t got = mpiio_record_pread(record, bytes, sizeof(bytes), 0);
    struct header next;

    if (got < 0)
        return (int)got;
    header->generation = 0;
    for (const uint8_t *at = bytes; at < bytes + sizeof(bytes); at += HEADER_ROOM)
        if (decode_header(record, at, &next) && next.generation > header->generation)
            *header = next;
    if (header->generation > 0)
        return 1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        if (bytes[i] != 0)
            return -EEXIST;
    return 0;
}

/* Entries. */

static void code_entry(struct mpiio_wire *wire, struct mpiio_entry *entry, uint64_t *generation)
{
    uint32_t kind = entry->kind, none = 0;

    mpiio_wire_u32(wire, &kind);
    mpiio_wire_u32(wire, &entry->node);
    mpiio_wire_u32(wire, &entry->view);
    mpiio_wire_u32(wire, &none);
    mpiio_wire_u64(wire, &entry->value);
    mpiio_wire_u64(wire, generation);
    entry->kind = kind;
}

/* Returns the checksum of an encoded entry that follows an entry with the checksum chain. */
static uint64_t sum_entry(const struct mpiio_record *record, uint64_t chain, const uint8_t *bytes)
{
    uint8_t text[ENTRY_BYTES];

    memcpy(text, &chain, sizeof(chain));
    memcpy(text + sizeof(chain), bytes, ENTRY_BYTES - SUM_BYTES);
    return mpiio_siphash(record->identity, text, sizeof(text));
}

/* Writes entries that follow an entry with the checksum *chain. Sets *chain to the checksum of the
   last of them. */
static int write_entries(const struct mpiio_record *record, uint64_t generation, int64_t at,
                         uint64_t *chain, const struct mpiio_entry *entries, size_t count)
{
    uint8_t *bytes = malloc(count * ENTRY_BYTES + 1);
    struct mpiio_wire wire = {.to = bytes, .size = count * ENTRY_BYTES};
    int error;

    if (bytes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct mpiio_entry entry = entries[i];

        code_entry(&wire, &entry, &generation);
        *chain = sum_entry(record, *chain, bytes + i * ENTRY_BYTES);
        mpiio_wire_u64(&wire, chain);
    }
    error = mpiio_record_write(record, bytes, count * ENTRY_BYTES, at);
    free(bytes);
    return error;
}

/* Returns true if the bytes are the next entry of the log. */
static bool decode_entry(const struct mpiio_record *record, const uint8_t *bytes,
                         struct mpiio_entry *entry, uint64_t *chain)
{
    struct mpiio_wire wire = {.from = bytes, .size = ENTRY_BYTES};
    uint64_t generation, sum = sum_entry(record, record->chain, bytes);

    code_entry(&wire, entry, &generation);
    mpiio_wire_u64(&wire, chain);
    return sum == *chain && generation == record->generation;
}

static int read_entries(struct mpiio_record *record, struct mpiio_state *state)
{
    uint8_t bytes[100 * ENTRY_BYTES];
    struct mpiio_entry entry;
    uint64_t chain;
    ssize_t got;
    int error;

    for (;;) {
        got = mpiio_record_pread(record, bytes, sizeof(bytes), record->at);
        if (got < 0)
            return (int)got;
        for (const uint8_t *next = bytes; next + ENTRY_BYTES <= bytes + got; next += ENTRY_BYTES) {
            if (!decode_entry(record, next, &entry, &chain))
                return 0;
            error = mpiio_state_apply(state, &entry);
            if (error != 0)
                return error;
            record->chain = chain;
            record->at += ENTRY_BYTES;
        }
        if (got < (ssize_t)sizeof(bytes))
            return 0;
    }
}

static void begin_generation(struct mpiio_record *record, const struct header *header)
{
    record->generation = header->generation;
    record->base = record->at = header->base;
    record->chain = header->sum;
}

/* Reads to the end of the generation that is in force at the start of the call. */
static int read_generation(struct mpiio_record *record, struct mpiio_state *state)
{
    struct header header;
    int found = read_header(record, &header);

    if (found != 1 || !header.mine)
        return found < 0 ? found : found == 1 ? -ESTALE : -EIO;
    if (header.generation != record->generation) {
        mpiio_state_reset(state);
        begin_generation(record, &header);
    }
    return read_entries(record, state);
}

/* Returns false if the log was replaced while it was read without the lock. Its end is then not the
   latest state. */
static bool is_current(const struct mpiio_record *record)
{
    struct header header;

    return record->since != 0 || read_header(record, &header) != 1 ||
           header.generation == record->generation;
}

int mpiio_record_read(struct mpiio_record *record, struct mpiio_state *state)
{
    int error = mpiio_record_renew(record);

    do
        error = error == 0 ? read_generation(record, state) : error;
    while (error == 0 && !is_current(record));
    if (error != 0)
        record->generation = 0;
    return error;
}

int mpiio_record_append(struct mpiio_record *record, const struct mpiio_entry *entries,
                        size_t count)
{
    int error = -ECANCELED;

    /* Without a generation, nobody would accept the entries. */
    if (record->generation != 0 && mpiio_record_is_in_time(record))
        error =
            write_entries(record, record->generation, record->at, &record->chain, entries, count);
    if (error == 0)
        record->at += (int64_t)(count * ENTRY_BYTES);
    else
        record->generation = 0;
    return error;
}

/* Places the new log before the old one if it fits there, else behind it. */
static int64_t choose_base(const struct mpiio_record *record, size_t count)
{
    int64_t first = log_start(record);

    if (first + (int64_t)(count * ENTRY_BYTES) <= record->base)
        return first;
    return (record->at + PAGE - 1) / PAGE * PAGE;
}

/*
 * Writes a snapshot as the next generation. The checksums of its entries depend on their number, so
 * leftovers of another attempt at the same place are not valid. If the filesystem has taken the
 * lock away, another node may have appended. So the time for which the lock has been held is
 * checked again before the header is written.
 */
static int write_generation(struct mpiio_record *record, const struct mpiio_entry *list,
                            size_t count)
{
    struct header next = {
        .generation = record->generation + 1, .base = choose_base(record, count), .count = count};
    uint8_t bytes[HEADER_BYTES];
    uint64_t chain;
    int error;

    encode_header(record, &next, bytes);
    chain = next.sum;
    error = write_entries(record, next.generation, next.base, &chain, list, count);
    if (error == 0)
        error = mpiio_record_is_in_time(record) ? write_header(record, &next) : -ECANCELED;
    if (error != 0) {
        record->generation = 0;
        return error;
    }
    begin_generation(record, &next);
    record->at += (int64_t)(count * ENTRY_BYTES);
    record->chain = chain;
    return 0;
}

int mpiio_record_shorten(struct mpiio_record *record, const struct mpiio_state *state)
{
    int64_t length = record->at - record->base;
    struct mpiio_entry *list;
    size_t count;
    int error = 0;

    if (length < LOG_MAX || !mpiio_record_is_in_time(record))
        return 0;
    list = mpiio_state_snapshot(state, &count);
    if (list == NULL)
        return -ENOMEM;
    if ((int64_t)(4 * count * ENTRY_BYTES) <= length)
        error = write_generation(record, list, count);
    free(list);
    return error;
}

/* Opening and closing. */

void mpiio_record_init(struct mpiio_record *record)
{
    record->fd = -1;
    pthread_mutex_init(&record->freshness.lock, NULL);
}

void mpiio_record_close(struct mpiio_record *record)
{
    if (record->fd >= 0)
        close(record->fd);
    record->fd = -1;
    record->since = 0;
    record->generation = 0;
    record->joined = false;
}

static int open_file(struct mpiio_record *record, bool create)
{
    int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0);
    struct stat st;

    record->fd = openat(record->folder, record->name, flags, 0600);
    if (record->fd < 0)
        return -errno;
    record->synced = !mpiio_filesystem_of(record->fd)->one_machine;
    if (fstat(record->fd, &st) != 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

/*
 * Checks that the locked file still has the record's name. Returns 0, -EAGAIN if the name refers to
 * another file by now, or to none, or another negative errno. A node that has joined needs no
 * check: all nodes have the same file open until they exit, whatever becomes of its name.
 */
static int check_file(const struct mpiio_record *record)
{
    struct statx named, opened;

    if (statx(record->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_INO, &opened) != 0)
        return errno == ENOENT || errno == ESTALE ? -EAGAIN : -errno;
    if (statx(record->folder, record->name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_INO,
              &named) != 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    return named.stx_ino == opened.stx_ino && named.stx_dev_major == opened.stx_dev_major &&
                   named.stx_dev_minor == opened.stx_dev_minor
               ? 0
               : -EAGAIN;
}

/* Formats an empty file as a record without entries. */
static int format_file(const struct mpiio_record *record)
{
    struct header header = {.generation = 1, .base = log_start(record)};
    struct stat st;

    if (fstat(record->fd, &st) != 0)
        return -errno;
    /* Not a file that somebody else has put there. */
    if (st.st_nlink != 1 || st.st_uid != geteuid())
        return -EEXIST;
    /* If the owner cannot be set, the record stays private to this user. */
    if (fchown(record->fd, record->shared.st_uid, record->shared.st_gid) == 0)
        fchmod(record->fd, (record->shared.st_mode & 0666) | 0600);
    /* Entries and heartbeats must not fail because the disk is full. */
    if (fallocate(record->fd, 0, 0, header.base + LOG_FIRST) != 0 &&
        ftruncate(record->fd, header.base) != 0)
        return -errno;
    return write_header(record, &header);
}

/*
 * Joins the nodes that use the record, which must be locked. Only the node that creates the record
 * may replace one that another mount has left behind: it removes that file and returns -EAGAIN.
 */
static int join(struct mpiio_record *record, bool create)
{
    struct header header;
    int error = mpiio_record_renew(record);
    int found = error == 0 ? read_header(record, &header) : error;

    error = found < 0 ? found : 0;
    if (found == 1 && !header.mine) {
        if (mpiio_record_is_used(record) || !create)
            return create ? -EBUSY : -ENOENT;
        return unlinkat(record->folder, record->name, 0) == 0 || errno == ENOENT ? -EAGAIN : -errno;
    }
    if (found == 0)
        error = create ? format_file(record) : -ENOENT;
    if (error == 0)
        error = mpiio_record_lock_node(record) == 0 ? 0 : -EBUSY;
    record->joined = error == 0;
    return error;
}

int mpiio_record_lock(struct mpiio_record *record, bool create)
{
    int64_t end = mpiio_lease_clock() + record->timeout;
    int error;

    do {
        error = record->fd < 0 ? open_file(record, create) : 0;
        if (error == 0)
            error = mpiio_record_await(record, end);
        if (error == 0 && !record->joined)
            error = check_file(record);
        if (error == 0 && !record->joined)
            error = join(record, create);
        if (error != 0)
            mpiio_record_unlock(record);
        if (error != 0 && !record->joined)
            mpiio_record_close(record);
    } while (error == -EAGAIN && mpiio_lease_clock() < end);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}

void mpiio_record_remove_last(const struct mpiio_record *record)
{
    if (!mpiio_record_is_used(record))
        unlinkat(record->folder, record->name, 0);
}

void mpiio_record_abandon(struct mpiio_record *record)
{
    const struct timespec pause = {.tv_nsec = ABANDON_PAUSE};

    if (!record->joined || record->node != 0 || mpiio_record_lock(record, false) != 0)
        return;
    for (int i = 0; i < ABANDON_LOOKS && mpiio_record_is_used(record); i++)
        nanosleep(&pause, NULL);
    mpiio_record_remove_last(record);
    mpiio_record_unlock(record);
}

int mpiio_record_prove(struct mpiio_record *record)
{
    const struct timespec pause = {.tv_nsec = PROOF_PAUSE};
    int error = mpiio_record_lock(record, false);

    /* The filesystem's client may have cached that the name does not exist. */
    for (int i = 0; i < PROOF_LOOKS && error == -ENOENT; i++) {
        nanosleep(&pause, NULL);
        error = mpiio_record_lock(record, false);
    }
    mpiio_record_unlock(record);
    if (error == 0 && !mpiio_record_has_node(record, 0))
        error = -ENOLCK;
    return error;
}
