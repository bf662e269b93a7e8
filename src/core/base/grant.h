/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GRANT_H
#define MPIIO_GRANT_H

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
 *   kernel invalidate the pages, which may have been filled before.
 */
#define MPIIO_GRANT_READ  1U
#define MPIIO_GRANT_WRITE 2U
#define MPIIO_GRANT_BOTH  3U
#define MPIIO_GRANT_ROUND 4U /* added to a word when rights are restored to it */
#define MPIIO_GRANT_WORDS 4096

#define MPIIO_GRANT_PATH_MAX 4096
#define MPIIO_GRANT_WHY_MAX  64

/* The name of the memory with the page, as the link of its descriptor in /proc shows it. */
#define MPIIO_GRANT_MEMORY "mpiio-grants"

/* The shared page. The resolved spec follows it, text_length bytes. */
struct mpiio_grant_page {
    uint64_t token; /* unique to this daemon */
    uint64_t text_length;
    /* A robust futex: the number of a thread of the daemon. The kernel clears it when that thread
       ends for any reason. */
    _Atomic uint32_t daemon;
    _Atomic uint32_t words[MPIIO_GRANT_WORDS];
};

/* The daemon's answer to a request. */
struct mpiio_grant {
    uint64_t token;
    int32_t process, memory; /* the daemon, and its descriptor of the page */
    uint32_t word, value;    /* number of the word, and its value while the grant holds */
    uint32_t rights;         /* the rights granted; none if why is set */
    uint32_t narrow;
    uint64_t view; /* the number of views: all bytes of an assembled file */
    int64_t rank;
    uint64_t device, inode; /* of the shared file; or the token, and a digest of its members */
    uint32_t missing_zero;  /* missing bytes of members read as zeros */
    char why[MPIIO_GRANT_WHY_MAX];
    char file[MPIIO_GRANT_PATH_MAX];
};

#define MPIIO_GRANT_ASK _IOR('m', 0x61, struct mpiio_grant)

/*
 * Makes a page, with a copy of the spec's text behind it, in memory that nobody else can write to;
 * and, as its daemon, names this thread, which has one page only. NULL: the system refuses it. It
 * stays as long as the process.
 */
struct mpiio_grant_page *mpiio_grant_page_new(const char *text, size_t length, int *memory);

/* Whether a grant of value still gives a right, which is one bit. Async-signal-safe. */
static inline bool mpiio_grant_holds(const struct mpiio_grant_page *page, uint32_t word,
                                     uint32_t value, uint32_t right)
{
    uint32_t now = atomic_load(&page->words[word]);

    return ((now ^ value) & ~MPIIO_GRANT_BOTH) == 0 && (now & right) != 0 &&
           (atomic_load(&page->daemon) & FUTEX_TID_MASK) != 0;
}

#endif
