/* SPDX-License-Identifier: MIT */
/* Tests a FIFO behind a shared file pointer: etypes stay whole, and each goes to a single
   reader. */
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "folder_fixture.h"
#include "pointers/stream.h"
#include "threads.h"

#define ETYPE   12
#define READERS 4
#define RECORDS 20000

static char path[300];

static int make_fifo(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/fifo", folder);
    return mkfifo(path, 0600);
}

static int remove_fifo(void **state)
{
    return unlink(path) != 0 || remove_folder(state) != 0 ? -1 : 0;
}

static struct mpiio_stream *open_stream(bool writes)
{
    struct mpiio_stream *stream;

    assert_int_equal(mpiio_stream_open(path, writes, ETYPE, &stream), 0);
    return stream;
}

static void fill(char record[ETYPE], unsigned number)
{
    char text[ETYPE + 1];

    snprintf(text, sizeof(text), "record %05u", number % 100000);
    memcpy(record, text, ETYPE);
}

TEST(refusals)
{
    struct mpiio_stream *stream;

    assert_int_equal(mpiio_stream_open(folder, false, 1, &stream), -EINVAL);
    assert_int_equal(mpiio_stream_open("/proc/self/exe", false, 1, &stream), -EINVAL);
    assert_int_equal(mpiio_stream_open("/nowhere", false, 1, &stream), -ENOENT);
}

/* Writes all records, in pieces of random length. */
static void write_pieces(void)
{
    static char all[RECORDS * ETYPE];
    int fd = open(path, O_WRONLY);

    for (unsigned i = 0; i < RECORDS; i++)
        fill(all + i * ETYPE, i);
    srandom(1);
    for (size_t done = 0, step; done < sizeof(all); done += step) {
        step = 1 + (size_t)random() % 5000;
        step = step < sizeof(all) - done ? step : sizeof(all) - done;
        if (write(fd, all + done, step) != (ssize_t)step)
            abort();
    }
    /* No reader gets an incomplete etype. */
    if (write(fd, "rest", 4) != 4)
        abort();
    close(fd);
}

static struct mpiio_stream *source;
static unsigned char seen[RECORDS];

static void *read_records(void *data)
{
    char buffer[ETYPE * 50 + 5], wanted[ETYPE];
    ssize_t got;

    for (;;) {
        struct mpiio_stream_waiter waiter = {0};
        unsigned number;

        got = mpiio_stream_read(source, buffer, sizeof(buffer), &waiter);
        if (got <= 0)
            return (void *)(intptr_t)got;
        for (ssize_t i = 0; i < got; i += ETYPE) {
            if (sscanf(buffer + i, "record %5u", &number) != 1 || number >= RECORDS)
                abort();
            fill(wanted, number);
            if (memcmp(wanted, buffer + i, ETYPE) != 0)
                abort();
            __atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED);
        }
    }
}

TEST(records_are_whole)
{
    pthread_t readers[READERS];
    struct mpiio_stream_waiter waiter = {0};
    char small[ETYPE];

    source = open_stream(false);
    assert_int_equal(mpiio_stream_read(source, small, ETYPE - 1, &waiter), -EINVAL);
    start_threads(readers, READERS, read_records, source, 0);
    write_pieces();
    join_threads(readers, READERS);
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(seen[i], 1);
    mpiio_stream_free(source);
}

/* Writes RECORDS / READERS records, from this number on, several in each call. */
static void *write_records(void *number)
{
    struct mpiio_stream *out = open_stream(true);
    unsigned first = *(unsigned *)number, end = first + RECORDS / READERS, count;
    char bytes[ETYPE * 500];

    for (; first < end; first += count) {
        struct mpiio_stream_waiter waiter = {0};

        count = end - first < 500 ? end - first : 1 + first % 500; /* some calls exceed PIPE_BUF */
        for (unsigned i = 0; i < count; i++)
            fill(bytes + i * ETYPE, first + i);
        if (mpiio_stream_write(out, bytes, count * ETYPE, &waiter) != (ssize_t)(count * ETYPE))
            abort();
    }
    mpiio_stream_free(out);
    return NULL;
}

/* Each record arrives once. */
TEST(records_of_several_writers_are_whole)
{
    char record[ETYPE], wanted[ETYPE];
    unsigned first[READERS];
    pthread_t writers[READERS];
    int fd = open(path, O_RDWR);

    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < READERS; i++)
        first[i] = i * (RECORDS / READERS);
    start_threads(writers, READERS, write_records, first, sizeof(*first));
    for (int i = 0; i < RECORDS; i++) {
        unsigned number;

        for (ssize_t got = 0, more; got < ETYPE; got += more) {
            more = read(fd, record + got, (size_t)(ETYPE - got));
            assert_true(more > 0);
        }
        assert_int_equal(sscanf(record, "record %5u", &number), 1);
        assert_true(number < RECORDS);
        fill(wanted, number);
        assert_memory_equal(record, wanted, ETYPE);
        assert_int_equal(seen[number]++, 0);
    }
    join_threads(writers, READERS);
    close(fd);
}

struct parts {
    int fd;
    const char *record;
    size_t first;
};

/* Writes a record twice. The last part of the second follows once all bytes before it are read. */
static void *write_parts(void *data)
{
    const struct parts *parts = data;
    size_t rest = ETYPE - parts->first;
    int unread;

    if (write(parts->fd, parts->record, ETYPE) != ETYPE ||
        write(parts->fd, parts->record, parts->first) != (ssize_t)parts->first)
        abort();
    do
        sched_yield();
    while (ioctl(parts->fd, FIONREAD, &unread) == 0 && unread > 0);
    if (write(parts->fd, parts->record + parts->first, rest) != (ssize_t)rest)
        abort();
    return NULL;
}

TEST(etypes_that_arrive_in_parts_are_read_whole)
{
    struct mpiio_stream *in = open_stream(false);
    char record[ETYPE], got[2 * ETYPE];
    int fd = open(path, O_WRONLY);
    pthread_t writer;

    fill(record, 4711);
    for (size_t first = 1; first < ETYPE; first++) {
        struct parts parts = {fd, record, first};
        struct mpiio_stream_waiter waiter = {0};

        assert_int_equal(pthread_create(&writer, NULL, write_parts, &parts), 0);
        for (int i = 0; i < 2; i++) {
            memset(got, 'x', sizeof(got));
            assert_int_equal(mpiio_stream_read(in, got, sizeof(got), &waiter), ETYPE);
            assert_memory_equal(got, record, ETYPE);
        }
        pthread_join(writer, NULL);
    }
    close(fd);
    mpiio_stream_free(in);
}

TEST(a_read_fails_if_no_descriptor_is_left)
{
    struct mpiio_stream *in = open_stream(false);
    struct mpiio_stream_waiter waiter = {0};
    struct rlimit before, none;
    char record[ETYPE];

    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(mpiio_stream_read(in, record, ETYPE, &waiter), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    mpiio_stream_free(in);
}

struct call {
    struct mpiio_stream *stream;
    struct mpiio_stream_waiter waiter;
    bool writes;
    ssize_t result;
    pthread_t thread;
};

static void *run_call(void *data)
{
    static char bytes[ETYPE * 40000];
    struct call *call = data;
    char record[ETYPE];

    call->result = call->writes
                       ? mpiio_stream_write(call->stream, bytes, sizeof(bytes), &call->waiter)
                       : mpiio_stream_read(call->stream, record, ETYPE, &call->waiter);
    return NULL;
}

static void start(struct call *call, struct mpiio_stream *stream, bool writes)
{
    *call = (struct call){.stream = stream, .writes = writes};
    assert_int_equal(pthread_create(&call->thread, NULL, run_call, call), 0);
}

static ssize_t end(struct call *call)
{
    pthread_join(call->thread, NULL);
    return call->result;
}

/* The result is the same whether the calls already wait or not. */
TEST(waiters_end)
{
    struct mpiio_stream *in = open_stream(false), *out = open_stream(true);
    struct call first, second, third;
    ssize_t put;

    start(&first, in, false);
    start(&second, in, false);
    start(&third, in, false);
    mpiio_stream_interrupt(in, &second.waiter);
    assert_int_equal(end(&second), -EINTR);
    mpiio_stream_stop(in);
    assert_int_equal(end(&first), -ENOTCONN);
    assert_int_equal(end(&third), -ENOTCONN);
    /* A writer that is interrupted or stopped has written whole etypes. */
    start(&first, out, true);
    mpiio_stream_interrupt(out, &first.waiter);
    put = end(&first);
    assert_true(put == -EINTR || put == 0 || (put > 0 && put % ETYPE == 0));
    start(&second, out, true);
    mpiio_stream_stop(out);
    put = end(&second);
    assert_true(put == -ENOTCONN || put % ETYPE == 0);
    mpiio_stream_free(in);
    mpiio_stream_free(out);
}

TEST_GROUP(make_fifo, remove_fifo)
