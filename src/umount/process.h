/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_PROCESS_H
#define MPIIO_UMOUNT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mounts/mount.h"

/* Converts untrusted text to lists for a terminal, and to numbers. */

/* Appends "NAME (NUMBER)" to a list such as "bash (123), od (124)", if it fits. */
void umount_list_process(char *list, size_t size, const char *name, long number);

/*
 * Returns the number after "key": in stats.json, from 0 to INT64_MAX, or fallback if there is none.
 * text need not be JSON.
 */
int64_t umount_stat(const char *text, const char *key, int64_t fallback);

/* Information on processes from /proc. None of these functions sends a request to a mount. */

#define UMOUNT_COMM_MAX 32

/* Calls visit for each process, in the order of their numbers, until it returns false. */
void umount_each_process(bool (*visit)(void *data, pid_t pid), void *data);

/* Calls visit for each name in a folder of the process ("fd"), until it returns false. Returns
   false then, and true if there is no further name. */
bool umount_each_name(pid_t pid, const char *folder, bool (*visit)(void *data, const char *name),
                      void *data);

/* Reads a file of the process and adds a NUL. Returns its length, or -1. */
ssize_t umount_process_file(pid_t pid, const char *file, char *text, size_t size);

/* Reads a link of the process. Returns false if it is unreadable or too long. */
bool umount_process_link(pid_t pid, const char *link, char *target, size_t size);

/* Returns its name without control characters, or an empty name if it has exited. */
void umount_process_name(pid_t pid, char name[UMOUNT_COMM_MAX]);

/* Returns true if all its user ids are user. */
bool umount_process_is_of(pid_t pid, uid_t user);

/* Users of a mount and copies of it in other namespaces, as far as /proc shows them. */

/* Lists the processes that have something on it open: "bash (123), od (124)". Empty if none is
   visible. */
void umount_users(const struct mounts_mount *mount, char *list, size_t size);

/*
 * Lists the places where its filesystem is still mounted after it was unmounted here: "at PLACE",
 * or "in the mount namespace of sleep (45)", with one process of each. Empty if none is visible.
 */
void umount_copies(const struct mounts_mount *mount, char *list, size_t size);

/*
 * The daemon of a mount: a process of the user who mounted that has the mount's connection to the
 * kernel (/dev/fuse) open. A pidfd identifies it, because its pid may be reused.
 */

struct umount_daemon {
    pid_t pid; /* 0: no daemon was found */
    int process;
};

/*
 * Finds the daemon. Kernels before 6.13 do not report which connection a descriptor of /dev/fuse
 * has. There the daemon is the user's mpiio-fused that has the pid hint, or the mount point as its
 * last argument. With named_only this applies to all kernels: the daemon of a mount that has gone
 * may still have a connection, which has ended, with the same number.
 */
void umount_daemon_find(const struct mounts_mount *mount, int64_t hint, bool named_only,
                        struct umount_daemon *daemon);

/* The report of a daemon, at its end, of what it could not store (mounts/ending.h). */

/*
 * Opens the daemon's memory for that report. To be called before the mount is detached. Returns a
 * descriptor, which the caller closes, or -1 if there is none. A file that the daemon's user has
 * prepared is not opened instead, and opening does not block.
 */
int umount_ending_open(const struct umount_daemon *daemon);

/*
 * Returns the number of lost bytes, or -1 if it is not known. If the daemon has not reported it,
 * because it is still running or was killed, sets unreported and returns the number of bytes of
 * "ordered" that were waiting for their turn.
 */
int64_t umount_ending_lost(int fd, bool *unreported);

/* Returns a number that grows while the daemon waits for contributions to "ordered", here or on
   other nodes. */
int64_t umount_ending_waits(int fd);

#endif
