/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Joining. */

static void tell_above(struct mpiio_peers *peers, bool complete)
{
    mpiio_branch_pass_on(peers, &(struct mpiio_peer_frame){.type = MPIIO_JOINED, .flag = complete});
}

void mpiio_joining_look(struct mpiio_peers *peers)
{
    if (peers->rounds.missing != 0)
        return;
    if (peers->node == 0)
        mpiio_joining_ready(peers);
    else
        tell_above(peers, true);
}

static void set_complete(struct mpiio_peers *peers, struct mpiio_peer *peer, bool complete)
{
    if (peer->complete == complete)
        return;
    peer->complete = complete;
    peers->rounds.missing += complete ? -1 : 1;
    if (complete)
        mpiio_joining_look(peers);
    else if (peers->rounds.missing == 1)
        tell_above(peers, false);
}

void mpiio_joining_on_joined(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame)
{
    set_complete(peers, peer, frame->flag);
}

void mpiio_joining_left(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    mpiio_roster_log(peers, MPIIO_LOG_ERROR, "node %d (%s) left before all had joined: %s",
                     peer->node, peer->host, why);
    mpiio_roster_close(peers, peer);
    set_complete(peers, peer, false);
}

/* Handles READY: all nodes have joined. A peer that has left since then, before the node above
   knew it, counts as failed. */
int mpiio_joining_ready(struct mpiio_peers *peers)
{
    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i] == NULL)
            return -EPROTO;
    /* This node changes its state first, because the others may send frames as soon as they get
       READY. */
    mpiio_roster_set_state(peers, MPIIO_PEERS_TOGETHER);
    mpiio_roster_log(peers, MPIIO_LOG_INFO, "all %d nodes are connected", peers->nodes);
    peers->beat = 0;
    for (int i = 1; i < peers->peers; i++)
        mpiio_branch_say(peers, peers->peer[i], &(struct mpiio_peer_frame){.type = MPIIO_READY});
    for (int i = 1; i < peers->peers; i++)
        if (mpiio_roster_linked(peers, i) == NULL)
            mpiio_degrading_lost_below(peers, peers->peer[i], "its connection has ended");
    return 0;
}

/* Greetings. */

/* ms between two rounds through the addresses of the node above. */
#define DIAL_PAUSE 50

/* Removes the arrival that has waited longest. Returns NULL if there is none. */
static struct mpiio_arrival *take_arrival(struct mpiio_peers *peers)
{
    struct mpiio_arrival *arrival;

    pthread_mutex_lock(&peers->lock);
    arrival = STAILQ_FIRST(&peers->arrivals);
    if (arrival != NULL)
        STAILQ_REMOVE_HEAD(&peers->arrivals, others);
    pthread_mutex_unlock(&peers->lock);
    return arrival;
}

/* Returns 0 if a node may join, or the errno with which it is refused. */
static int check_arrival(const struct mpiio_peers *peers, const struct mpiio_join *join)
{
    if (join->node == 0 || mpiio_tree_above((int)join->node, peers->fanout) != peers->node)
        return -EINVAL;
    /* All nodes have joined already. */
    return peers->status.state == MPIIO_PEERS_JOINING ? 0 : -ENOTCONN;
}

/* Adds a node that may join to the nodes below. */
static void adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, const struct mpiio_join *join)
{
    int node = (int)join->node;
    struct mpiio_peer *before = peers->peer[node - peers->fanout * peers->node];

    /* A node that did not get the welcome in time tries again. The new connection replaces the
       old one. */
    if (before != NULL) {
        set_complete(peers, before, false);
        mpiio_roster_close(peers, before);
    }
    mpiio_roster_adopt(peers, peer, node, join->host);
    free(before);
}

/* Answers an arrival. Without memory it closes the connection, and the node tries again. */
static void answer(struct mpiio_peers *peers, struct mpiio_arrival *arrival)
{
    struct mpiio_welcome welcome = {.status = check_arrival(peers, &arrival->join),
                                    .time = (uint32_t)peers->timeout};
    struct mpiio_peer *peer = calloc(1, sizeof(*peer));
    int error = peer != NULL ? mpiio_roster_watch(peers, arrival->fd, peer) : -ENOMEM;

    memcpy(welcome.host, peers->host, sizeof(welcome.host));
    if (welcome.status != 0)
        mpiio_roster_log_refusal(peers, welcome.status);
    if (error == 0)
        error =
            mpiio_handshake_answer(arrival->fd, &arrival->handshake, peers->net->token, &welcome);
    if (error == 0)
        error = welcome.status;
    if (error == 0) {
        mpiio_peer_connection_open(&peer->link, arrival->fd);
        adopt(peers, peer, &arrival->join);
    } else {
        close(arrival->fd);
        free(peer);
    }
    free(arrival);
}

void mpiio_greet(struct mpiio_peers *peers)
{
    struct mpiio_arrival *arrival;

    while ((arrival = take_arrival(peers)) != NULL)
        answer(peers, arrival);
}

void mpiio_greet_end(struct mpiio_peers *peers)
{
    struct mpiio_arrival *arrival;

    while ((arrival = take_arrival(peers)) != NULL) {
        close(arrival->fd);
        free(arrival);
    }
}

/* Makes one attempt to join. */
static int join(struct mpiio_peers *peers, int64_t end)
{
    int above = mpiio_tree_above(peers->node, peers->fanout);
    struct mpiio_peer *peer = calloc(1, sizeof(*peer));
    struct mpiio_welcome welcome = {0};
    int fd = peer == NULL ? -ENOMEM
                          : mpiio_net_connect(peers->net, above, MPIIO_PURPOSE_TREE, peers->host,
                                              end, &welcome);
    int error = fd < 0 ? fd : mpiio_roster_watch(peers, fd, peer);

    if (error == 0 && welcome.time == 0)
        error = -EPROTO;
    if (error != 0) {
        if (fd >= 0)
            close(fd);
        free(peer);
        return error;
    }
    mpiio_peer_connection_open(&peer->link, fd);
    mpiio_roster_set_timeout(peers, welcome.time);
    mpiio_roster_adopt(peers, peer, above, welcome.host);
    return 0;
}

/* Returns true for an error that another attempt would not change. */
static bool is_final(int error)
{
    return error == -EACCES || error == -EINVAL || error == -EPROTONOSUPPORT ||
           error == -ECONNREFUSED;
}

int mpiio_greet_join(struct mpiio_peers *peers, int64_t timeout)
{
    const struct timespec pause = {.tv_nsec = DIAL_PAUSE * 1000000L};
    int64_t end = mpiio_clock() + timeout;
    int error = join(peers, end);

    while (error != 0 && !is_final(error) && mpiio_clock() < end) {
        nanosleep(&pause, NULL);
        error = join(peers, end);
    }
    return error;
}
