/* SPDX-License-Identifier: MIT */
#include "members.h"

#include "members_private.h"

/* The views of members, which are compiled in a spec of their own. */

int vs_members_view(const struct vs_members *members, int64_t member, struct vs_view **view,
                    struct vs_error *error)
{
    return vs_spec_view(members->views, VS_MEMBER_VIEW, member, view, error);
}

int vs_members_local(const struct vs_members *members, int64_t member, struct vs_view **view,
                     struct vs_error *error)
{
    return vs_spec_view(members->views, VS_MEMBER_LOCAL, member, view, error);
}

struct vs_view *vs_members_whole(const struct vs_members *members)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;

    /* It is the same for all, so that it was compiled with the spec. */
    return vs_spec_view(members->views, VS_MEMBER_WHOLE, 0, &view, &error) ? NULL : view;
}
