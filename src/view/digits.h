/* SPDX-License-Identifier: MIT */
#ifndef VIEW_DIGITS_H
#define VIEW_DIGITS_H

#include <stdint.h>

char *view_write_unsigned(char *text, uint64_t value);

/* The digits of value, ending before end. Returns their begin. */
char *view_digits_before(char *end, uint64_t value);

#endif
