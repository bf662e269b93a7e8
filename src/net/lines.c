/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* The maximum time for one connection attempt, in ms. */
#define CONNECT 3000

int mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_net *net,
                     enum mpiio_purpose purpose)
{
    *lines = (struct mpiio_lines){.net = net, .nodes = net->options.nodes, .purpose = purpose};
    lines->others = calloc((size_t)lines->nodes, sizeof(*lines->others));
    if (lines->others == NULL)
        return -ENOMEM;
    pthread_mutex_init(&lines->lock, NULL);
    pthread_cond_init(&lines->changed, NULL);
    return 0;
}

/* Closes a node's line. With the lock held. */
static void drop_line(struct mpiio_lines *lines, struct mpiio_lines_node *other,
                      struct mpiio_line *line)
{
    struct mpiio_line **at = &other->lines;

    while (*at != line)
        at = &(*at)->next;
    *at = line->next;
    other->count--;
    lines->count--;
    close(line->fd);
    free(line);
}

void mpiio_lines_destroy(struct mpiio_lines *lines)
{
    if (lines->others == NULL)
        return;
    for (int i = 0; i < lines->nodes; i++)
        while (lines->others[i].lines != NULL)
            drop_line(lines, &lines->others[i], lines->others[i].lines);
    free(lines->others);
    pthread_cond_destroy(&lines->changed);
    pthread_mutex_destroy(&lines->lock);
}

void mpiio_lines_end(struct mpiio_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    lines->over = true;
    for (int i = 0; i < lines->nodes; i++)
        for (struct mpiio_line *line = lines->others[i].lines; line != NULL; line = line->next)
            shutdown(line->fd, SHUT_RDWR);
    pthread_cond_broadcast(&lines->changed);
    pthread_mutex_unlock(&lines->lock);
}

/* Blocks requests to a node that did not answer, for net's timeout. With the lock held. */
static void rest(const struct mpiio_lines *lines, struct mpiio_lines_node *other)
{
    assert(mpiio_is_held(&lines->lock));
    other->rests = mpiio_clock() + lines->net->options.timeout;
}

/* If there are too many lines, closes the line that was idle longest. Returns false if all are
   in use. */
static bool make_room(struct mpiio_lines *lines)
{
    unsigned most = lines->net->options.most;
    struct mpiio_lines_node *owner = NULL;
    struct mpiio_line *oldest = NULL;

    assert(mpiio_is_held(&lines->lock));
    if (most == 0 || lines->count < most)
        return true;
    for (int i = 0; i < lines->nodes; i++)
        for (struct mpiio_line *line = lines->others[i].lines; line != NULL; line = line->next)
            if (!line->used && (oldest == NULL || line->since < oldest->since)) {
                oldest = line;
                owner = &lines->others[i];
            }
    if (oldest != NULL)
        drop_line(lines, owner, oldest);
    return oldest != NULL;
}

static int dial(const struct mpiio_lines *lines, int number, int64_t end)
{
    int64_t latest = mpiio_clock() + CONNECT;
    struct mpiio_welcome welcome;

    return mpiio_net_connect(lines->net, number, lines->purpose, "", end < latest ? end : latest,
                             &welcome);
}

/* Makes a line. With the lock held, which is released while connecting. */
static struct mpiio_line *connect_to(struct mpiio_lines *lines, int number, int64_t end)
{
    struct mpiio_lines_node *other = &lines->others[number];
    struct mpiio_line *line;

    assert(mpiio_is_held(&lines->lock));
    assert(!other->connecting);
    if (!make_room(lines))
        return NULL;
    line = malloc(sizeof(*line));
    other->connecting = true;
    other->count++;
    lines->count++;
    pthread_mutex_unlock(&lines->lock);
    if (line != NULL)
        *line = (struct mpiio_line){.fd = dial(lines, number, end), .used = true};
    pthread_mutex_lock(&lines->lock);
    other->connecting = false;
    pthread_cond_broadcast(&lines->changed);
    if (line != NULL && line->fd >= 0 && !lines->over) {
        line->next = other->lines;
        other->lines = line;
        return line;
    }
    other->count--;
    lines->count--;
    rest(lines, other);
    if (line != NULL && line->fd >= 0)
        close(line->fd);
    free(line);
    return NULL;
}

/* Returns true if the other side has closed an idle connection. */
static bool has_ended(const struct mpiio_line *line)
{
    char byte;
    ssize_t got = recv(line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* Takes an idle line, and closes idle lines that have ended. */
static struct mpiio_line *find_unused(struct mpiio_lines *lines, struct mpiio_lines_node *other)
{
    struct mpiio_line *next;

    assert(mpiio_is_held(&lines->lock));
    for (struct mpiio_line *line = other->lines; line != NULL; line = next) {
        next = line->next;
        if (line->used)
            continue;
        line->used = !has_ended(line);
        if (line->used)
            return line;
        drop_line(lines, other, line);
    }
    return NULL;
}

struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int number, int64_t end)
{
    struct mpiio_lines_node *other = &lines->others[number];
    struct mpiio_line *line = NULL;
    bool waits = true;

    if (lines->net->address == NULL || *lines->net->address[number] == '\0')
        return NULL;
    pthread_mutex_lock(&lines->lock);
    while (waits && !lines->over && mpiio_clock() >= other->rests &&
           (line = find_unused(lines, other)) == NULL) {
        if (other->count < MPIIO_LINES_MAX && !other->connecting) {
            line = connect_to(lines, number, end);
            break;
        }
        waits = mpiio_wait_until(&lines->changed, &lines->lock, end);
    }
    pthread_mutex_unlock(&lines->lock);
    return line;
}

void mpiio_lines_put(struct mpiio_lines *lines, int number, struct mpiio_line *line, int error)
{
    struct mpiio_lines_node *other = &lines->others[number];

    pthread_mutex_lock(&lines->lock);
    line->used = false;
    line->since = mpiio_clock();
    if (error != 0 && (error != -ENOTCONN || !line->answered))
        rest(lines, other);
    line->answered = true;
    if (error != 0)
        drop_line(lines, other, line);
    pthread_cond_broadcast(&lines->changed);
    pthread_mutex_unlock(&lines->lock);
}
