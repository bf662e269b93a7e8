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

/* Calls visit for each name in a folder of the process ("fd"), until it returns false. */
void umount_each_name(pid_t pid, const char *folder, bool (*visit)(void *data, const char *name),
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

#endif
