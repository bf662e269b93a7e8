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

#include "core/base/thread.h"
#include "cluster/address.h"
#include "frame.h"

/* Until a connection is accepted again that there was no descriptor or memory for, in ns. */
#define PAUSE 100000000

/* A connection that another node has made. */
struct mpiio_server_caller {
    int fd;
    bool known; /* it has shown that it knows the token; lock: the server's */
    uint8_t nonce[MPIIO_NONCE_BYTES];
    struct mpiio_server_caller *next; /* lock: the server's */
};

/* What a thread works with. */
struct worker {
    struct mpiio_server *server;
    void *desk; /* the user's */
};

void mpiio_server_init(struct mpiio_server *server, const struct mpiio_server_calls *calls)
{
    *server = (struct mpiio_server){.calls = *calls, .listens = -1, .poll = -1, .wake = -1};
    pthread_mutex_init(&server->lock, NULL);
}

/* Once: who waits for the descriptor is told of it, and then it must be watched again. */
static int watch(struct mpiio_server *server, int fd, void *owner, int how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = owner};

    return epoll_ctl(server->poll, how, fd, &event) != 0 ? -errno : 0;
}

/* What those who are to ask must know: the token and the addresses, which are taken over. */
static int make_place(struct mpiio_server *server, char *addresses, char **place)
{
    char token[MPIIO_LINE_TOKEN_TEXT];
    int error = mpiio_random(server->token, sizeof(server->token));

    mpiio_line_token_write(server->token, token);
    if (error == 0 && asprintf(place, "%s %s", token, addresses) < 0)
        error = -ENOMEM;
    free(addresses);
    return error;
}

int mpiio_server_listen(struct mpiio_server *server, const struct mpiio_local_address *local,
                        char **place)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->wake};
    char *addresses;
    int error = mpiio_address_listen(local, &server->listens, &addresses);

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
static void drop_stranger(struct mpiio_server *server)
{
    struct mpiio_server_caller *oldest = NULL;

    assert(mpiio_is_held(&server->lock));
    for (struct mpiio_server_caller *caller = server->callers; caller != NULL;
         caller = caller->next)
        if (!caller->known)
            oldest = caller;
    if (oldest != NULL)
        shutdown(oldest->fd, SHUT_RDWR);
}

static void forget(struct mpiio_server *server, struct mpiio_server_caller *caller)
{
    struct mpiio_server_caller **at;

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
static bool enlist(struct mpiio_server *server, struct mpiio_server_caller *caller)
{
    bool over;

    pthread_mutex_lock(&server->lock);
    over = server->over;
    if (!over) {
        if (server->strangers >= MPIIO_SERVER_STRANGERS)
            drop_stranger(server);
        server->strangers++;
        caller->next = server->callers;
        server->callers = caller;
    }
    pthread_mutex_unlock(&server->lock);
    return !over;
}

/* Takes over fd. It is heard again when all of its answer is there, however long that takes. */
static void greet(struct mpiio_server *server, int fd)
{
    struct mpiio_server_caller *caller = calloc(1, sizeof(*caller));
    struct mpiio_line_greeting greeting;
    uint8_t bytes[MPIIO_LINE_GREETING_BYTES];
    const int whole = MPIIO_LINE_JOIN_BYTES;

    if (caller == NULL || mpiio_random(greeting.nonce, sizeof(greeting.nonce)) != 0) {
        free(caller);
        close(fd);
        return;
    }
    caller->fd = fd;
    for (size_t i = 0; i < sizeof(caller->nonce); i++)
        caller->nonce[i] = greeting.nonce[i];
    mpiio_talk_prepare(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole));
    if (!enlist(server, caller)) {
        close(fd);
        free(caller);
        return;
    }
    /* A new connection takes so little without a wait. */
    if (mpiio_talk_send(fd, bytes, mpiio_line_greeting_encode(&greeting, bytes), 0) != 0 ||
        watch(server, fd, caller, EPOLL_CTL_ADD) != 0)
        forget(server, caller);
}

static void accept_all(struct mpiio_server *server)
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
static bool admit(struct mpiio_server *server, struct mpiio_server_caller *caller)
{
    const int any = 1;
    uint8_t bytes[MPIIO_LINE_JOIN_BYTES];
    struct mpiio_line_join join;

    if (mpiio_talk_receive(caller->fd, bytes, sizeof(bytes), 0) != 0 ||
        !mpiio_line_join_decode(bytes, &join) || join.nodes != (uint32_t)server->nodes ||
        mpiio_line_proof(server->token, caller->nonce, &join, join.node) != join.proof)
        return false;
    setsockopt(caller->fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
    pthread_mutex_lock(&server->lock);
    caller->known = true;
    server->strangers--;
    pthread_mutex_unlock(&server->lock);
    return mpiio_talk_send(
               caller->fd, bytes,
               mpiio_line_welcome_encode(
                   mpiio_line_proof(server->token, caller->nonce, &join, (uint32_t)server->node),
                   bytes),
               server->timeout) == 0;
}

/* The threads. */

static bool is_over(struct mpiio_server *server)
{
    return MPIIO_LOCKED(&server->lock, server->over);
}

static bool is_known(struct mpiio_server *server, const struct mpiio_server_caller *caller)
{
    return MPIIO_LOCKED(&server->lock, caller->known);
}

/* Under the lock, by which whoever is told of the connection next comes after this thread. */
static bool watch_again(struct mpiio_server *server, struct mpiio_server_caller *caller)
{
    return MPIIO_LOCKED(&server->lock, watch(server, caller->fd, caller, EPOLL_CTL_MOD)) == 0;
}

static void hear(const struct worker *worker, struct mpiio_server_caller *caller)
{
    struct mpiio_server *server = worker->server;
    bool goes_on = is_known(server, caller)
                       ? server->calls.serve(server->calls.data, worker->desk, caller->fd)
                       : admit(server, caller);

    if (!goes_on || !watch_again(server, caller))
        forget(server, caller);
}

static void *run_server(void *data)
{
    struct worker *worker = data;
    struct mpiio_server *server = worker->server;
    struct epoll_event event;

    while (!is_over(server)) {
        int count = epoll_wait(server->poll, &event, 1, -1);

        if (count != 1 || event.data.ptr == &server->wake)
            continue;
        if (event.data.ptr == server)
            accept_all(server);
        else
            hear(worker, event.data.ptr);
    }
    free(worker->desk);
    free(worker);
    return NULL;
}

static int start_thread(struct mpiio_server *server)
{
    struct worker *worker = malloc(sizeof(*worker));
    int error = -ENOMEM;

    if (worker != NULL)
        *worker = (struct worker){.server = server, .desk = malloc(server->calls.desk)};
    if (worker != NULL && worker->desk != NULL)
        error = mpiio_thread_start(&server->thread[server->threads], run_server, worker);
    if (error == 0) {
        server->threads++;
        return 0;
    }
    if (worker != NULL)
        free(worker->desk);
    free(worker);
    return error;
}

int mpiio_server_start(struct mpiio_server *server)
{
    int error = 0;

    while (server->listens >= 0 && server->threads < server->calls.threads && error == 0)
        error = start_thread(server);
    return error;
}

void mpiio_server_end(struct mpiio_server *server)
{
    const uint64_t one = 1;

    pthread_mutex_lock(&server->lock);
    server->over = true;
    for (struct mpiio_server_caller *caller = server->callers; caller != NULL;
         caller = caller->next)
        shutdown(caller->fd, SHUT_RDWR);
    if (server->listens >= 0)
        shutdown(server->listens, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    /* It cannot fail but where they are awake already. */
    if (server->wake >= 0 && write(server->wake, &one, sizeof(one)) < 0)
        return;
}

void mpiio_server_destroy(struct mpiio_server *server)
{
    mpiio_server_end(server);
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
