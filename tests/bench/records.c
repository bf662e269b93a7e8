/* SPDX-License-Identifier: MIT */
/*
 * Takes and puts records of a file that processes share: as an MPI program by MPI's shared
 * file pointer, or through a mount by its names "shared" and "ordered/rankN".
 *
 *   mpiexec -n PROCESSES bench-records take    COUNT 1     FILE [MOUNT...]
 *   mpiexec -n PROCESSES bench-records put     COUNT 1     FILE [MOUNT...]
 *   mpiexec -n PROCESSES bench-records ordered COUNT SHARE FILE [MOUNT...]
 *
 * take: the processes read the COUNT records of FILE; each call returns the next one, until none is
 * left. put: they write COUNT records to FILE, which is empty, each at the shared file pointer.
 * ordered: they write the records in the order of ranks, SHARE records of each process a round;
 * COUNT is a multiple of PROCESSES times SHARE. Without a MOUNT, the processes use
 * MPI_File_read_shared, write_shared and write_ordered. With mounts, process N uses the one with
 * number N modulo their count. MPI_File_sync or fsync(2) stores the bytes before the clock stops.
 *
 * A record has RECORD_WORDS words, those of its position (bench.h). Each record must appear once
 * and complete; ordered ones at their positions. Prints the seconds from the first call to the end
 * of the last.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define BENCH_NAME "records"

#include "bench.h"
#include "fail.h"

#define RECORD_WORDS 8
#define RECORD_BYTES (RECORD_WORDS * 8)

enum action { TAKE, PUT, ORDERED };

struct job;

/* A way to access records. All functions end the job on an error. */
struct way {
    void (*open)(struct job *job);
    bool (*take)(struct job *job, uint64_t *record); /* false: no record is left */
    void (*put)(struct job *job, const uint64_t *record);
    void (*put_share)(struct job *job, const uint64_t *records, bool last);
    void (*close)(struct job *job); /* stores what was written */
};

struct job {
    const struct way *way;
    const char *file;
    const char *mount; /* of this process; NULL: by MPI */
    enum action action;
    int rank, ranks;
    long count, share;
    MPI_File handle;
    int fd;
    double start, end; /* of this process */
};

static void check_length(const char *what, ssize_t did, size_t wanted)
{
    if (did < 0)
        fail(what, strerror(errno));
    if ((size_t)did != wanted)
        fail(what, "not all of it");
}

/* By MPI. */

static void open_by_mpi(struct job *job)
{
    int mode = job->action == TAKE ? MPI_MODE_RDONLY : MPI_MODE_RDWR;

    check("open", MPI_File_open(MPI_COMM_WORLD, job->file, mode, MPI_INFO_NULL, &job->handle));
}

static bool take_by_mpi(struct job *job, uint64_t *record)
{
    MPI_Status status;
    int got;

    check("read_shared",
          MPI_File_read_shared(job->handle, record, RECORD_WORDS, MPI_UINT64_T, &status));
    check("count", MPI_Get_count(&status, MPI_UINT64_T, &got));
    if (got != 0 && got != RECORD_WORDS)
        fail("read_shared", "part of a record");
    return got != 0;
}

static void put_by_mpi(struct job *job, const uint64_t *record)
{
    check("write_shared", MPI_File_write_shared(job->handle, record, RECORD_WORDS, MPI_UINT64_T,
                                                MPI_STATUS_IGNORE));
}

static void put_share_by_mpi(struct job *job, const uint64_t *records, bool last)
{
    (void)last;
    check("write_ordered",
          MPI_File_write_ordered(job->handle, records, (int)(job->share * RECORD_WORDS),
                                 MPI_UINT64_T, MPI_STATUS_IGNORE));
}

static void close_by_mpi(struct job *job)
{
    if (job->action != TAKE)
        check("sync", MPI_File_sync(job->handle));
    job->end = bench_now();
    check("close", MPI_File_close(&job->handle));
}

static const struct way by_mpi = {open_by_mpi, take_by_mpi, put_by_mpi, put_share_by_mpi,
                                  close_by_mpi};

/* Through a mount. */

static int open_name(const struct job *job, const char *name, int flags)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", job->mount, name);
    fd = open(path, flags);
    if (fd < 0)
        fail(path, strerror(errno));
    return fd;
}

/* Opens "shared". Ordered contributions each have an open of their own, so there is nothing to
   open before them. */
static void open_by_mount(struct job *job)
{
    if (job->action != ORDERED)
        job->fd = open_name(job, "shared", job->action == TAKE ? O_RDONLY : O_WRONLY);
}

static bool take_by_mount(struct job *job, uint64_t *record)
{
    ssize_t got = read(job->fd, record, RECORD_BYTES);

    if (got != 0)
        check_length("read", got, RECORD_BYTES);
    return got != 0;
}

static void put_by_mount(struct job *job, const uint64_t *record)
{
    check_length("write", write(job->fd, record, RECORD_BYTES), RECORD_BYTES);
}

static void put_share_by_mount(struct job *job, const uint64_t *records, bool last)
{
    size_t bytes = (size_t)job->share * RECORD_BYTES;
    char name[64];

    snprintf(name, sizeof(name), "ordered/rank%d", job->rank);
    job->fd = open_name(job, name, O_WRONLY);
    check_length("write", write(job->fd, records, bytes), bytes);
    if (!last && close(job->fd) < 0)
        fail("close", strerror(errno));
}

static void close_by_mount(struct job *job)
{
    if (job->action != TAKE && fsync(job->fd) < 0)
        fail("fsync", strerror(errno));
    job->end = bench_now();
    if (close(job->fd) < 0)
        fail("close", strerror(errno));
}

static const struct way by_mount = {open_by_mount, take_by_mount, put_by_mount, put_share_by_mount,
                                    close_by_mount};

/* Records. */

static void make_record(uint64_t *record, long number)
{
    for (int i = 0; i < RECORD_WORDS; i++)
        record[i] = bench_word((uint64_t)number * RECORD_WORDS + (uint64_t)i);
}

/* Returns a record's number. Fails if the record is damaged or its number is not below count. */
static long number_of(const uint64_t *record, long count)
{
    uint64_t first = bench_index(record[0]);
    uint64_t made[RECORD_WORDS];

    make_record(made, (long)(first / RECORD_WORDS));
    if (first / RECORD_WORDS >= (uint64_t)count || memcmp(made, record, RECORD_BYTES) != 0)
        fail("wrong data", "a record that nobody has written");
    return (long)(first / RECORD_WORDS);
}

/* Waits for all processes of the job, and sleeps meanwhile. MPI's own barrier would spin. */
static void meet(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    MPI_Request request;
    int met = 0;

    check("barrier", MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (;;) {
        check("test", MPI_Test(&request, &met, MPI_STATUS_IGNORE));
        if (met)
            return;
        nanosleep(&nap, NULL);
    }
}

/* The processes' actions. */

static void take_records(struct job *job, int *seen)
{
    uint64_t record[RECORD_WORDS];

    while (job->way->take(job, record))
        seen[number_of(record, job->count)]++;
}

static void put_records(struct job *job)
{
    uint64_t record[RECORD_WORDS];

    for (long number = job->rank; number < job->count; number += job->ranks) {
        make_record(record, number);
        job->way->put(job, record);
    }
}

/* records has memory for a share. */
static void put_in_order(struct job *job, uint64_t *records)
{
    long round = job->share * job->ranks;

    for (long first = 0; first < job->count; first += round) {
        for (long i = 0; i < job->share; i++)
            make_record(records + i * RECORD_WORDS, first + job->rank * job->share + i);
        job->way->put_share(job, records, first + round >= job->count);
    }
}

/* Counts the file's records, which other processes have written. For process 0. */
static void count_written(const struct job *job, int *seen)
{
    uint64_t record[RECORD_WORDS];
    FILE *file;

    if (job->rank != 0)
        return;
    file = fopen(job->file, "rb");
    if (file == NULL)
        fail(job->file, strerror(errno));
    for (long place = 0; fread(record, RECORD_BYTES, 1, file) == 1; place++) {
        long number = number_of(record, job->count);

        if (job->action == ORDERED && number != place)
            fail("wrong data", "a record at another's place");
        seen[number]++;
    }
    if (ferror(file) || ftell(file) != job->count * RECORD_BYTES)
        fail("wrong data", "not as many bytes as were written");
    fclose(file);
}

/* Checks that all processes together have seen each record exactly once. */
static void check_seen(const struct job *job, const int *seen)
{
    int *total = allocate((size_t)job->count, sizeof(int));

    check("reduce", MPI_Reduce(seen, total, (int)job->count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    for (long i = 0; job->rank == 0 && i < job->count; i++)
        if (total[i] != 1)
            fail("wrong data", total[i] ? "a record twice" : "a record is missing");
    free(total);
}

static void print_seconds(const struct job *job)
{
    double first, last;

    check("reduce", MPI_Reduce(&job->start, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD));
    check("reduce", MPI_Reduce(&job->end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    if (job->rank == 0)
        printf("%.9f\n", last - first);
}

static void run(struct job *job)
{
    int *seen = allocate((size_t)job->count, sizeof(int));
    uint64_t *records = allocate((size_t)job->share, RECORD_BYTES);

    job->way->open(job);
    meet();
    job->start = bench_now();
    switch (job->action) {
    case TAKE:
        take_records(job, seen);
        break;
    case PUT:
        put_records(job);
        break;
    case ORDERED:
        put_in_order(job, records);
        break;
    }
    job->way->close(job);
    meet();
    if (job->action != TAKE)
        count_written(job, seen);
    check_seen(job, seen);
    print_seconds(job);
    free(records);
    free(seen);
}

static enum action parse_action(const char *name)
{
    static const char *const names[] = {[TAKE] = "take", [PUT] = "put", [ORDERED] = "ordered"};

    for (int i = TAKE; i <= ORDERED; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum action)i;
    fail("usage", "take, put or ordered");
}

int main(int argc, char **argv)
{
    struct job job = {.way = &by_mpi, .fd = -1};

    check("init", MPI_Init(&argc, &argv));
    check("rank", MPI_Comm_rank(MPI_COMM_WORLD, &job.rank));
    check("size", MPI_Comm_size(MPI_COMM_WORLD, &job.ranks));
    if (argc < 5)
        fail("usage", "bench-records take|put|ordered COUNT SHARE FILE [MOUNT...]");
    job.action = parse_action(argv[1]);
    job.count = strtol(argv[2], NULL, 10);
    job.share = strtol(argv[3], NULL, 10);
    job.file = argv[4];
    if (job.count < 1 || job.share < 1 || job.count % (job.share * job.ranks) != 0)
        fail("usage", "COUNT is a multiple of the processes times SHARE");
    if (argc > 5) {
        job.way = &by_mount;
        job.mount = argv[5 + job.rank % (argc - 5)];
    }
    run(&job);
    MPI_Finalize();
    return 0;
}
