/* SPDX-License-Identifier: MIT */
/*
 * The program's signals. libmpiio handles SIGBUS first, and hides its handler from the program. A
 * handler that interrupts the library may leave by a jump: the interrupted call is abandoned first.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "signals.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "call.h"
#include "core/base/guard.h"
#include "descriptors.h"
#include "hold.h"
#include "next.h"

/*
 * Sets the action behind libmpiio's handler. Returns false if the kernel must set it: a child of
 * vfork(2) changes its own action, and this memory is its parent's.
 */
static bool set_behind(int number, const struct sigaction *action, struct sigaction *old)
{
    struct run_held held;
    bool done;

    if (number != SIGBUS || run_inside > 0 || !run_is_home())
        return false;
    run_hold(&held);
    done = mpiio_guard_action(action, old);
    run_let_go(&held);
    return done;
}

CATCH int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return set_behind(number, action, old) ? 0 : RUN_NEXT(sigaction)(number, action, old);
}

#define CATCH_SIGNAL(name, flags)                                                                  \
    CATCH sighandler_t name(int number, sighandler_t handler)                                      \
    {                                                                                              \
        struct sigaction action = {.sa_flags = (flags)}, old;                                      \
        action.sa_handler = handler;                                                               \
        return set_behind(number, &action, &old) ? old.sa_handler                                  \
                                                 : RUN_NEXT(name)(number, handler);                \
    }

sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);

CATCH_SIGNAL(signal, SA_RESTART)
CATCH_SIGNAL(bsd_signal, SA_RESTART)
CATCH_SIGNAL(sysv_signal, SA_RESETHAND | SA_NODEFER)
CATCH_SIGNAL(__sysv_signal, SA_RESETHAND | SA_NODEFER)

static bool is_ignored(struct sigaction *action)
{
    return mpiio_guard_action(NULL, action) && (action->sa_flags & SA_SIGINFO) == 0 &&
           action->sa_handler == SIG_IGN;
}

void run_signals_before_exec(void)
{
    struct sigaction action;
    int error = errno;

    if (is_ignored(&action))
        RUN_NEXT(sigaction)(SIGBUS, &action, NULL);
    errno = error;
}

void run_signals_after_exec(void)
{
    struct sigaction action;
    int error = errno;

    if (is_ignored(&action))
        set_behind(SIGBUS, &action, NULL);
    errno = error;
}

/* The guard's own jump, out of its handler of SIGBUS, ends in the library and abandons nothing. */
static void leave_call(const struct __jmp_buf_tag *back)
{
    if (run_inside > 0 && !mpiio_guard_returns_to(back))
        run_call_abandon();
}

#define CATCH_JUMP(name)                                                                           \
    CATCH void name(struct __jmp_buf_tag back[1], int value)                                       \
    {                                                                                              \
        leave_call(back);                                                                          \
        RUN_NEXT(name)(back, value);                                                               \
        abort();                                                                                   \
    }

void __longjmp_chk(struct __jmp_buf_tag back[1], int value);

CATCH_JUMP(longjmp)
CATCH_JUMP(_longjmp)
CATCH_JUMP(siglongjmp)
CATCH_JUMP(__longjmp_chk)
