/* SPDX-License-Identifier: MIT */
#include "members_version.h"

#include <sys/stat.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/store_members.h"
#include "fusefs/names/version.h"
#include "fusefs/session.h"

/* For how long it is used, unless this mount writes, and how long at least until it is looked at
   again for another node's sake, or as it had just been changed; in ms. */
#define STAYS   1000
#define REPEATS 20

int fs_members_version_init(struct fs_members_version *self)
{
    *self = (struct fs_members_version){.again = true};
    return -pthread_mutex_init(&self->lock, NULL);
}

void fs_members_version_destroy(struct fs_members_version *self)
{
    pthread_mutex_destroy(&self->lock);
}

static void look(struct fs_members_version *self, struct fs_session *session)
{
    struct mpiio_store *store = session->store;
    struct timespec before, times[2];
    struct fs_version version;
    struct stat st = {0};

    self->writes = mpiio_store_members_writes(store);
    clock_gettime(CLOCK_REALTIME, &before);
    self->digest = mpiio_store_members_state(store, times);
    st.st_mtim = times[0];
    st.st_ctim = times[1];
    st.st_size = (off_t)self->digest; /* tells versions apart as a size would */
    version = fs_version_of(&st, before, 0);
    self->settled = version.settled && fs_settling_await(&session->settling, &version);
}

/* Lock held. */
static bool is_due(struct fs_members_version *self, const struct mpiio_store *store,
                   const struct mpiio_pool_version *seen, uint64_t epoch, int64_t now)
{
    bool again = atomic_exchange(&self->again, false);
    bool differs = seen != NULL && seen->times[0] != (int64_t)self->digest;
    int64_t age = now - self->looked;

    return again || self->epoch != epoch || self->writes != mpiio_store_members_writes(store) ||
           age >= STAYS || (age >= REPEATS && (differs || !self->settled));
}

bool fs_members_version_look(struct fs_members_version *self, struct fs_session *session,
                             const struct mpiio_pool_version *seen,
                             struct mpiio_pool_version *version)
{
    int64_t now = mpiio_clock();
    bool settled;

    pthread_mutex_lock(&self->lock);
    if (is_due(self, session->store, seen, version->epoch, now)) {
        look(self, session);
        self->epoch = version->epoch;
        self->looked = now;
    }
    settled = self->settled;
    version->times[0] = (int64_t)self->digest;
    pthread_mutex_unlock(&self->lock);
    return settled;
}
