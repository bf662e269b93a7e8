/* SPDX-License-Identifier: MIT */
/*
 * The fence around stores: once node A goes on alone, node B's engine must not store. B's daemon
 * and its engine are separate processes. Each may freeze at any step and return, and the daemon may
 * die. The connection may be cut, so that no message arrives in either direction. It may end because
 * the daemon has died, or by an error at A alone. B has no other connection. One clock counts down
 * all times, because only durations matter.
 *
 * Assumptions: an unfrozen daemon handles what has arrived before a tick passes. An unfrozen engine
 * leaves the fence within peer_timeout, and exits within a tick if its daemon has died.
 *
 * Bounds: TIMEOUT, FREEZES, FAULTS. Larger bounds for runs by hand: -DTIMEOUT=8 -DFREEZES=3.
 *
 * Options:
 *
 *   -DNO_LOCKS         the filesystem has no locks; no step of an unfrozen engine takes a tick
 *
 * Variants that spin must refute:
 *
 *   -DNO_LOCK          the engine takes no lock
 *   -DLOOK_THEN_LOCK   the engine checks its lease before it has the lock
 *   -DNO_WAKE_CHECK    the engine does not check its lease when it wakes in the middle of a store
 *   -DNO_LOCKS -DFENCED_EARLY   the daemon reports FENCED before its engine has exited
 *   -DLEASE_FROM_ECHO  the lease counts from the arrival of the echo, not from the sending of the
 *                      beat
 *   -DGO_EARLY         A does not wait before it goes on
 *   -DGO_SETTLED       A waits for SETTLE, although its promise to B is longer
 */

#ifndef TIMEOUT
#define TIMEOUT 4 /* ticks: peer_timeout */
#endif
#ifndef FREEZES
#define FREEZES 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#define MARGIN (TIMEOUT / 4)
#define SETTLE (TIMEOUT / 4)
#define LEASE  (TIMEOUT - MARGIN)
#define NONE   255

mtype = { TOGETHER, DEGRADING, AWAITS_LOCK, ALONE };              /* node A */
mtype = { IDLE, LOCKED, CHECKED, AWAITS_LEASE, GONE };            /* the engine */

/* Node A. */
mtype a = TOGETHER;
byte silence;             /* ticks since A heard B */
byte promised;            /* ticks for which A has promised not to act */
byte go_after, go_before; /* ticks */
bool ended;               /* A sees the end of the connection */
bool broken;              /* by an error, not because B has closed it */
bool closed;              /* A has closed the connection, or treats it as closed */
bool fenced;              /* B has reported FENCED */
byte lock_wait;

/* Between them. */
bool cut;
byte beat = NONE, echo = NONE; /* in transit: ticks since the beat was sent */
bool told;                     /* DEGRADED, or the end of the connection, has arrived at B */

/* Node B. */
bool daemon_alive = true, daemon_frozen, degraded;
byte lease;
mtype engine = IDLE;
bool engine_frozen, engine_woke, has_lock;

#define MAX(x, y) ((x) > (y) -> (x) : (y))
#define LESS(x)   x = ((x) > 0 -> (x) - 1 : 0)

/* A closes the connection, and waits until B has noticed, or has no lease (await_fencing). */
inline close_connection()
{
    closed = true;
    told = told || !cut;
    go_after = MAX(go_after, SETTLE);
#ifdef GO_EARLY
    go_after = 0;
#elif !defined(GO_SETTLED)
    if
    :: !ended || broken -> go_after = MAX(go_after, promised)
    :: else
    fi;
#endif
    ended = false;
    broken = false
}

inline degrade_a()
{
    a = DEGRADING;
    go_before = TIMEOUT
}

active proctype node_a()
{
    do
    :: atomic {
            beat != NONE && !closed ->
            silence = 0;
            if
            :: a == TOGETHER && !cut ->
                echo = beat;
                promised = TIMEOUT
            :: else
            fi;
            beat = NONE
        }
    /* A declares B failed, because B is silent or the connection has ended. */
    :: atomic {
            (a == TOGETHER || a == DEGRADING) && !closed && (silence > TIMEOUT || ended) ->
            if
            :: a == TOGETHER -> degrade_a()
            :: else
            fi;
            close_connection()
        }
    /* A degrades for another reason: its engine has exited, or a flush stalls. */
    :: atomic { a == TOGETHER -> degrade_a(); told = told || !cut }
    :: atomic {
            a == DEGRADING && go_after == 0 && (closed || fenced || go_before == 0) ->
            a = AWAITS_LOCK;
            lock_wait = TIMEOUT
        }
    :: atomic { a == AWAITS_LOCK && (!has_lock || lock_wait == 0) -> a = ALONE }
    od
}

inline end_engine()
{
    engine = GONE;
    has_lock = false;
    engine_woke = false
}

#define DAEMON_RUNS (daemon_alive && !daemon_frozen)

active proctype daemon_b()
{
    byte silent; /* B has found A silent for peer_timeout. With a cut it may find so at any time. */

    do
    :: atomic { DAEMON_RUNS && !degraded && beat == NONE && !cut -> beat = 0 }
    :: atomic {
            DAEMON_RUNS && echo != NONE ->
            if
            :: !degraded ->
#ifdef LEASE_FROM_ECHO
                lease = LEASE
#else
                lease = MAX(lease, (LEASE > echo -> LEASE - echo : 0))
#endif
            :: else
            fi;
            echo = NONE
        }
    :: atomic { DAEMON_RUNS && !degraded && told -> goto degrade }
    :: atomic { DAEMON_RUNS && !degraded && cut -> silent = true; goto degrade }
    od;
degrade:
    atomic { DAEMON_RUNS -> degraded = true; lease = 0 }
#ifdef FENCED_EARLY
    atomic { DAEMON_RUNS -> fenced = fenced || (!cut && !silent) }
#endif
    atomic { DAEMON_RUNS -> end_engine() }
#ifndef FENCED_EARLY
    atomic { DAEMON_RUNS -> fenced = fenced || (!cut && !silent) }
#endif
}

#define ENGINE_RUNS (engine != GONE && !engine_frozen && !engine_woke)

#if defined(NO_LOCK) || defined(NO_LOCKS)
#define take_lock() skip
#else
#define take_lock() has_lock = true
#endif

active proctype engine_b()
{
    do
#ifdef LOOK_THEN_LOCK
    :: atomic { ENGINE_RUNS && engine == IDLE && lease > 0 -> engine = LOCKED }
    :: atomic { ENGINE_RUNS && engine == LOCKED -> take_lock(); engine = CHECKED }
#else
    :: atomic { ENGINE_RUNS && engine == IDLE -> take_lock(); engine = LOCKED }
    :: atomic { ENGINE_RUNS && engine == LOCKED && lease > 0 -> engine = CHECKED }
    :: atomic {
            ENGINE_RUNS && engine == LOCKED && lease == 0 ->
            has_lock = false;
            engine = AWAITS_LEASE
        }
    :: atomic { ENGINE_RUNS && engine == AWAITS_LEASE && lease > 0 -> take_lock(); engine = LOCKED }
#endif
    /* The engine makes one of several storing calls within the fence. */
    :: atomic {
            ENGINE_RUNS && engine == CHECKED ->
            assert(a != ALONE);
            if
            :: engine = LOCKED
            :: has_lock = false; engine = IDLE
            fi
        }
    /* When the engine wakes, it first handles signals: its daemon's exit, and its own return. */
    :: atomic {
            engine_woke && !engine_frozen ->
            engine_woke = false;
            if
            :: !daemon_alive -> end_engine()
#ifndef NO_WAKE_CHECK
            :: daemon_alive && lease == 0 && (engine == LOCKED || engine == CHECKED) ->
                has_lock = false;
                engine = AWAITS_LEASE
#endif
            :: else
            fi
        }
    :: atomic { ENGINE_RUNS && !daemon_alive -> end_engine() }
    od
}

active proctype faults()
{
    byte freezes, count;

    do
    :: atomic { count < FAULTS && !cut -> count++; cut = true; beat = NONE; echo = NONE }
    :: atomic { count < FAULTS && daemon_alive -> count++; daemon_alive = false; ended = !cut }
    :: atomic {
            count < FAULTS && !closed && !ended ->
            count++;
            ended = true;
            broken = true;
            cut = true;
            beat = NONE;
            echo = NONE
        }
    :: atomic { freezes < FREEZES && DAEMON_RUNS -> freezes++; daemon_frozen = true }
    :: atomic { daemon_frozen -> daemon_frozen = false }
    :: atomic { freezes < FREEZES && ENGINE_RUNS -> freezes++; engine_frozen = true }
    :: atomic { engine_frozen -> engine_frozen = false; engine_woke = (engine != GONE) }
    od
}

/* Steps that must happen before the next tick. */
#define IS_DUE ((DAEMON_RUNS && told && !degraded) || \
                (DAEMON_RUNS && degraded && engine != GONE) || \
                (engine_woke && !engine_frozen) || \
                (ENGINE_RUNS && !daemon_alive) || \
                (ENGINE_RUNS && has_lock && lock_wait == 1) || \
                (NO_LOCKS_DUE))
#ifdef NO_LOCKS
#define NO_LOCKS_DUE (ENGINE_RUNS && engine == CHECKED)
#else
#define NO_LOCKS_DUE false
#endif

/* Ticks as long as any step depends on the time. */
active proctype clock()
{
    do
    :: atomic {
            !IS_DUE && a != ALONE ->
            silence = (silence > TIMEOUT -> silence : silence + 1);
            LESS(promised);
            LESS(go_after);
            LESS(go_before);
            LESS(lock_wait);
            LESS(lease);
            beat = (beat == NONE || beat >= LEASE -> beat : beat + 1);
            echo = (echo == NONE || echo >= LEASE -> echo : echo + 1)
        }
    :: atomic { !IS_DUE && a == ALONE && lease > 0 -> LESS(lease) }
    od
}
