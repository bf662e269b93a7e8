/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/wait.h>

#include "faults.h"
#include "threads.h"

#define SIZE ((size_t)64 << 10)

/* A mapping of an empty file: every access raises SIGBUS. */
static volatile const char *absent;
static volatile const char *present;

struct touch {
    volatile const char *place;
    int sum;
    int rounds;
};

static void touch(void *argument)
{
    struct touch *work = argument;

    work->sum = work->place[0] + work->place[SIZE - 1];
    work->rounds++;
}

static bool guarded(struct touch *work, volatile const char *base)
{
    return mpiio_guard_call(touch, work, (const void *)base, SIZE);
}

static void map_files(void)
{
    int fd = make_file();

    absent = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    present = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(fd);
    if (absent == MAP_FAILED || present == MAP_FAILED)
        abort();
}

/* The wait status of a child that faulted outside the guard, with the default action behind it. */
static int status_of_child;

static void fault_in_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        struct rlimit no_core = {0, 0};
        struct touch work = {.place = present};

        setrlimit(RLIMIT_CORE, &no_core);
        if (!guarded(&work, present) || freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        work.place = absent;
        touch(&work);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status_of_child, 0) != child)
        abort();
}

TEST(test_a_fault_outside_still_kills)
{
    int status = status_of_child;

    /* A sanitizer's handler ends the process in its own way. */
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0);
}

static sigjmp_buf escape;
static volatile sig_atomic_t handed_on;

static void own_handler(int number, siginfo_t *info, void *context)
{
    handed_on++;
    siglongjmp(escape, 1);
}

/* Installs the guard's handler over another one. */
static void install_both(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    struct touch work = {.place = present};

    action.sa_sigaction = own_handler;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) != 0 || !guarded(&work, present) ||
        sigaction(SIGBUS, NULL, &of_guard) != 0)
        abort();
}

TEST(test_other_faults_are_handed_on)
{
    struct touch work = {.place = absent};

    FAULTS_OR_RETURN();
    if (sigsetjmp(escape, 1) == 0)
        touch(&work);
    assert_int_equal(handed_on, 1);
    /* A fault in a guarded call, but outside its memory. */
    if (sigsetjmp(escape, 1) == 0)
        guarded(&work, present);
    assert_int_equal(handed_on, 2);
    /* A signal sent by a process is not a fault. */
    if (sigsetjmp(escape, 1) == 0)
        raise(SIGBUS);
    assert_int_equal(handed_on, 3);
}

TEST(test_work_is_done)
{
    struct touch work = {.place = present};

    assert_true(guarded(&work, present));
    assert_int_equal(work.rounds, 1);
}

TEST(test_a_missing_page_ends_the_work)
{
    sigset_t mask;

    FAULTS_OR_RETURN();
    for (int i = 0; i < 1000; i++) {
        struct touch work = {.place = absent};

        assert_false(guarded(&work, absent));
        assert_int_equal(work.rounds, 0);
        work.place = present;
        assert_true(guarded(&work, present));
    }
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGBUS), 0);
}

static void *touch_often(void *argument)
{
    intptr_t wrong = 0;

    for (int i = 0; i < 500; i++) {
        volatile const char *place = (i + *(int *)argument) % 3 == 0 ? present : absent;
        struct touch work = {.place = place};

        wrong += guarded(&work, place) != (place == present);
    }
    return (void *)wrong;
}

TEST(test_threads_fault_at_once)
{
    FAULTS_OR_RETURN();
    run_threads(4, touch_often, (int[]){0, 1, 2, 3}, sizeof(int));
}

/* Returns an action. Actions of different numbers differ in every field. */
static struct sigaction action_of(int number)
{
    struct sigaction action = {.sa_flags = number == 0 ? SA_SIGINFO | SA_ONSTACK : SA_RESTART};

    if (number == 0) {
        action.sa_sigaction = own_handler;
        sigfillset(&action.sa_mask);
    } else {
        action.sa_handler = SIG_IGN;
        sigemptyset(&action.sa_mask);
    }
    return action;
}

static bool is_action(const struct sigaction *action, int number)
{
    const struct sigaction whole = action_of(number);

    return action->sa_flags == whole.sa_flags && action->sa_handler == whole.sa_handler &&
           sigismember(&action->sa_mask, SIGUSR1) == sigismember(&whole.sa_mask, SIGUSR1) &&
           sigismember(&action->sa_mask, SIGRTMAX) == sigismember(&whole.sa_mask, SIGRTMAX);
}

static void *replace_often(void *argument)
{
    intptr_t wrong = 0;

    for (int i = 0; i < 100000; i++) {
        const struct sigaction action = action_of((i + *(int *)argument) % 2);
        struct sigaction old;

        wrong += !mpiio_guard_action(i % 4 == 0 ? NULL : &action, &old) ||
                 (!is_action(&old, 0) && !is_action(&old, 1));
    }
    return (void *)wrong;
}

/* Actions are replaced as a whole, as with sigaction(2), and the last one remains. */
TEST(test_threads_replace_actions_at_once)
{
    struct sigaction action = action_of(0), before, last;

    assert_true(mpiio_guard_action(&action, &before));
    run_threads(4, replace_often, (int[]){0, 1, 2, 3}, sizeof(int));
    assert_int_equal(sigaction(SIGBUS, NULL, &action), 0);
    assert_true(mpiio_guard_action(&before, &last));
    assert_int_equal(sigismember(&action.sa_mask, SIGUSR1), is_action(&last, 0));
}

/* A handler that runs only once resets the action to the default. It can be set again. */
TEST(test_a_handler_runs_once)
{
    struct sigaction action = action_of(0), before, after;

    restore_guard();
    action.sa_flags |= (int)SA_RESETHAND;
    for (int i = 0; i < 40; i++) {
        handed_on = 0;
        assert_true(mpiio_guard_action(&action, i == 0 ? &before : NULL));
        if (sigsetjmp(escape, 1) == 0)
            raise(SIGBUS);
        assert_int_equal(handed_on, 1);
        assert_true(mpiio_guard_action(NULL, &after));
        assert_ptr_equal(after.sa_handler, SIG_DFL);
    }
    assert_true(mpiio_guard_action(&before, NULL));
}

BEFORE_TESTS
{
    map_files();
    fault_in_child();
    install_both();
}
