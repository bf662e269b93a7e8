#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""take.py FILE BYTES [SECONDS]: takes records of a shared file until there are none, and prints them.
Each call reads up to BYTES bytes. After each, take.py waits for SECONDS."""
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
