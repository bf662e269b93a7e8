# SPDX-License-Identifier: MIT
"""Programs of tests/bats/log.bats."""
import os
import time

from common import at_once


def switch_while_reading():
    mnt = os.environ["mnt"]
    stop = time.monotonic() + 3

    def read():
        while time.monotonic() < stop:
            with open(f"{mnt}/rank1", "rb", buffering=0) as f:
                assert len(f.read(512)) == 512

    def switch():
        while time.monotonic() < stop:
            for level in b"debug", b"info":
                os.setxattr(mnt, "user.mpiio.log", level)

    at_once(lambda call: call(), (read, read, switch))
