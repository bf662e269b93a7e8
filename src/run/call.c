/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "call.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "descriptors.h"
#include "grant.h"
#include "hold.h"
#include "next.h"

static _Thread_local __attribute__((tls_model("initial-exec"))) struct run_call *volatile current;

void run_call_begin(struct run_call *call)
{
    call->cancellation = -1; /* Setting this state does nothing. */
    current = call;
    atomic_signal_fence(memory_order_seq_cst);
    run_inside++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call->cancellation);
}

void run_call_end(const struct run_call *call)
{
    pthread_setcancelstate(call->cancellation, NULL);
    current = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    run_inside--;
}

void run_call_abandon(void)
{
    struct run_call *call = current;
    int error = errno;

    current = NULL;
    run_inside = 0;
    mpiio_guard_abandon();
    if (call == NULL)
        return;
    pthread_setcancelstate(call->cancellation, NULL);
    if (call->open == NULL)
        return;
    /* The call keeps its reference to open, so that what it has locked is never freed. */
    run_grant_retire(call->open);
    if (call->offset >= 0 && call->writing)
        RUN_NEXT(pwritev64)(call->fd, call->parts, call->count, call->offset);
    else if (call->offset >= 0 && call->here)
        RUN_NEXT(lseek64)(call->fd, -(off64_t)call->length, SEEK_CUR);
    errno = error;
}
