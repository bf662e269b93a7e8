/* SPDX-License-Identifier: MIT */
/*
 * Close-to-open across a flush epoch. Node 0 writes, another node reads, and all three nodes take
 * part in each epoch. Spin chooses the reader, and the home of the block. The block is modelled as
 * two halves, which the home stores one after the other, however slowly. The reader opens, samples
 * the file's version, and may keep pages for it. The home's engine may die at any step; then all
 * nodes degrade, and the writer stores by itself.
 *
 * On a network filesystem, attributes may be old while the nodes store together. Degraded nodes get
 * no FINISHED. They rely on the filesystem: an open sees the attributes of the last close.
 *
 * Bounds: WRITES, OPENS, EPOCHS, DEATHS of engines. Tests also run -DEPOCHS=2 -DDEATHS=0. Larger
 * bounds for runs by hand: -DEPOCHS=2, -DEPOCHS=2 -DWRITES=2 -DOPENS=3.
 *
 * Variants that spin must refute:
 *
 *   -DEND_OF_PART      a node concludes when its own engine has returned, not upon FINISHED
 *   -DDONE_EARLY       a daemon sends DONE when it has handed the epoch to its engine
 *   -DRESULT_EARLY     the home returns the outcome when it has begun to store
 *   -DANSWER_ANY       an epoch also completes requests that were made while it was under way
 *   -DKEEPS_ALWAYS     a version settles even while an epoch is under way
 *   -DNO_CHANGE        FINISHED does not count as a change
 *   -DCOUNT_FIRST      a version settles although FINISHED arrived while it was sampled
 *   -DGO_EARLY -DWRITES=2   a node stores alone before the home's engine has exited
 */

#define NODES 3
#ifndef WRITES
#define WRITES 1
#endif
#ifndef OPENS
#define OPENS 2
#endif
#ifndef EPOCHS
#define EPOCHS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif

mtype = { EPOCH, FINISHED, DEGRADED, GO };
mtype = { IDLE, JOINED, RESULT }; /* the state of a node's part of the epoch */

chan down[NODES] = [4] of { mtype }; /* from node 0 to each node, itself included */

/* Node 0 writes; the block's home and the reader are chosen. */
#define writer 0
byte home, reader;

/* The file. */
byte half[2]; /* the number of the write whose bytes are in each half */
byte mtime;   /* changes when a store begins */
bool has_died;

/* Node 0. */
byte epoch, missing;
bool degrading;
byte unfenced;

/* Nodes. */
byte begun[NODES], epochs[NODES], changes[NODES]; /* as in fusefs/storing/flusher.h */
mtype part[NODES] = IDLE;
byte joined[NODES]; /* the last epoch that was handed to the engine */
bool degraded[NODES], alone[NODES], engine_gone[NODES];

/* The writer's node. */
byte written;       /* the number of writes to its slice */
byte frozen, clean; /* the last write that the epoch stores; the last write that is stored */
bool outcome;       /* the home has returned the outcome */
bool waits;         /* a close waits */
byte after;         /* the close waits for an epoch later than this one */
byte closed;        /* the last write whose close has returned */

/* True if all engines have joined the epoch's first collective call. */
#define ALL_JOINED (joined[0] == joined[1] && joined[1] == joined[2])

/* Node n concludes a flush. */
inline conclude(n, number)
{
    if
    :: n == writer && clean >= frozen ->
        assert(half[0] >= frozen && half[1] >= frozen)
    :: else
    fi;
#ifndef NO_CHANGE
    changes[n]++;
#endif
    epochs[n] = number;
    if
#ifdef ANSWER_ANY
    :: n == writer && waits ->
#else
    :: n == writer && waits && (alone[n] || after < number) ->
#endif
        closed = written;
        waits = false;
        assert(half[0] >= closed && half[1] >= closed)
    :: else
    fi
}

/* True if the writer's node has blocks that are not stored. */
#define IS_DIRTY (clean < written)

proctype node(byte me)
{
    do
    :: atomic {
            down[me] ? EPOCH ->
            if
            :: !degraded[me] -> begun[me] = begun[me] + 1
            :: else
            fi
        }
    /* The flusher's thread hands the epoch to the engine. */
    :: atomic {
            begun[me] > epochs[me] && part[me] == IDLE && !degraded[me] ->
            part[me] = JOINED;
            joined[me] = begun[me];
            if
            :: me == writer -> frozen = written; outcome = false
            :: else
            fi;
#ifdef DONE_EARLY
            missing--
#endif
        }
    /* The engine finishes its part. An engine that is neither the home's nor the writer's does not
       wait for the store. */
    :: atomic {
            part[me] == JOINED && !engine_gone[me] && ALL_JOINED &&
                ((me != home && me != writer) || outcome || frozen == clean) ->
            part[me] = RESULT;
            if
            :: me == writer -> clean = frozen
            :: else
            fi;
#ifdef END_OF_PART
            conclude(me, begun[me]);
#endif
#ifndef DONE_EARLY
            missing--
#endif
        }
    :: atomic {
            down[me] ? FINISHED ->
            if
            :: !degraded[me] ->
#ifndef END_OF_PART
                conclude(me, begun[me]);
#endif
                part[me] = IDLE
            :: else
            fi
        }
    :: atomic { down[me] ? DEGRADED -> degraded[me] = true }
    :: atomic {
            degraded[me] && !engine_gone[me] ->
            engine_gone[me] = true;
            unfenced--
        }
    :: atomic { down[me] ? GO -> alone[me] = true }
    /* The writer stores alone, including what the epoch did not store. Each half is one call, which
       changes the file's times. */
    :: atomic { alone[me] && me == writer && IS_DIRTY && half[0] != written ->
            half[0] = written;
            mtime++
        }
    :: atomic { alone[me] && me == writer && IS_DIRTY && half[0] == written ->
            half[1] = written;
            mtime++;
            clean = written;
            conclude(me, epochs[me])
        }
    :: atomic { alone[me] && me == writer && !IS_DIRTY && waits -> conclude(me, epochs[me]) }
    od
}

/* The engine of the block's home. */
proctype engine()
{
    do
    :: atomic {
            !engine_gone[home] && ALL_JOINED && part[home] == JOINED && frozen > clean && !outcome ->
            half[0] = frozen;
            mtime++;
#ifdef RESULT_EARLY
            outcome = true
#endif
        }
        if
        :: atomic { !engine_gone[home] -> half[1] = frozen; outcome = true }
        :: atomic { engine_gone[home] -> break }
        fi
    od
}

/* Node 0, as the root of the tree. */
proctype root()
{
    byte n;

    do
    :: atomic {
            !degrading && missing == 0 && epoch > 0 && epoch % 2 == 1 ->
            epoch++;
            for (n : 0 .. NODES - 1) {
                down[n] ! FINISHED
            }
            n = 0
        }
    /* The writer requests a flush, or a node that flushes periodically does. */
    :: atomic {
            !degrading && epoch % 2 == 0 && epoch < 2 * EPOCHS ->
            epoch++;
            missing = NODES;
            for (n : 0 .. NODES - 1) {
                down[n] ! EPOCH
            }
            n = 0
        }
    :: atomic {
            !degrading && has_died ->
            degrading = true;
            unfenced = NODES;
            for (n : 0 .. NODES - 1) {
                down[n] ! DEGRADED
            }
            n = 0
        }
#ifdef GO_EARLY
    :: atomic { degrading && unfenced < NODES ->
#else
    :: atomic { degrading && unfenced == 0 ->
#endif
            for (n : 0 .. NODES - 1) {
                down[n] ! GO
            }
            n = 0;
            break
        }
    od
}

proctype fault()
{
    atomic { DEATHS > 0 && !degrading -> has_died = true }
}

proctype writing()
{
    do
    :: atomic {
            written < WRITES ->
            written++;
            after = begun[writer];
            waits = true
        }
        !waits
    od
}

proctype reading()
{
    byte opens, floor, seen_changes, seen_mtime, latest;
    byte kept_changes, kept_mtime, kept[2], got[2];
    bool settled, keeps;

    do
    :: opens < OPENS ->
        atomic { opens++; floor = closed; seen_changes = changes[reader] }
        /* The attributes are those of some time since the last sample. */
        atomic {
            if
            :: !degrading -> select(seen_mtime : latest .. mtime)
            :: else -> seen_mtime = mtime
            fi;
            latest = seen_mtime
        }
        atomic {
#ifdef KEEPS_ALWAYS
            settled = true;
#else
            settled = alone[reader] || begun[reader] == epochs[reader];
#endif
#ifndef COUNT_FIRST
            settled = settled && seen_changes == changes[reader];
#endif
            if
            :: settled && keeps && kept_mtime == seen_mtime && kept_changes == seen_changes ->
                got[0] = kept[0];
                got[1] = kept[1];
                goto done
            :: else -> keeps = false
            fi
        }
        got[0] = half[0];
        atomic {
            got[1] = half[1];
            if
            :: settled ->
                keeps = true;
                kept[0] = got[0];
                kept[1] = got[1];
                kept_mtime = seen_mtime;
                kept_changes = seen_changes
            :: else
            fi
        }
done:
        atomic {
            assert(got[0] >= floor && got[1] >= floor);
            got[0] = 0;
            got[1] = 0;
            settled = false
        }
    od
}

init
{
    byte n;

    atomic {
        select(home : 0 .. 1);
        reader = 1;
        if
        :: home == 1 -> reader = 2
        :: skip
        fi;
        for (n : 0 .. NODES - 1) {
            run node(n)
        }
        n = 0;
        run engine();
        run root();
        run fault();
        run writing();
        run reading()
    }
}
