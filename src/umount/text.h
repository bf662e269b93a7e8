/* SPDX-License-Identifier: MIT */
/* Lists for a terminal, and numbers, from text that is not to be trusted. */
#ifndef MPIIO_UMOUNT_TEXT_H
#define MPIIO_UMOUNT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Adds "NAME (NUMBER)" to a list "bash (123), od (124)", as far as there is room. */
void umount_list_process(char *list, size_t size, const char *name, long number);

/*
 * What stats.json says behind "key":, a number from 0 to INT64_MAX; fallback where there is none.
 * text need not be JSON.
 */
int64_t umount_stat(const char *text, const char *key, int64_t fallback);

#endif
