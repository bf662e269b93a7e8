#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Failures while the nodes join.

load helper
load nodes

# The node never learns from node 0 that all have joined, so it can continue neither with the others
# nor alone.
@test "joining: a node whose connection breaks while another node is awaited exits" {
    spec 8
    mkdir run
    daemon=$tmp/run/mpiio-fused
    executable "$daemon" <<END
for last; do :; done
case \$last in
*m1) export RESET_AFTER=4 ;;
*m2) export CONNECT_LATE= ;;
esac
LD_PRELOAD="$MPIIO_BUILD/tests/engine/libreset.so" exec "$MPIIO_SBIN/mpiio-fused" "\$@"
END
    start_nodes 3 -o flush_interval=0 || true
    run -1 timeout -s KILL 300 dd if=/dev/zero of=m1/rank1 bs=8 count=1 conv=nocreat,notrunc,fsync
    logged log "the other nodes did not join"
    # Node 0 waits for the lost node for the time that it may need.
    stop_nodes || stop_nodes
}

@test "joining: a node that is degraded by then is reported and not mounted" {
    spec 8
    start_nodes 2
    kill -KILL "$(daemon_pid m1)"
    within=300 await is_degraded m0
    complains 1 "mpiio-mount: m0: already mounted, degraded (unmount it first with mpiio-umount)" mpiio-mount s.json m0
    complains 1 "mpiio-mount: m1: the daemon of this mount has exited (unmount it first with mpiio-umount)" \
        mpiio-mount s.json m1
    mpiio-umount -f m0 || true
    stop_nodes
}

@test "joining: a node that cannot mount after all have joined is reported, and nothing is left" {
    spec 8
    user_folder m0
    as_root install -d -o root -m 755 m1
    user_folder m2
    for _ in {1..3}; do
        job_line 1 "nodes: $(hostname): $tmp/m1: cannot mount: *$tmp/m1" as_user "$(mpich_mpiexec)" -n 3 \
            "$MPIIO_SBIN/mpiio-engine-mpich" --name nodes -- -o ro s.json "$tmp/m%n" </dev/null
        nothing_left
    done
    run ! grep " $tmp/m" /proc/self/mountinfo
}

# A node tries for 20 s to reach another one that does not answer.
@test "joining: the other nodes do not search for a node 0 that could not mount" {
    spec 8
    as_root install -d -o root -m 755 m0
    user_folder m1
    cp "$MPIIO_BUILD/tests/engine/libreset.so" . # the build directory may be closed to the user
    executable mpiio-fused <<END
case \$* in
*m1) export LD_PRELOAD="$tmp/libreset.so" CONNECT_LATE= ;;
esac
exec "$MPIIO_SBIN/mpiio-fused" "\$@"
END
    SECONDS=0
    job_line 1 "nodes: $(hostname): $tmp/m0: cannot mount: *$tmp/m0" as_user "$(mpich_mpiexec)" -n 2 \
        "$MPIIO_SBIN/mpiio-engine-mpich" --name nodes "--daemon=$tmp/mpiio-fused" -- -o ro s.json "$tmp/m%n" </dev/null
    [ "$SECONDS" -lt 20 ]
    nothing_left
}
