/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/complain.h"
#include "core/base/process.h"

/* Exchanging information between nodes. */

/*
 * Collective: gathers the texts of all nodes in the order of their numbers, each with a NUL. The
 * caller frees the result. *size is its length in bytes. Aborts if memory is exhausted: such a node
 * could not report anything.
 */
static char *gather_texts(const struct engine *engine, const char *text, size_t *size)
{
    int own = (int)strlen(text) + 1, total = 0;
    int *sizes = calloc(2 * (size_t)engine->group.nodes, sizeof(*sizes)),
        *starts = sizes + engine->group.nodes;
    char *all;

    if (sizes == NULL)
        abort();
    MPI_Allgather(&own, 1, MPI_INT, sizes, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < engine->group.nodes; i++) {
        starts[i] = total;
        if (__builtin_add_overflow(total, sizes[i], &total))
            abort();
    }
    all = malloc((size_t)total);
    if (all == NULL)
        abort();
    MPI_Allgatherv(text, own, MPI_CHAR, all, sizes, starts, MPI_CHAR, MPI_COMM_WORLD);
    free(sizes);
    *size = (size_t)total;
    return all;
}

/*
 * Computes a digest of the mount point of a node. A path is unique within a mount namespace of a
 * running kernel. Each node gathers those of all nodes. With 10^5 nodes, digests take 3 MB, and
 * paths of PATH_MAX bytes would take 800 MB.
 */
static void digest_place(const char *path, unsigned char digest[crypto_hash_sha256_BYTES])
{
    struct {
        char kernel[ENGINE_BOOT_SIZE];
        ino_t mounts;
        char folder[PATH_MAX]; /* the base of a relative path, else empty */
        char path[PATH_MAX];
    } place;
    struct stat st;

    memset(&place, 0, sizeof(place)); /* padding, too: all bytes are digested */
    engine_read_boot(place.kernel);
    if (stat("/proc/self/ns/mnt", &st) == 0)
        place.mounts = st.st_ino;
    snprintf(place.path, sizeof(place.path), "%s", path);
    if (path[0] != '/' && getcwd(place.folder, sizeof(place.folder)) == NULL)
        place.folder[0] = '\0';
    crypto_hash_sha256(digest, (const unsigned char *)&place, sizeof(place));
}

/* Starting. */

/* A failure of a node to start. */
struct failure {
    int status; /* exit status; 0: no failure */
    char host[MPI_MAX_PROCESSOR_NAME];
    char text[1024];
};

__attribute__((format(printf, 3, 4))) static void fail_start(struct failure *failure, int status,
                                                             const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(failure->text, sizeof(failure->text), format, arguments);
    va_end(arguments);
    failure->status = status;
}

/*
 * Collective: distributes the failure of the lowest failed node to all nodes, so that all take the
 * same path. Returns the status: 0 if no node has failed.
 */
static int agree_failure(struct engine *engine, struct failure *failure)
{
    int64_t most = failure->status != 0 ? engine->group.nodes - engine->group.node : 0;
    int first, length;

    engine_collective_max(&engine->group, &most, 1);
    if (most == 0)
        return 0;
    first = engine->group.nodes - (int)most;
    if (first == engine->group.node)
        MPI_Get_processor_name(failure->host, &length);
    engine_collective_share(&engine->group, failure, sizeof(*failure), first);
    return failure->status;
}

/* Collective: fails if a lower node mounts at this node's place. Two nodes at one place would
   deadlock: each would wait for the other. */
static void check_places(struct engine *engine, struct mpiio_message *hello,
                         struct failure *failure)
{
    unsigned char own[crypto_hash_sha256_BYTES], (*all)[sizeof(own)];
    char *const *last = engine->options->arguments;
    int before = 0;

    (void)hello;
    while (last[1] != NULL)
        last++;
    /* With the node number in its path, each node has a place of its own. */
    if (engine->group.nodes == 1 || strstr(*last, "%n") != NULL)
        return;
    digest_place(*last, own);
    all = calloc((size_t)engine->group.nodes, sizeof(*all));
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
    while (before < engine->group.node && memcmp(all[before], own, sizeof(own)) != 0)
        before++;
    free(all);
    if (before < engine->group.node)
        fail_start(failure, 2,
                   "nodes %d and %d are on this machine: the mount point needs %%n, the node's "
                   "number",
                   before, engine->group.node);
}

/* Closes the descriptors of a hello message. */
static void close_hello(struct mpiio_message_hello *hello)
{
    close(hello->memory);
    if (hello->assembled)
        close(hello->members);
}

/* Waits for a message of the expected type. */
static void await_message(struct engine *engine, enum mpiio_message_type type,
                          struct mpiio_message *message, struct failure *failure)
{
    int error = mpiio_channel_receive(engine->daemon.channel, message);

    if (error == -EPIPE) {
        failure->status =
            engine_daemon_reason(&engine->daemon, failure->text, sizeof(failure->text));
    } else if (error != 0) {
        fail_start(failure, 1, "cannot talk to %s: %s", engine->daemon.program, strerror(-error));
    } else if (message->type == MPIIO_MESSAGE_FAILED) {
        fail_start(failure, message->failed.status, "%s", message->failed.text);
    } else if (message->type != type) {
        if (message->type == MPIIO_MESSAGE_HELLO)
            close_hello(&message->hello);
        fail_start(failure, 1, "%s: another version than that of mpiio-engine",
                   engine->daemon.program);
    }
}

static void meet_daemon(struct engine *engine, struct mpiio_message *hello, struct failure *failure)
{
    struct mpiio_message node = {.type = MPIIO_MESSAGE_NODE,
                                 .node = {.node = (uint32_t)engine->group.node,
                                          .nodes = (uint32_t)engine->group.nodes,
                                          .pid = getpid()}};
    int error = engine_daemon_start(&engine->daemon, engine->options, engine->group.node);

    if (error != 0) {
        fail_start(failure, 1, "cannot start %s: %s", engine->daemon.program,
                   mpiio_rlimit_text(error));
        return;
    }
    /* If the daemon has exited already, await_message detects that. */
    mpiio_channel_send(engine->daemon.channel, &node);
    await_message(engine, MPIIO_MESSAGE_HELLO, hello, failure);
    if (failure->status != 0)
        return;
    error = mpiio_slots_map(&engine->slots, hello->hello.memory);
    if (error != 0)
        fail_start(failure, 1, "cannot map the memory of %s: %s", engine->daemon.program,
                   strerror(-error));
    engine_report(engine->options, "met", engine->group.node);
}

/* Collective: fails on a node whose spec, fanout or data in members differ from node 0. */
static void compare_specs(struct engine *engine, struct mpiio_message *hello,
                          struct failure *failure)
{
    uint64_t first[3] = {hello->hello.spec, hello->hello.fanout, hello->hello.held};

    engine_collective_share(&engine->group, first, sizeof(first), 0);
    if (first[0] != hello->hello.spec)
        fail_start(failure, 2, "the spec is not the same here as on node 0");
    else if (first[1] != hello->hello.fanout)
        fail_start(failure, 2, "fanout is not the same here as on node 0");
    else if (first[2] != hello->hello.held)
        fail_start(failure, 1, "members have not the same amount of data here as on node 0");
}

/* Collective. The texts of hello are in the channel's buffer until the next message arrives. */
static void open_file(struct engine *engine, struct mpiio_message *hello, struct failure *failure)
{
    if (engine_file_open(&engine->file, &engine->group, &hello->hello, failure->text,
                         sizeof(failure->text)) != 0 &&
        *failure->text != '\0')
        failure->status = 1;
}

/* Collective: sets up fencing, and assigns homes by the stripes that node 0 knows. */
static void prepare_file(struct engine *engine, const struct mpiio_message *hello)
{
    int64_t striping[2]; /* unit and factor */

    engine_file_fence(&engine->file, hello->hello.path, mpiio_slots_lease(&engine->slots),
                      engine->daemon.channel);
    engine_file_striping(&engine->file, &hello->hello.hints, &striping[0], &striping[1]);
    engine_collective_share(&engine->group, striping, sizeof(striping), 0);
    engine->homes = mpiio_homes_of(striping[0], striping[1], engine->group.nodes);
}

/* Closes the descriptors of hello, prepares the file, and distributes the addresses of all daemons
   and their shared settings, so that they can connect. Uses the texts of hello before the next
   message arrives. Collective. */
static void introduce_nodes(struct engine *engine, struct mpiio_message *hello,
                            struct failure *failure)
{
    struct mpiio_message message = {.type = MPIIO_MESSAGE_PEERS};
    struct mpiio_message_peers *peers = &message.peers;
    size_t size;
    char *addresses = gather_texts(engine, hello->hello.address, &size);
    struct mpiio_message ready;

    close_hello(&hello->hello);
    prepare_file(engine, hello);
    peers->homes = engine->homes;
    memcpy(peers->token, hello->hello.token, sizeof(peers->token));
    memcpy(peers->mount, hello->hello.mount, sizeof(peers->mount));
    engine_collective_share(&engine->group, peers->token, sizeof(peers->token), 0);
    engine_collective_share(&engine->group, peers->mount, sizeof(peers->mount), 0);
    peers->addresses = mpiio_channel_pack(addresses, size);
    free(addresses);
    if (peers->addresses < 0) {
        fail_start(failure, 1, "cannot talk to %s: %s", engine->daemon.program,
                   mpiio_rlimit_text(peers->addresses));
        return;
    }
    mpiio_channel_send(engine->daemon.channel, &message);
    close(peers->addresses);
    await_message(engine, MPIIO_MESSAGE_READY, &ready, failure);
    if (failure->status == 0)
        engine_report(engine->options, "mounted", engine->group.node);
}

/* Collective. */
static void start_daemon(struct engine *engine, struct mpiio_message *hello,
                         struct failure *failure)
{
    struct mpiio_message start = {.type = MPIIO_MESSAGE_START};
    char *texts;
    int error;

    (void)hello;
    engine_file_hints(&engine->file, &start.start, &texts);
    error = mpiio_channel_send(engine->daemon.channel, &start);
    free(texts);
    if (error != 0)
        fail_start(failure, 1, "%s ended: %s", engine->daemon.program, strerror(-error));
}

static int start_engine(struct engine *engine, struct failure *failure)
{
    static void (*const steps[])(struct engine *, struct mpiio_message *, struct failure *) = {
        check_places, meet_daemon, compare_specs, open_file, introduce_nodes, start_daemon};
    struct mpiio_message hello;
    int status = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && status == 0; i++) {
        steps[i](engine, &hello, failure);
        status = agree_failure(engine, failure);
    }
    return status;
}

int engine_start(struct engine *engine)
{
    struct failure failure = {0};
    int status;

    engine->daemon.output = -1;
    engine->file = (struct engine_file){.mpi = MPI_FILE_NULL, .fence.file = -1, .found = -1};
    status = start_engine(engine, &failure);
    if (status != 0) {
        engine_file_close(&engine->file);
        engine_daemon_end(&engine->daemon);
        mpiio_slots_unmap(&engine->slots);
        /* Print the error only after all nodes have cleaned up. */
        engine_collective_join(&engine->group);
        if (engine->group.node == 0) {
            mpiio_complain(engine->options->name, "%s: %s", failure.host, failure.text);
            printf("failed %d\n", status);
            fflush(stdout);
        }
    } else {
        engine_messages_show(engine->group.messages, mpiio_slots_progress(&engine->slots));
    }
    if (engine->daemon.output >= 0)
        close(engine->daemon.output);
    return status;
}

void engine_stop(struct engine *engine)
{
    /* If one node closes the file early, MPI busy-waits for the last one. */
    engine_collective_join(&engine->group);
    engine_file_close(&engine->file);
    engine_messages_show(engine->group.messages, NULL);
    mpiio_slots_unmap(&engine->slots);
    mpiio_channel_free(engine->daemon.channel);
}
