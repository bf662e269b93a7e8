#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A connection between daemons that breaks while the nodes come together.

load helper
load nodes

# Node 0 does not say to it that all have joined: it can neither go on with the others nor alone.
@test "joining: a node whose connection breaks while another is awaited ends" {
    spec 8
    mkdir run
    daemon=$tmp/run/mpiio-fused
    cat >"$daemon" <<END
#!/bin/sh
for last; do :; done
case \$last in
*m1) export RESET_AFTER=4 ;;
*m2) export CONNECT_LATE= ;;
esac
LD_PRELOAD="$MPIIO_BUILD/tests/engine/libreset.so" exec "$MPIIO_SBIN/mpiio-fused" "\$@"
END
    chmod +x "$daemon"
    start_nodes 3 -o flush_interval=0 || true
    run timeout -s KILL 10 dd if=/dev/zero of=m1/rank1 bs=8 count=1 conv=nocreat,notrunc,fsync
    [ "$status" -eq 1 ]
    grep -q "the other nodes did not join" log
    # Node 0 waits for it as long as a node may take.
    stop_nodes || stop_nodes
}
