/* SPDX-License-Identifier: MIT */
#include "peers_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "net/address.h"

/* Tests daemons that are killed or stopped. */

/* Daemons in processes of their own. Each writes its events to a pipe, one a line, and reads
   commands of one letter: f requests a flush, q exits. */

#define CHILDREN_MAX 8

struct child {
    pid_t pid; /* 0: none */
    int to, from;
    char text[4096]; /* bytes that were read and not parsed yet */
    size_t size;
};

static struct child children[CHILDREN_MAX];

struct daemon {
    struct mpiio_peers *peers;
    int out;
};

static void child_log(void *data, enum mpiio_log_level level, const char *line)
{
    (void)level;
    dprintf(((struct daemon *)data)->out, "log %s\n", line);
}

static void child_epoch(void *data, uint64_t epoch, bool sync)
{
    struct daemon *daemon = data;

    dprintf(daemon->out, "epoch %d\n", (int)epoch);
    mpiio_peers_epoch_done(daemon->peers, epoch, 0);
}

static void child_finished(void *data, uint64_t epoch, bool sync, int status)
{
    dprintf(((struct daemon *)data)->out, "finished %d\n", (int)epoch);
}

static void child_lease(void *data, int64_t until)
{
}

static void child_prepare(void *data, uint64_t change, bool value)
{
    mpiio_peers_vote(((struct daemon *)data)->peers, change, 0);
}

static void child_settled(void *data, uint64_t change, bool value, bool committed)
{
}

static void child_unmount(void *data, bool force)
{
    mpiio_peers_unmounted(((struct daemon *)data)->peers, 0, NULL);
}

static void child_end(void *data)
{
    dprintf(((struct daemon *)data)->out, "end\n");
}

static void child_degraded(void *data, int node, const char *host, const char *why)
{
    dprintf(((struct daemon *)data)->out, "degraded %d %s %s\n", node, host, why);
}

static void child_alone(void *data)
{
    dprintf(((struct daemon *)data)->out, "alone\n");
}

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

/* Prints its address, reads the address of the node above, and joins that. */
static int child_start(struct daemon *daemon, int in, struct mpiio_peers_options *options)
{
    const char *addresses[CHILDREN_MAX] = {NULL};
    char line[4096];
    int rc;

    options->net = make_net(options->node, options->nodes, PATIENCE);
    dprintf(daemon->out, "%s\n", options->net->own);
    if (options->node != 0) {
        if (!read_line(in, line, sizeof(line)))
            return -EIO;
        addresses[mpiio_tree_above(options->node, fanout != 0 ? fanout : MPIIO_TREE_FANOUT)] = line;
    }
    meet_others(options->net, net_token, addresses);
    rc = mpiio_peers_open(options, &daemon->peers);
    if (rc == 0 && options->node != 0)
        rc = mpiio_peers_join(daemon->peers, PATIENCE);
    return rc == 0 ? start_net(options->net, daemon->peers) : rc;
}

static void child_progress(void *data, struct mpiio_progress *progress)
{
    *progress = (struct mpiio_progress){0};
}

static void child_main(int number, int nodes, int timeout, int in, int out)
{
    struct daemon daemon = {.out = out};
    char host[16], command;
    uint64_t after;
    struct mpiio_peers_options options = {.node = number,
                                          .nodes = nodes,
                                          .fanout = fanout,
                                          .peer_timeout = timeout,
                                          .host = host,
                                          .events = {.log = child_log,
                                                     .on_epoch = child_epoch,
                                                     .on_finished = child_finished,
                                                     .progress = child_progress,
                                                     .on_prepare = child_prepare,
                                                     .on_settled = child_settled,
                                                     .on_unmount = child_unmount,
                                                     .on_end = child_end,
                                                     .on_degraded = child_degraded,
                                                     .on_alone = child_alone,
                                                     .on_lease = child_lease},
                                          .data = &daemon};

    snprintf(host, sizeof(host), "host%d", number);
    if (child_start(&daemon, in, &options) != 0 || mpiio_peers_wait(daemon.peers, PATIENCE) != 0)
        _exit(1);
    dprintf(out, "ready\n");
    while (read(in, &command, 1) == 1 && command == 'f')
        mpiio_peers_request_flush(daemon.peers, true, &after);
    mpiio_peers_free(daemon.peers);
    dprintf(out, "bye\n");
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

/* Returns the next line of the child, except for its log. Fails the test if none comes. */
static const char *next_line(struct child *child)
{
    static char line[sizeof(child->text)];
    char *end;
    ssize_t got;

    for (;;) {
        end = memchr(child->text, '\n', child->size);
        if (end == NULL) {
            assert_int_equal(mpiio_address_wait(child->from, POLLIN, PATIENCE), 0);
            got = read(child->from, child->text + child->size, sizeof(child->text) - child->size);
            assert_true(got > 0);
            child->size += (size_t)got;
            continue;
        }
        *end = '\0';
        memcpy(line, child->text, (size_t)(end + 1 - child->text));
        child->size -= (size_t)(end + 1 - child->text);
        memmove(child->text, end + 1, child->size);
        if (getenv("PEERS_LOG") != NULL)
            fprintf(stderr, "# %d: %s\n", (int)child->pid, line);
        if (strncmp(line, "log ", 4) != 0)
            return line;
    }
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
    int width = fanout != 0 ? fanout : MPIIO_TREE_FANOUT;
    int below = mpiio_tree_below(node, nodes, width);
    char line[4096];

    assert_int_equal(mpiio_address_wait(first[node].from, POLLIN, PATIENCE), 0);
    assert_true(read_line(first[node].from, line, sizeof(line)));
    for (int i = width * node + 1; i <= width * node + below; i++)
        dprintf(first[i].to, "%s\n", line);
}

static void introduce(struct child *first, int nodes)
{
    for (int i = 0; i < nodes; i++)
        introduce_below(first, i, nodes);
    for (int i = 0; i < nodes; i++)
        expect_line(&first[i], "ready");
}

static void spawn_all(struct child *first, int nodes, int timeout)
{
    for (int i = 0; i < nodes; i++)
        spawn(&first[i], i, nodes, timeout);
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

/* ms. Survivors wait for this time if the node that dies connected others, because its leases
   bind them, too. */
#define BETWEEN_TIMEOUT 10000

static void test_a_killed_peer(void **state)
{
    spawn_all(children, 4, LONG_TIMEOUT);
    introduce(children, 4);
    send_signal(&children[2], SIGKILL);
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        expect_line(&children[i], "degraded 2 host2 its connection has ended");
        end_alone(&children[i]);
    }
}

/* Node 0 can no longer reach a node below the one that is killed. */
static void test_a_killed_node_between(void **state)
{
    fanout = 2;
    spawn_all(children, 4, BETWEEN_TIMEOUT);
    introduce(children, 4);
    send_signal(&children[1], SIGKILL);
    for (int i = 0; i < 4; i++) {
        if (i == 1)
            continue;
        expect_line(&children[i], "degraded 1 host1 its connection has ended");
        end_alone(&children[i]);
    }
}

static int reset_fanout(void **state)
{
    fanout = 0;
    return reap(state);
}

static void test_a_killed_coordinator(void **state)
{
    spawn_all(children, 3, BETWEEN_TIMEOUT);
    introduce(children, 3);
    send_signal(&children[0], SIGKILL);
    for (int i = 1; i < 3; i++) {
        expect_line(&children[i], "degraded 0 host0 ");
        end_alone(&children[i]);
    }
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

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

#define STOP_TIMEOUT 3000

static void test_a_pause_is_no_death(void **state)
{
    spawn_all(children, 3, STOP_TIMEOUT);
    introduce(children, 3);
    send_signal(&children[0], SIGSTOP);
    send_signal(&children[1], SIGSTOP);
    pause_ms(STOP_TIMEOUT / 4);
    send_signal(&children[0], SIGCONT);
    send_signal(&children[1], SIGCONT);
    flush_all(2, "1");
    /* A node that was stopped does not declare the others failed, however long it was stopped. */
    for (int i = 0; i < 3; i++)
        send_signal(&children[i], SIGSTOP);
    pause_ms(STOP_TIMEOUT + STOP_TIMEOUT / 2);
    for (int i = 0; i < 3; i++)
        send_signal(&children[i], SIGCONT);
    flush_all(1, "2");
}

/* A peer, and in another mount the coordinator, are stopped until they are declared failed, and
   then continue. */
static void test_a_stopped_node_finds_itself_dead(void **state)
{
    struct child *other = children + 3;

    spawn_all(children, 3, STOP_TIMEOUT);
    introduce(children, 3);
    spawn_all(other, 3, STOP_TIMEOUT);
    introduce(other, 3);
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

static struct cluster cluster;

static void await_alone(int node, int dead)
{
    struct mpiio_peers_status status;
    struct mpiio_peer_status peer;

    AWAIT(&cluster, cluster.node[node].alone);
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

static void test_nobody_is_alone_before_all_engines_are_gone(void **state)
{
    struct node *slow = &cluster.node[3];
    uint64_t after;
    pthread_t thread;
    void *rc;

    start_cluster(&cluster, 4, LONG_TIMEOUT);
    cluster.node[2].hold_epochs = true;
    cluster.node[2].vote = 1;
    slow->hold_fence = true;
    /* An epoch and a change are in progress, and a call waits for the change. */
    assert_int_equal(mpiio_peers_request_flush(cluster.node[2].peers, true, &after), 0);
    assert_int_equal(pthread_create(&thread, NULL, change, cluster.node[1].peers), 0);
    for (int i = 0; i < 4; i++)
        AWAIT(&cluster, cluster.node[i].begun == 1 && cluster.node[i].change == 1);
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[1].peers, "engine: killed"), 0);
    AWAIT(&cluster, slow->degraded && cluster.fenced == 3);
    pause_ms(100);
    pthread_mutex_lock(&cluster.lock);
    for (int i = 0; i < 4; i++)
        cluster.wrong |= cluster.node[i].alone;
    pthread_mutex_unlock(&cluster.lock);
    assert_false(is_wrong(&cluster));
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
    free_cluster(&cluster);
}

static void test_an_engine_that_stays_holds_nobody_up_for_ever(void **state)
{
    start_cluster(&cluster, 3, 1000);
    cluster.node[2].hold_fence = true;
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[0].peers, "killed"), 0);
    AWAIT(&cluster, cluster.node[0].alone && cluster.node[1].alone);
    pthread_mutex_lock(&cluster.lock);
    assert_false(cluster.node[2].alone);
    pthread_mutex_unlock(&cluster.lock);
    SET(&cluster.node[2], hold_fence, false);
    AWAIT(&cluster, cluster.node[2].alone);
    free_cluster(&cluster);
}

static void test_one_node_alone_loses_its_engine(void **state)
{
    start_cluster(&cluster, 1, LONG_TIMEOUT);
    assert_int_equal(mpiio_peers_engine_lost(cluster.node[0].peers, "a\nb"), 0);
    await_alone(0, 0);
    assert_string_equal(cluster.node[0].why, "a?b");
    free_cluster(&cluster);
}

static void test_several_die_at_once(void **state)
{
    start_cluster(&cluster, 6, BETWEEN_TIMEOUT);
    for (int i = 5; i > 2; i--)
        mpiio_peers_stop(cluster.node[i].peers);
    for (int i = 0; i < 3; i++) {
        AWAIT(&cluster, cluster.node[i].alone);
        assert_in_range(cluster.node[i].dead, 3, 5);
    }
    mpiio_peers_stop(cluster.node[5].peers);
    free_cluster(&cluster);
}

static int set_fanout(void **state)
{
    fanout = (int)(intptr_t)*state;
    *state = NULL;
    return 0;
}

int main(void)
{
    /* These tests fork, so they run while there is no other thread. */
    const struct CMUnitTest processes[] = {
        cmocka_unit_test_teardown(test_a_killed_peer, reap),
        cmocka_unit_test_teardown(test_a_killed_node_between, reset_fanout),
        cmocka_unit_test_teardown(test_a_killed_coordinator, reap),
        cmocka_unit_test_teardown(test_a_pause_is_no_death, reap),
        cmocka_unit_test_teardown(test_a_stopped_node_finds_itself_dead, reap),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_alone_before_all_engines_are_gone),
        cmocka_unit_test(test_an_engine_that_stays_holds_nobody_up_for_ever),
        cmocka_unit_test(test_one_node_alone_loses_its_engine),
        cmocka_unit_test(test_several_die_at_once),
    };
    enum { FIRST = sizeof(processes) / sizeof(*processes), MORE = sizeof(tests) / sizeof(*tests) };
    struct CMUnitTest all[FIRST + 2 * MORE];

    signal(SIGPIPE, SIG_IGN);
    memcpy(all, processes, sizeof(processes));
    /* All directly below node 0, and a chain. */
    for (size_t i = 0; i < 2 * MORE; i++) {
        all[FIRST + i] = tests[i % MORE];
        all[FIRST + i].setup_func = set_fanout;
        all[FIRST + i].initial_state = (void *)(i / MORE);
    }
    return cmocka_run_group_tests(all, NULL, NULL);
}
