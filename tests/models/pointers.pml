/* SPDX-License-Identifier: MIT */
/*
 * The record of shared file pointers: a log that the nodes of a mount share, and append to under an
 * exclusive lock. A process may be arbitrarily slow, so it may freeze between any two steps and
 * return. A node may die at any step. Then the kernel releases its locks, and half of its last
 * write is in the file. The filesystem's server may take the lock away from a frozen holder.
 *
 * A run checks one part of the protocol:
 *
 *   (none)      takes, seeks, reads without the lock, and snapshots that replace a long log
 *   -DTURNS     contributions to "ordered": opened, placed at their turn, skipped, dropped
 *   -DENDS      two mounts that use one name: joining, exiting, removing the file
 *
 * Bounds: NODES, OPERATIONS of each node, CRASHES, EVICTIONS. Larger bounds for runs by hand:
 * -DOPERATIONS=3, -DNODES=3 -DOPERATIONS=1 -DCRASHES=2; -DTURNS -DNODES=3.
 *
 * Variants that spin must refute:
 *
 *   -DDECIDE_EARLY     a node decides before it has read to the end
 *   -DWRITE_LATE       a node writes after it has released the lock
 *   -DAPPLY_TORN       a torn entry is valid
 *   -DANY_GENERATION   an entry of another generation is valid
 *   -DANY_ATTEMPT      an entry that an unfinished snapshot has left behind is valid
 *   -DKEEP_WRITING     a node finishes a snapshot although the lock may have been taken away
 *   -DLOOK_ONCE -DOPERATIONS=3   a read without the lock does not read the headers again
 *   -DTURNS -DEXCLUDE_UNSEEN   a node excludes another one without checking again under the lock
 *   -DTURNS -DPLACE_UNSEEN     a node places a contribution without checking again under the lock
 *   -DTURNS -DNO_SKIP          no node skips missing ranks when a node leaves (a deadlock)
 *   -DENDS -DEND_EARLY         a node removes the record while another node lives
 *   -DENDS -DJOIN_LATE         a node joins the record only when it first needs it
 *   -DENDS -DNO_LINK_CHECK     a node goes on with a file that was removed
 *   -DENDS -DANY_IDENTITY      a node uses the record of another mount
 */

#ifdef ENDS
#define NODES 3
#endif
#ifndef NODES
#define NODES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef EVICTIONS
#define EVICTIONS 1
#endif

#define FREE 255

bool alive[NODES];
bool finished[NODES];

/* Checks that no run ends while a live node waits. */
active proctype monitor()
{
    byte i;

    timeout ->
    for (i : 0 .. NODES - 1) {
        assert(finished[i] || !alive[i])
    }
}

#if !defined(TURNS) && !defined(ENDS)

#ifndef OPERATIONS
#define OPERATIONS 2
#endif

#define SLOTS 4 /* entries that fit in a generation's log; a log of LONG entries is replaced */
#define LONG  2

/*
 * The file. The logs of generations alternate between two places. A checksum is modelled without
 * collisions: it encodes the checksum of the header and all entries up to this one.
 */
byte code[2 * SLOTS]; /* an entry: 1 + the position that it sets */
int sum[2 * SLOTS];   /* 0: torn, or never written */
byte newest[2];       /* the headers: a generation; 0: torn */
byte length[2];       /* the number of entries of that generation's snapshot */

byte lock = FREE;
bool writing; /* the lock's holder is within a write */
bool late[NODES]; /* the lock may have been taken away */

/* The result of the committed operations. */
byte truth;        /* the position */
byte granted;      /* the set of positions granted since the last seek */
byte past[NODES];  /* the set of positions while a node reads without the lock */

#define SLOT(i) ((generation % 2) * SLOTS + (i))

#ifdef ANY_ATTEMPT
#define SUM_OF(generation, entries) (4 * (generation))
#else
#define SUM_OF(generation, entries) (4 * (generation) + (entries))
#endif
#define HEADER_SUM(i)           SUM_OF(newest[i], length[i])
#define NEXT_SUM(chain, entry) (8 * (chain) + (entry))

#if defined(ANY_GENERATION)
#define IS_NEXT(i) (sum[i] != 0)
#elif defined(APPLY_TORN)
#define IS_NEXT(i) (code[i] != 0 && (sum[i] == 0 || sum[i] == NEXT_SUM(chain, code[i])))
#else
#define IS_NEXT(i) (code[i] != 0 && sum[i] == NEXT_SUM(chain, code[i]))
#endif

/* Goes to the beginning of the newest generation, if the node has not read that one yet. */
inline read_header()
{
    place = (newest[0] > newest[1] -> 0 : 1);
    if
    :: newest[place] != generation ->
        generation = newest[place];
        chain = HEADER_SUM(place);
        at = 0;
        position = 0
    :: else
    fi;
    place = 0
}

#define HAS_ENTRY (at < SLOTS && IS_NEXT(SLOT(at)))

inline read_entry()
{
    chain = NEXT_SUM(chain, code[SLOT(at)]);
    position = code[SLOT(at)] - 1;
    at++
}

inline read_record()
{
    read_header();
    do
    :: HAS_ENTRY -> read_entry()
    :: else -> break
    od
}

/* Writes the first half of an entry. */
inline begin_entry(i)
{
    writing = true;
    code[i] = 1;
    sum[i] = 0
}

inline end_entry(i, value)
{
    writing = false;
    code[i] = 1 + value;
    chain = NEXT_SUM(chain, code[i]);
    sum[i] = chain
}

inline decide()
{
    if
    :: is_seek -> value = 0
    :: else -> value = position + 1
    fi
}

/* Called when the entry is complete. At this moment the operation takes effect. */
inline commit()
{
    if
    :: is_seek -> granted = 0
    :: else ->
        assert(value == truth + 1); /* the decision was based on the current position */
        assert((granted & (1 << truth)) == 0);
        granted = granted | (1 << truth)
    fi;
    truth = value;
    position = value;
    at++;
    for (i : 0 .. NODES - 1) {
        past[i] = past[i] | (1 << truth)
    }
    i = 0
}

inline unlock()
{
    if
    :: lock == me -> lock = FREE
    :: else /* the lock was taken away */
    fi
}

proctype node(byte me)
{
    byte generation, at, position, place, value, done, i;
    bool is_seek;
    int chain;

next:
    atomic {
        alive[me] ->
        is_seek = false;
        if
        :: done == OPERATIONS -> finished[me] = true; goto end
        :: done < OPERATIONS -> done++
        :: done < OPERATIONS -> done++; is_seek = true
        :: done < OPERATIONS -> done++; past[me] = 1 << truth; goto look
        fi
    }
#ifdef DECIDE_EARLY
    atomic { alive[me] -> decide() }
#endif
retry:
    atomic { alive[me] && lock == FREE -> lock = me; late[me] = false }
    atomic { alive[me] -> read_record() }
#ifndef DECIDE_EARLY
    atomic { alive[me] -> decide() }
#endif
#ifdef WRITE_LATE
    atomic { alive[me] -> unlock() }
#endif
    atomic {
        alive[me] ->
        if
        :: late[me] -> unlock(); generation = 0; goto retry
        :: !late[me] && at == SLOTS -> goto release
        :: else -> begin_entry(SLOT(at))
        fi
    }
    atomic { alive[me] -> end_entry(SLOT(at), value); commit() }
    /* A snapshot has one entry, or none if the position is the first one. */
    atomic {
        alive[me] ->
        place = (generation + 1) % 2;
        if
        :: at < LONG || late[me] -> goto release
        :: at >= LONG && !late[me] && position == 0 -> goto header
        :: else -> begin_entry(place * SLOTS)
        fi
    }
    atomic {
        alive[me] ->
        chain = SUM_OF(generation + 1, 1);
        end_entry(place * SLOTS, position)
    }
header:
    atomic {
        alive[me] ->
        if
#ifndef KEEP_WRITING
        :: late[me] -> generation = 0; goto release
#endif
        :: else -> writing = true; newest[place] = 0
        fi
    }
    atomic {
        alive[me] ->
        writing = false;
        generation++;
        newest[place] = generation;
        length[place] = (position > 0 -> 1 : 0);
        at = length[place];
        chain = HEADER_SUM(place);
        if
        :: at > 0 -> chain = NEXT_SUM(chain, 1 + position)
        :: else
        fi
    }
release:
    atomic { alive[me] -> unlock(); place = 0; value = 0 }
    goto next;

look:
    atomic { alive[me] -> read_header() }
    do
    :: atomic { alive[me] && HAS_ENTRY -> read_entry() }
    :: atomic {
            alive[me] && !HAS_ENTRY ->
#ifndef LOOK_ONCE
            place = (newest[0] > newest[1] -> 0 : 1);
            if
            :: newest[place] != generation -> goto look
            :: else
            fi;
#endif
            place = 0;
            assert((past[me] & (1 << position)) != 0); /* it was the position during the read */
            past[me] = 0;
            goto next
        }
    od;
end:
    skip
}

active proctype faults()
{
    byte n, crashes, evictions;

    do
    :: atomic {
            crashes < CRASHES ->
            crashes++;
            select(n : 0 .. NODES - 1);
            alive[n] = false;
            past[n] = 0;
            if
            :: lock == n -> lock = FREE; writing = false
            :: else
            fi;
            n = 0
        }
    :: crashes < CRASHES -> crashes++ /* one crash fewer */
    :: evictions < EVICTIONS -> evictions++
    :: atomic {
            evictions < EVICTIONS && lock != FREE && !writing ->
            evictions++;
            late[lock] = true;
            lock = FREE
        }
    od
}

init
{
    byte n;

    atomic {
        newest[1] = 1;
        for (n : 0 .. NODES - 1) {
            alive[n] = true;
            run node(n)
        }
        n = 0
    }
}
#endif

#ifdef TURNS

/*
 * Entries are appended atomically and never replaced; the other part checks that. Any node may be
 * found silent at any time, whatever its heartbeat counter is.
 */

#ifndef OPENS
#define OPENS 2 /* contributions of each node, which opens for the rank of its number */
#endif
#define NUMBERS (2 * NODES)
#define LOG     (6 * NODES + 2)
#define NOBODY  15

mtype = { OPEN, TURN, LEAVE, EXCLUDE };

typedef entry {
    mtype kind;
    byte number;
    byte who;
}

typedef contributions {
    byte turn;
    byte owner[NUMBERS]; /* 1 + node; NOBODY: dropped; 0: not open */
    byte leaving;        /* a set of nodes */
}

entry log[LOG];
byte last; /* the number of entries, without those that all live nodes have read */
byte at[NODES]; /* the number of these entries that a node has read */
byte lock = FREE;

/* The committed operations, without the rules by which turns advance. */
mtype = { NEVER, STARTED, OVER, DROPPED };
mtype was[NUMBERS] = NEVER;
byte by[NUMBERS];
byte placed; /* 1 + the number of the last contribution that was placed */

inline find_first(state)
{
    k = state.turn;
    do
    :: k < NUMBERS && state.owner[k] == 0 -> k++
    :: else -> break
    od
}

/* Sets j to an open contribution of a leaving node, or to NUMBERS if there is none. */
inline find_leaving(state)
{
    j = 0;
    do
    :: j < NUMBERS && (state.owner[j] == 0 || state.owner[j] == NOBODY ||
                       (state.leaving & (1 << (state.owner[j] - 1))) == 0) -> j++
    :: else -> break
    od
}

/* Advances the turn past dropped contributions, and past ranks that are skipped. */
inline settle(state)
{
    do
    :: true ->
        find_first(state);
#ifdef NO_SKIP
        j = NUMBERS;
#else
        find_leaving(state);
#endif
        if
        :: k < NUMBERS && k == state.turn && state.owner[k] == NOBODY ->
            state.owner[k] = 0;
            state.turn++
        :: k < NUMBERS && k > state.turn && j < NUMBERS -> state.turn = k
        :: else -> break
        fi
    od;
    k = 0;
    j = 0
}

inline apply(state, e)
{
    if
    :: e.kind == OPEN -> state.owner[e.number] = 1 + e.who
    :: e.kind == TURN ->
        state.owner[e.number] = 0;
        state.turn = e.number + 1
    :: e.kind == LEAVE -> state.leaving = state.leaving | (1 << e.who)
    :: e.kind == EXCLUDE ->
        for (k : 0 .. NUMBERS - 1) {
            if
            :: state.owner[k] == 1 + e.who -> state.owner[k] = NOBODY
            :: else
            fi
        }
    fi;
    settle(state)
}

inline forget()
{
    k = 0;
    do
    :: k == NODES && last > 0 ->
        for (j : 1 .. last - 1) {
            log[j - 1].kind = log[j].kind;
            log[j - 1].number = log[j].number;
            log[j - 1].who = log[j].who
        }
        last--;
        log[last].kind = 0;
        log[last].number = 0;
        log[last].who = 0;
        for (k : 0 .. NODES - 1) {
            at[k] = (at[k] > 0 -> at[k] - 1 : 0)
        }
        k = 0
    :: k < NODES && (at[k] > 0 || !alive[k] || finished[k]) -> k++
    :: else -> break
    od;
    k = 0;
    j = 0
}

inline read_record()
{
    do
    :: at[me] < last -> apply(state, log[at[me]]); at[me]++
    :: else -> break
    od;
    forget()
}

inline append(what, n, sender)
{
    log[last].kind = what;
    log[last].number = n;
    log[last].who = sender;
    last++;
    read_record()
}

/* Sets number to that of the next contribution of this node's rank. */
inline find_number()
{
    number = state.turn - state.turn % NODES + me;
    if
    :: number < state.turn -> number = number + NODES
    :: else
    fi;
    do
    :: number < NUMBERS && state.owner[number] != 0 -> number = number + NODES
    :: else -> break
    od
}

#define OWNER    (state.turn < NUMBERS -> state.owner[state.turn] : 0)
#define MY_TURN  (OWNER == 1 + me)
#define WAITS_FOR_NODE (OWNER != 0 && OWNER != NOBODY && !MY_TURN)

inline count_own()
{
    own = 0;
    for (k : 0 .. NUMBERS - 1) {
        own = own + (state.owner[k] == 1 + me -> 1 : 0)
    }
    k = 0
}

/* Checks that no contribution with a lower number is open. */
inline check_order(n)
{
    for (k : 0 .. NUMBERS - 1) {
        assert(k >= n || was[k] != STARTED)
    }
    k = 0
}

inline drop_all(n)
{
    for (k : 0 .. NUMBERS - 1) {
        if
        :: was[k] == STARTED && by[k] == n -> was[k] = DROPPED
        :: else
        fi
    }
    k = 0
}

#define ACQUIRE alive[me] && lock == FREE -> lock = me; read_record()
#define RELEASE number = 0; other = 0; lock = FREE

proctype node(byte me)
{
    contributions state;
    byte k, j, number, other, opens, own;
    bool left, has_placed, hurries;

    atomic {
        if
        :: hurries = true
        :: skip
        fi
    }
    do
    /* The node reads the record without the lock. */
    :: atomic { alive[me] && at[me] < last -> read_record(); count_own() }

    :: atomic { alive[me] && opens < OPENS && !left && lock == FREE -> opens++; ACQUIRE }
        atomic {
            alive[me] ->
            find_number();
            if
            :: number < NUMBERS ->
                assert(was[number] == NEVER);
                was[number] = STARTED;
                by[number] = me;
                append(OPEN, number, me)
            :: else
            fi;
            count_own();
            RELEASE
        }

    /* The node places bytes of its contribution, whose turn it is by what it has read, and then
       finishes it. */
    :: atomic { alive[me] && MY_TURN && !has_placed -> number = state.turn }
        atomic { ACQUIRE }
        atomic {
            alive[me] ->
            if
#ifdef PLACE_UNSEEN
            :: true ->
#else
            :: state.turn == number && MY_TURN ->
#endif
                assert(was[number] == STARTED && by[number] == me);
                assert(1 + number > placed);
                check_order(number);
                placed = 1 + number;
                has_placed = true
            :: else
            fi;
            count_own();
            RELEASE
        }
    :: atomic { alive[me] && MY_TURN && has_placed -> number = state.turn }
        atomic { ACQUIRE }
        atomic {
            alive[me] ->
            has_placed = false;
            if
            :: state.turn == number && MY_TURN ->
                assert(was[number] == STARTED);
                was[number] = OVER;
                append(TURN, number, me)
            :: else
            fi;
            count_own();
            RELEASE
        }

    /* The node waits for another node's turn, and excludes that node. */
    :: atomic { alive[me] && own > 0 && WAITS_FOR_NODE -> other = OWNER - 1 }
        atomic { ACQUIRE }
        atomic {
            alive[me] ->
            if
#ifdef EXCLUDE_UNSEEN
            :: true ->
#else
            :: OWNER == 1 + other ->
#endif
                find_first(state);
                assert(k < NUMBERS && was[k] == STARTED && by[k] == other);
                check_order(k);
                drop_all(other);
                append(EXCLUDE, 0, other)
            :: else
            fi;
            count_own();
            RELEASE
        }

    /* The node leaves: at any time if it hurries; else after its last contribution, or when it
       waits for a missing rank. */
    :: atomic {
            alive[me] && !left && lock == FREE &&
                (hurries || (opens == OPENS && (own == 0 || OWNER == 0))) ->
            left = true;
            ACQUIRE
        }
        atomic { alive[me] -> append(LEAVE, 0, me); count_own(); RELEASE }

    /* The node exits: after all of its contributions, or at any time if it hurries. */
    :: atomic { alive[me] && left && lock == FREE && (hurries || own == 0) -> ACQUIRE }
        atomic {
            alive[me] ->
            drop_all(me);
            finished[me] = true;
            append(EXCLUDE, 0, me);
            RELEASE;
            break
        }
    od
}

active proctype faults()
{
    byte n, crashes;

    do
    :: atomic {
            crashes < CRASHES ->
            crashes++;
            select(n : 0 .. NODES - 1);
            alive[n] = false;
            if
            :: lock == n -> lock = FREE
            :: else
            fi;
            n = 0
        }
    :: crashes < CRASHES -> crashes++ /* one crash fewer */
    od
}

init
{
    byte n;

    atomic {
        for (n : 0 .. NODES - 1) {
            alive[n] = true;
            run node(n)
        }
        n = 0
    }
}
#endif

#ifdef ENDS

/*
 * Nodes 0 and 1 belong to mount A. Node 2 is the only node of mount B that needs the record. The
 * model has the resulting state of a log instead of its entries: a position, and the number of
 * nodes that have exited.
 */

#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#define FILES    4
#define NONE     255
#define MOUNT(n) ((n) / 2)

typedef file {
    byte identity; /* 1 + the mount; 0: the file is empty */
    byte position;
    byte exits;
    byte lock;
    byte joined; /* the set of nodes that have locked their bytes */
}

file files[FILES];
byte made;        /* the number of files */
byte name = NONE; /* the file that the name refers to */
byte truth[2];    /* by mount: the position that its nodes have reached */
bool met[2];      /* by mount: its first node has tried to create or join the record */

#define FILE files[fd]

inline release(n)
{
    for (f : 0 .. FILES - 1) {
        if
        :: files[f].lock == n -> files[f].lock = FREE
        :: else
        fi;
        files[f].joined = files[f].joined & ~(1 << n)
    }
    f = 0
}

/* Opens the record by its name if it is not open, joins it, and locks it; else sets error. */
inline lock_record(creates)
{
    error = false;
    do
    :: true ->
        atomic {
            alive[me] ->
            if
            :: fd == NONE && name == NONE && creates ->
                assert(made < FILES);
                name = made;
                made++
            :: else
            fi;
            fd = (fd == NONE -> name : fd);
            error = (fd == NONE);
            if
            :: error -> break
            :: else
            fi
        };
        atomic { alive[me] && FILE.lock == FREE -> FILE.lock = me };
        atomic {
            alive[me] ->
            if
#ifdef NO_LINK_CHECK
            :: false ->
#else
            :: name != fd ->
#endif
                error = has_joined; /* it was removed; before joining, opens the name again */
                FILE.lock = FREE;
                fd = (error -> fd : NONE);
                again = !error
            :: else -> again = false
            fi;
            if
            :: again || error
            :: !again && !error && has_joined
            :: !again && !error && !has_joined && FILE.identity == 0 && !creates ->
                error = true
            :: !again && !error && !has_joined && FILE.identity == 0 && creates ->
                FILE.identity = 1 + MOUNT(me);
                has_joined = true
            :: !again && !error && !has_joined && FILE.identity == 1 + MOUNT(me) ->
                has_joined = true
            :: !again && !error && !has_joined && FILE.identity == 2 - MOUNT(me) ->
#ifdef ANY_IDENTITY
                has_joined = true
#else
                /* The file is another mount's record, either in use or left behind. */
                if
                :: FILE.joined != 0 -> error = true
                :: else ->
                    name = (name == fd -> NONE : name);
                    again = true
                fi;
                FILE.lock = FREE;
                fd = NONE
#endif
            fi;
            if
            :: has_joined && !error -> FILE.joined = FILE.joined | (1 << me)
            :: error && fd != NONE && FILE.lock == me -> FILE.lock = FREE
            :: else
            fi;
            if
            :: again
            :: else -> break
            fi
        }
    od
}

proctype node(byte me)
{
    byte fd = NONE, done;
    bool has_joined, error, again;

    /* Mounting: the first node creates the record, the others prove that they can use it. */
    if
    :: me != 1 ->
        lock_record(true);
        atomic {
            alive[me] ->
            met[MOUNT(me)] = true;
            if
            :: error -> goto end
            :: else -> FILE.lock = FREE
            fi
        }
    :: else ->
        atomic { (alive[me] && met[0]) || !alive[0] }
#ifndef JOIN_LATE
        lock_record(false);
        atomic {
            alive[me] ->
            if
            :: error -> goto end
            :: else -> FILE.lock = FREE
            fi
        }
#endif
    fi;

    do
    :: atomic { alive[me] && done < OPERATIONS -> done++ }
#ifdef JOIN_LATE
        lock_record(true);
#else
        lock_record(false);
#endif
        atomic {
            alive[me] ->
            if
            :: error -> assert(!has_joined) /* no node removes it before the last one has exited */
            :: else ->
                assert(name == fd);                          /* the file was not removed */
                assert(FILE.identity == 1 + MOUNT(me));      /* the file is this mount's */
                assert(FILE.position == truth[MOUNT(me)]);   /* no position is granted twice */
                FILE.position++;
                truth[MOUNT(me)]++;
                FILE.lock = FREE
            fi
        }
    :: atomic { alive[me] && done <= OPERATIONS -> done = OPERATIONS + 1 }
        lock_record(false);
        atomic {
            alive[me] ->
            if
            :: error
            :: else ->
                FILE.exits++;
                if
#ifdef END_EARLY
                :: true -> name = NONE
#else
                :: FILE.exits == 2 - MOUNT(me) -> name = NONE
#endif
                :: else
                fi;
                FILE.lock = FREE
            fi;
            goto end
        }
    od;
end:
    atomic {
        alive[me] ->
        if
        :: fd != NONE -> FILE.joined = FILE.joined & ~(1 << me)
        :: else
        fi;
        finished[me] = true
    }
}

active proctype faults()
{
    byte n, f, crashes;

    do
    :: atomic {
            crashes < CRASHES ->
            crashes++;
            select(n : 0 .. NODES - 1);
            alive[n] = false;
            release(n);
            n = 0
        }
    :: crashes < CRASHES -> crashes++ /* one crash fewer */
    od
}

init
{
    byte n;

    atomic {
        for (n : 0 .. FILES - 1) {
            files[n].lock = FREE
        }
        for (n : 0 .. NODES - 1) {
            alive[n] = true;
            run node(n)
        }
        n = 0
    }
}
#endif
