/* SPDX-License-Identifier: MIT */
/* Tests which frames each side may send in each state, against the documentation of each type in
   peer_frame.h. */

#include "unit.h"
#include "cluster/peer_frame.h"

static bool goes_up(int type)
{
    return type >= MPIIO_JOINED && type <= MPIIO_FENCED;
}

TEST(test_each_way_has_its_types)
{
    for (int type = 0; type < MPIIO_PEER_FRAME_TYPES; type++) {
        for (int now = 0; now <= MPIIO_PEERS_STOPPED; now++) {
            bool up = type == MPIIO_BEAT || goes_up(type);
            bool down = type == MPIIO_BEAT || (type != 0 && !up);

            if (!up)
                assert_int_equal(mpiio_frame_rule(type, true, now), MPIIO_FRAME_WRONG);
            if (!down)
                assert_int_equal(mpiio_frame_rule(type, false, now), MPIIO_FRAME_WRONG);
        }
    }
}

TEST(test_joining_lets_nothing_be_said_but_that_all_are_there)
{
    for (int type = MPIIO_JOINED; type < MPIIO_PEER_FRAME_TYPES; type++) {
        assert_int_equal(mpiio_frame_rule(type, true, MPIIO_PEERS_JOINING),
                         type == MPIIO_JOINED ? MPIIO_FRAME_DUE : MPIIO_FRAME_WRONG);
        assert_int_equal(mpiio_frame_rule(type, false, MPIIO_PEERS_JOINING),
                         type == MPIIO_READY ? MPIIO_FRAME_DUE : MPIIO_FRAME_WRONG);
    }
}

TEST(test_after_a_death_work_comes_too_late)
{
    for (int type = MPIIO_ASK; type < MPIIO_PEER_FRAME_TYPES; type++) {
        bool up = goes_up(type);
        int rule = mpiio_frame_rule(type, up, MPIIO_PEERS_DEGRADING);

        if (type == MPIIO_FENCED || type == MPIIO_GO)
            assert_int_equal(rule, MPIIO_FRAME_DUE);
        else
            assert_int_equal(rule, type == MPIIO_READY ? MPIIO_FRAME_WRONG : MPIIO_FRAME_LATE);
    }
    assert_int_equal(mpiio_frame_rule(MPIIO_GO, false, MPIIO_PEERS_TOGETHER), MPIIO_FRAME_WRONG);
    assert_int_equal(mpiio_frame_rule(MPIIO_READY, false, MPIIO_PEERS_TOGETHER), MPIIO_FRAME_WRONG);
}
