# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# A distributed filesystem on one machine: GlusterFS without glusterd. Load it after helper. Each
# client is a separate mount with its own page cache, like one on another host. The clients use
# GlusterFS's default options: reopening a file keeps stale pages, and writes are sent a little
# later (write-behind). Needs root.

# make_distributed N [OPTION...]: starts a server and N clients, with these additional options, at
# dfs0, dfs1, ... The first one is also at dfs. A host of cluster.bash finds its own client there.
# The words of the array tracer precede the server's command. The lines in above describe one more
# layer of the clients. With without_locks the server has no file locks, so the kernel of each
# client keeps them.
make_distributed() {
    local i port
    command -v glusterfsd >/dev/null || skip "glusterfs-server is missing"
    port=$(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir brick
    sed "s|BRICK|$tmp/brick|; s|PORT|$port|" "$top/tests/cluster/server.vol" >server.vol
    [ -z "${without_locks:-}" ] || sed -i 's/subvolumes locks/subvolumes posix/' server.vol
    sed "s|PORT|$port|" "$top/tests/cluster/client.vol" >client.vol
    [ -z "${above:-}" ] || printf 'volume above\n    %s\n    subvolumes client\nend-volume\n' "$above" >>client.vol
    as_root "${tracer[@]}" glusterfsd -N -f server.vol --log-file="$tmp/server.log" >/dev/null 2>&1 3>&- &
    for ((i = 0; i < $1; i++)); do
        mkdir "dfs$i"
        as_root glusterfs --volfile=client.vol --log-file="$tmp/client$i.log" \
            "${@:2}" "$tmp/dfs$i" 3>&-
        await connected "$i"
    done
    mkdir dfs
    as_root mount --bind dfs0 dfs
}

# Succeeds once the client shows the server's directory. Earlier requests are not answered.
connected() {
    grep -q 'Connected, attached' "client$1.log" && mountpoint -q "dfs$1"
}

# Succeeds if no daemon and no engine is left, whatever the clients do.
none_serve() {
    [ -z "$(marked mpiio-fused)$(marked mpiio-engine-mpich)" ]
}
