/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include "cluster/wire.h"

/* Not negative. */
static void code_number(struct mpiio_wire *wire, int64_t *number)
{
    mpiio_wire_u64(wire, (uint64_t *)number);
    mpiio_wire_expect(wire, *number >= 0);
}

static void code_value(struct mpiio_wire *wire, struct mpiio_pointers_value *value)
{
    mpiio_wire_u64(wire, &value->generation);
    code_number(wire, &value->position);
}

static void code_request(struct mpiio_wire *wire, struct mpiio_pointers_request *request)
{
    uint8_t type = (uint8_t)request->type;

    mpiio_wire_u8(wire, &type);
    mpiio_wire_expect(wire, type >= MPIIO_POINTERS_TAKE && type <= MPIIO_POINTERS_HERALD);
    request->type = (enum mpiio_pointers_type)type;
    mpiio_wire_u64(wire, &request->term);
    mpiio_wire_u32(wire, &request->node);
    mpiio_wire_flag(wire, &request->gone);
    mpiio_wire_flag(wire, &request->leaving);
    mpiio_wire_u32(wire, &request->pointer);
    code_number(wire, &request->count);
    code_number(wire, &request->limit);
    code_value(wire, &request->value);
    mpiio_wire_u64(wire, &request->number);
    mpiio_wire_u64(wire, &request->settled);
    mpiio_wire_u64(wire, &request->share);
    mpiio_wire_u32(wire, &request->ended);
    mpiio_wire_u32(wire, &request->owner);
}

static void code_answer(struct mpiio_wire *wire, struct mpiio_pointers_answer *answer)
{
    uint8_t verdict = (uint8_t)answer->verdict;

    mpiio_wire_u8(wire, &verdict);
    mpiio_wire_expect(wire, verdict >= MPIIO_POINTERS_GRANTED && verdict <= MPIIO_POINTERS_STALE);
    answer->verdict = (enum mpiio_pointers_verdict)verdict;
    mpiio_wire_u64(wire, &answer->term);
    mpiio_wire_u32(wire, &answer->keeper);
    code_number(wire, &answer->got);
    code_value(wire, &answer->value);
    mpiio_wire_expect(wire, answer->got <= INT64_MAX - answer->value.position);
    mpiio_wire_u64(wire, &answer->turn);
    mpiio_wire_u32(wire, &answer->owner);
}

static void code_known(struct mpiio_wire *wire, struct mpiio_pointers_known *known)
{
    code_value(wire, &known->value);
    mpiio_wire_u64(wire, &known->turn);
}

static void code_share(struct mpiio_wire *wire, struct mpiio_pointers_share *share)
{
    mpiio_wire_u32(wire, &share->pointer);
    mpiio_wire_u32(wire, &share->node);
    mpiio_wire_u64(wire, &share->number);
}

static void code_end(struct mpiio_wire *wire, struct mpiio_pointers_end *end)
{
    mpiio_wire_u64(wire, &end->granted);
    mpiio_wire_u64(wire, &end->shares);
    mpiio_wire_u64(wire, &end->given);
}

static void code_given(struct mpiio_wire *wire, struct mpiio_pointers_given *given)
{
    mpiio_wire_u32(wire, &given->node);
    mpiio_wire_u64(wire, &given->number);
    code_answer(wire, &given->answer);
}

void mpiio_pointers_request_encode(const struct mpiio_pointers_request *request, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_REQUEST_BYTES};
    struct mpiio_pointers_request copy = *request;

    code_request(&wire, &copy);
}

void mpiio_pointers_answer_encode(const struct mpiio_pointers_answer *answer, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_ANSWER_BYTES};
    struct mpiio_pointers_answer copy = *answer;

    code_answer(&wire, &copy);
}

void mpiio_pointers_known_encode(const struct mpiio_pointers_known *known, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_VALUE_BYTES};
    struct mpiio_pointers_known copy = *known;

    code_known(&wire, &copy);
}

void mpiio_pointers_share_encode(const struct mpiio_pointers_share *share, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_SHARE_BYTES};
    struct mpiio_pointers_share copy = *share;

    code_share(&wire, &copy);
}

bool mpiio_pointers_request_decode(const uint8_t *bytes, struct mpiio_pointers_request *request)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_REQUEST_BYTES};

    code_request(&wire, request);
    return mpiio_wire_complete(&wire);
}

bool mpiio_pointers_answer_decode(const uint8_t *bytes, struct mpiio_pointers_answer *answer)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_ANSWER_BYTES};

    code_answer(&wire, answer);
    return mpiio_wire_complete(&wire);
}

bool mpiio_pointers_known_decode(const uint8_t *bytes, struct mpiio_pointers_known *known)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_VALUE_BYTES};

    code_known(&wire, known);
    return mpiio_wire_complete(&wire);
}

bool mpiio_pointers_share_decode(const uint8_t *bytes, struct mpiio_pointers_share *share)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_SHARE_BYTES};

    code_share(&wire, share);
    return mpiio_wire_complete(&wire);
}

void mpiio_pointers_end_encode(const struct mpiio_pointers_end *end, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_END_BYTES};
    struct mpiio_pointers_end copy = *end;

    code_end(&wire, &copy);
}

bool mpiio_pointers_end_decode(const uint8_t *bytes, struct mpiio_pointers_end *end)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_END_BYTES};

    code_end(&wire, end);
    return mpiio_wire_complete(&wire);
}

void mpiio_pointers_given_encode(const struct mpiio_pointers_given *given, uint8_t *bytes)
{
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_POINTERS_GIVEN_BYTES};
    struct mpiio_pointers_given copy = *given;

    code_given(&wire, &copy);
}

bool mpiio_pointers_given_decode(const uint8_t *bytes, struct mpiio_pointers_given *given)
{
    struct mpiio_wire wire = {.from = bytes, .size = MPIIO_POINTERS_GIVEN_BYTES};

    code_given(&wire, given);
    return mpiio_wire_complete(&wire);
}
