/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_PROCESS_H
#define MPIIO_UMOUNT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mounts/mount.h"

/* Converts untrusted text to lists for a terminal, and to numbers. */

/* Adds "NAME (NUMBER)" to a list "bash (123), od (124)", as far as there is room. */
void umount_list_process(char *list, size_t size, const char *name, long number);

/*
 * What stats.json says behind "key":, a number from 0 to INT64_MAX; fallback where there is none.
 * text need not be JSON.
 */
int64_t umount_stat(const char *text, const char *key, int64_t fallback);

/* What /proc tells of processes. Nothing here asks whoever serves a mount. */

#define UMOUNT_COMM_MAX 32

/* Calls visit for each process, in the order of their numbers, until it returns false. */
void umount_each_process(bool (*visit)(void *data, pid_t pid), void *data);

/* Calls visit for each name in a folder of the process ("fd"), until it returns false. */
void umount_each_name(pid_t pid, const char *folder, bool (*visit)(void *data, const char *name),
                      void *data);

/* The contents of its file, with a NUL behind them; their length, or -1. */
ssize_t umount_process_file(pid_t pid, const char *file, char *text, size_t size);

/* What its link names; false where it is not to be read, or too long. */
bool umount_process_link(pid_t pid, const char *link, char *target, size_t size);

/* Its name, without control characters; empty once it has ended. */
void umount_process_name(pid_t pid, char name[UMOUNT_COMM_MAX]);

/* Whether all its user ids are that one. */
bool umount_process_is_of(pid_t pid, uid_t user);

/* Who uses a mount, and who else has one of its filesystem: as far as /proc tells. */

/* Who has something of it open: "bash (123), od (124)"; empty where nobody is to be seen. */
void umount_users(const struct mounts_mount *mount, char *list, size_t size);

/*
 * Where its filesystem is still mounted, once it is gone from here: "at PLACE", or "in the mount
 * namespace of sleep (45)", a process for each. Empty where none is to be seen.
 */
void umount_copies(const struct mounts_mount *mount, char *list, size_t size);

#endif
