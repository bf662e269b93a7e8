/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <sys/stat.h>
#include <time.h>

#include "core/base/thread.h"
#include "core/base/clock.h"
#include "core/store_layers.h"
#include "settling.h"

/* The version of an assembled file. */

/*
 * STAYS is the time for which a sample is used, unless this mount writes. REPEATS is the minimum
 * age of a sample that is replaced because it has not settled, or because another node saw another
 * version. Both in ms.
 */
#define STAYS   1000
#define REPEATS 20

void fs_members_version_init(struct fs_members_version *self)
{
    *self = (struct fs_members_version){.again = true};
    pthread_mutex_init(&self->lock, NULL);
}

void fs_members_version_destroy(struct fs_members_version *self)
{
    pthread_mutex_destroy(&self->lock);
}

/* Samples all members. Lock held. */
static void sample(struct fs_members_version *self, struct mpiio_store *store)
{
    struct timespec before, times[2];
    struct stat st = {0};

    assert(mpiio_is_held(&self->lock));
    self->writes = mpiio_assembled_writes(mpiio_store_file(store));
    clock_gettime(CLOCK_REALTIME, &before);
    self->digest = mpiio_assembled_state(mpiio_store_file(store), times);
    st.st_mtim = times[0];
    st.st_ctim = times[1];
    st.st_size = (off_t)self->digest; /* distinguishes versions as a size would */
    self->version = fs_version_of(&st, before);
    self->settled = false;
    self->unproved = true;
    self->samples++;
}

/*
 * Returns true if the writers of the version that was just sampled have returned. Waits for them
 * without the lock. If another request samples a later version meanwhile, only the later result is
 * kept. Lock held, but released during the wait.
 */
static bool prove(struct fs_members_version *self, struct fs_settling *settling)
{
    const struct fs_version version = self->version;
    uint64_t number = self->samples;
    bool settled;

    assert(mpiio_is_held(&self->lock));
    pthread_mutex_unlock(&self->lock);
    settled = fs_settling_await(settling, &version, true);
    pthread_mutex_lock(&self->lock);
    if (self->samples == number) {
        self->settled = settled;
        self->unproved = false;
    }
    return settled;
}

/* Returns true if the members must be sampled again. Lock held. */
static bool is_due(struct fs_members_version *self, const struct mpiio_store *store,
                   const struct mpiio_pool_version *seen, uint64_t epoch, int64_t now)
{
    bool again = atomic_exchange(&self->again, false);
    bool differs = seen != NULL && seen->times[0] != (int64_t)self->digest;
    int64_t age = now - self->looked;

    assert(mpiio_is_held(&self->lock));
    return again || self->epoch != epoch ||
           self->writes != mpiio_assembled_writes(mpiio_store_file(store)) || age >= STAYS ||
           (age >= REPEATS && (differs || !self->settled));
}

bool fs_members_version_look(struct fs_members_version *self, struct fs_settling *settling,
                             const struct mpiio_pool_version *seen,
                             struct mpiio_pool_version *version)
{
    int64_t now = mpiio_clock();
    bool settled;

    pthread_mutex_lock(&self->lock);
    if (is_due(self, settling->store, seen, version->epoch, now)) {
        sample(self, settling->store);
        self->epoch = version->epoch;
        self->looked = now;
    }
    version->times[0] = (int64_t)self->digest;
    settled = self->unproved ? prove(self, settling) : self->settled;
    pthread_mutex_unlock(&self->lock);
    return settled;
}
