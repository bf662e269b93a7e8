/* SPDX-License-Identifier: MIT */
#include "net.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* ms between attempts to accept connections after a lack of room, descriptors or memory, and
   between checks of the strangers' age. */
#define PAUSE 100
/* ms after which a thread checks for strangers in any case. */
#define IDLE 10000
/* ms after which a stranger may be closed if others wait, and is closed in any case. */
#define GRACE    1000
#define PATIENCE 5000

/* A connection that another node has made: the server side of it. */
struct mpiio_session {
    int fd;
    /* mpiio_clock: when it was accepted, or served last; guarded by the listener's lock */
    int64_t since;
    bool known; /* it has proved itself; guarded by the listener's lock */
    bool busy;  /* it is being served; guarded by the listener's lock */
    bool ended; /* it was shut down, and is not counted; guarded by the listener's lock */
    struct mpiio_handshake handshake;
    TAILQ_ENTRY(mpiio_session) others; /* guarded by the listener's lock */
};

/* The data of a thread. */
struct worker {
    struct mpiio_listener *listener;
    _Alignas(max_align_t) char desk[]; /* the user's */
};

void mpiio_listener_init(struct mpiio_listener *listener, const struct mpiio_net *net)
{
    *listener = (struct mpiio_listener){.net = net, .listens = -1, .poll = -1, .wake = -1};
    TAILQ_INIT(&listener->strangers);
    TAILQ_INIT(&listener->served);
    pthread_mutex_init(&listener->lock, NULL);
}

/* Wakes one thread, once, when fd becomes readable. Afterwards fd must be watched again. */
static int watch(struct mpiio_listener *listener, int fd, void *owner, int how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = owner};

    return epoll_ctl(listener->poll, how, fd, &event) != 0 ? -errno : 0;
}

int mpiio_listener_open(struct mpiio_listener *listener, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener->wake};

    listener->listens = fd;
    listener->poll = epoll_create1(EPOLL_CLOEXEC);
    listener->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->poll < 0 || listener->wake < 0 ||
        epoll_ctl(listener->poll, EPOLL_CTL_ADD, listener->wake, &event) != 0)
        return -errno;
    return watch(listener, fd, listener, EPOLL_CTL_ADD);
}

/* Sessions. */

/* Returns the number of sessions of a list that were not shut down. With the lock held. */
static unsigned count_open(const struct mpiio_sessions *list)
{
    const struct mpiio_session *session;
    unsigned count = 0;

    TAILQ_FOREACH (session, list, others)
        count += !session->ended;
    return count;
}

/* Shuts down the first idle session of a list, if it was accepted or served before that time. A
   thread then reads the end of the connection and frees the session. */
static void drop_oldest(struct mpiio_listener *listener, struct mpiio_sessions *list,
                        int64_t before)
{
    struct mpiio_session *session;

    assert(mpiio_is_held(&listener->lock));
    TAILQ_FOREACH (session, list, others)
        if (!session->busy && !session->ended)
            break;
    if (session == NULL || session->since >= before)
        return;
    shutdown(session->fd, SHUT_RDWR);
    session->ended = true;
}

/* Adds a session to the end of the strangers. Returns false if the listener is closed. */
static bool enlist(struct mpiio_listener *listener, struct mpiio_session *session)
{
    bool over;

    pthread_mutex_lock(&listener->lock);
    over = listener->over;
    if (!over)
        TAILQ_INSERT_TAIL(&listener->strangers, session, others);
    pthread_mutex_unlock(&listener->lock);
    return !over;
}

static void unlist(struct mpiio_listener *listener, struct mpiio_session *session)
{
    pthread_mutex_lock(&listener->lock);
    TAILQ_REMOVE(session->known ? &listener->served : &listener->strangers, session, others);
    pthread_mutex_unlock(&listener->lock);
}

static void forget(struct mpiio_listener *listener, struct mpiio_session *session)
{
    unlist(listener, session);
    close(session->fd);
    free(session);
}

/* Takes ownership of fd and sends HELLO. SO_RCVLOWAT wakes a thread only when the whole JOIN has
   arrived, or the connection has ended, so that no thread waits for a slow stranger. */
static void greet(struct mpiio_listener *listener, int fd)
{
    struct mpiio_session *session = malloc(sizeof(*session));
    const int whole = MPIIO_JOIN_BYTES;

    if (session != NULL)
        *session = (struct mpiio_session){.fd = fd, .since = mpiio_clock()};
    if (session == NULL || !enlist(listener, session)) {
        close(fd);
        free(session);
        return;
    }
    mpiio_talk_prepare(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole));
    if (mpiio_handshake_ask(fd, &session->handshake) != 0 ||
        watch(listener, fd, session, EPOLL_CTL_ADD) != 0)
        forget(listener, session);
}

/* Returns true if one more stranger may be accepted. If not, shuts down the oldest one that is past
   GRACE, so that there is room soon. */
static bool has_room(struct mpiio_listener *listener)
{
    bool room;

    pthread_mutex_lock(&listener->lock);
    room = count_open(&listener->strangers) < MPIIO_LISTENER_STRANGERS;
    if (!room)
        drop_oldest(listener, &listener->strangers, mpiio_clock() - GRACE);
    pthread_mutex_unlock(&listener->lock);
    return room;
}

/* Accepts connections while there is room. The rest is accepted after the next event, or after
   PAUSE. */
static void accept_all(struct mpiio_listener *listener)
{
    bool room;
    int fd = 0;

    do {
        room = has_room(listener);
        if (room)
            fd = accept4(listener->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (room && fd >= 0)
            greet(listener, fd);
    } while (room && (fd >= 0 || errno == EINTR || errno == ECONNABORTED));
    if (room && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        watch(listener, listener->listens, listener, EPOLL_CTL_MOD);
        return;
    }
    pthread_mutex_lock(&listener->lock);
    listener->waiting = true;
    pthread_mutex_unlock(&listener->lock);
}

/* Drops a stranger whose time is over. Accepts connections that wait, unless another thread does
   that. */
static void look_after_strangers(struct mpiio_listener *listener)
{
    bool waiting;

    pthread_mutex_lock(&listener->lock);
    drop_oldest(listener, &listener->strangers, mpiio_clock() - PATIENCE);
    waiting = listener->waiting && !listener->over;
    listener->waiting = false;
    pthread_mutex_unlock(&listener->lock);
    if (waiting)
        accept_all(listener);
}

/* Returns the timeout of epoll_wait in ms. A thread that has no strangers to check still wakes
   after IDLE: it may be the only free thread, and a stranger may have come since it went to
   sleep. */
static int time_to_look(struct mpiio_listener *listener)
{
    bool soon =
        MPIIO_LOCKED(&listener->lock, listener->waiting || count_open(&listener->strangers) > 0);

    return soon ? PAUSE : IDLE;
}

/* Returns 0 if JOIN names this node, the right number of nodes and a purpose that is served, else a
   negative errno. */
static int check_join(const struct mpiio_listener *listener, const struct mpiio_join *join)
{
    const struct mpiio_net_options *options = &listener->net->options;
    bool meant = join->purpose == MPIIO_PURPOSE_TREE ? listener->calls.join != NULL
                                                     : listener->calls.serve != NULL;

    if (join->nodes != (uint32_t)options->nodes || join->to != (uint32_t)options->node ||
        join->node == join->to)
        return -EINVAL;
    return meant ? 0 : -EOPNOTSUPP;
}

/* Passes a connection to the tree. */
static void pass_on(struct mpiio_listener *listener, struct mpiio_session *session,
                    const struct mpiio_join *join)
{
    unlist(listener, session);
    epoll_ctl(listener->poll, EPOLL_CTL_DEL, session->fd, NULL);
    listener->calls.join(listener->calls.tree, session->fd, &session->handshake, join);
    free(session);
}

/* Adds a connection to those that are served, and answers its JOIN. Returns false on failure. */
static bool admit(struct mpiio_listener *listener, struct mpiio_session *session)
{
    const struct mpiio_welcome welcome = {.status = 0};
    unsigned most = listener->net->options.most;

    pthread_mutex_lock(&listener->lock);
    TAILQ_REMOVE(&listener->strangers, session, others);
    session->known = session->busy = true;
    TAILQ_INSERT_TAIL(&listener->served, session, others);
    if (most != 0 && count_open(&listener->served) > most)
        drop_oldest(listener, &listener->served, INT64_MAX);
    pthread_mutex_unlock(&listener->lock);
    return mpiio_handshake_answer(session->fd, &session->handshake, listener->net->token,
                                  &welcome) == 0;
}

/* Reports why a connection is refused. Strangers may cause any number of refusals, so reports at
   most one a second. */
static void tell_refusal(struct mpiio_listener *listener, int error)
{
    int64_t now = mpiio_clock();
    bool due;

    if (listener->calls.refused == NULL || error == -ENOTCONN)
        return;
    pthread_mutex_lock(&listener->lock);
    due = now >= listener->reported + 1000;
    if (due)
        listener->reported = now;
    pthread_mutex_unlock(&listener->lock);
    if (due)
        listener->calls.refused(listener->calls.tree, error);
}

/* Receives a stranger's JOIN, which has arrived completely unless the connection has ended.
   Returns true if the session is served from now on. Otherwise it was passed on or freed. */
static bool hear_stranger(struct mpiio_listener *listener, struct mpiio_session *session)
{
    const int any = 1;
    struct mpiio_join join;
    struct mpiio_welcome refusal = {0};

    refusal.status =
        mpiio_handshake_hear(session->fd, &session->handshake, listener->net->token, &join);
    if (refusal.status == 0)
        refusal.status = check_join(listener, &join);
    if (refusal.status != 0) {
        tell_refusal(listener, refusal.status);
        mpiio_handshake_answer(session->fd, &session->handshake, listener->net->token, &refusal);
        forget(listener, session);
        return false;
    }
    setsockopt(session->fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
    if (join.purpose == MPIIO_PURPOSE_TREE) {
        pass_on(listener, session, &join);
        return false;
    }
    if (admit(listener, session))
        return true;
    forget(listener, session);
    return false;
}

/* The threads. */

/* Re-arms a connection, so that its next event wakes a thread. Because of the lock, the thread
   that wakes up sees this thread's changes to the session. */
static bool watch_again(struct mpiio_listener *listener, struct mpiio_session *session)
{
    int error;

    pthread_mutex_lock(&listener->lock);
    session->busy = false;
    session->since = mpiio_clock();
    if (session->known) { /* keeps the list in order of the last service */
        TAILQ_REMOVE(&listener->served, session, others);
        TAILQ_INSERT_TAIL(&listener->served, session, others);
    }
    error = watch(listener, session->fd, session, EPOLL_CTL_MOD);
    pthread_mutex_unlock(&listener->lock);
    return error == 0;
}

static void hear(struct worker *worker, struct mpiio_session *session)
{
    struct mpiio_listener *listener = worker->listener;
    const struct mpiio_listener_calls *calls = &listener->calls;

    if (!MPIIO_LOCKED(&listener->lock, session->busy = session->known)) {
        if (!hear_stranger(listener, session))
            return; /* passed on or freed */
    } else if (!calls->serve(calls->pool, worker->desk, session->fd)) {
        forget(listener, session);
        return;
    }
    if (!watch_again(listener, session))
        forget(listener, session);
}

static void *run_listener(void *data)
{
    struct worker *worker = data;
    struct mpiio_listener *listener = worker->listener;
    struct epoll_event event;

    while (!MPIIO_LOCKED(&listener->lock, listener->over)) {
        int count = epoll_wait(listener->poll, &event, 1, time_to_look(listener));

        if (count == 1 && event.data.ptr == listener)
            accept_all(listener);
        else if (count == 1 && event.data.ptr != &listener->wake)
            hear(worker, event.data.ptr);
        look_after_strangers(listener);
    }
    free(worker);
    return NULL;
}

static int start_thread(struct mpiio_listener *listener)
{
    struct worker *worker = malloc(sizeof(*worker) + listener->calls.desk);
    int error;

    if (worker == NULL)
        return -ENOMEM;
    worker->listener = listener;
    error = mpiio_thread_start(&listener->thread[listener->threads], run_listener, worker);
    if (error == 0)
        listener->threads++;
    else
        free(worker);
    return error;
}

int mpiio_net_start(struct mpiio_net *net, const struct mpiio_listener_calls *calls)
{
    struct mpiio_listener *listener = &net->listener;
    int error = 0;

    listener->calls = *calls;
    while (listener->listens >= 0 && listener->threads < calls->threads && error == 0)
        error = start_thread(listener);
    return error;
}

void mpiio_net_close(struct mpiio_net *net)
{
    struct mpiio_listener *listener = &net->listener;
    struct mpiio_session *session;

    pthread_mutex_lock(&listener->lock);
    listener->over = true;
    TAILQ_FOREACH (session, &listener->strangers, others)
        shutdown(session->fd, SHUT_RDWR);
    TAILQ_FOREACH (session, &listener->served, others)
        shutdown(session->fd, SHUT_RDWR);
    if (listener->listens >= 0)
        shutdown(listener->listens, SHUT_RDWR);
    pthread_mutex_unlock(&listener->lock);
    /* This can only fail if the counter is full, and then the threads are awake. */
    if (listener->wake >= 0)
        eventfd_write(listener->wake, 1);
}

void mpiio_net_stop(struct mpiio_net *net)
{
    struct mpiio_listener *listener;

    if (net == NULL)
        return;
    listener = &net->listener;
    mpiio_net_close(net);
    while (listener->threads > 0)
        pthread_join(listener->thread[--listener->threads], NULL);
}

void mpiio_listener_destroy(struct mpiio_listener *listener)
{
    struct mpiio_session *session;

    while ((session = TAILQ_FIRST(&listener->strangers)) != NULL ||
           (session = TAILQ_FIRST(&listener->served)) != NULL)
        forget(listener, session);
    if (listener->listens >= 0)
        close(listener->listens);
    if (listener->poll >= 0)
        close(listener->poll);
    if (listener->wake >= 0)
        close(listener->wake);
    pthread_mutex_destroy(&listener->lock);
}
