/* SPDX-License-Identifier: MIT */
#include "connections.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "viewspec/base/integer.h"

/* The maximum time for one connection attempt, in ms. */
#define CONNECT 3000

int mpiio_connections_init(struct mpiio_connections *connections, const struct mpiio_net *net)
{
    *connections = (struct mpiio_connections){.net = net, .nodes = net->options.nodes};
    connections->others = calloc((size_t)connections->nodes, sizeof(*connections->others));
    if (connections->others == NULL)
        return -ENOMEM;
    pthread_mutex_init(&connections->lock, NULL);
    pthread_cond_init(&connections->changed, NULL);
    return 0;
}

/* Closes a node's connection. With the lock held. */
static void drop_line(struct mpiio_connections *connections, struct mpiio_connections_node *other,
                      struct mpiio_connection *connection)
{
    LIST_REMOVE(connection, others);
    other->count--;
    connections->count--;
    close(connection->fd);
    free(connection);
}

void mpiio_connections_destroy(struct mpiio_connections *connections)
{
    if (connections->others == NULL)
        return;
    for (int i = 0; i < connections->nodes; i++)
        while (!LIST_EMPTY(&connections->others[i].connections))
            drop_line(connections, &connections->others[i],
                      LIST_FIRST(&connections->others[i].connections));
    free(connections->others);
    pthread_cond_destroy(&connections->changed);
    pthread_mutex_destroy(&connections->lock);
}

void mpiio_connections_end(struct mpiio_connections *connections)
{
    struct mpiio_connection *connection;

    pthread_mutex_lock(&connections->lock);
    connections->over = true;
    for (int i = 0; i < connections->nodes; i++)
        LIST_FOREACH (connection, &connections->others[i].connections, others)
            shutdown(connection->fd, SHUT_RDWR);
    pthread_cond_broadcast(&connections->changed);
    pthread_mutex_unlock(&connections->lock);
}

/* Blocks requests to a node that did not answer, for net's timeout. With the lock held. */
static void rest(const struct mpiio_connections *connections, struct mpiio_connections_node *other)
{
    assert(mpiio_is_held(&connections->lock));
    other->rests = mpiio_clock() + connections->net->options.timeout;
}

/* If there are too many connections, closes the connection that was idle longest. Returns false if
   all are in use. */
static bool make_room(struct mpiio_connections *connections)
{
    unsigned most = connections->net->options.most;
    struct mpiio_connections_node *owner = NULL;
    struct mpiio_connection *connection, *oldest = NULL;

    assert(mpiio_is_held(&connections->lock));
    if (most == 0 || connections->count < most)
        return true;
    for (int i = 0; i < connections->nodes; i++)
        LIST_FOREACH (connection, &connections->others[i].connections, others)
            if (!connection->used && (oldest == NULL || connection->since < oldest->since)) {
                oldest = connection;
                owner = &connections->others[i];
            }
    if (oldest != NULL)
        drop_line(connections, owner, oldest);
    return oldest != NULL;
}

static int dial(const struct mpiio_connections *connections, int number, int64_t end)
{
    struct mpiio_welcome welcome;

    return mpiio_net_connect(connections->net, number, MPIIO_PURPOSE_POOL, "",
                             vs_min(end, mpiio_clock() + CONNECT), &welcome);
}

/* Makes a connection. With the lock held, which is released while connecting. */
static struct mpiio_connection *connect_to(struct mpiio_connections *connections, int number,
                                           int64_t end)
{
    struct mpiio_connections_node *other = &connections->others[number];
    struct mpiio_connection *connection;

    assert(mpiio_is_held(&connections->lock));
    assert(!other->connecting);
    if (!make_room(connections))
        return NULL;
    connection = malloc(sizeof(*connection));
    other->connecting = true;
    other->count++;
    connections->count++;
    pthread_mutex_unlock(&connections->lock);
    if (connection != NULL)
        *connection = (struct mpiio_connection){.fd = dial(connections, number, end), .used = true};
    pthread_mutex_lock(&connections->lock);
    other->connecting = false;
    pthread_cond_broadcast(&connections->changed);
    if (connection != NULL && connection->fd >= 0 && !connections->over) {
        LIST_INSERT_HEAD(&other->connections, connection, others);
        return connection;
    }
    other->count--;
    connections->count--;
    rest(connections, other);
    if (connection != NULL && connection->fd >= 0)
        close(connection->fd);
    free(connection);
    return NULL;
}

/* Returns true if the other side has closed an idle connection. */
static bool has_ended(const struct mpiio_connection *connection)
{
    char byte;
    ssize_t got = recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* Takes an idle connection, and closes idle connections that have ended. */
static struct mpiio_connection *find_unused(struct mpiio_connections *connections,
                                            struct mpiio_connections_node *other)
{
    struct mpiio_connection *connection, *next;

    assert(mpiio_is_held(&connections->lock));
    for (connection = LIST_FIRST(&other->connections); connection != NULL; connection = next) {
        next = LIST_NEXT(connection, others);
        if (connection->used)
            continue;
        connection->used = !has_ended(connection);
        if (connection->used)
            return connection;
        drop_line(connections, other, connection);
    }
    return NULL;
}

struct mpiio_connection *mpiio_connections_get(struct mpiio_connections *connections, int number,
                                               int64_t end)
{
    struct mpiio_connections_node *other = &connections->others[number];
    struct mpiio_connection *connection = NULL;
    bool waits = true;

    if (connections->net->address == NULL || *connections->net->address[number] == '\0')
        return NULL;
    pthread_mutex_lock(&connections->lock);
    while (waits && !connections->over && mpiio_clock() >= other->rests &&
           (connection = find_unused(connections, other)) == NULL) {
        if (other->count < MPIIO_CONNECTIONS_MAX && !other->connecting) {
            connection = connect_to(connections, number, end);
            break;
        }
        waits = mpiio_wait_until(&connections->changed, &connections->lock, end);
    }
    pthread_mutex_unlock(&connections->lock);
    return connection;
}

void mpiio_connections_put(struct mpiio_connections *connections, int number,
                           struct mpiio_connection *connection, int error)
{
    struct mpiio_connections_node *other = &connections->others[number];

    pthread_mutex_lock(&connections->lock);
    connection->used = false;
    connection->since = mpiio_clock();
    if (error != 0 && (error != -ENOTCONN || !connection->answered))
        rest(connections, other);
    connection->answered = true;
    if (error != 0)
        drop_line(connections, other, connection);
    pthread_cond_broadcast(&connections->changed);
    pthread_mutex_unlock(&connections->lock);
}
