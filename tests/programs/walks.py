# SPDX-License-Identifier: MIT
"""Programs of tests/bats/walks.bats."""
import os
import sys

from common import fails, main


def use_mount():
    descriptor = os.open(sys.argv[1], os.O_RDONLY)
    for whence in os.SEEK_DATA, os.SEEK_HOLE:
        fails(os.lseek, descriptor, 0, whence)


main(globals())
