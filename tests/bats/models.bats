#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promela models of the protocols (tests/models), checked exhaustively by spin within their bounds.
# Variants that are broken on purpose must be refuted.

load helper

# verify MODEL [FLAG...]: has spin check a model. $said gets its output, and the TAP text a line.
verify() {
    local model=$1
    shift
    mkdir -p check
    said=$(
        cd check || exit
        spin -a "$@" "$top/tests/models/$model.pml" >&2
        gcc "$optimize" -w -DSAFETY -DCOLLAPSE -DMEMLIM=1800 -o pan pan.c
        # Ends of processes are judged by assertions (-E).
        ./pan -E -m20000
    ) || true
    rm -r check
    run -1 grep -E 'search depth too small|out of memory|aborting' <<<"$said"
    awk -v name="$model $*" '
        /states, stored/ { states = $1 }
        /depth reached/ { depth = $6 }
        /errors:/ { errors = $NF }
        END { print "# " name ": " states " states, depth " depth " errors " errors }' <<<"$said" >&3
}

# holds MODEL [FLAG...]: no state violates an assertion, and all states were visited.
holds() {
    optimize=-O1 verify "$@"
    grep -q 'errors: 0$' <<<"$said"
}

# refutes MODEL FLAG...: spin finds a counterexample.
refutes() {
    optimize=-O0 verify "$@" # most of the time is the compiler's
    grep -q '^pan:1: assertion violated' <<<"$said"
}

@test "models: positions of the record are granted once, in order, whatever dies or freezes" {
    holds pointers
    refutes pointers -DDECIDE_EARLY
    refutes pointers -DWRITE_LATE
    refutes pointers -DAPPLY_TORN
    refutes pointers -DANY_GENERATION
    refutes pointers -DANY_ATTEMPT
    refutes pointers -DKEEP_WRITING
    refutes pointers -DLOOK_ONCE -DOPERATIONS=3
}

@test "models: contributions are placed at their turns, and dropped ones are not placed" {
    holds pointers -DTURNS
    refutes pointers -DTURNS -DEXCLUDE_UNSEEN
    refutes pointers -DTURNS -DPLACE_UNSEEN
    refutes pointers -DTURNS -DNO_SKIP
}

@test "models: a record is one mount's, and is removed by its last node" {
    holds pointers -DENDS
    refutes pointers -DENDS -DEND_EARLY
    refutes pointers -DENDS -DJOIN_LATE
    refutes pointers -DENDS -DNO_LINK_CHECK
    refutes pointers -DENDS -DANY_IDENTITY
}

@test "models: no engine stores once a node stores alone" {
    holds fence
    holds fence -DNO_LOCKS
    refutes fence -DNO_LOCK
    refutes fence -DLOOK_THEN_LOCK
    refutes fence -DNO_WAKE_CHECK
    refutes fence -DNO_LOCKS -DFENCED_EARLY
    refutes fence -DLEASE_FROM_ECHO
    refutes fence -DGO_EARLY
}

@test "models: all nodes that live degrade, and none before all leases are over" {
    holds degrade
    refutes degrade -DGO_EARLY
    refutes degrade -DGO_UNFENCED
    refutes degrade -DOWN_PROMISE
    refutes degrade -DNO_SILENCE
}

# What DESIGN.md says in "Heartbeat leases", Limits.
@test "models: an end that one node alone sees in time is a limit, unless promises are kept" {
    refutes fence -DONE_SIDED
    holds fence -DONE_SIDED -DKEEP_PROMISE
    refutes degrade -DONE_SIDED
    holds degrade -DONE_SIDED -DKEEP_PROMISE
    refutes degrade -DFAULTS=2
    refutes degrade -DFREEZES=1
    holds degrade -DFAULTS=2 -DKEEP_PROMISE
    holds degrade -DFREEZES=1 -DKEEP_PROMISE
}

@test "models: nobody is told that a flush is over before its home has stored" {
    holds flush
    holds flush -DEPOCHS=2 -DDEATHS=0
    refutes flush -DEND_OF_PART
    refutes flush -DDONE_EARLY
    refutes flush -DRESULT_EARLY
    refutes flush -DANSWER_ANY
    refutes flush -DKEEPS_ALWAYS
    refutes flush -DNO_CHANGE
    refutes flush -DCOUNT_FIRST
    refutes flush -DGO_EARLY -DWRITES=2
}
