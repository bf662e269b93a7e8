/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/socket.h>

#include "unit.h"
#include "cluster/engine_channel.h"

/* Both ends of a channel, and memory to hand over. */
static struct mpiio_channel *one, *other;
static int memory;

static int set_up(void **state)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(mpiio_channel_new(ends[0], &one), 0);
    assert_int_equal(mpiio_channel_new(ends[1], &other), 0);
    memory = memfd_create("memory", MFD_CLOEXEC);
    return 0;
}

static int tear_down(void **state)
{
    mpiio_channel_free(one);
    mpiio_channel_free(other);
    close(memory);
    return 0;
}

/* Receives a message of this type. */
static struct mpiio_message receive(enum mpiio_message_type type)
{
    struct mpiio_message message;

    memset(&message, 0xa5, sizeof(message));
    assert_int_equal(mpiio_channel_receive(other, &message), 0);
    assert_int_equal(message.type, type);
    return message;
}

static struct mpiio_message carry(const struct mpiio_message *message)
{
    assert_int_equal(mpiio_channel_send(one, message), 0);
    return receive(message->type);
}

static struct mpiio_message hello(void)
{
    return (struct mpiio_message){
        .type = MPIIO_MESSAGE_HELLO,
        .hello = {.path = "/data/field.dat",
                  .store = MPIIO_STORE_MPIIO,
                  .coherence = MPIIO_COHERENCE_CLOSE_TO_OPEN,
                  .address = "10.0.0.1:4711 0123456789abcdef",
                  .fanout = 16,
                  .token = "a token of node",
                  .spec = 0xfedcba9876543210,
                  .hints = {.count = 2, .hint = {{"cb_nodes", "2"}, {"striping_unit", ""}}},
                  .memory = memory}};
}

TEST(small_messages_arrive_as_sent, set_up, tear_down)
{
    struct mpiio_message node = {.type = MPIIO_MESSAGE_NODE, .node = {3, 100000, 4242}};
    struct mpiio_message peers = {.type = MPIIO_MESSAGE_PEERS,
                                  .peers = {.token = "a token of node",
                                            .mount = "0123456789abcde",
                                            .homes = {.stretch = 3, .period = 1 << 20, .nodes = 7},
                                            .addresses = mpiio_channel_pack("addresses", 9)}};
    struct mpiio_message failed = {.type = MPIIO_MESSAGE_FAILED, .failed = {2, "no such thing"}};
    struct mpiio_message start = {.type = MPIIO_MESSAGE_START,
                                  .start = {.count = 1, .hint = {{"cb_nodes", "1"}}}};
    struct mpiio_message ready = {.type = MPIIO_MESSAGE_READY};
    struct mpiio_message flush = {.type = MPIIO_MESSAGE_FLUSH, .flush = {7, true, 100000}};
    struct mpiio_message result = {
        .type = MPIIO_MESSAGE_RESULT,
        .result = {.epoch = 7, .error = -EIO, .counters = {.rounds = 5, .left_blocks = 6}}};
    struct mpiio_message got = carry(&node);

    assert_memory_equal(&got.node, &node.node, sizeof(node.node));
    got = carry(&peers);
    assert_memory_equal(got.peers.token, peers.peers.token, sizeof(got.peers.token));
    assert_memory_equal(got.peers.mount, peers.peers.mount, sizeof(got.peers.mount));
    assert_int_equal(got.peers.homes.stretch, 3);
    assert_int_equal(got.peers.homes.period, 1 << 20);
    assert_int_equal(got.peers.homes.nodes, 7);
    close(peers.peers.addresses);
    close(got.peers.addresses);
    got = carry(&failed);
    assert_int_equal(got.failed.status, 2);
    assert_string_equal(got.failed.text, "no such thing");
    got = carry(&start);
    assert_int_equal(got.start.count, 1);
    assert_string_equal(got.start.hint[0].value, "1");
    got = carry(&flush);
    assert_int_equal(got.flush.epoch, 7);
    assert_true(got.flush.sync);
    assert_int_equal(got.flush.count, 100000);
    got = carry(&result);
    assert_int_equal(got.result.epoch, 7);
    assert_int_equal(got.result.error, -EIO);
    assert_int_equal(got.result.counters.rounds, 5);
    assert_int_equal(got.result.counters.left_blocks, 6);
    carry(&ready);
    ready.type = MPIIO_MESSAGE_QUIT;
    carry(&ready);
}

/* SCM_CREDENTIALS arrive as ancillary data, as descriptors do. */
TEST(credentials_are_ignored, set_up, tear_down)
{
    struct mpiio_message ready = {.type = MPIIO_MESSAGE_READY};
    const int on = 1;

    assert_int_equal(setsockopt(mpiio_channel_fd(other), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)),
                     0);
    carry(&ready);
}

TEST(hello_hands_the_memory_over, set_up, tear_down)
{
    struct mpiio_message sent = hello();
    struct mpiio_message got;
    char text[8] = {0};

    assert_int_equal(pwrite(memory, "dirty", 5, 0), 5);
    got = carry(&sent);
    assert_string_equal(got.hello.path, "/data/field.dat");
    assert_int_equal(got.hello.store, MPIIO_STORE_MPIIO);
    assert_int_equal(got.hello.coherence, MPIIO_COHERENCE_CLOSE_TO_OPEN);
    assert_string_equal(got.hello.address, sent.hello.address);
    assert_memory_equal(got.hello.token, sent.hello.token, sizeof(sent.hello.token));
    assert_true(got.hello.spec == sent.hello.spec);
    assert_int_equal(got.hello.hints.count, 2);
    assert_string_equal(got.hello.hints.hint[1].key, "striping_unit");
    assert_string_equal(got.hello.hints.hint[1].value, "");
    assert_int_equal(pread(got.hello.memory, text, sizeof(text), 0), 5);
    assert_string_equal(text, "dirty");
    close(got.hello.memory);
}

TEST(hello_hands_over_what_members_there_are, set_up, tear_down)
{
    int members = memfd_create("spec", MFD_CLOEXEC);
    struct mpiio_message sent = hello();
    struct mpiio_message got;
    char text[8] = {0};

    sent.hello.assembled = true;
    sent.hello.held = 0x0f1e2d3c4b5a6978;
    sent.hello.device = 0xfedcba9876543210;
    sent.hello.inode = 0x123456789abcdef0;
    sent.hello.members = members;
    assert_int_equal(pwrite(members, "members", 7, 0), 7);
    got = carry(&sent);
    assert_true(got.hello.assembled);
    assert_true(got.hello.held == sent.hello.held);
    assert_true(got.hello.device == sent.hello.device && got.hello.inode == sent.hello.inode);
    assert_int_equal(pread(got.hello.members, text, sizeof(text), 0), 7);
    assert_string_equal(text, "members");
    assert_int_equal(pread(got.hello.memory, text, sizeof(text), 0), 0);
    close(got.hello.memory);
    close(got.hello.members);
    close(members);
}

TEST(peers_hand_over_addresses_of_any_length, set_up, tear_down)
{
    static const size_t sizes[] = {0, 1, MPIIO_MESSAGE_MAX, (size_t)25 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char *sent = malloc(sizes[i] + 1), *taken;
        struct mpiio_message peers = {.type = MPIIO_MESSAGE_PEERS, .peers.homes = {1, 1, 1}}, got;
        size_t size = 77;

        for (size_t k = 0; k < sizes[i]; k++)
            sent[k] = (char)(k % 251);
        peers.peers.addresses = mpiio_channel_pack(sent, sizes[i]);
        assert_true(peers.peers.addresses >= 0);
        got = carry(&peers);
        close(peers.peers.addresses);
        taken = mpiio_channel_unpack(got.peers.addresses, &size);
        close(got.peers.addresses);
        assert_non_null(taken);
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(taken, sent, size);
        free(taken);
        free(sent);
    }
}

TEST(what_is_not_open_cannot_be_taken, set_up, tear_down)
{
    size_t size;

    assert_null(mpiio_channel_unpack(-1, &size));
    assert_null(mpiio_channel_unpack(mpiio_channel_fd(one), &size));
}

/* Lengthens a message until the channel refuses to send it. */
TEST(messages_arrive_up_to_the_longest_one, set_up, tear_down)
{
    struct mpiio_message start = {.type = MPIIO_MESSAGE_START, .start = {.count = 16}};
    char text[MPIIO_TEXT_MAX];
    size_t length = 0;

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 16; i++)
        start.start.hint[i] = (struct mpiio_hint){"key", text};
    while (length < sizeof(text) - 1) {
        struct mpiio_message got;

        start.start.hint[15].value = text + sizeof(text) - 1 - length;
        if (mpiio_channel_send(one, &start) != 0)
            break;
        assert_int_equal(mpiio_channel_receive(other, &got), 0);
        assert_int_equal(strlen(got.start.hint[15].value), length++);
    }
    assert_in_range(length, 1, sizeof(text) - 2);
}

TEST(what_is_too_long_is_not_sent, set_up, tear_down)
{
    char *text = calloc(1, MPIIO_TEXT_MAX + 1);
    struct mpiio_message failed = {.type = MPIIO_MESSAGE_FAILED, .failed = {1, text}};
    struct mpiio_message start = {.type = MPIIO_MESSAGE_START};

    memset(text, 'x', MPIIO_TEXT_MAX - 1);
    carry(&failed);
    start.start.count = 20;
    for (int i = 0; i < 20; i++)
        start.start.hint[i] = (struct mpiio_hint){"key", text};
    assert_int_equal(mpiio_channel_send(one, &start), -E2BIG);
    text[MPIIO_TEXT_MAX - 1] = 'x';
    assert_int_equal(mpiio_channel_send(one, &failed), -E2BIG);
    start.start.count = MPIIO_HINTS_MAX + 1;
    assert_int_equal(mpiio_channel_send(one, &start), -E2BIG);
    free(text);
}

TEST(the_end_of_the_other_is_seen, set_up, tear_down)
{
    struct mpiio_message message = {.type = MPIIO_MESSAGE_READY};

    mpiio_channel_free(one);
    one = NULL;
    assert_int_equal(mpiio_channel_receive(other, &message), -EPIPE);
    message.type = MPIIO_MESSAGE_READY;
    assert_int_equal(mpiio_channel_send(other, &message), -EPIPE);
}

/* Sends length bytes unchanged, with descriptor if it is >= 0, and receives a message. */
static int inject(const void *bytes, size_t length, int descriptor)
{
    struct mpiio_message message;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.align = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    int error;

    if (descriptor >= 0) {
        memcpy(CMSG_DATA(&control.align), &descriptor, sizeof(descriptor));
        header.msg_control = &control;
        header.msg_controllen = sizeof(control.bytes);
    }
    assert_int_equal(sendmsg(mpiio_channel_fd(one), &header, 0), length);
    error = mpiio_channel_receive(other, &message);
    if (error == 0 && message.type == MPIIO_MESSAGE_HELLO)
        close(message.hello.memory);
    if (error == 0 && message.type == MPIIO_MESSAGE_PEERS)
        close(message.peers.addresses);
    return error;
}

/* Captures the bytes that are sent for a message. */
static size_t capture(const struct mpiio_message *message, char *bytes)
{
    ssize_t length;

    assert_int_equal(mpiio_channel_send(one, message), 0);
    length = recv(mpiio_channel_fd(other), bytes, MPIIO_MESSAGE_MAX, 0);
    assert_true(length > 0);
    return (size_t)length;
}

TEST(cut_and_longer_messages_are_refused, set_up, tear_down)
{
    struct mpiio_message messages[] = {
        hello(),
        {.type = MPIIO_MESSAGE_NODE, .node = {0, 1, 1}},
        {.type = MPIIO_MESSAGE_PEERS, .peers = {.homes = {4, 2, 2}, .addresses = memory}},
        {.type = MPIIO_MESSAGE_FAILED, .failed = {1, "reason"}},
        {.type = MPIIO_MESSAGE_FLUSH, .flush = {1, true, 0}},
        {.type = MPIIO_MESSAGE_RESULT, .result = {.epoch = 1}},
        {.type = MPIIO_MESSAGE_QUIT},
    };
    static char bytes[MPIIO_MESSAGE_MAX + 1];

    for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
        bool brings =
            messages[i].type == MPIIO_MESSAGE_HELLO || messages[i].type == MPIIO_MESSAGE_PEERS;
        int descriptor = brings ? memory : -1;
        size_t length = capture(&messages[i], bytes);

        assert_int_equal(inject(bytes, length, descriptor), 0);
        for (size_t cut = 1; cut < length; cut++)
            assert_int_equal(inject(bytes, cut, descriptor), -EPROTO);
        bytes[length] = 0;
        assert_int_equal(inject(bytes, length + 1, descriptor), -EPROTO);
        assert_int_equal(inject(bytes, sizeof(bytes), descriptor), -EPROTO);
        /* A descriptor is missing, or was not expected. */
        assert_int_equal(inject(bytes, length, brings ? -1 : memory), -EPROTO);
    }
}

TEST(wrong_values_are_refused, set_up, tear_down)
{
    struct mpiio_message wrong[] = {
        {.type = MPIIO_MESSAGE_NODE, .node = {2, 2, 1}},
        {.type = MPIIO_MESSAGE_NODE, .node = {0, 2, 0}},
        {.type = MPIIO_MESSAGE_FAILED, .failed = {0, ""}},
        {.type = MPIIO_MESSAGE_RESULT, .result = {.error = EIO}},
        {.type = MPIIO_MESSAGE_PEERS, .peers = {.homes = {0, 2, 2}, .addresses = memory}},
        {.type = MPIIO_MESSAGE_PEERS, .peers = {.homes = {4, 0, 2}, .addresses = memory}},
        {.type = MPIIO_MESSAGE_PEERS, .peers = {.homes = {4, 2, 0}, .addresses = memory}},
        {.type = (enum mpiio_message_type)77},
    };
    static char bytes[MPIIO_MESSAGE_MAX];
    struct mpiio_message node = {.type = MPIIO_MESSAGE_NODE, .node = {0, 1, 1}};
    size_t length;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        bool peers = wrong[i].type == MPIIO_MESSAGE_PEERS;

        length = capture(&wrong[i], bytes);
        assert_int_equal(inject(bytes, length, peers ? memory : -1), -EPROTO);
    }
    length = capture(&node, bytes);
    bytes[4]++; /* the version */
    assert_int_equal(inject(bytes, length, -1), -EPROTO);
}
