/* SPDX-License-Identifier: MIT */
#include "messages.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A bell in shared memory, initially zero, in a cache line of its own. */
struct engine_bell {
    _Alignas(64) _Atomic uint32_t rung; /* number of rings; a futex */
    _Atomic uint32_t asleep;            /* its owner sleeps, or is about to */
    _Atomic uint32_t here;              /* its owner shares this memory */
};

static size_t size_of(const struct engine_bells *bells)
{
    return (size_t)bells->nodes * sizeof(*bells->all);
}

/* Builds the name of the shared memory. It contains the host name, because MPI may treat two
   containers or network namespaces that share /dev/shm as two machines. */
static void name_of(uint64_t mark, char *name, size_t size)
{
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(name, size, "/mpiio-bells-%016llx-%.64s", (unsigned long long)mark, host);
}

void engine_bells_init(struct engine_bells *bells, int node, int nodes, uint64_t mark)
{
    char name[NAME_MAX];
    void *memory = MAP_FAILED;
    struct stat st;
    int fd;

    *bells = (struct engine_bells){.node = node, .nodes = nodes};
    name_of(mark, name, sizeof(name));
    fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return;
    /* Allocates the pages, because a bell without a page would end the engine with SIGBUS. */
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        posix_fallocate(fd, 0, (off_t)size_of(bells)) == 0)
        memory = mmap(NULL, size_of(bells), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return;
    bells->all = memory;
    atomic_store(&bells->all[node].here, 1);
}

static int count_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : INT_MAX;
}

void engine_bells_meet(struct engine_bells *bells, uint64_t mark)
{
    char name[NAME_MAX];
    int here = 0;

    name_of(mark, name, sizeof(name));
    shm_unlink(name);
    for (int i = 0; i < bells->nodes && bells->all != NULL; i++)
        here += engine_bells_reach(bells, i);
    bells->crowded = here > count_processors();
    if (here == 1)
        engine_bells_free(bells);
}

void engine_bells_free(struct engine_bells *bells)
{
    if (bells->all != NULL)
        munmap(bells->all, size_of(bells));
    bells->all = NULL;
}

bool engine_bells_reach(const struct engine_bells *bells, int node)
{
    return bells->all != NULL && atomic_load(&bells->all[node].here) != 0;
}

static void call_futex(_Atomic uint32_t *word, int what, uint32_t value,
                       const struct timespec *time)
{
    syscall(SYS_futex, word, what, value, time, NULL, 0);
}

void engine_bells_ring(const struct engine_bells *bells, int node)
{
    struct engine_bell *bell;

    if (!engine_bells_reach(bells, node))
        return;
    bell = &bells->all[node];
    atomic_fetch_add(&bell->rung, 1);
    /* The owner sets asleep before FUTEX_WAIT compares the count. So either it sees the new
       count, or this thread sees it asleep: no wake-up is lost. */
    if (atomic_load(&bell->asleep) != 0)
        call_futex(&bell->rung, FUTEX_WAKE, 1, NULL);
}

uint32_t engine_bells_look(const struct engine_bells *bells)
{
    return bells->all != NULL ? atomic_load(&bells->all[bells->node].rung) : 0;
}

void engine_bells_sleep(const struct engine_bells *bells, uint32_t seen, long ns)
{
    struct timespec time = {.tv_nsec = ns};
    struct engine_bell *own;

    if (bells->all == NULL) {
        nanosleep(&time, NULL);
        return;
    }
    own = &bells->all[bells->node];
    atomic_store(&own->asleep, 1);
    call_futex(&own->rung, FUTEX_WAIT, seen, &time);
    atomic_store(&own->asleep, 0);
}
