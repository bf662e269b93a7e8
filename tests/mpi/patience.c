/* SPDX-License-Identifier: MIT */
/*
 * Makes a rank sleep while it waits for others. It is preloaded into the MPI programs that
 * tests/bats runs, and linked into bench-blocks. MPICH's ranks poll UCX without a pause, so four
 * ranks on two processors spend most of their time polling. Only use it for ranks that share
 * memory: with MPICH 4.0 over TCP, MPI_Finalize hangs if ranks reach it at different times.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

enum {
    SPINS = 50,       /* calls without an event before the first sleep */
    SHORT_NS = 20000, /* the first sleeps are short, because others may answer soon */
    LONG_NS = 200000,
};

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *worker);
    static _Thread_local unsigned idle;
    unsigned events;

    if (next == NULL)
        *(void **)&next =
            dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    events = next(worker);
    if (events > 0)
        idle = 0;
    else if (idle < 4 * SPINS)
        idle++;
    if (idle >= SPINS)
        nanosleep(&(struct timespec){.tv_nsec = idle < 4 * SPINS ? SHORT_NS : LONG_NS}, NULL);
    return events;
}
