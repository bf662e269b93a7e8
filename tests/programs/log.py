# SPDX-License-Identifier: MIT
"""Programs of tests/bats/log.bats."""
import os
import threading
import time

from common import main


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

    threads = [threading.Thread(target=call) for call in (read, read, switch)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main(globals())
