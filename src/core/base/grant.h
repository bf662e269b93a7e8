/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GRANT_H
#define MPIIO_GRANT_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

/*
 * A grant: the daemon of a mount lets a program read or write an open slice directly in the shared
 * file, with the program's own rights to that file, until the daemon revokes the grant.
 *
 * The program requests a grant by an ioctl(2) of the slice's descriptor. A word of shared memory
 * shows whether the grant holds; only the daemon can write to that memory. Neither side waits for
 * the other:
 *
 * - The daemon changes the word before it lets the kernel fill pages of a slice that shows the same
 *   bytes, and reads the file after that.
 * - The program writes to the file, and then checks that the grant still holds. If it does not, the
 *   program writes the same bytes through the mount before its call returns, and the daemon has the
 *   kernel invalidate the pages, which may have been filled before. (MPIIO_GRANT_WROTE is for
 *   writes that cannot be repeated.)
 *
 * The program must not believe the answer to the ioctl, since the descriptor may belong to another
 * user's filesystem. The answer only says where the page is, and which slot of the page has the
 * grant. src/DESIGN.md, "Grants", shows why the page can be believed.
 */
#define MPIIO_GRANT_READ  1U
#define MPIIO_GRANT_WRITE 2U
#define MPIIO_GRANT_BOTH  3U
/* Set in a word while a program without a grant has the slice open, and so may have mapped it. */
#define MPIIO_GRANT_WATCHED 4U
#define MPIIO_GRANT_FLAGS   7U
#define MPIIO_GRANT_ROUND   8U /* the step of a word when rights are granted again */
#define MPIIO_GRANT_WORDS   4096
#define MPIIO_GRANT_SLOTS   4096

#define MPIIO_GRANT_PATH_MAX 4096
#define MPIIO_GRANT_WHY_MAX  64

/* The name of the memfd that has the page. It shows in the daemon's /proc/PID/fd. */
#define MPIIO_GRANT_MEMORY "mpiio-grants"

/* A mount and its shared file, which stay the same while the daemon serves. */
struct mpiio_grant_mount {
    uint64_t mount;         /* st_dev of the mount's files */
    uint64_t device, inode; /* of the shared file; or 0, and mpiio_assembled_identity */
    uint32_t narrow;        /* enum mpiio_narrow */
    uint32_t coherence;     /* enum mpiio_coherence */
    /* the daemon, and its descriptor of the positions (below); -1: the mount has none */
    int32_t process, positions;
    uint64_t positions_inode, count; /* of the positions: inode number, and how many there are */
    char file[MPIIO_GRANT_PATH_MAX];
};

/* A grant of one open slice. */
struct mpiio_grant {
    uint32_t word, value; /* the number of a word, and its value while the grant holds */
    uint32_t rights;
    uint32_t cut; /* 1: the slice was truncated and has a mark (MPIIO_GRANT_MARK) */
    /* index of the view; the number of views stands for all bytes of an assembled file */
    uint64_t view;
    int64_t rank; /* or MPIIO_GRANT_SHARED */
};

/* Replaces the rank if the file is the view's "shared", whose calls begin at the position with the
   view's index (below). */
#define MPIIO_GRANT_SHARED INT64_C(-1)

/* A grant, and the nonce of the request that it answers. The nonce is 0 while the daemon writes
   the grant. */
struct mpiio_grant_slot {
    _Atomic uint64_t nonce;
    struct mpiio_grant grant;
};

/* The page. The resolved text of the spec follows it, text_length bytes. */
struct mpiio_grant_page {
    uint64_t token; /* random; no other daemon has it */
    uint64_t text_length;
    struct mpiio_grant_mount mount;
    /* A robust futex: the number of a thread of the daemon. The kernel clears it when the thread
       ends, in whatever way. */
    _Atomic uint32_t daemon;
    _Atomic uint32_t words[MPIIO_GRANT_WORDS];
    /* A ring: a grant is overwritten after MPIIO_GRANT_SLOTS later ones. */
    struct mpiio_grant_slot slots[MPIIO_GRANT_SLOTS];
};

/* The argument of the ioctl. */
struct mpiio_grant_request {
    uint64_t nonce;          /* random, not 0; set by the program; the daemon sets the rest */
    uint64_t token;          /* of the page */
    int32_t process, memory; /* the daemon, and its descriptor of the page */
    uint32_t slot;
    char why[MPIIO_GRANT_WHY_MAX]; /* why there is no grant; empty: the slot has the grant */
};

#define MPIIO_GRANT_ASK _IOWR('m', 0x61, struct mpiio_grant_request)

/*
 * After O_TRUNC a slice has a mark, and the daemon fills the gap between the mark and a later write
 * beyond it with zeros. Before its first direct write, a program requests the mark by passing -1.
 * It gets INT64_MAX if there is none, or -1 if others write the slice, too, and it must write
 * through the mount. Otherwise it moves the mark itself, and passes it (0 or more) to the daemon
 * before it writes through the mount again. From then on it writes through the mount only.
 */
#define MPIIO_GRANT_MARK _IOWR('m', 0x62, int64_t)

/*
 * Reports a write to "shared" during which the right to write was revoked. Writes to slices are
 * repeated through the mount, but here the mount would take other etypes. Returns once the kernel
 * has invalidated the pages that show the bytes. The range is bounded, because the daemon searches
 * other slices for each of its bytes.
 */
#define MPIIO_GRANT_RANGE_MAX (512 << 10)

struct mpiio_grant_range {
    int64_t offset, length; /* of the slice */
};

#define MPIIO_GRANT_WROTE _IOW('m', 0x63, struct mpiio_grant_range)

/*
 * Creates a page of the mount, with a copy of the spec's text, in memory that no other process can
 * write to. Registers this thread as the page's daemon. A thread may have only one page, and must
 * not lock robust mutexes from then on. Sets *memory to the descriptor of the page, which stays
 * until the process ends. Returns NULL if the system refuses it.
 */
struct mpiio_grant_page *mpiio_grant_page_new(const struct mpiio_grant_mount *mount,
                                              const char *text, size_t length, int *memory);

/*
 * Maps the page that a process has open as descriptor memory, for reading. Returns NULL unless it
 * is sealed memory created by the effective user, with a page of that token in it. Unmap it with
 * mpiio_grant_page_unmap. Thread-safe.
 */
const struct mpiio_grant_page *mpiio_grant_page_map(int process, int memory, uint64_t token);

void mpiio_grant_page_unmap(const struct mpiio_grant_page *page);

/* Writes the answer to the request of that nonce into a slot. The caller must exclude other
   threads. */
void mpiio_grant_put(struct mpiio_grant_page *page, uint32_t slot, uint64_t nonce,
                     const struct mpiio_grant *grant);

/*
 * Copies the answer to the request of that nonce from a slot. Returns false if the slot has another
 * answer, or an invalid one. Thread-safe.
 */
bool mpiio_grant_take(const struct mpiio_grant_page *page, uint32_t slot, uint64_t nonce,
                      struct mpiio_grant *grant);

/* Returns true while a grant of value includes a right, which is one bit. Async-signal-safe. */
static inline bool mpiio_grant_holds(const struct mpiio_grant_page *page, uint32_t word,
                                     uint32_t value, uint32_t right)
{
    uint32_t now = atomic_load(&page->words[word]);

    return ((now ^ value) & ~MPIIO_GRANT_FLAGS) == 0 && (now & right) != 0 &&
           (atomic_load(&page->daemon) & FUTEX_TID_MASK) != 0;
}

/*
 * The positions of the shared file pointers of a mount on one node, in memory that programs with a
 * grant share with the daemon. These words are the pointers: the daemon and the programs move them
 * by atomic operations, and no process keeps a copy. A position counts etypes.
 *
 * Any program of the daemon's user can write to the memory, so a position is checked whenever it is
 * loaded. The length of the memory is sealed, so an access never faults.
 */

/* The name of the memory. It shows in the daemon's /proc/PID/fd. */
#define MPIIO_POSITIONS_MEMORY "mpiio-positions"

/* Creates count positions, all 0. Sets *memory to the descriptor of the memory, which stays until
   the process ends. Returns NULL if the system refuses it. */
_Atomic int64_t *mpiio_positions_new(size_t count, int *memory);

/*
 * Maps the positions that a process has open as descriptor memory. Returns NULL unless the
 * effective user created the memory, its inode number is inode, and it has at least count
 * positions.
 */
_Atomic int64_t *mpiio_positions_map(int process, int memory, uint64_t inode, size_t count);

/*
 * Takes count > 0 etypes from the position, fewer if limit is closer, and sets *first to the first
 * of them. Returns their number; 0 if the position is at or beyond the limit; -EIO if the position
 * is invalid. Thread-safe and async-signal-safe, also among processes.
 */
static inline int64_t mpiio_position_take(_Atomic int64_t *position, int64_t count, int64_t limit,
                                          int64_t *first)
{
    int64_t at = atomic_load(position), got;

    do {
        if (at < 0)
            return -EIO;
        got = limit <= at ? 0 : limit - at < count ? limit - at : count;
    } while (got > 0 && !atomic_compare_exchange_weak(position, &at, at + got));
    *first = at;
    return got;
}

#endif
