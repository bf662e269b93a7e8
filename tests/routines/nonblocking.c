/* SPDX-License-Identifier: MIT */
/*
 * nonblocking SLICE SEED ROUNDS [offsets]: reads and writes an open slice at random by nonblocking
 * calls (POSIX aio, lists of it, io_uring with and without links, with offsets and with the
 * descriptor's position, posix_fadvise), and compares it with a model. "offsets" omits calls that
 * use the descriptor's position, because the kernel does not advance it for direct reads by
 * io_uring of any file. If slice and model differ, prints a line and exits with 1.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUESTS 8
#define LONGEST  70000

struct request {
    off_t offset;
    size_t length;
    bool writes;
    char buffer[LONGEST];
};

static int slice;
static off_t size;
static char *model;
static struct io_uring ring;
static struct request requests[REQUESTS];
static int seed_round;
static const char *way;

static void fail(const char *what, long number)
{
    fprintf(stderr, "nonblocking: round %d, %s: %s: %ld\n", seed_round, way, what, number);
    exit(1);
}

static long below(long limit)
{
    return limit > 0 ? random() % limit : 0;
}

/* Chooses a random request within [start, end). */
static void choose(struct request *request, off_t start, off_t end)
{
    request->offset = start + below((long)(end - start));
    request->length = (size_t)(1 + below((long)(end - request->offset)));
    if (request->length > LONGEST)
        request->length = (size_t)(1 + below(LONGEST));
    request->writes = below(2) != 0;
    for (size_t i = 0; i < request->length; i++)
        request->buffer[i] = request->writes ? (char)random() : '?';
}

/* Chooses requests that share no byte, so that their order does not matter. */
static void choose_apart(void)
{
    for (int i = 0; i < REQUESTS; i++)
        choose(&requests[i], size * i / REQUESTS, size * (i + 1) / REQUESTS);
}

/* Checks the result of a request against the model, after all requests that were checked before
   it. */
static void check(const struct request *request, long result)
{
    if (result != (long)request->length)
        fail("a call gave", result);
    if (request->writes)
        memcpy(model + request->offset, request->buffer, request->length);
    else if (memcmp(model + request->offset, request->buffer, request->length) != 0)
        fail("other bytes were read than were written, at", (long)request->offset);
}

static void fill_aio(struct aiocb *block, struct request *request)
{
    *block = (struct aiocb){.aio_fildes = slice,
                            .aio_offset = request->offset,
                            .aio_buf = request->buffer,
                            .aio_nbytes = request->length,
                            .aio_lio_opcode = request->writes ? LIO_WRITE : LIO_READ};
}

static void by_list(void)
{
    struct aiocb blocks[REQUESTS], *list[REQUESTS];

    way = "lio_listio";
    choose_apart();
    for (int i = 0; i < REQUESTS; i++) {
        fill_aio(&blocks[i], &requests[i]);
        list[i] = &blocks[i];
    }
    if (lio_listio(LIO_WAIT, list, REQUESTS, NULL) != 0)
        fail("errno", errno);
    for (int i = 0; i < REQUESTS; i++)
        check(&requests[i], aio_return(&blocks[i]));
}

static void await(struct aiocb *block)
{
    const struct aiocb *list[] = {block};

    while (aio_error(block) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    if (aio_error(block) != 0)
        fail("errno", aio_error(block));
}

static void by_aio(void)
{
    struct aiocb blocks[REQUESTS], sync = {.aio_fildes = slice};

    way = "aio_read and aio_write";
    choose_apart();
    for (int i = 0; i < REQUESTS; i++) {
        fill_aio(&blocks[i], &requests[i]);
        if ((requests[i].writes ? aio_write : aio_read)(&blocks[i]) != 0)
            fail("errno", errno);
    }
    for (int i = 0; i < REQUESTS; i++) {
        await(&blocks[i]);
        check(&requests[i], aio_return(&blocks[i]));
    }
    if (aio_fsync(O_SYNC, &sync) != 0)
        fail("aio_fsync: errno", errno);
    await(&sync);
}

/* Queues a request. If at is -1, it uses the descriptor's position. */
static void queue(int index, off_t at, bool linked)
{
    struct request *request = &requests[index];
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);

    if (entry == NULL)
        fail("no entry", index);
    if (request->writes)
        io_uring_prep_write(entry, slice, request->buffer, (unsigned)request->length, (__u64)at);
    else
        io_uring_prep_read(entry, slice, request->buffer, (unsigned)request->length, (__u64)at);
    if (linked)
        entry->flags |= IOSQE_IO_LINK;
    io_uring_sqe_set_data64(entry, (__u64)index);
}

/* Submits the queued requests, and checks them in the order in which they were queued. */
static void complete(void)
{
    long results[REQUESTS];

    if (io_uring_submit_and_wait(&ring, REQUESTS) != REQUESTS)
        fail("io_uring_submit", errno);
    for (int i = 0; i < REQUESTS; i++) {
        struct io_uring_cqe *entry;

        if (io_uring_wait_cqe(&ring, &entry) != 0)
            fail("io_uring_wait_cqe", errno);
        results[io_uring_cqe_get_data64(entry)] = entry->res;
        io_uring_cqe_seen(&ring, entry);
    }
    for (int i = 0; i < REQUESTS; i++)
        check(&requests[i], results[i]);
}

static void by_ring(void)
{
    way = "io_uring";
    choose_apart();
    for (int i = 0; i < REQUESTS; i++)
        queue(i, requests[i].offset, false);
    complete();
}

/* Chooses requests in a small part of the slice. Each must see the writes of those before it. */
static void by_links(void)
{
    off_t start = below((long)size / 2);

    way = "io_uring, linked";
    for (int i = 0; i < REQUESTS; i++) {
        choose(&requests[i], start, start + size / 16);
        queue(i, requests[i].offset, i < REQUESTS - 1);
    }
    complete();
}

static void by_position(void)
{
    off_t position = below((long)size / 2);

    way = "io_uring, linked, at the descriptor's position";
    if (lseek(slice, position, SEEK_SET) != position)
        fail("lseek", errno);
    for (int i = 0; i < REQUESTS; i++) {
        choose(&requests[i], position, position + size / 32);
        requests[i].offset = position;
        position += (off_t)requests[i].length;
        queue(i, -1, i < REQUESTS - 1);
    }
    complete();
    if (lseek(slice, 0, SEEK_CUR) != position)
        fail("the position is", (long)lseek(slice, 0, SEEK_CUR));
}

/* Read-ahead and dropped pages must not change the bytes that are read. */
static void by_advice(void)
{
    struct request *request = &requests[0];

    way = "posix_fadvise";
    for (int i = 0; i < REQUESTS; i++) {
        int advice = i == 0 ? POSIX_FADV_DONTNEED : POSIX_FADV_WILLNEED;

        choose(request, 0, size);
        if (posix_fadvise(slice, request->offset, (off_t)request->length, advice) != 0)
            fail("errno", errno);
        check(request, request->writes
                           ? pwrite(slice, request->buffer, request->length, request->offset)
                           : pread(slice, request->buffer, request->length, request->offset));
    }
}

static void compare_all(void)
{
    char *all = malloc((size_t)size);

    way = "in the end";
    if (all == NULL || pread(slice, all, (size_t)size, 0) != size)
        fail("cannot read all", errno);
    if (memcmp(all, model, (size_t)size) != 0)
        fail("the slice is not as the model", 0);
    free(all);
}

int main(int argc, char **argv)
{
    static void (*const ways[])(void) = {by_list,  by_aio,    by_ring,
                                         by_links, by_advice, by_position};
    struct stat st;
    long count;

    if (argc < 4)
        return 2;
    count = sizeof(ways) / sizeof(*ways) - (argc > 4);
    srandom((unsigned)atoi(argv[2]));
    way = "open";
    slice = open(argv[1], O_RDWR);
    if (slice < 0 || fstat(slice, &st) != 0 || io_uring_queue_init(REQUESTS, &ring, 0) != 0)
        fail("errno", errno);
    size = st.st_size;
    model = malloc((size_t)size);
    if (model == NULL || pread(slice, model, (size_t)size, 0) != size)
        fail("cannot read all", errno);
    for (seed_round = 0; seed_round < atoi(argv[3]); seed_round++)
        ways[below(count)]();
    compare_all();
    if (close(slice) != 0)
        fail("close", errno);
    io_uring_queue_exit(&ring);
    free(model);
    return 0;
}
