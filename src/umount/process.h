/* SPDX-License-Identifier: MIT */
/* What /proc tells of processes. Nothing here asks whoever serves a mount. */
#ifndef MPIIO_UMOUNT_PROCESS_H
#define MPIIO_UMOUNT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

#endif
