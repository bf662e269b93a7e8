/* SPDX-License-Identifier: MIT */
#include "deputy.h"

#include <errno.h>

#include "core/base/clock.h"

/* ms that another node may take to answer. */
#define PATIENCE 1000

void mpiio_deputy_init(struct mpiio_deputy *deputy, int own)
{
    atomic_init(&deputy->node, own);
    atomic_init(&deputy->alone, 0);
}

/* What another node is told. */
static struct mpiio_pointers_request make_note(const struct mpiio_pointers_request *request,
                                               const struct mpiio_pointers_answer *given)
{
    struct mpiio_pointers_request note = {.type = MPIIO_POINTERS_TELL,
                                          .term = given->term,
                                          .node = request->node,
                                          .pointer = request->pointer,
                                          .share = MPIIO_POINTERS_NO_SHARE,
                                          .ended = MPIIO_POINTERS_NO_NODE,
                                          .owner = request->node};

    if (request->type == MPIIO_POINTERS_OPEN) {
        note.type = MPIIO_POINTERS_NOTE;
        note.share = (uint64_t)given->got;
    } else {
        note.value = given->value;
        note.value.position += given->got;
    }
    return note;
}

int mpiio_deputy_tell(struct mpiio_deputy *deputy, struct mpiio_asking *asking,
                      const struct mpiio_pointers_request *request,
                      const struct mpiio_pointers_answer *given)
{
    const struct mpiio_pointers_request note = make_note(request, given);
    int nodes = asking->keeping.nodes, own = asking->keeping.node;
    int first = atomic_load(&deputy->node);
    bool with_us[MPIIO_LINES_NODES] = {false}, gone[MPIIO_LINES_NODES] = {false};
    struct mpiio_pointers_answer answer;

    if (mpiio_lease_clock() < atomic_load(&deputy->alone))
        return 0;
    with_us[own] = true;
    for (int i = 0; i < nodes; i++) {
        int other = (first + i) % nodes;

        if (other == own)
            continue;
        gone[other] = mpiio_lines_refused(&asking->lines, other);
        if (!gone[other] && mpiio_asking_ask(asking, other, &note, PATIENCE, &answer) == 0) {
            atomic_store(&deputy->node, other);
            return answer.verdict == MPIIO_POINTERS_GRANTED ? 0 : -EAGAIN;
        }
        gone[other] = mpiio_lines_refused(&asking->lines, other);
    }
    if (!mpiio_keeping_is_enough(with_us, gone, nodes))
        return -EIO;
    atomic_store(&deputy->alone, mpiio_lease_clock() + asking->keeping.lease);
    return 0;
}
