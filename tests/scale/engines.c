/* SPDX-License-Identifier: MIT */
#include "engines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "memory.h"
#include "viewspec/base/list.h"
#include "world.h"

/* Longer messages are sent in parts (src/engine/messages.c). */
#define PART ((size_t)256 << 10)

/* Bytes of a stack. Pages that are never touched cost nothing. */
#define STACK ((size_t)256 << 10)

/* A message in transit, or one that has arrived before the engine asked for it. */
struct message {
    int from;
    size_t length;
    char bytes[];
};

struct receipt {
    int from;
    size_t length;
    void *bytes;
};

struct engine_messages {
    int node;
    struct mpiio_progress_page page;
    struct receipt *receipts; /* requests for messages that have not arrived yet */
    int receipt_count;
    size_t receipt_room;
    struct message **early; /* messages that arrived early, in order of arrival */
    int early_count;
    size_t early_room;
    bool waits;
};

struct engine {
    struct engine_messages messages;
    struct engine_collective group;
    struct memory memory;
    ucontext_t context;
    bool dead;
    double busy;      /* when its processor becomes idle */
    double in, out;   /* when its links become idle */
    int severed_from; /* -1: none */
    const struct engine_means *means;
    struct mpiio_message_flush flush;
    const struct mpiio_flush_block *blocks;
    int32_t *errors;
    void (*through)(int node, const struct mpiio_message_result *result);
};

static struct {
    struct engine *engine; /* by node */
    char *stacks;
    ucontext_t scheduler;
    struct engine *running; /* NULL: none */
} engines;

void engines_create(void)
{
    engines.engine = calloc((size_t)world.nodes, sizeof(*engines.engine));
    engines.stacks = mmap(NULL, (size_t)world.nodes * STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (engines.engine == NULL || engines.stacks == MAP_FAILED)
        abort();
    madvise(engines.stacks, (size_t)world.nodes * STACK, MADV_NOHUGEPAGE);
    for (int i = 0; i < world.nodes; i++) {
        struct engine *engine = &engines.engine[i];

        engine->messages.node = i;
        engine->severed_from = -1;
        engine->group = (struct engine_collective){&engine->messages, i, world.nodes};
    }
}

/* Returns the engine's memory to the system. */
static void clean_up(struct engine *engine)
{
    struct engine_messages *messages = &engine->messages;

    memory_free(&engine->memory);
    for (int i = 0; i < messages->early_count; i++)
        free(messages->early[i]);
    free(messages->early);
    free(messages->receipts);
    *messages = (struct engine_messages){.node = messages->node};
}

void engines_free(void)
{
    for (int i = 0; i < world.nodes; i++)
        clean_up(&engines.engine[i]);
    munmap(engines.stacks, (size_t)world.nodes * STACK);
    free(engines.engine);
}

struct engine_collective *engines_group(int node)
{
    return &engines.engine[node].group;
}

bool engines_is_alive(int node)
{
    return !engines.engine[node].dead;
}

const struct mpiio_progress_page *engines_progress(int node)
{
    return &engines.engine[node].messages.page;
}

size_t engines_memory(int node)
{
    return engines.engine[node].memory.most;
}

void engines_sever(int one, int other)
{
    engines.engine[one].severed_from = other;
    engines.engine[other].severed_from = one;
}

void engines_kill(int node)
{
    struct engine *engine = &engines.engine[node];

    engine->dead = true;
    if (engine != engines.running)
        clean_up(engine);
}

/* Lets other engines run. Returns when the engine is resumed. An engine that was killed is not
   resumed. */
static void give_way(struct engine *engine)
{
    swapcontext(&engine->context, &engines.scheduler);
}

/* Runs an engine until it waits, finishes or dies. */
static void resume(struct engine *engine)
{
    engines.running = engine;
    swapcontext(&engines.scheduler, &engine->context);
    engines.running = NULL;
    if (engine->dead)
        clean_up(engine);
}

int engines_enter(void)
{
    memory_use(NULL);
    return engines.running->messages.node;
}

void engines_leave(void)
{
    if (engines.running->dead)
        give_way(engines.running);
    memory_use(&engines.running->memory);
}

static void go_on(int node, const uint8_t *bytes)
{
    struct engine *engine = &engines.engine[node];

    if (!engine->dead)
        resume(engine);
}

void engines_pass(double us)
{
    struct engine *engine = engines.running;

    if (engine->busy < world.now)
        engine->busy = world.now;
    engine->busy += us;
    world_engine(engine->messages.node, engine->busy, go_on, NULL);
    if (!engine->dead)
        give_way(engine);
}

void engines_happen(void)
{
    world.sent++;
    if (world.on_message != NULL)
        world.on_message(engines.running->messages.node);
}

/* Runs an epoch on the engine's stack. */
static void run_epoch(unsigned int node)
{
    struct engine *engine = &engines.engine[node];
    struct mpiio_message_result result;

    memory_use(&engine->memory);
    engine_epoch(engine->means, &engine->flush, engine->blocks, engine->errors, &result);
    engines_enter();
    if (engine->memory.bytes != 0)
        printf("wrong: node %u: an epoch keeps %zu bytes\n", node, engine->memory.bytes);
    /* The world's clock lags behind the time that this node's processor has used. */
    if (engine->busy > world.now)
        engines_pass(0);
    if (!engine->dead)
        engine->through((int)node, &result);
    give_way(engine);
}

static void begin(int node, const uint8_t *bytes)
{
    struct engine *engine = &engines.engine[node];

    if (engine->dead)
        return;
    getcontext(&engine->context);
    engine->context.uc_stack =
        (stack_t){.ss_sp = engines.stacks + (size_t)node * STACK, .ss_size = STACK};
    engine->context.uc_link = NULL;
    makecontext(&engine->context, (void (*)(void))run_epoch, 1, (unsigned int)node);
    resume(engine);
}

void engines_flush(int node, double time, const struct engine_means *means,
                   const struct mpiio_message_flush *flush, const struct mpiio_flush_block *blocks,
                   int32_t *errors,
                   void (*through)(int node, const struct mpiio_message_result *result))
{
    struct engine *engine = &engines.engine[node];

    engine->means = means;
    engine->flush = *flush;
    engine->blocks = blocks;
    engine->errors = errors;
    engine->through = through;
    world_engine(node, time, begin, NULL);
}

/* Messages. */

static unsigned int parts_of(size_t length)
{
    return (unsigned int)((length + PART - 1) / PART);
}

static void count(int node, size_t length)
{
    world.node[node].engine.messages += parts_of(length);
    world.node[node].engine.bytes += length;
}

/* Delivers a message if the engine has asked for it. Returns false otherwise. */
static bool take(struct engine_messages *self, const struct message *message)
{
    for (int i = 0; i < self->receipt_count; i++) {
        struct receipt *receipt = &self->receipts[i];

        if (receipt->from != message->from)
            continue;
        if (message->length > receipt->length) {
            printf("wrong: node %d gets more from %d than it asked for\n", self->node,
                   message->from);
            abort();
        }
        memcpy(receipt->bytes, message->bytes, message->length);
        self->receipt_count--;
        memmove(receipt, receipt + 1, (size_t)(self->receipt_count - i) * sizeof(*receipt));
        mpiio_progress_note(&self->page);
        return true;
    }
    return false;
}

static void keep(struct engine_messages *self, const struct message *message)
{
    size_t size = sizeof(*message) + message->length;
    struct message *copy = malloc(size);

    if (copy == NULL || !VS_LIST_ROOM(self->early, self->early_count, self->early_room))
        abort();
    memcpy(copy, message, size);
    self->early[self->early_count++] = copy;
}

/* Reports the engines that this one waits for to its daemon, as src/engine/messages.c does. */
static void tell(struct engine_messages *self)
{
    struct mpiio_progress what = {.waiting = true};

    for (int i = 0; i < self->receipt_count && what.from_count < MPIIO_PROGRESS_NODES; i++)
        what.from[what.from_count++] = (uint32_t)self->receipts[i].from;
    mpiio_progress_wait(&self->page, &what);
}

static void arrive(int node, const uint8_t *bytes)
{
    const struct message *message = (const void *)bytes;
    struct engine *engine = &engines.engine[node];
    struct engine_messages *self = &engine->messages;

    if (engine->dead)
        return;
    count(node, message->length);
    engine->busy =
        fmax(engine->busy, world.now) + parts_of(message->length) * world.costs.processor;
    if (!take(self, message))
        keep(self, message);
    else if (self->waits && self->receipt_count != 0)
        tell(self);
    if (self->waits && self->receipt_count == 0)
        resume(engine);
}

void engine_messages_step(struct engine_messages *self)
{
    mpiio_progress_step(&self->page);
}

void engine_messages_receive(struct engine_messages *self, void *bytes, size_t length, int from)
{
    if (length == 0)
        return;
    engines_enter();
    if (!VS_LIST_ROOM(self->receipts, self->receipt_count, self->receipt_room))
        abort();
    self->receipts[self->receipt_count++] = (struct receipt){from, length, bytes};
    engines_leave();
}

void engine_messages_send(struct engine_messages *self, const void *bytes, size_t length, int to)
{
    struct engine *engine = &engines.engine[self->node], *other = &engines.engine[to];
    double wire = (double)length / world.costs.bandwidth;
    struct message *message;

    if (length == 0)
        return;
    engines_enter();
    message = malloc(sizeof(*message) + length);
    if (message == NULL)
        abort();
    *message = (struct message){self->node, length};
    memcpy(message->bytes, bytes, length);
    engine->busy = fmax(engine->busy, world.now) + parts_of(length) * world.costs.processor;
    engine->out = fmax(engine->out, engine->busy) + wire;
    other->in = fmax(other->in + wire, engine->out + world.costs.latency);
    count(self->node, length);
    if (engine->severed_from == to)
        free(message);
    else
        world_engine(to, other->in, arrive, message);
    engines_happen();
    engines_leave();
}

/* Delivers the early messages that the engine asks for now, in order of arrival. */
static void take_early(struct engine_messages *self)
{
    int kept = 0;

    for (int i = 0; i < self->early_count; i++)
        if (take(self, self->early[i]))
            free(self->early[i]);
        else
            self->early[kept++] = self->early[i];
    self->early_count = kept;
}

void engine_messages_wait(struct engine_messages *self)
{
    struct engine *engine = &engines.engine[self->node];

    engines_enter();
    take_early(self);
    if (self->receipt_count != 0) {
        self->waits = true;
        tell(self);
        give_way(engine);
        self->waits = false;
    }
    engines_leave();
}
