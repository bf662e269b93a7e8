#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the console blocks of a Markdown text in one shell and prints how the output differs:

    run.py README.md

In a block that begins with ```console, a line that begins with "$ " is a command and the lines
after it are its output. The text calls the working folder /home/me. Exits with 1 if a command
prints anything else or fails.
"""
import difflib
import os
import re
import subprocess
import sys

END = "end of output"


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S)


def commands(block):
    return re.findall(r"^\$ (.*)$", block, re.M)


def run(lines):
    """Returns a transcript: each command and what it printed. Ends the shell at a failure."""
    script = "".join(f"echo '{END}'\n{line}\n" for line in lines)
    shell = subprocess.run(["bash", "-ec", script], stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    outputs = shell.stdout.replace(os.getcwd(), "/home/me").split(END + "\n")[1:]
    transcript = "".join(f"$ {line}\n{output}" for line, output in zip(lines, outputs))
    return transcript, shell.returncode


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = "".join(blocks(file.read()))
    printed, status = run(commands(expected))
    difference = list(difflib.unified_diff(expected.splitlines(), printed.splitlines(), "README.md",
                                           "printed", lineterm=""))
    print("\n".join(difference))
    return 1 if difference or status or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
