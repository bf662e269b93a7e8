#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""survivors.py FILE RANKS MOUNT...: reads all slices of a file whose words are dealt to RANKS
ranks, through all of the mounts at once. Prints "right" if the bytes are."""
import mmap
import os
import sys
import threading
import numpy

path, ranks, *mounts = sys.argv[1:]
ranks = int(ranks)
model = numpy.fromfile(path, "<u8")
wrong = []


def read(mount):
    buffer = mmap.mmap(-1, 1 << 20)
    for rank in range(ranks):
        fd = os.open(f"{mount}/rank{rank}", os.O_RDONLY)
        at = 0
        want = model[rank::ranks].tobytes()
        while (got := os.readv(fd, [buffer])) > 0:
            if buffer[:got] != want[at:at + got]:
                wrong.append((mount, rank, at))
            at += got
        os.close(fd)
        if at != len(want):
            wrong.append((mount, rank, at, len(want)))


threads = [threading.Thread(target=read, args=(mount,)) for mount in mounts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong or "right")
