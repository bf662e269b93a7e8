/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBER_VIEWS_H
#define VS_MEMBER_VIEWS_H

#include "members.h"

/* The views of members (members.h). All functions are local and thread-safe. */

/*
 * Where the data of a member lies in the whole, and in its own file. The new reference is the
 * caller's. 0, or a negative errno with error filled.
 */
int vs_members_view(const struct vs_members *members, int64_t member, struct vs_view **view,
                    struct vs_error *error);
int vs_members_local(const struct vs_members *members, int64_t member, struct vs_view **view,
                     struct vs_error *error);

/* The view of all bytes, which the name "whole" stands for. A new reference, the caller's. */
struct vs_view *vs_members_whole(const struct vs_members *members);

#endif
