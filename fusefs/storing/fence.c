/* SPDX-License-Identifier: MIT */
#include "fence.h"

#include <errno.h>
#include <string.h>

#include "core/cache/cache.h"
#include "core/store_fence.h"
#include "fusefs/session.h"

void fs_fence_on_lease(void *data, int64_t until)
{
    struct fs_session *session = data;

    if (session->cache != NULL)
        mpiio_lease_set(mpiio_slots_lease(mpiio_cache_slots(session->cache)), until);
}

static void log_wait(void *data)
{
    struct fs_session *session = data;

    fs_log_error(&session->log, "degraded: waiting for a store of another node's engine to end");
}

void fs_fence_await(struct fs_session *session)
{
    int error;

    if (session->cache == NULL)
        return;
    error =
        mpiio_store_fence_await(session->store, session->options->peer_timeout, log_wait, session);
    if (error == -ETIMEDOUT)
        fs_log_error(&session->log, "degraded: it has not ended, and may undo what is stored now");
    else if (error != 0)
        fs_log_error(&session->log, "degraded: cannot tell whether another engine stores: %s",
                     strerror(-error));
}
