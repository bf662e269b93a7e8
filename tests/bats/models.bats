#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Has spin check Promela models of the protocols (tests/models) exhaustively within their bounds.
# Spin must refute variants that are broken on purpose. With MPIIO_MODELS=all it checks all
# variants, else some of each model, because compiling each variant takes two seconds.

load helper

# verify MODEL [FLAG...]: has spin check a model. Sets $said to its output, and prints a line of
# TAP.
verify() {
    local model=$1
    shift
    mkdir -p check
    said=$(
        cd check || exit
        spin -a "$@" "$top/tests/models/$model.pml" >&2
        # Optimizing, or compressing states (COLLAPSE), would take longer than it saves.
        gcc -O0 -w -DSAFETY -DMEMLIM=1800 -o pan pan.c
        # -E: assertions judge in which states processes may end.
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

# holds MODEL [FLAG...]: checks that spin visits all states, and none violates an assertion.
holds() {
    verify "$@"
    grep -q 'errors: 0$' <<<"$said"
}

# refutes MODEL FLAG...: checks that spin finds a counterexample.
refutes() {
    verify "$@"
    grep -q '^pan:1: assertion violated' <<<"$said"
}

# more CHECK...: runs a check only with MPIIO_MODELS=all.
more() {
    [ "${MPIIO_MODELS:-}" != all ] || "$@"
}

@test "models: positions of the record are granted once, in order, whichever node dies or freezes" {
    holds pointers
    refutes pointers -DDECIDE_EARLY
    more refutes pointers -DWRITE_LATE
    more refutes pointers -DAPPLY_TORN
    refutes pointers -DANY_GENERATION
    more refutes pointers -DANY_ATTEMPT
    more refutes pointers -DKEEP_WRITING
    more refutes pointers -DLOOK_ONCE -DOPERATIONS=3
}

@test "models: contributions are placed at their turns, and dropped ones are not placed" {
    holds pointers -DTURNS
    more refutes pointers -DTURNS -DEXCLUDE_UNSEEN
    more refutes pointers -DTURNS -DPLACE_UNSEEN
    refutes pointers -DTURNS -DNO_SKIP
}

@test "models: a record is one mount's, and is removed by its last node" {
    holds pointers -DENDS
    more refutes pointers -DENDS -DEND_EARLY
    refutes pointers -DENDS -DJOIN_LATE
    more refutes pointers -DENDS -DNO_LINK_CHECK
    more refutes pointers -DENDS -DANY_IDENTITY
}

@test "models: no engine stores once a node stores alone" {
    holds fence
    more holds fence -DNO_LOCKS
    refutes fence -DNO_LOCK
    more refutes fence -DLOOK_THEN_LOCK
    more refutes fence -DNO_WAKE_CHECK
    more refutes fence -DNO_LOCKS -DFENCED_EARLY
    more refutes fence -DLEASE_FROM_ECHO
    more refutes fence -DGO_EARLY
    refutes fence -DGO_SETTLED
}

@test "models: all live nodes degrade, and none before all leases have expired" {
    holds degrade
    more holds degrade -DFAULTS=2
    more holds degrade -DFREEZES=1
    more refutes degrade -DGO_EARLY
    refutes degrade -DGO_SETTLED
    more refutes degrade -DANY_END
    more refutes degrade -DANY_NODE -DFAULTS=2
    more refutes degrade -DANY_NODE -DFREEZES=1
    more refutes degrade -DGO_UNFENCED
    more refutes degrade -DOWN_PROMISE
    more refutes degrade -DNO_SILENCE
}

@test "models: no node learns that a flush has finished before its home has stored" {
    holds flush
    more holds flush -DEPOCHS=2 -DDEATHS=0
    refutes flush -DEND_OF_PART
    refutes flush -DDONE_EARLY
    more refutes flush -DRESULT_EARLY
    more refutes flush -DANSWER_ANY
    more refutes flush -DKEEPS_ALWAYS
    more refutes flush -DNO_CHANGE
    more refutes flush -DCOUNT_FIRST
    more refutes flush -DGO_EARLY -DWRITES=2
}
