/* SPDX-License-Identifier: MIT */
/* The files that the program locks. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "grant.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>

#include "descriptors.h"

#define MANY 256 /* locked files that are distinguished */

static struct {
    uint64_t device, inode;
} files[MANY];         /* lock: lock */
static size_t count;   /* lock: lock */
static bool overflown; /* lock: lock; every file may be locked */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void run_locks_freeze(void)
{
    pthread_mutex_lock(&lock);
}

void run_locks_thaw(void)
{
    pthread_mutex_unlock(&lock);
}

bool run_locks_has(uint64_t device, uint64_t inode)
{
    for (size_t i = 0; i < count; i++)
        if (files[i].device == device && files[i].inode == inode)
            return true;
    return overflown;
}

bool run_locks_any(void)
{
    return count > 0;
}

static void add_file(const struct stat *st)
{
    if (count == MANY) {
        overflown = true;
        return;
    }
    files[count].device = st->st_dev;
    files[count++].inode = st->st_ino;
}

void run_locks_note(int fd)
{
    struct run_held held;
    int error = errno;
    struct stat st;

    if (fstat(fd, &st) == 0) {
        run_hold(&held);
        run_locks_freeze();
        if (!run_locks_has(st.st_dev, st.st_ino))
            add_file(&st);
        run_locks_thaw();
        run_unhold(&held);
    }
    errno = error;
}

void run_locks_forget(void)
{
    count = 0;
    overflown = false;
    pthread_mutex_init(&lock, NULL);
}
