#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What one node has all do, to unmount or to change the atomicity, while another has them do it too.

load helper
load nodes

# call: python, with words for calls from threads of their own: results gets what became of each.
call() {
    {
        cat <<'END'
import signal
results = {}
def call_node(node, name):
    begin = time.monotonic()
    attribute = f"m{node}", "user.mpiio." + name
    if name == "unmount":
        error = fails(os.getxattr, *attribute)
    else:
        error = fails(os.setxattr, *attribute, b"1")
    results[node] = error, time.monotonic() - begin
def begin_call(node, name):
    thread = threading.Thread(target=call_node, args=(node, name), daemon=True)
    thread.start()
    return thread
def end_calls(*threads):
    for thread in threads:
        thread.join(300)
    print(results, flush=True)
daemon = json.load(open("m2/.mpiio/stats.json"))["pid"]
END
        cat
    } | python
}

@test "calls: all are unmounted from two nodes, one of which still stores what it holds" {
    spec 8
    start_nodes 3 -o flush_interval=0
    call <<'END'
held = os.open("m0/rank0", os.O_RDWR)
os.write(held, b"01234567")
stop_process(daemon)
first = begin_call(0, "unmount")
time.sleep(0.3)
second = begin_call(1, "unmount")
time.sleep(0.3)
os.kill(daemon, signal.SIGCONT)
os.close(held)
end_calls(first, second)
assert results[0][0] is None and results[1][0] is None
# The second is still mounted, or was unmounted from the first.
assert os.path.ismount("m0") and not os.path.ismount("m2")
END
    stop_nodes
    [ "$(cat f.dat)" = 01234567 ]
}

@test "calls: two nodes change the atomicity, one of which still stores what it holds" {
    spec 8
    start_nodes 3 -o flush_interval=0
    call <<'END'
held = os.open("m0/rank0", os.O_RDWR)
os.write(held, b"01234567")
first, second = begin_call(1, "atomicity"), begin_call(0, "atomicity")
time.sleep(0.02)
os.close(held)
end_calls(first, second)
for error, seconds in results.values():
    assert error in (None, "EBUSY") and seconds < 60
END
    stop_nodes
}

@test "calls: a node that changes the atomicity is unmounted with all, or it is told" {
    spec 8
    start_nodes 3
    call <<'END'
# It votes a fifth of a second later at the earliest, as a slice is open there.
held = os.open("m2/rank0", os.O_RDONLY)
change = begin_call(0, "atomicity")
time.sleep(0.1)
stop_process(daemon)
unmount = begin_call(1, "unmount")
time.sleep(0.5)
os.kill(daemon, signal.SIGCONT)
os.close(held)
end_calls(change, unmount)
# The kernel is not through with the call that has just been answered there.
left = any(os.path.ismount(f"m{node}") for node in (0, 2))
assert results[1][0] == ("EBUSY" if left else None)
assert os.path.ismount("m1")
END
    stop_nodes
}

@test "calls: a node unmounts its own mount, not what that was mounted on" {
    spec 8
    mkdir m1
    as_root mount -t tmpfs tmpfs m1
    : >m1/below
    start_nodes 2
    exec 9<m1/rank0
    as_root umount -l m1
    run ! getfattr -n user.mpiio.unmount m0 9<&-
    [ -e m1/below ]
    getfattr -n user.mpiio.unmount_force m0 9<&-
    as_root umount m0
    nothing_left
    [ -e m1/below ]
    exec 9<&-
    stop_nodes
}
