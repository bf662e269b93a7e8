/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of mpiio-fused for mpiio-engine. It hands in dirty blocks that it makes from a
 * seed, and compares the file with the blocks that all nodes make from the same seed. The engine
 * starts it as
 *     fake_daemon --engine-fd=3 [OPTION=VALUE]... REPORT%n
 * It writes a line of JSON to REPORT for each epoch, or for a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_model.h"
#include "cluster/engine_channel.h"

struct fake {
    struct mpiio_channel *channel;
    struct mpiio_slots slots;
    FILE *report;
    struct model model;
    struct mpiio_message hello;
    int engine_fd;
    int epochs;
    int fail_node;        /* the node that fails; -1: none */
    const char *fail;     /* how and when it fails */
    const char *wait;     /* a file to wait for after an epoch with errors */
    const char *identity; /* the file that the daemon has open; NULL: the one at the path */
    bool again;           /* hands in again the blocks that could not be stored */
    bool tells_engine;
    bool no_check; /* does not compare the file */
    /* The node whose blocks may wait the first time ("": all nodes). Postponed ones are handed in
       again. */
    const char *may_wait;
    const char *lease; /* a file to wait for before the engine may store; NULL: it may at once */
    bool idle;         /* measures what the engine spends while it is idle */
    bool invalid;      /* also hands in blocks and slots that do not exist */
};

static void stop(struct fake *fake, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void stop(struct fake *fake, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(fake->report, "{\"wrong\": \"");
    vfprintf(fake->report, format, arguments);
    fprintf(fake->report, "\"}\n");
    va_end(arguments);
    fclose(fake->report);
    exit(1);
}

static void set_option(struct fake *fake, const char *name, const char *value)
{
    struct mpiio_message_hello *hello = &fake->hello.hello;

    if (strcmp(name, "--engine-fd") == 0) {
        fake->engine_fd = atoi(value);
    } else if (strcmp(name, "--file") == 0) {
        hello->path = value;
        fake->model.path = value;
    } else if (strcmp(name, "--identity") == 0) {
        fake->identity = value;
    } else if (strcmp(name, "--store") == 0) {
        hello->store = strcmp(value, "posix") == 0   ? MPIIO_STORE_POSIX
                       : strcmp(value, "mpiio") == 0 ? MPIIO_STORE_MPIIO
                                                     : MPIIO_STORE_AUTO;
    } else if (strcmp(name, "--hint") == 0) {
        char *colon = strchr(value, ':');

        *colon = '\0';
        hello->hints.hint[hello->hints.count++] = (struct mpiio_hint){value, colon + 1};
    } else if (strcmp(name, "--mode") == 0) {
        fake->model.mode = model_mode(value);
    } else if (strcmp(name, "--seed") == 0) {
        fake->model.seed = (uint64_t)atoll(value);
    } else if (strcmp(name, "--blocks") == 0) {
        fake->model.blocks = atoi(value);
    } else if (strcmp(name, "--epochs") == 0) {
        fake->epochs = atoi(value);
    } else if (strcmp(name, "--fail-node") == 0) {
        fake->fail_node = atoi(value);
    } else if (strcmp(name, "--fail") == 0) {
        fake->fail = value;
    } else if (strcmp(name, "--wait") == 0) {
        fake->wait = value;
        fake->again = true;
    } else if (strcmp(name, "--lonely") == 0) {
        fake->model.lonely = true;
    } else if (strcmp(name, "--may-wait") == 0) {
        fake->again = true;
        fake->may_wait = value;
    } else if (strcmp(name, "--no-check") == 0) {
        fake->no_check = true;
    } else if (strcmp(name, "--lease") == 0) {
        fake->lease = value;
    } else if (strcmp(name, "--idle") == 0) {
        fake->idle = true;
    } else if (strcmp(name, "--invalid") == 0) {
        fake->invalid = true;
    } else {
        fprintf(stderr, "fake_daemon: unknown option: %s\n", name);
        exit(2);
    }
}

static void parse(struct fake *fake, int argc, char **argv)
{
    for (int i = 1; i < argc - 1; i++) {
        char *equals = strchr(argv[i], '=');

        if (equals != NULL)
            *equals = '\0';
        set_option(fake, argv[i], equals != NULL ? equals + 1 : "");
    }
    fake->report = fopen(argv[argc - 1], "w");
    if (fake->report == NULL)
        exit(1);
}

/* Fails in the requested way, if it is time for that. */
static void maybe_fail(struct fake *fake, const char *when)
{
    struct mpiio_message failed = {.type = MPIIO_MESSAGE_FAILED,
                                   .failed = {2, "the spec is not to be had"}};
    const char *how = fake->fail;

    if ((int)fake->model.node != fake->fail_node || strncmp(how, when, strlen(when)) != 0)
        return;
    how += strlen(when);
    if (strcmp(how, "-tell") == 0) {
        mpiio_channel_send(fake->channel, &failed);
        fake->tells_engine = true;
    } else if (strcmp(how, "-print") == 0) {
        fprintf(stderr, "fake_daemon: printed on the way out\nand a second line\n");
        exit(1);
    } else if (strcmp(how, "-die") == 0 || strcmp(how, "-die-alone") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "-babble") == 0) {
        mpiio_channel_send(fake->channel, &(struct mpiio_message){.type = MPIIO_MESSAGE_QUIT});
    } else if (strcmp(how, "-readonly") == 0) {
        fake->hello.hello.path = "";
    } else if (strcmp(how, "-other") == 0) {
        fake->hello.hello.path = fake->wait;
    }
}

/* Exits. The engine told the daemon to quit, or has gone before anything was mounted. */
static void end(struct fake *fake, int error)
{
    fprintf(fake->report, "{\"ended\": \"%s\"}\n", error == 0 ? "quit" : strerror(-error));
    fclose(fake->report);
    exit(0);
}

static void expect(struct fake *fake, enum mpiio_message_type type, struct mpiio_message *message)
{
    int error = mpiio_channel_receive(fake->channel, message);

    if (error == -EPIPE || (error == 0 && message->type == MPIIO_MESSAGE_QUIT))
        end(fake, error);
    if (error != 0 || message->type != type)
        stop(fake, "message %d instead of %d (%s)", (int)message->type, (int)type,
             strerror(-error));
}

/* Checks that the engine runs its daemon in a session of its own, with only its end of the
   channel. */
static void check_surroundings(struct fake *fake)
{
    if (getsid(0) != getpid())
        stop(fake, "this is no session of its own");
    for (int fd = 0; fd < 1024; fd++) {
        bool given = fd <= 2 || fd == fake->engine_fd || fd == fileno(fake->report);

        if (given != (fcntl(fd, F_GETFD) >= 0))
            stop(fake, "descriptor %d is %s", fd, given ? "missing" : "open");
    }
}

/* Checks that every node gets the addresses of all nodes, and node 0's token. */
static void check_peers(struct fake *fake, const struct mpiio_message_peers *peers)
{
    size_t size;
    char *addresses = mpiio_channel_unpack(peers->addresses, &size), *at = addresses, expected[64];

    close(peers->addresses);
    if (peers->token[0] != 'a' || (uint32_t)peers->homes.nodes != fake->model.nodes ||
        addresses == NULL)
        stop(fake, "the engine introduces nobody");
    for (uint32_t node = 0; node < fake->model.nodes; node++) {
        snprintf(expected, sizeof(expected), "127.0.0.1:%u secret", node);
        if (strcmp(at, expected) != 0)
            stop(fake, "the address of node %d is %s", node, at);
        at += strlen(at) + 1;
    }
    if (at != addresses + size)
        stop(fake, "there are addresses of more nodes");
    free(addresses);
}

static void start(struct fake *fake)
{
    struct mpiio_message message;
    char own[64];
    struct stat file;

    if (mpiio_channel_new(fake->engine_fd, &fake->channel) != 0 ||
        mpiio_slots_create(&fake->slots, fake->model.blocks + 1) != 0)
        stop(fake, "out of memory");
    if (fake->lease == NULL)
        mpiio_lease_set(mpiio_slots_lease(&fake->slots), MPIIO_LEASE_FOREVER);
    expect(fake, MPIIO_MESSAGE_NODE, &message);
    fake->model.node = message.node.node;
    fake->model.nodes = message.node.nodes;
    if (message.node.pid != getppid())
        stop(fake, "the engine is not %d", message.node.pid);
    maybe_fail(fake, "hello");
    fake->hello.type = MPIIO_MESSAGE_HELLO;
    fake->hello.hello.fanout = 1;
    snprintf(own, sizeof(own), "127.0.0.1:%u secret", fake->model.node);
    fake->hello.hello.address = own;
    memset(fake->hello.hello.token, 'a' + fake->model.node, sizeof(fake->hello.hello.token));
    fake->hello.hello.memory = fake->slots.fd;
    if (stat(fake->identity != NULL ? fake->identity : fake->hello.hello.path, &file) == 0) {
        fake->hello.hello.device = file.st_dev;
        fake->hello.hello.inode = file.st_ino;
    }
    if (!fake->tells_engine)
        mpiio_channel_send(fake->channel, &fake->hello);
    expect(fake, MPIIO_MESSAGE_PEERS, &message);
    check_peers(fake, &message.peers);
    maybe_fail(fake, "ready");
    if (!fake->tells_engine)
        mpiio_channel_send(fake->channel, &(struct mpiio_message){.type = MPIIO_MESSAGE_READY});
    expect(fake, MPIIO_MESSAGE_START, &message);
    fprintf(fake->report, "{\"hints\": {");
    for (uint32_t i = 0; i < message.start.count; i++)
        fprintf(fake->report, "%s\"%s\": \"%s\"", i > 0 ? ", " : "", message.start.hint[i].key,
                message.start.hint[i].value);
    fprintf(fake->report, "}}\n");
    fflush(fake->report);
}

static void await_file(const char *path)
{
    struct stat st;

    for (int i = 0; i < 1200 && stat(path, &st) != 0; i++)
        usleep(50000);
}

/* Runs one epoch with the listed blocks. Returns how many blocks failed. */
static uint32_t run_epoch(struct fake *fake, int epoch, uint32_t count)
{
    const int32_t *errors = mpiio_slots_errors(&fake->slots);
    struct mpiio_message flush = {
        .type = MPIIO_MESSAGE_FLUSH,
        .flush = {.epoch = (uint64_t)epoch, .sync = fake->model.node == 0, .count = count}};
    struct mpiio_message message;
    const struct mpiio_epoch_counters *c = &message.result.counters;
    uint32_t failed = 0;
    int32_t worst = 0;

    /* The node that dies is alone in the epoch, so only its death can end that. */
    if (strcmp(fake->fail, "epoch-die-alone") == 0 && (int)fake->model.node != fake->fail_node)
        expect(fake, MPIIO_MESSAGE_RESULT, &message);
    if (mpiio_channel_send(fake->channel, &flush) != 0)
        stop(fake, "the engine is gone");
    maybe_fail(fake, "epoch");
    if (fake->lease != NULL) {
        await_file(fake->lease);
        mpiio_lease_set(mpiio_slots_lease(&fake->slots), MPIIO_LEASE_FOREVER);
    }
    expect(fake, MPIIO_MESSAGE_RESULT, &message);
    if (message.result.epoch != (uint64_t)epoch)
        stop(fake, "the result is not that of the epoch");
    for (uint32_t i = 0; i < count; i++) {
        failed += errors[i] != 0;
        worst = errors[i] != 0 ? errors[i] : worst;
    }
    fprintf(fake->report,
            "{\"epoch\": %d, \"blocks\": %u, \"failed\": %u, \"errno\": %d, \"error\": %d, "
            "\"dirty_bytes\": %" PRIu64 ", \"sent_bytes\": %" PRIu64
            ", \"received_bytes\": %" PRIu64 ", \"merged_runs\": %" PRIu64
            ", \"stored_bytes\": %" PRIu64 ", \"store_calls\": %" PRIu64
            ", \"store_map_bytes\": %" PRIu64 ", \"rounds\": %" PRIu64 ", \"left_blocks\": %" PRIu64
            "}\n",
            epoch, count, failed, -worst, -message.result.error, c->dirty_bytes, c->sent_bytes,
            c->received_bytes, c->merged_runs, c->stored_bytes, c->store_calls, c->store_map_bytes,
            c->rounds, c->left_blocks);
    fflush(fake->report);
    return failed;
}

/* Fills the slots for an epoch: slot i has block i of the model. Returns the number of blocks. */
static uint32_t dirty(struct fake *fake, int epoch, struct mpiio_flush_block *blocks)
{
    const char *node = fake->may_wait;
    bool may_wait = node != NULL && (node[0] == '\0' || (uint32_t)atoi(node) == fake->model.node);
    uint32_t count = 0;

    for (int i = 0; i < fake->model.blocks; i++)
        mpiio_slots_clear(&fake->slots, i, true);
    model_dirty(&fake->model, epoch, &fake->slots);
    for (int i = 0; i < fake->model.blocks; i++) {
        struct mpiio_slot slot = mpiio_slots_get(&fake->slots, i);

        if (mpiio_slot_touched(&slot, 0, (size_t)MPIIO_BLOCK_SIZE))
            blocks[count++] =
                (struct mpiio_flush_block){model_block(&fake->model, i), (uint32_t)i, may_wait};
    }
    /* Shuffles the list, because its order is not specified. */
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        struct mpiio_flush_block other = blocks[i];

        blocks[i] = blocks[i + 1];
        blocks[i + 1] = other;
    }
    return count;
}

/* Hands in blocks and slots that do not exist. Each must get an error of its own. */
static void check_invalid(struct fake *fake, int epoch)
{
    const struct mpiio_flush_block blocks[] = {
        {0, (uint32_t)fake->slots.count, false}, {-1, 0, false}, {(INT64_MAX >> 20) + 1, 0, false}};

    memcpy(mpiio_slots_blocks(&fake->slots), blocks, sizeof(blocks));
    run_epoch(fake, epoch, 3);
    for (int i = 0; i < 3; i++)
        if (mpiio_slots_errors(&fake->slots)[i] != -EINVAL)
            stop(fake, "the error of the invalid block %d is %d", i,
                 mpiio_slots_errors(&fake->slots)[i]);
}

/* Keeps only the blocks that have failed or were postponed. They may not be postponed again. */
static uint32_t keep_failed(struct mpiio_flush_block *blocks, uint32_t count, const int32_t *errors)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (errors[i] != 0)
            blocks[kept++] = (struct mpiio_flush_block){blocks[i].block, blocks[i].slot, false};
    return kept;
}

static void run(struct fake *fake)
{
    struct mpiio_flush_block *blocks = mpiio_slots_blocks(&fake->slots);
    char wrong[256];
    int epoch = 0;

    for (int i = 1; i <= fake->epochs; i++) {
        uint32_t count = dirty(fake, i, blocks);

        run_epoch(fake, ++epoch, count);
        if (fake->wait != NULL)
            await_file(fake->wait);
        if (fake->again) {
            count = keep_failed(blocks, count, mpiio_slots_errors(&fake->slots));
            run_epoch(fake, ++epoch, count);
        }
        /* The others wait for node 0 in the next epoch, or at the end. */
        if (fake->model.node == 0 && !fake->no_check &&
            !model_check(&fake->model, i, wrong, sizeof(wrong)))
            stop(fake, "after epoch %d: %s", epoch, wrong);
    }
    if (fake->invalid)
        check_invalid(fake, epoch + 1);
}

/* Returns the processor time that the engine has used, in ticks of 10 ms. */
static long engine_ticks(struct fake *fake)
{
    char path[64];
    long user = 0, system = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
    file = fopen(path, "r");
    if (file == NULL ||
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user,
               &system) != 2)
        stop(fake, "%s cannot be read", path);
    fclose(file);
    return user + system;
}

/* Checks that the engine is idle. A process that spins uses at least half a processor. */
static void check_idle(struct fake *fake)
{
    long before = engine_ticks(fake), spent;

    sleep(1);
    spent = engine_ticks(fake) - before;
    if (spent > 10)
        stop(fake, "the idle engine spent %ld ticks in a second", spent);
    fprintf(fake->report, "{\"idle_ticks\": %ld}\n", spent);
}

int main(int argc, char **argv)
{
    struct fake fake = {.epochs = 1, .fail_node = -1, .fail = "", .engine_fd = -1};

    fake.model.blocks = 40;
    fake.hello.hello.path = "";
    parse(&fake, argc, argv);
    check_surroundings(&fake);
    start(&fake);
    run(&fake);
    if (fake.idle)
        check_idle(&fake);
    /* After it has told the daemon to quit, the engine does not wait for it. */
    fprintf(fake.report, "{\"ended\": \"done\"}\n");
    if (fclose(fake.report) != 0)
        return 1;
    mpiio_channel_send(fake.channel, &(struct mpiio_message){.type = MPIIO_MESSAGE_QUIT});
    mpiio_channel_free(fake.channel);
    return 0;
}
