/* SPDX-License-Identifier: MIT */
/*
 * The fence around stores: node A goes on alone, node B's engine must not store any longer. B's
 * daemon and its engine are processes of their own; each may freeze at any step and return, and
 * the daemon may die. The connection may be cut, so that nothing arrives any more in either
 * direction, or end. All times are counted down by one clock, since only durations matter.
 *
 * Assumptions: an unfrozen daemon handles what has arrived before a tick passes, and an unfrozen
 * engine leaves the fence within peer_timeout, and exits within a tick if its daemon has died.
 *
 * Bounds: TIMEOUT, FREEZES, FAULTS. Larger bounds for runs by hand: -DTIMEOUT=8 -DFREEZES=3.
 *
 *   -DNO_LOCKS         the filesystem has no locks; no step of an unfrozen engine takes a tick
 *
 * Variants that spin must refute:
 *
 *   -DNO_LOCK          the engine takes no lock
 *   -DLOOK_THEN_LOCK   it looks at its lease before it has the lock
 *   -DNO_WAKE_CHECK    it does not look at its lease when it wakes in the middle of a store
 *   -DNO_LOCKS -DFENCED_EARLY   the daemon reports FENCED before its engine is gone
 *   -DLEASE_FROM_ECHO  the lease counts from when the echo came, not from when the beat was sent
 *   -DGO_EARLY         A does not wait before it goes on
 *   -DONE_SIDED        a limit of the protocol: the connection ends at A alone. It holds with
 *                      -DKEEP_PROMISE: A goes on when all that it has promised B is over.
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
byte silence;             /* ticks since it heard B */
byte promised;            /* ticks for which it has promised not to act */
byte go_after, go_before; /* ticks */
bool ended;               /* it sees the end of the connection */
bool closed;              /* it has closed the connection, or counts it as closed */
bool fenced;              /* B has reported FENCED */
byte lock_wait;

/* Between them. */
bool cut;
byte beat = NONE, echo = NONE; /* on their way: ticks since the beat was sent */
bool told;                     /* DEGRADED, or the end of the connection, has arrived at B */

/* Node B. */
bool daemon_alive = true, daemon_frozen, degraded;
byte lease;
mtype engine = IDLE;
bool engine_frozen, engine_woke, has_lock;

#define MAX(x, y) ((x) > (y) -> (x) : (y))
#define LESS(x)   x = ((x) > 0 -> (x) - 1 : 0)

/* A sees no end of B any more. */
inline close_connection()
{
    closed = true;
    told = told || !cut;
#ifdef KEEP_PROMISE
    go_after = MAX(go_after, MAX(SETTLE, promised));
#else
    go_after = MAX(go_after, SETTLE);
#endif
#ifdef GO_EARLY
    go_after = 0;
#endif
    ended = false
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
    /* B is declared failed: for its silence, or since the connection has ended. */
    :: atomic {
            (a == TOGETHER || a == DEGRADING) && !closed && (silence > TIMEOUT || ended) ->
            if
            :: a == TOGETHER -> degrade_a()
            :: else
            fi;
            close_connection()
        }
    /* Another reason: A's engine has ended, or a flush stalls. */
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
    byte silent; /* whether A was silent for peer_timeout: it may believe so at any time */

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
    /* A call that stores, of several in one fence. */
    :: atomic {
            ENGINE_RUNS && engine == CHECKED ->
            assert(a != ALONE);
            if
            :: engine = LOCKED
            :: has_lock = false; engine = IDLE
            fi
        }
    /* Signals come first when it wakes: the daemon's end, and its own return. */
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
#ifdef ONE_SIDED
    :: atomic { count < FAULTS && !closed && !ended -> count++; ended = true; cut = true }
#endif
    :: atomic { freezes < FREEZES && DAEMON_RUNS -> freezes++; daemon_frozen = true }
    :: atomic { daemon_frozen -> daemon_frozen = false }
    :: atomic { freezes < FREEZES && ENGINE_RUNS -> freezes++; engine_frozen = true }
    :: atomic { engine_frozen -> engine_frozen = false; engine_woke = (engine != GONE) }
    od
}

/* What must happen before time goes on. */
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

/* Ticks until nothing depends on the time any more. */
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
