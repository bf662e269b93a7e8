# SPDX-License-Identifier: MIT
"""The mounts that crash: views, options, and where the bytes of a slice are in the files."""
import json

import numpy

from slices import dealt

BYTES = 60000  # of a file
MEMBERS = 3

# All daemons are killed; the machines lose power; one daemon of several is killed.
KILLED, POWER, NODE = "killed", "power", "node"


class Configuration:
    """A file whose blocks are distributed over two ranks, on one node. One node writes each
    slice."""
    ranks, nodes, options, kind, runner = 2, 1, "", "bytes", ()
    names = ("rank0", "rank1")
    blocks = (7, 100, 1000, 5000)
    events = (KILLED, POWER)
    fresh = False  # each round begins with an empty disk
    weight = 1  # the number of rounds, relative to others

    def begin(self, rng):
        self.block = rng.choice(self.blocks)

    def files(self):
        """Returns the files that exist at first."""
        return {"file": bytes(at % 255 + 1 for at in range(BYTES))}

    def spec(self, disk):
        return {"viewspec": 1, "file": f"{disk}/file", "ranks": self.ranks, "view": self.view()}

    def view(self):
        return {"filetype": {"type": "scatter", "blocklength": self.block}}

    def slices(self, files):
        return dealt(files.get("file", b""), self.ranks, self.block)

    def paths(self, folders):
        """Returns the paths that the worker writes to: on several nodes, each slice at its own."""
        return [f"{folders[i % len(folders)]}/{name}" for i, name in enumerate(self.names)]


class Through(Configuration):
    options = ",cache=through"


class Direct(Configuration):
    options = ",direct"


class Back(Configuration):
    options = ",cache=back,flush_interval=86400"


class Unique(Configuration):
    options = ",unique"


class Run(Configuration):
    runner = ("mpiio-run",)


class Create(Configuration):
    options = ",create"
    fresh = True

    def files(self):
        return {}


class Converted(Configuration):
    kind = "longs"
    blocks = (1, 13, 700)

    def files(self):
        return {"file": numpy.arange(BYTES // 4, dtype=">i4").tobytes()}

    def view(self):
        return {"etype": "long", "datarep": "external32",
                "filetype": {"type": "scatter", "blocklength": self.block}}

    def slices(self, files):
        return [numpy.frombuffer(part[:len(part) // 4 * 4], dtype=">i4").astype("<i8").tobytes()
                for part in dealt(files["file"], self.ranks, 4 * self.block)]


class Identity(Configuration):
    """A view of the whole file, with FUSE passthrough (for root, since Linux 6.9)."""
    ranks = 1
    names = ("rank0", "rank0")

    def view(self):
        return {"etype": "byte"}

    def slices(self, files):
        return 2 * [files["file"]]


class Members(Configuration):
    kind = "fixed"

    def spec(self, disk):
        whole = {"type": "darray", "gsizes": [BYTES], "psizes": [MEMBERS], "distribs": ["block"],
                 "dargs": [None], "order": "C"}
        return {"viewspec": 1, "ranks": self.ranks, "view": self.view(),
                "members": {"count": MEMBERS, "file": disk + "/m{member}", "view": {"filetype": whole}}}

    def files(self):
        part = BYTES // MEMBERS
        return {f"m{i}": bytes((at + i) % 255 + 1 for at in range(part)) for i in range(MEMBERS)}

    def slices(self, files):
        parts = [files.get(f"m{i}", b"").ljust(BYTES // MEMBERS, b"\0") for i in range(MEMBERS)]
        return dealt(b"".join(parts), self.ranks, self.block)


class MembersCreate(Members):
    options = ",create"
    fresh = True

    def files(self):
        return {}


class Shared(Configuration):
    kind, options = "records", ",create,append"
    names = ("shared",)

    def files(self):
        return {}

    def view(self):
        return {"etype": {"type": "contiguous", "count": 64, "oldtype": "byte"}}


class Ordered(Shared):
    kind = "ordered"
    names = ("ordered/rank0", "ordered/rank1")


class Several:
    nodes, events, weight = 2, (NODE, KILLED, POWER), 0.6


class Nodes(Several, Back):
    pass


class NodesMembers(Several, Members):
    options = ",flush_interval=86400"


class NodesAtomic(Nodes):
    options = Nodes.options + ",atomic"


class NodesShared(Several, Shared):
    options = Shared.options + ",flush_interval=86400"
    names = ("shared", "shared")


CONFIGURATIONS = {
    "cache=through": Through(), "direct": Direct(), "cache=back": Back(), "unique": Unique(),
    "external32": Converted(), "passthrough": Identity(), "mpiio-run": Run(), "create": Create(),
    "members": Members(), "members,create": MembersCreate(), "shared": Shared(),
    "ordered": Ordered(), "nodes": Nodes(), "nodes,members": NodesMembers(),
    "nodes,atomic": NodesAtomic(), "nodes,shared": NodesShared()}


def write_spec(configuration, disk, path):
    with open(path, "w") as out:
        json.dump(configuration.spec(disk), out)
