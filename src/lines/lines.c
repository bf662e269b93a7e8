/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "cluster/address.h"
#include "core/base/clock.h"
#include "frame.h"

void mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_lines_options *options)
{
    *lines = (struct mpiio_lines){.options = *options};
    pthread_mutex_init(&lines->lock, NULL);
    pthread_cond_init(&lines->changed, NULL);
}

void mpiio_lines_destroy(struct mpiio_lines *lines)
{
    for (int i = 0; i < lines->options.nodes; i++) {
        struct mpiio_lines_node *other = &lines->others[i];
        struct mpiio_line *line;

        while ((line = other->lines) != NULL) {
            other->lines = line->next;
            close(line->fd);
            free(line);
        }
        free(other->addresses);
    }
    pthread_cond_destroy(&lines->changed);
    pthread_mutex_destroy(&lines->lock);
}

/* A place: 0, or a negative errno. */
static int set_place(struct mpiio_lines_node *other, const char *place)
{
    if (*place != '\0' && !mpiio_line_token_read(place, other->token))
        return -EPROTO;
    other->addresses = strdup(*place != '\0' ? place + 2 * MPIIO_TOKEN_BYTES : "");
    return other->addresses != NULL ? 0 : -ENOMEM;
}

int mpiio_lines_meet(struct mpiio_lines *lines, const char *places, size_t size)
{
    int error = 0;

    for (int i = 0; i < lines->options.nodes && error == 0; i++) {
        size_t length = strnlen(places, size);

        if (length == size)
            return -EPROTO;
        error = set_place(&lines->others[i], places);
        places += length + 1;
        size -= length + 1;
    }
    return error == 0 && size != 0 ? -EPROTO : error;
}

void mpiio_lines_end(struct mpiio_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    lines->over = true;
    for (int i = 0; i < lines->options.nodes; i++)
        for (struct mpiio_line *line = lines->others[i].lines; line != NULL; line = line->next)
            shutdown(line->fd, SHUT_RDWR);
    pthread_cond_broadcast(&lines->changed);
    pthread_mutex_unlock(&lines->lock);
}

/* The greeting, as the one who asks: 0 or a negative errno. */
static int shake(const struct mpiio_lines *lines, int other, int fd, int64_t end)
{
    struct mpiio_line_join join = {.node = (uint32_t)lines->options.node,
                                   .nodes = (uint32_t)lines->options.nodes};
    struct mpiio_line_greeting greeting;
    uint8_t bytes[MPIIO_LINE_JOIN_BYTES];
    int64_t rest = end - mpiio_clock();
    int timeout = rest > 0 ? (int)rest : 0;
    int error = mpiio_talk_receive(fd, bytes, MPIIO_LINE_GREETING_BYTES, timeout);

    if (error == 0 && !mpiio_line_greeting_decode(bytes, &greeting))
        error = -EPROTO;
    if (error == 0)
        error = mpiio_random(join.nonce, sizeof(join.nonce));
    if (error != 0)
        return error;
    join.proof = mpiio_line_proof(lines->others[other].token, greeting.nonce, &join, join.node);
    error = mpiio_talk_send(fd, bytes, mpiio_line_join_encode(&join, bytes), timeout);
    if (error == 0)
        error = mpiio_talk_receive(fd, bytes, MPIIO_LINE_WELCOME_BYTES, timeout);
    if (error == 0 &&
        mpiio_line_welcome_decode(bytes) !=
            mpiio_line_proof(lines->others[other].token, greeting.nonce, &join, (uint32_t)other))
        error = -EACCES;
    return error;
}

/*
 * Another machine may have one of the addresses, too: the first where the node itself answers.
 * Where all of them say that nobody listens: -ECONNREFUSED.
 */
static int dial(const struct mpiio_lines *lines, int other)
{
    const char *at = lines->others[other].addresses;
    int64_t end = mpiio_clock() + lines->options.connect;
    bool refused = true;
    int fd = -ENOENT;

    while (mpiio_clock() < end) {
        fd = mpiio_address_dial(&lines->options.local, &at, (int)(end - mpiio_clock()) / 2 + 1);
        if (fd == -ENOENT || fd == -EINVAL)
            return refused ? -ECONNREFUSED : fd;
        refused = refused && fd == -ECONNREFUSED;
        if (fd < 0)
            continue;
        mpiio_talk_prepare(fd);
        if (shake(lines, other, fd, end) == 0)
            return fd;
        close(fd);
    }
    return -ETIMEDOUT;
}

/* A node did not answer. Lock held. */
static void rest(const struct mpiio_lines *lines, struct mpiio_lines_node *other)
{
    assert(mpiio_is_held(&lines->lock));
    other->failed = true;
    other->rests = mpiio_clock() + lines->options.rest;
}

/* Lock held, but for the time that it takes. */
static struct mpiio_line *connect_to(struct mpiio_lines *lines, int number)
{
    struct mpiio_lines_node *other = &lines->others[number];
    struct mpiio_line *line = malloc(sizeof(*line));

    assert(mpiio_is_held(&lines->lock));
    assert(!other->connecting);
    other->connecting = true;
    other->count++;
    pthread_mutex_unlock(&lines->lock);
    if (line != NULL)
        *line = (struct mpiio_line){.fd = dial(lines, number), .used = true};
    pthread_mutex_lock(&lines->lock);
    other->connecting = false;
    pthread_cond_broadcast(&lines->changed);
    if (line != NULL)
        other->refused = line->fd == -ECONNREFUSED;
    if (line != NULL && line->fd >= 0 && !lines->over) {
        line->next = other->lines;
        other->lines = line;
        return line;
    }
    other->count--;
    rest(lines, other);
    if (line != NULL && line->fd >= 0)
        close(line->fd);
    free(line);
    return NULL;
}

/* Lock held. */
static struct mpiio_line *find_unused(struct mpiio_lines_node *other)
{
    struct mpiio_line *line = other->lines;

    while (line != NULL && line->used)
        line = line->next;
    if (line != NULL)
        line->used = true;
    return line;
}

struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int number)
{
    struct mpiio_lines_node *other = &lines->others[number];
    int64_t end = mpiio_clock() + lines->options.timeout;
    struct mpiio_line *line = NULL;
    bool waits = true;

    if (other->addresses == NULL || *other->addresses == '\0')
        return NULL;
    pthread_mutex_lock(&lines->lock);
    while (waits && !lines->over && mpiio_clock() >= other->rests &&
           (line = find_unused(other)) == NULL) {
        if (other->count < MPIIO_LINES_MAX && !other->connecting) {
            line = connect_to(lines, number);
            break;
        }
        waits = mpiio_wait_until(&lines->changed, &lines->lock, end);
    }
    pthread_mutex_unlock(&lines->lock);
    return line;
}

void mpiio_lines_put(struct mpiio_lines *lines, int number, struct mpiio_line *line, bool good)
{
    struct mpiio_lines_node *other = &lines->others[number];
    struct mpiio_line **at = &other->lines;

    pthread_mutex_lock(&lines->lock);
    line->used = false;
    other->failed = false;
    if (!good) {
        while (*at != line)
            at = &(*at)->next;
        *at = line->next;
        other->count--;
        rest(lines, other);
        close(line->fd);
        free(line);
    }
    pthread_cond_broadcast(&lines->changed);
    pthread_mutex_unlock(&lines->lock);
}

bool mpiio_lines_refused(struct mpiio_lines *lines, int number)
{
    return MPIIO_LOCKED(&lines->lock, lines->others[number].refused);
}

bool mpiio_lines_failed(struct mpiio_lines *lines, int number)
{
    return MPIIO_LOCKED(&lines->lock, lines->others[number].failed);
}
