/* SPDX-License-Identifier: MIT */
#include "homes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cluster/address.h"
#include "core/base/clock.h"
#include "frame.h"
#include "talk.h"

int mpiio_pool_homes_init(struct mpiio_pool_homes *homes, int node, int nodes, int timeout)
{
    int error;

    *homes = (struct mpiio_pool_homes){.node = node, .nodes = nodes, .timeout = timeout};
    error = -pthread_mutex_init(&homes->lock, NULL);
    if (error != 0)
        return error;
    error = -pthread_cond_init(&homes->changed, NULL);
    if (error != 0)
        pthread_mutex_destroy(&homes->lock);
    return error;
}

void mpiio_pool_homes_destroy(struct mpiio_pool_homes *homes)
{
    for (int i = 0; i < homes->nodes; i++) {
        struct mpiio_pool_home *home = &homes->home[i];
        struct mpiio_pool_line *line;

        while ((line = home->lines) != NULL) {
            home->lines = line->next;
            close(line->fd);
            free(line);
        }
        free(home->addresses);
    }
    pthread_cond_destroy(&homes->changed);
    pthread_mutex_destroy(&homes->lock);
}

/* A place: 0, or a negative errno. */
static int set_place(struct mpiio_pool_home *home, const char *place)
{
    if (*place != '\0' && !mpiio_pool_token_read(place, home->token))
        return -EPROTO;
    home->addresses = strdup(*place != '\0' ? place + 2 * MPIIO_TOKEN_BYTES : "");
    return home->addresses != NULL ? 0 : -ENOMEM;
}

int mpiio_pool_homes_meet(struct mpiio_pool_homes *homes, const char *places, size_t size)
{
    int error = 0;

    for (int i = 0; i < homes->nodes && error == 0; i++) {
        size_t length = strnlen(places, size);

        if (length == size)
            return -EPROTO;
        error = set_place(&homes->home[i], places);
        places += length + 1;
        size -= length + 1;
    }
    return error == 0 && size != 0 ? -EPROTO : error;
}

void mpiio_pool_homes_end(struct mpiio_pool_homes *homes)
{
    pthread_mutex_lock(&homes->lock);
    homes->over = true;
    for (int i = 0; i < homes->nodes; i++)
        for (struct mpiio_pool_line *line = homes->home[i].lines; line != NULL; line = line->next)
            shutdown(line->fd, SHUT_RDWR);
    pthread_cond_broadcast(&homes->changed);
    pthread_mutex_unlock(&homes->lock);
}

/* The greeting, as the one who asks: 0 or a negative errno. */
static int shake(const struct mpiio_pool_homes *homes, int home, int fd, int64_t end)
{
    struct mpiio_pool_join join = {.node = (uint32_t)homes->node, .nodes = (uint32_t)homes->nodes};
    struct mpiio_pool_greeting greeting;
    uint8_t bytes[MPIIO_POOL_JOIN_BYTES];
    int64_t rest = end - mpiio_clock();
    int timeout = rest > 0 ? (int)rest : 0;
    int error = mpiio_pool_talk_receive(fd, bytes, MPIIO_POOL_GREETING_BYTES, timeout);

    if (error == 0 && !mpiio_pool_greeting_decode(bytes, &greeting))
        error = -EPROTO;
    if (error == 0)
        error = mpiio_random(join.nonce, sizeof(join.nonce));
    if (error != 0)
        return error;
    join.proof = mpiio_pool_proof(homes->home[home].token, greeting.nonce, &join, join.node);
    error = mpiio_pool_talk_send(fd, bytes, mpiio_pool_join_encode(&join, bytes), timeout);
    if (error == 0)
        error = mpiio_pool_talk_receive(fd, bytes, MPIIO_POOL_WELCOME_BYTES, timeout);
    if (error == 0 &&
        mpiio_pool_welcome_decode(bytes) !=
            mpiio_pool_proof(homes->home[home].token, greeting.nonce, &join, (uint32_t)home))
        error = -EACCES;
    return error;
}

/* Another machine may have one of the addresses, too: the first where the home itself answers. */
static int dial(const struct mpiio_pool_homes *homes, int home)
{
    const char *at = homes->home[home].addresses;
    int64_t end = mpiio_clock() + MPIIO_POOL_CONNECT;
    int fd = -ENOENT;

    while (mpiio_clock() < end) {
        fd = mpiio_address_dial(&at, (int)(end - mpiio_clock()) / 2 + 1);
        if (fd == -ENOENT || fd == -EINVAL)
            return fd;
        if (fd < 0)
            continue;
        mpiio_pool_talk_prepare(fd);
        if (shake(homes, home, fd, end) == 0)
            return fd;
        close(fd);
    }
    return -ETIMEDOUT;
}

/* Lock held. */
static void rest(const struct mpiio_pool_homes *homes, struct mpiio_pool_home *home)
{
    home->rests = mpiio_clock() + homes->timeout;
}

/* Lock held, but for the time that it takes. */
static struct mpiio_pool_line *connect_to(struct mpiio_pool_homes *homes, int number)
{
    struct mpiio_pool_home *home = &homes->home[number];
    struct mpiio_pool_line *line = malloc(sizeof(*line));

    home->connecting = true;
    home->count++;
    pthread_mutex_unlock(&homes->lock);
    if (line != NULL)
        *line = (struct mpiio_pool_line){.fd = dial(homes, number), .used = true};
    pthread_mutex_lock(&homes->lock);
    home->connecting = false;
    pthread_cond_broadcast(&homes->changed);
    if (line != NULL && line->fd >= 0 && !homes->over) {
        line->next = home->lines;
        home->lines = line;
        return line;
    }
    home->count--;
    rest(homes, home);
    if (line != NULL && line->fd >= 0)
        close(line->fd);
    free(line);
    return NULL;
}

/* Lock held. */
static struct mpiio_pool_line *find_unused(struct mpiio_pool_home *home)
{
    struct mpiio_pool_line *line = home->lines;

    while (line != NULL && line->used)
        line = line->next;
    if (line != NULL)
        line->used = true;
    return line;
}

struct mpiio_pool_line *mpiio_pool_homes_get(struct mpiio_pool_homes *homes, int number)
{
    struct mpiio_pool_home *home = &homes->home[number];
    int64_t end = mpiio_clock() + homes->timeout;
    const struct timespec when = {.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};
    struct mpiio_pool_line *line = NULL;
    int error = 0;

    if (home->addresses == NULL || *home->addresses == '\0')
        return NULL;
    pthread_mutex_lock(&homes->lock);
    while (error == 0 && !homes->over && mpiio_clock() >= home->rests &&
           (line = find_unused(home)) == NULL) {
        if (home->count < MPIIO_POOL_LINES && !home->connecting) {
            line = connect_to(homes, number);
            break;
        }
        error = pthread_cond_clockwait(&homes->changed, &homes->lock, CLOCK_MONOTONIC, &when);
    }
    pthread_mutex_unlock(&homes->lock);
    return line;
}

void mpiio_pool_homes_put(struct mpiio_pool_homes *homes, int number, struct mpiio_pool_line *line,
                          bool good)
{
    struct mpiio_pool_home *home = &homes->home[number];
    struct mpiio_pool_line **at = &home->lines;

    pthread_mutex_lock(&homes->lock);
    line->used = false;
    if (!good) {
        while (*at != line)
            at = &(*at)->next;
        *at = line->next;
        home->count--;
        rest(homes, home);
        close(line->fd);
        free(line);
    }
    pthread_cond_broadcast(&homes->changed);
    pthread_mutex_unlock(&homes->lock);
}
