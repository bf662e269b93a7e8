/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBERS_H
#define VS_MEMBERS_H

#include <stdint.h>

#include "viewspec/spec.h"

/*
 * What a spec says of the members of an assembled file: their names, where the data of each lies in
 * the whole, and where in its own file. For viewspec/ and those who assemble; not installed. All
 * functions are local and thread-safe; members are numbered from 0 to vs_members_count - 1.
 */

/* The most members that a file has. */
#define VS_MEMBERS_MAX 1000000

enum vs_overlap {
    VS_OVERLAP_ERROR,
    VS_OVERLAP_FIRST, /* where several members hold a byte, the first one's counts */
    VS_OVERLAP_LAST,
};

/* The members that the spec's file is assembled from, or NULL: there is one file. Borrowed. */
struct vs_members;
const struct vs_members *vs_spec_members(const struct vs_spec *spec);

int64_t vs_members_count(const struct vs_members *members);

enum vs_overlap vs_members_overlap(const struct vs_members *members);

/* The path of a member, absolute where the spec's folder is. A new string; NULL without memory. */
char *vs_members_file(const struct vs_members *members, int64_t member);

/* Fills error with a reason, in the spec's text where the members' names stand. Returns code. */
int vs_members_fail(const struct vs_members *members, int code, struct vs_error *error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
