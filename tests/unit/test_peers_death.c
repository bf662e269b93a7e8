/* SPDX-License-Identifier: MIT */
#include "peers_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Tests daemons that are killed or stopped. */

/* Daemons in processes of their own. These tests come first, because they fork and so need a
   process of one thread. Each writes its events to a pipe, one a line, and reads
   commands of one letter: f requests a flush, q exits. */

#define CHILDREN_MAX 8

struct child {
    pid_t pid; /* 0: none */
    int to, from;
    char text[4096]; /* bytes that were read and not parsed yet */
    size_t size;
};

static struct child children[CHILDREN_MAX];

/* Reads a line. Returns false at the end of the stream. */
static bool read_line(int fd, char *line, size_t capacity)
{
    size_t size = 0;
    char byte;

    while (read(fd, &byte, 1) == 1) {
        if (byte == '\n') {
            line[size] = '\0';
            return true;
        }
        if (size < capacity - 1)
            line[size++] = byte;
    }
    return false;
}

/* Prints the node's address, reads the address of the node above, and joins that. */
static int child_start(struct node *node, int nodes, int timeout, int in)
{
    const char *addresses[CHILDREN_MAX] = {NULL};
    char line[4096];

    node->net = make_net(node->number, nodes, PATIENCE);
    report(node, "%s\n", node->net->own);
    if (node->number != 0) {
        if (!read_line(in, line, sizeof(line)))
            return -EIO;
        addresses[mpiio_tree_above(node->number, tree_width())] = line;
    }
    meet_others(node->net, net_token, addresses);
    return open_node(node, nodes, timeout);
}

static void child_main(int number, int nodes, int timeout, int in, int out)
{
    struct node *node = &cluster.node[number];
    uint64_t after;
    char command;

    cluster_init(0);
    node->report = out;
    if (child_start(node, nodes, timeout, in) != 0 || mpiio_peers_wait(node->peers, PATIENCE) != 0)
        _exit(1);
    report(node, "ready\n");
    while (read(in, &command, 1) == 1 && command == 'f')
        mpiio_peers_request_flush(node->peers, true, &after);
    mpiio_peers_free(node->peers);
    report(node, "bye\n");
    _exit(0);
}

/* Starts a daemon in a child process. Call it before this process has started any thread. */
static void spawn(struct child *child, int number, int nodes, int timeout)
{
    int to[2], from[2];

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    *child = (struct child){.pid = fork(), .to = to[1], .from = from[0]};
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        for (int i = 0; i < CHILDREN_MAX; i++) {
            if (children[i].pid > 0) { /* so that the others see the end of their pipes */
                close(children[i].to);
                close(children[i].from);
            }
        }
        close(to[1]);
        close(from[0]);
        child_main(number, nodes, timeout, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
}

/* Returns the next line of the child. Fails the test if none comes. */
static const char *next_line(struct child *child)
{
    static char line[sizeof(child->text)];
    char *end;
    ssize_t got;

    while ((end = memchr(child->text, '\n', child->size)) == NULL) {
        assert_int_equal(mpiio_address_wait(child->from, POLLIN, PATIENCE), 0);
        got = read(child->from, child->text + child->size, sizeof(child->text) - child->size);
        assert_true(got > 0);
        child->size += (size_t)got;
    }
    *end = '\0';
    memcpy(line, child->text, (size_t)(end + 1 - child->text));
    child->size -= (size_t)(end + 1 - child->text);
    memmove(child->text, end + 1, child->size);
    return line;
}

static void expect_line(struct child *child, const char *begin)
{
    const char *line = next_line(child);

    if (strncmp(line, begin, strlen(begin)) != 0)
        fail_msg("\"%s\" instead of \"%s\"", line, begin);
}

static void command(const struct child *child, const char *letter)
{
    assert_int_equal(write(child->to, letter, 1), 1);
}

/* Sends a node's address to the nodes directly below it. */
static void introduce_below(struct child *first, int node, int nodes)
{
    int width = tree_width(), below = mpiio_tree_below(node, nodes, width);
    char line[4096];

    assert_int_equal(mpiio_address_wait(first[node].from, POLLIN, PATIENCE), 0);
    assert_true(read_line(first[node].from, line, sizeof(line)));
    for (int i = width * node + 1; i <= width * node + below; i++)
        dprintf(first[i].to, "%s\n", line);
}

/* Starts the daemons of a mount, and waits until all have joined. */
static void spawn_all(struct child *first, int nodes, int timeout)
{
    for (int i = 0; i < nodes; i++)
        spawn(&first[i], i, nodes, timeout);
    for (int i = 0; i < nodes; i++)
        introduce_below(first, i, nodes);
    for (int i = 0; i < nodes; i++)
        expect_line(&first[i], "ready");
}

/* Sends a signal. After SIGSTOP a process runs on until one of its threads notices the signal,
   so wait for that. */
static void send_signal(const struct child *child, int number)
{
    int status;

    assert_int_equal(kill(child->pid, number), 0);
    if (number == SIGSTOP) {
        assert_int_equal(waitpid(child->pid, &status, WUNTRACED), child->pid);
        assert_true(WIFSTOPPED(status));
    }
}

static int reap(void **state)
{
    for (int i = 0; i < CHILDREN_MAX; i++) {
        if (children[i].pid <= 0)
            continue;
        kill(children[i].pid, SIGKILL);
        waitpid(children[i].pid, NULL, 0);
        close(children[i].to);
        close(children[i].from);
        children[i].pid = 0;
    }
    return 0;
}

/* Checks that a survivor exits cleanly. */
static void end_alone(struct child *child)
{
    expect_line(child, "alone");
    command(child, "q");
    expect_line(child, "bye");
}

/* Kills one of the daemons. The others report that with this line, and exit. */
static void kill_one(int number, int nodes, const char *report)
{
    send_signal(&children[number], SIGKILL);
    for (int i = 0; i < nodes; i++) {
        if (i == number)
            continue;
        expect_line(&children[i], report);
        end_alone(&children[i]);
    }
}

/* ms. Survivors wait for this time if the node that dies connected others, because its leases
   bind them, too. */
#define BETWEEN_TIMEOUT 10000

TEST(test_a_killed_peer, NULL, reap)
{
    spawn_all(children, 4, LONG_TIMEOUT);
    kill_one(2, 4, "degraded 2 host2 its connection has ended");
}

static int reset_fanout(void **state)
{
    fanout = 0;
    return reap(state);
}

/* Node 0 can no longer reach a node below the one that is killed. */
TEST(test_a_killed_node_between, NULL, reset_fanout)
{
    fanout = 2;
    spawn_all(children, 4, BETWEEN_TIMEOUT);
    kill_one(1, 4, "degraded 1 host1 its connection has ended");
}

TEST(test_a_killed_coordinator, NULL, reap)
{
    spawn_all(children, 3, BETWEEN_TIMEOUT);
    kill_one(0, 3, "degraded 0 host0 ");
}

static void flush_all(int asks, const char *epoch)
{
    char line[32];

    command(&children[asks], "f");
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof(line), "epoch %s", epoch);
        expect_line(&children[i], line);
        snprintf(line, sizeof(line), "finished %s", epoch);
        expect_line(&children[i], line);
    }
}

#define STOP_TIMEOUT 3000

TEST(test_a_pause_is_no_death, NULL, reap)
{
    spawn_all(children, 3, STOP_TIMEOUT);
    send_signal(&children[0], SIGSTOP);
    send_signal(&children[1], SIGSTOP);
    usleep(STOP_TIMEOUT / 4 * 1000);
    send_signal(&children[0], SIGCONT);
    send_signal(&children[1], SIGCONT);
    flush_all(2, "1");
    /* A node that was stopped does not declare the others failed, however long it was stopped. */
    for (int i = 0; i < 3; i++)
        send_signal(&children[i], SIGSTOP);
    usleep(STOP_TIMEOUT / 2 * 3 * 1000);
    for (int i = 0; i < 3; i++)
        send_signal(&children[i], SIGCONT);
    flush_all(1, "2");
}

/* A peer, and in another mount the coordinator, are stopped until they are declared failed, and
   then continue. */
TEST(test_a_stopped_node_finds_itself_dead, NULL, reap)
{
    struct child *other = children + 3;

    spawn_all(children, 3, STOP_TIMEOUT);
    spawn_all(other, 3, STOP_TIMEOUT);
    send_signal(&children[2], SIGSTOP);
    send_signal(&other[0], SIGSTOP);
    /* A request that waits for the stopped node must not start when that comes back. */
    command(&children[1], "f");
    for (int i = 0; i < 2; i++) {
        expect_line(&children[i], "epoch 1");
        expect_line(&children[i], "degraded 2 host2 not heard of for ");
        expect_line(&other[i + 1], "degraded 0 host0 not heard of for ");
    }
    for (int i = 0; i < 2; i++) {
        end_alone(&children[i]);
        end_alone(&other[i + 1]);
    }
    send_signal(&children[2], SIGCONT);
    send_signal(&other[0], SIGCONT);
    expect_line(&children[2], "degraded 2 host2 not heard of for ");
    expect_line(&other[0], "degraded ");
    end_alone(&children[2]);
    end_alone(&other[0]);
}

/* Tests engines that die and engines that survive, in one process. */

static void await_alone(int node, int dead)
{
    struct mpiio_peers_status status;
    struct mpiio_peer_status peer;

    AWAIT(cluster.node[node].alone);
    mpiio_peers_status(cluster.node[node].peers, &status);
    assert_int_equal(status.state, MPIIO_PEERS_ALONE);
    assert_int_equal(status.dead, dead);
    assert_int_equal(cluster.node[node].dead, dead);
    assert_string_equal(status.dead_host, cluster.node[node].dead_host);
    assert_string_equal(status.why, cluster.node[node].why);
    for (int i = 0; mpiio_peers_peer(cluster.node[node].peers, i, &peer) == 0; i++)
        assert_string_equal(peer.state, "closed");
}

static void *change(void *argument)
{
    return (void *)(intptr_t)mpiio_peers_set_atomicity(argument, true, PATIENCE);
}

TEST_FANOUTS(test_nobody_is_alone_before_all_engines_are_gone, 2)
{
    struct node *slow = &cluster.node[3];
    uint64_t after;
    pthread_t thread;
    void *rc;

    start_cluster(4, LONG_TIMEOUT);
    cluster.node[2].hold_epochs = true;
    cluster.node[2].vote = 1;
    slow->hold_fence = true;
    /* An epoch and a change are in progress, and a call waits for the change. */
    assert_int_equal(mpiio_peers_request_flush(cluster.node[2].peers, true, &after), 0);
    assert_int_equal(pthread_create(&thread, NULL, change, cluster.node[1].peers), 0);
    for (int i = 0; i < 4; i++)
        AWAIT(cluster.node[i].begun == 1 && cluster.node[i].change == 1);
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[1].peers, "engine: killed"), 0);
    AWAIT(slow->degraded && cluster.fenced == 3);
    usleep(100000);
    pthread_mutex_lock(&cluster.lock);
    for (int i = 0; i < 4; i++)
        cluster.wrong |= cluster.node[i].alone;
    pthread_mutex_unlock(&cluster.lock);
    assert_false(is_wrong());
    SET(slow, hold_fence, false);
    for (int i = 0; i < 4; i++) {
        await_alone(i, 1);
        assert_string_equal(cluster.node[i].why, "engine: killed");
        assert_string_equal(cluster.node[i].dead_host, "host1");
        assert_int_equal(cluster.node[i].settled, 1);
        assert_int_equal(cluster.node[i].committed, 0);
        assert_int_equal(cluster.node[i].finished, 0);
        assert_int_equal(mpiio_peers_request_flush(cluster.node[i].peers, false, &after),
                         -ENOTCONN);
    }
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((intptr_t)rc, -ENOTCONN);
    free_cluster();
}

TEST_FANOUTS(test_an_engine_that_stays_holds_nobody_up_for_ever, 2)
{
    start_cluster(3, 1000);
    cluster.node[2].hold_fence = true;
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[0].peers, "killed"), 0);
    AWAIT(cluster.node[0].alone && cluster.node[1].alone);
    pthread_mutex_lock(&cluster.lock);
    assert_false(cluster.node[2].alone);
    pthread_mutex_unlock(&cluster.lock);
    SET(&cluster.node[2], hold_fence, false);
    AWAIT(cluster.node[2].alone);
    free_cluster();
}

TEST_FANOUTS(test_one_node_alone_loses_its_engine, 2)
{
    start_cluster(1, LONG_TIMEOUT);
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[0].peers, "a\nb"), 0);
    await_alone(0, 0);
    assert_string_equal(cluster.node[0].why, "a?b");
    free_cluster();
}

TEST_FANOUTS(test_several_die_at_once, 2)
{
    start_cluster(6, BETWEEN_TIMEOUT);
    for (int i = 5; i > 2; i--)
        mpiio_peers_stop(cluster.node[i].peers);
    for (int i = 0; i < 3; i++) {
        AWAIT(cluster.node[i].alone);
        assert_in_range(cluster.node[i].dead, 3, 5);
    }
    mpiio_peers_stop(cluster.node[5].peers);
    free_cluster();
}

BEFORE_TESTS
{
    signal(SIGPIPE, SIG_IGN);
}
