#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""take.py FILE BYTES [SECONDS]: takes records of a shared file, as many at a time as fit into so many
bytes, until there are none, and prints each when it has been taken. SECONDS: to wait after each."""
import os
import sys
import time

file = os.open(sys.argv[1], os.O_RDONLY)
size = int(sys.argv[2])
pause = float(sys.argv[3]) if len(sys.argv) > 3 else 0
while got := os.read(file, size):
    os.write(1, got)
    if pause:
        time.sleep(pause)
