/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cluster/address.h"
#include "core/base/thread.h"
#include "frame.h"
#include "talk.h"

/* Until a connection is accepted again that there was no descriptor or memory for, in ns. */
#define PAUSE 100000000

/* A connection that another node has made. */
struct mpiio_pool_caller {
    int fd;
    bool known; /* it has shown that it knows the token; lock: the server's */
    uint8_t nonce[MPIIO_NONCE_BYTES];
    struct mpiio_pool_caller *next; /* lock: the server's */
};

/* What a thread needs to answer. */
struct desk {
    struct mpiio_pool_server *server;
    uint8_t request[MPIIO_POOL_REQUEST_MAX];
    union mpiio_pool_list list;
    char *answer; /* MPIIO_POOL_ANSWER_BYTES, and room for the bytes of a block */
};

int mpiio_pool_server_init(struct mpiio_pool_server *server, struct mpiio_pool_memory *memory,
                           struct mpiio_pool_ahead *ahead)
{
    *server = (struct mpiio_pool_server){
        .memory = memory, .ahead = ahead, .listens = -1, .poll = -1, .wake = -1};
    return -pthread_mutex_init(&server->lock, NULL);
}

/* Once: who waits for the descriptor is told of it, and then it must be watched again. */
static int watch(struct mpiio_pool_server *server, int fd, void *owner, int how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = owner};

    return epoll_ctl(server->poll, how, fd, &event) != 0 ? -errno : 0;
}

/* What those who are to ask must know: the token and the addresses, which are taken over. */
static int make_place(struct mpiio_pool_server *server, char *addresses, char **place)
{
    char token[MPIIO_POOL_TOKEN_TEXT];
    int error = mpiio_random(server->token, sizeof(server->token));

    mpiio_pool_token_write(server->token, token);
    if (error == 0 && asprintf(place, "%s %s", token, addresses) < 0)
        error = -ENOMEM;
    free(addresses);
    return error;
}

int mpiio_pool_server_listen(struct mpiio_pool_server *server, char **place)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->wake};
    char *addresses;
    int error = mpiio_address_listen(&server->listens, &addresses);

    if (error != 0)
        return error;
    server->poll = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->poll < 0 || server->wake < 0 ||
        epoll_ctl(server->poll, EPOLL_CTL_ADD, server->wake, &event) != 0)
        error = -errno;
    if (error == 0)
        error = watch(server, server->listens, server, EPOLL_CTL_ADD);
    if (error == 0)
        return make_place(server, addresses, place);
    free(addresses);
    return error;
}

/* Callers. */

/* Ends the connection of the stranger that came first. Lock held. */
static void drop_stranger(struct mpiio_pool_server *server)
{
    struct mpiio_pool_caller *oldest = NULL;

    for (struct mpiio_pool_caller *caller = server->callers; caller != NULL; caller = caller->next)
        if (!caller->known)
            oldest = caller;
    if (oldest != NULL)
        shutdown(oldest->fd, SHUT_RDWR);
}

static void forget(struct mpiio_pool_server *server, struct mpiio_pool_caller *caller)
{
    struct mpiio_pool_caller **at;

    pthread_mutex_lock(&server->lock);
    at = &server->callers;
    while (*at != caller)
        at = &(*at)->next;
    *at = caller->next;
    server->strangers -= !caller->known;
    pthread_mutex_unlock(&server->lock);
    close(caller->fd);
    free(caller);
}

/* False: no connection is to be made any more. */
static bool enlist(struct mpiio_pool_server *server, struct mpiio_pool_caller *caller)
{
    bool over;

    pthread_mutex_lock(&server->lock);
    over = server->over;
    if (!over) {
        if (server->strangers >= MPIIO_POOL_STRANGERS)
            drop_stranger(server);
        server->strangers++;
        caller->next = server->callers;
        server->callers = caller;
    }
    pthread_mutex_unlock(&server->lock);
    return !over;
}

/* Takes over fd. It is heard again when all of its answer is there, however long that takes. */
static void greet(struct mpiio_pool_server *server, int fd)
{
    struct mpiio_pool_caller *caller = calloc(1, sizeof(*caller));
    struct mpiio_pool_greeting greeting;
    uint8_t bytes[MPIIO_POOL_GREETING_BYTES];
    const int whole = MPIIO_POOL_JOIN_BYTES;

    if (caller == NULL || mpiio_random(greeting.nonce, sizeof(greeting.nonce)) != 0) {
        free(caller);
        close(fd);
        return;
    }
    caller->fd = fd;
    for (size_t i = 0; i < sizeof(caller->nonce); i++)
        caller->nonce[i] = greeting.nonce[i];
    mpiio_pool_talk_prepare(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole));
    if (!enlist(server, caller)) {
        close(fd);
        free(caller);
        return;
    }
    /* A new connection takes so little without a wait. */
    if (mpiio_pool_talk_send(fd, bytes, mpiio_pool_greeting_encode(&greeting, bytes), 0) != 0 ||
        watch(server, fd, caller, EPOLL_CTL_ADD) != 0)
        forget(server, caller);
}

static void accept_all(struct mpiio_pool_server *server)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    int fd;

    do {
        fd = accept4(server->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            greet(server, fd);
    } while (fd >= 0 || errno == EINTR || errno == ECONNABORTED);
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        nanosleep(&pause, NULL);
    watch(server, server->listens, server, EPOLL_CTL_MOD);
}

/* What a stranger answers is there as a whole, or nothing more comes. */
static bool admit(struct mpiio_pool_server *server, struct mpiio_pool_caller *caller)
{
    const int any = 1;
    uint8_t bytes[MPIIO_POOL_JOIN_BYTES];
    struct mpiio_pool_join join;

    if (mpiio_pool_talk_receive(caller->fd, bytes, sizeof(bytes), 0) != 0 ||
        !mpiio_pool_join_decode(bytes, &join) || join.nodes != (uint32_t)server->nodes ||
        mpiio_pool_proof(server->token, caller->nonce, &join, join.node) != join.proof)
        return false;
    setsockopt(caller->fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
    pthread_mutex_lock(&server->lock);
    caller->known = true;
    server->strangers--;
    pthread_mutex_unlock(&server->lock);
    return mpiio_pool_talk_send(
               caller->fd, bytes,
               mpiio_pool_welcome_encode(
                   mpiio_pool_proof(server->token, caller->nonce, &join, (uint32_t)server->node),
                   bytes),
               server->timeout) == 0;
}

/* Requests. */

/* Packs what is asked for, if it is there: how many bytes, or -1. */
static int64_t fetch(struct desk *desk, const struct mpiio_pool_request *request)
{
    struct mpiio_pool_memory *memory = desk->server->memory;
    int64_t bytes = -1;
    struct mpiio_pool_version version;
    struct mpiio_pool_block *block;
    bool fresh;

    /* What this node sees must be what the other one does. */
    if (!memory->file.look(memory->file.data, &request->version, &version) ||
        !mpiio_pool_version_same(&version, &request->version))
        return -1;
    block = mpiio_pool_memory_get(memory, request->block, &version, &fresh);
    if (block == NULL)
        return -1;
    if (mpiio_pool_reach(request->part, request->count) <= block->length) {
        bytes = (int64_t)mpiio_pool_bytes(request->part, request->count);
        mpiio_pool_pack(request->part, request->count, block->bytes,
                        desk->answer + MPIIO_POOL_ANSWER_BYTES);
    }
    mpiio_pool_memory_put(memory, block);
    return bytes;
}

static bool answer(struct desk *desk, int fd, const struct mpiio_pool_request *request)
{
    struct mpiio_pool_server *server = desk->server;
    int64_t bytes;
    struct mpiio_pool_answer head;

    if (request->ahead) {
        mpiio_pool_ahead_want(server->ahead, request->blocks, request->count);
        return true;
    }
    bytes = fetch(desk, request);
    head =
        (struct mpiio_pool_answer){.there = bytes >= 0, .bytes = bytes > 0 ? (uint32_t)bytes : 0};
    mpiio_pool_answer_encode(&head, (uint8_t *)desk->answer);
    /* Before it is sent: who has got it may look. */
    atomic_fetch_add(&server->sent_bytes, head.bytes);
    return mpiio_pool_talk_send(fd, desk->answer, MPIIO_POOL_ANSWER_BYTES + head.bytes,
                                server->timeout) == 0;
}

/* A request has begun to come in. False: the connection is over. */
static bool serve(struct desk *desk, int fd)
{
    struct mpiio_pool_request request;
    int timeout = desk->server->timeout;
    size_t size;

    if (mpiio_pool_talk_receive(fd, desk->request, 4, timeout) != 0)
        return false;
    size = mpiio_pool_request_size(desk->request);
    return size != 0 && mpiio_pool_talk_receive(fd, desk->request, size, timeout) == 0 &&
           mpiio_pool_request_decode(desk->request, size, &request, &desk->list) &&
           answer(desk, fd, &request);
}

/* The threads. */

static bool is_over(struct mpiio_pool_server *server)
{
    bool over;

    pthread_mutex_lock(&server->lock);
    over = server->over;
    pthread_mutex_unlock(&server->lock);
    return over;
}

static bool is_known(struct mpiio_pool_server *server, const struct mpiio_pool_caller *caller)
{
    bool known;

    pthread_mutex_lock(&server->lock);
    known = caller->known;
    pthread_mutex_unlock(&server->lock);
    return known;
}

/* Under the lock, by which whoever is told of the connection next comes after this thread. */
static bool watch_again(struct mpiio_pool_server *server, struct mpiio_pool_caller *caller)
{
    int error;

    pthread_mutex_lock(&server->lock);
    error = watch(server, caller->fd, caller, EPOLL_CTL_MOD);
    pthread_mutex_unlock(&server->lock);
    return error == 0;
}

static void hear(struct desk *desk, struct mpiio_pool_caller *caller)
{
    struct mpiio_pool_server *server = desk->server;
    bool goes_on = is_known(server, caller) ? serve(desk, caller->fd) : admit(server, caller);

    if (!goes_on || !watch_again(server, caller))
        forget(server, caller);
}

static void *work(void *data)
{
    struct desk *desk = data;
    struct mpiio_pool_server *server = desk->server;
    struct epoll_event event;

    while (!is_over(server)) {
        int count = epoll_wait(server->poll, &event, 1, -1);

        if (count != 1 || event.data.ptr == &server->wake)
            continue;
        if (event.data.ptr == server)
            accept_all(server);
        else
            hear(desk, event.data.ptr);
    }
    free(desk->answer);
    free(desk);
    return NULL;
}

static int start_thread(struct mpiio_pool_server *server)
{
    struct desk *desk = malloc(sizeof(*desk));
    int error = -ENOMEM;

    if (desk != NULL) {
        desk->server = server;
        desk->answer = malloc(MPIIO_POOL_ANSWER_BYTES + (size_t)MPIIO_POOL_BLOCK);
    }
    if (desk != NULL && desk->answer != NULL)
        error = mpiio_thread_start(&server->thread[server->threads], work, desk);
    if (error == 0) {
        server->threads++;
        return 0;
    }
    if (desk != NULL)
        free(desk->answer);
    free(desk);
    return error;
}

int mpiio_pool_server_start(struct mpiio_pool_server *server)
{
    int error = 0;

    while (server->listens >= 0 && server->threads < MPIIO_POOL_SERVER_THREADS && error == 0)
        error = start_thread(server);
    return error;
}

void mpiio_pool_server_end(struct mpiio_pool_server *server)
{
    const uint64_t one = 1;

    pthread_mutex_lock(&server->lock);
    server->over = true;
    for (struct mpiio_pool_caller *caller = server->callers; caller != NULL; caller = caller->next)
        shutdown(caller->fd, SHUT_RDWR);
    if (server->listens >= 0)
        shutdown(server->listens, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    /* It cannot fail but where they are awake already. */
    if (server->wake >= 0 && write(server->wake, &one, sizeof(one)) < 0)
        return;
}

void mpiio_pool_server_destroy(struct mpiio_pool_server *server)
{
    mpiio_pool_server_end(server);
    while (server->threads > 0)
        pthread_join(server->thread[--server->threads], NULL);
    while (server->callers != NULL)
        forget(server, server->callers);
    if (server->listens >= 0)
        close(server->listens);
    if (server->poll >= 0)
        close(server->poll);
    if (server->wake >= 0)
        close(server->wake);
    pthread_mutex_destroy(&server->lock);
}
