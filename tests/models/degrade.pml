/* SPDX-License-Identifier: MIT */
/*
 * The agreement to degrade. Three nodes form a chain, 0 - 1 - 2, with node 0 as the root.
 * Connections may be cut or end on one side at any time, daemons may die, or freeze and return, and
 * engines may exit. All live nodes must end up alone, and no engine may store once a node is alone.
 * The model leaves out the lock of the fence (fence.pml): the leases alone must be enough.
 *
 * Assumptions: an unfrozen daemon takes all steps that are due before a tick passes. Beats may be
 * arbitrarily rare, and go as far down as they can. One clock counts down all times.
 *
 * Bounds: TIMEOUT, FAULTS, FREEZES. Larger bounds for runs by hand: -DTIMEOUT=4; -DFAULTS=2;
 * -DFREEZES=1; -DFAULTS=2 -DFREEZES=1.
 *
 * Variants that spin must refute:
 *
 *   -DGO_EARLY       no node waits for a lost node
 *   -DGO_SETTLED     a node waits for SETTLE, although its promise to a lost node is longer
 *   -DANY_END        a node waits for SETTLE if a connection has ended for whatever reason
 *   -DANY_NODE -DFREEZES=1, -DANY_NODE -DFAULTS=2
 *                    a node waits for SETTLE if a daemon has exited that other nodes are behind
 *   -DGO_UNFENCED    the root does not wait for FENCED
 *   -DOWN_PROMISE    a beat speaks for its sender alone, not for all nodes on its side
 *   -DNO_SILENCE     no node is declared failed for its silence (so not all nodes degrade)
 */

#define NODES 3
#ifndef TIMEOUT
#define TIMEOUT 3 /* ticks: peer_timeout */
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef FREEZES
#define FREEZES 0
#endif
#define MARGIN 1 /* ticks by which a lease ends before a promise does */
#define SETTLE 1 /* ticks within which other nodes notice */

mtype = { TOGETHER, DEGRADING, ALONE, DEAD };

/* A node's sides: UP is its connection to the node above, DOWN that to the node below. */
#define UP(i)   (2 * (i))
#define DOWN(i) (2 * (i) + 1)
#define SIDES   6
#define PEER(side) ((side) % 2 == 1 -> (side) + 1 : (side) - 1)
/* The node on the other side has no other connection. */
#define IS_LAST(side) ((side) == UP(1) || (side) == DOWN(NODES - 2))

mtype state[NODES] = TOGETHER;
bool frozen[NODES], engine[NODES], bereft[NODES], said[NODES];
byte go_after[NODES], go_before[NODES];

bool cut[NODES];         /* the connection below this node */
bool open[SIDES];        /* the connection is open for this side */
bool ended[SIDES];       /* the connection has ended, as this side sees it */
bool broken[SIDES];      /* by an error, not because the other side has closed it */
byte silence[SIDES];     /* ticks since this side heard the other */
byte held[SIDES];        /* ticks for which this side has the other's promise */
byte given[SIDES];       /* ticks for which this side has promised not to act */
bool answered[SIDES];    /* FENCED has arrived from below */

/* Frames that have arrived at this side. */
bool got_lost[SIDES], got_fenced[SIDES], got_degraded[SIDES], got_go[SIDES];

/* All live nodes must be alone within BOUND ticks after the last failure, without a freeze. */
bool failed; /* there was a failure */
byte since;  /* ticks since the last one */
#define BOUND (4 * TIMEOUT)

#define IS_CUT(side) ((side) % 2 == 1 -> cut[(side) / 2] : cut[(side) / 2 - 1])
#define RUNS(i)      (state[i] != DEAD && state[i] != ALONE && !frozen[i])
#define IS_HEAD(i)   (!open[UP(i)])
#define MIN(x, y)    ((x) < (y) -> (x) : (y))
#define MAX(x, y)    ((x) > (y) -> (x) : (y))
#define LESS(x)      x = ((x) > 0 -> (x) - 1 : 0)

/* Ticks for which a node has the promise of the neighbour on a side: TIMEOUT if it has none. */
#define HELD(side)  ((side) == UP(0) || (side) == DOWN(NODES - 1) -> TIMEOUT : held[side])
#define STORES(i)   (engine[i] && HELD(UP(i)) > MARGIN && HELD(DOWN(i)) > MARGIN)

inline check()
{
    assert(!((state[0] == ALONE || state[1] == ALONE || state[2] == ALONE) &&
             (STORES(0) || STORES(1) || STORES(2))))
}

#define CAN_SEND(side) (open[side] && !IS_CUT(side) && state[PEER(side) / 2] != DEAD)

inline close_side(side)
{
    if
    :: open[side] ->
        ended[PEER(side)] = open[PEER(side)] && !IS_CUT(side);
        open[side] = false
    :: else
    fi;
    ended[side] = false;
    broken[side] = false;
    given[side] = 0
}

#ifdef ANY_END
#define IS_BROKEN(side) false
#else
#define IS_BROKEN(side) broken[side]
#endif
#ifdef ANY_NODE
#define HAS_EXITED(side) (ended[side] && !IS_BROKEN(side))
#else
#define HAS_EXITED(side) (ended[side] && !IS_BROKEN(side) && IS_LAST(side))
#endif

/* Models await_fencing and has_ended, before the connection is closed. */
inline await_fencing(i, side)
{
    go_after[i] = MAX(go_after[i], SETTLE);
#ifdef GO_EARLY
    go_after[i] = 0;
#elif !defined(GO_SETTLED)
    if
    :: !HAS_EXITED(side) -> go_after[i] = MAX(go_after[i], given[side])
    :: else
    fi
#endif
}

/* Models mpiio_degrading_begin, which also fences the node itself. */
inline degrade(i)
{
    if
    :: state[i] == TOGETHER ->
        state[i] = DEGRADING;
        engine[i] = false;
        if
        :: CAN_SEND(DOWN(i)) -> got_degraded[PEER(DOWN(i))] = true
        :: else
        fi;
        go_before[i] = TIMEOUT + (IS_HEAD(i) -> 0 : SETTLE)
    :: else
    fi
}

inline lose_below(i)
{
    if
    :: state[i] == TOGETHER && !IS_HEAD(i) ->
        if
        :: CAN_SEND(UP(i)) -> got_lost[PEER(UP(i))] = true
        :: else
        fi;
        bereft[i] = true;
        if
        :: CAN_SEND(DOWN(i)) -> got_degraded[PEER(DOWN(i))] = true
        :: else
        fi
    :: else -> degrade(i)
    fi;
    await_fencing(i, DOWN(i));
    close_side(DOWN(i))
}

inline lose_above(i)
{
    degrade(i);
    await_fencing(i, UP(i));
    close_side(UP(i));
    go_before[i] = TIMEOUT
}

inline go(i)
{
    if
    :: CAN_SEND(DOWN(i)) -> got_go[PEER(DOWN(i))] = true
    :: else
    fi;
    state[i] = ALONE;
    close_side(UP(i));
    close_side(DOWN(i));
    go_after[i] = 0;
    go_before[i] = 0;
    check()
}

#ifdef GO_UNFENCED
#define FENCED(i) true
#else
#define FENCED(i) (!open[DOWN(i)] || answered[DOWN(i)])
#endif
#ifdef NO_SILENCE
#define IS_LOST(side) (open[side] && ended[side])
#else
#define IS_LOST(side) (open[side] && (silence[side] > TIMEOUT || ended[side]))
#endif
#define HAS_FRAME(side) (got_lost[side] || got_fenced[side] || got_degraded[side] || got_go[side])
#define CAN_GO(i) (state[i] == DEGRADING && go_after[i] == 0)

proctype node(byte i)
{
    do
    :: atomic { RUNS(i) && got_lost[DOWN(i)] ->
            got_lost[DOWN(i)] = false;
            if
            :: IS_HEAD(i) -> degrade(i)
            :: !IS_HEAD(i) && CAN_SEND(UP(i)) -> got_lost[PEER(UP(i))] = true
            :: else
            fi
        }
    :: atomic { RUNS(i) && got_fenced[DOWN(i)] ->
            got_fenced[DOWN(i)] = false;
            answered[DOWN(i)] = (state[i] == DEGRADING)
        }
    :: atomic { RUNS(i) && got_degraded[UP(i)] -> got_degraded[UP(i)] = false; degrade(i) }
    :: atomic { RUNS(i) && got_go[UP(i)] && !got_degraded[UP(i)] ->
            got_go[UP(i)] = false;
            if
            :: state[i] == DEGRADING -> go(i)
            :: else
            fi
        }
    :: atomic { RUNS(i) && IS_LOST(UP(i)) && !HAS_FRAME(UP(i)) -> lose_above(i) }
    :: atomic { RUNS(i) && IS_LOST(DOWN(i)) && !HAS_FRAME(DOWN(i)) -> lose_below(i) }
    :: atomic { RUNS(i) && CAN_GO(i) && FENCED(i) && !IS_HEAD(i) && !said[i] ->
            said[i] = true;
            if
            :: CAN_SEND(UP(i)) -> got_fenced[PEER(UP(i))] = true
            :: else
            fi
        }
    :: atomic { RUNS(i) && CAN_GO(i) && (go_before[i] == 0 || (FENCED(i) && IS_HEAD(i))) -> go(i) }
    :: atomic { state[i] == DEAD || state[i] == ALONE -> break }
    od
}

/* The effect of a beat or its echo: the receiver has heard the sender, and has its promise. */
inline beat(from, to)
{
    silence[to] = 0;
    if
    :: state[from / 2] == TOGETHER && !bereft[from / 2] ->
#ifdef OWN_PROMISE
        promise = TIMEOUT;
#else
        promise = (from % 2 == 1 -> HELD(UP(from / 2)) : HELD(DOWN(from / 2)));
        promise = MIN(promise, TIMEOUT);
#endif
        given[from] = MAX(given[from], promise); /* mpiio_renewal_beat_below and _above */
        held[to] = MAX(held[to], promise);
        promise = 0
    :: else
    fi;
    check()
}

#define TALK(i) (open[DOWN(i)] && open[UP(i + 1)] && !cut[i] && RUNS(i) && RUNS(i + 1))
#define OLD(side) (silence[side] > 0)

proctype beats()
{
    byte promise;

    do
    /* A beat goes down from node 0 as far as it can, and its echo comes back. */
    :: atomic {
            (TALK(0) && (OLD(DOWN(0)) || OLD(UP(1)))) || (TALK(1) && (OLD(DOWN(1)) || OLD(UP(2)))) ->
            if
            :: TALK(0) -> beat(DOWN(0), UP(1))
            :: else
            fi;
            if
            :: TALK(1) -> beat(DOWN(1), UP(2)); beat(UP(2), DOWN(1))
            :: else
            fi;
            if
            :: TALK(0) -> beat(UP(1), DOWN(0))
            :: else
            fi
        }
    od
}

inline lose_frames(side)
{
    got_lost[side] = false;
    got_fenced[side] = false;
    got_degraded[side] = false;
    got_go[side] = false;
    ended[side] = false;
    broken[side] = false
}

inline fail()
{
    failed = true;
    since = 0
}

inline break_side(side)
{
    if
    :: open[side] -> ended[side] = true; broken[side] = true
    :: else
    fi
}

proctype faults()
{
    byte count, freezes, i;

    do
    :: atomic { count < FAULTS -> count++; select(i : 0 .. NODES - 2);
            cut[i] = true;
            fail();
            lose_frames(DOWN(i));
            lose_frames(UP(i + 1));
            i = 0
        }
    /* An error ends a connection on one side; the other side may hear nothing of that. */
    :: atomic { count < FAULTS -> count++; select(i : 0 .. NODES - 2);
            fail();
            if
            :: skip
            :: cut[i] = true;
                lose_frames(DOWN(i));
                lose_frames(UP(i + 1))
            fi;
            if
            :: true -> break_side(DOWN(i))
            :: true -> break_side(UP(i + 1))
            fi;
            i = 0
        }
    :: atomic { count < FAULTS -> count++; select(i : 0 .. NODES - 1);
            if
            :: state[i] != ALONE ->
                state[i] = DEAD;
                fail();
                engine[i] = false;
                close_side(UP(i));
                close_side(DOWN(i))
            :: else
            fi;
            i = 0
        }
    /* An engine exits. Its daemon reports this as it reports a lost node. */
    :: atomic { count < FAULTS -> count++; select(i : 0 .. NODES - 1);
            if
            :: RUNS(i) -> engine[i] = false; fail()
            :: else
            fi;
            if
            :: !RUNS(i) || state[i] != TOGETHER
            :: RUNS(i) && state[i] == TOGETHER && IS_HEAD(i) -> degrade(i)
            :: RUNS(i) && state[i] == TOGETHER && !IS_HEAD(i) && CAN_SEND(UP(i)) ->
                got_lost[PEER(UP(i))] = true
            :: else
            fi;
            i = 0
        }
    :: atomic { freezes < FREEZES -> freezes++; select(i : 0 .. NODES - 1); frozen[i] = true; i = 0 }
    /* A node that wakes does not count the time of its freeze as the others' silence. */
    :: atomic { frozen[0] -> frozen[0] = false; silence[DOWN(0)] = 0 }
    :: atomic { frozen[1] -> frozen[1] = false; silence[UP(1)] = 0; silence[DOWN(1)] = 0 }
    :: atomic { frozen[2] -> frozen[2] = false; silence[UP(2)] = 0 }
    od
}

#define MUST_GO(i) (CAN_GO(i) && (go_before[i] == 0 || (FENCED(i) && (IS_HEAD(i) || !said[i]))))
#define DUE(i)     (RUNS(i) && (HAS_FRAME(UP(i)) || HAS_FRAME(DOWN(i)) || IS_LOST(UP(i)) || \
                                IS_LOST(DOWN(i)) || MUST_GO(i)))
#define COUNTS(side) (held[side] > 0 || (open[side] && silence[side] <= TIMEOUT))
#define TIME_MATTERS (COUNTS(1) || COUNTS(2) || COUNTS(3) || COUNTS(4) || go_after[0] > 0 || \
                      go_after[1] > 0 || go_after[2] > 0 || go_before[0] > 0 || \
                      go_before[1] > 0 || go_before[2] > 0)

proctype clock()
{
    byte s;

    do
    :: atomic {
            !DUE(0) && !DUE(1) && !DUE(2) && TIME_MATTERS ->
            for (s : 1 .. SIDES - 2) {
                LESS(held[s]);
                LESS(given[s]);
                silence[s] = (open[s] -> MIN(silence[s] + 1, TIMEOUT + 1) : 0)
            }
            for (s : 0 .. NODES - 1) {
                LESS(go_after[s]);
                LESS(go_before[s])
            }
            since = (failed && !frozen[0] && !frozen[1] && !frozen[2] -> MIN(since + 1, BOUND) : 0);
            for (s : 0 .. NODES - 1) {
                assert(since < BOUND || state[s] == ALONE || state[s] == DEAD)
            }
            s = 0
        }
    od
}

init
{
    byte i;

    atomic {
        for (i : 1 .. SIDES - 2) {
            open[i] = true
        }
        for (i : 0 .. NODES - 1) {
            engine[i] = true;
            run node(i)
        }
        i = 0;
        run beats();
        run faults();
        run clock()
    }
}
