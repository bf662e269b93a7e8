#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks the prose of comments and pages: prose.py RULE..., in the top folder of the sources.

headless: no comment opens without a subject or a verb, such as "What is ..." or "Whether ...".
words: no private words where the field has one, and no phrases that hide the actor.
width: no line of prose is longer than 100 columns.

Prints what breaks a rule, and exits with 1 if anything does."""
import re
import subprocess
import sys

WIDTH = 100
LICENSE = "SPDX-License-Identifier: MIT"
HEADLESS = re.compile(r"(What|Who|Whoever|Whose|That|Of|Where|Whether|Which|So (many|much|long)|"
                      r"How (many|much|long|often|far)|As|The one)\b(?! of the)")
WORDS = re.compile(r"\b(keepers?|pledges?|deput(y|ies)|heralds?|passed over|(is|are|was|were) told|"
                   r"any more|ha(s|ve) an end|heard of|says? so|is to be had|(let|lets|letting) go)\b",
                   re.I)
# Lines of pages that are no prose: literal text, commands, tables, links.
LITERAL = re.compile(r"    |\t[${]|[|:<!\[]|\*mpiio-|.*\+\+$")


def git_files(*patterns):
    """The files of the repository that match."""
    out = subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True)
    return out.stdout.split("\n")[:-1]


def c_comments(text):
    """Pairs of a line's number and the comment that begins there, in one line."""
    for found in re.finditer(r"/\*+(.*?)\*/", text, re.S):
        words = (line.strip(" *\t") for line in found.group(1).split("\n"))
        yield text.count("\n", 0, found.start()) + 1, " ".join(words).strip()


def hash_comments(text):
    """The same of languages whose comments begin with #: blocks of lines that are comments alone."""
    block, first = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*#( |$)", line):
            first = first if block else number
            block.append(line.strip(" #\t").replace(LICENSE, ""))
        elif block:
            yield first, " ".join(block).strip()
            block = []


def comments():
    """Triples of a file, a line's number and a comment."""
    for name in git_files("*.c", "*.h", "*.bats", "*.bash", "*.sh", "*.py", "scripts/*"):
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if name == "tests/layout/prose.py" or "\0" in text:
            continue
        of = c_comments if name.endswith((".c", ".h")) else hash_comments
        for number, comment in of(text):
            yield name, number, comment


def page_lines():
    """The same for each line of prose in the manual and in Markdown."""
    for name in git_files("man/*.scd", "*.md"):
        fenced = False
        with open(name, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                fenced ^= line.startswith("```")
                if not fenced and not line.startswith("```") and not LITERAL.match(line):
                    yield name, number, line.rstrip("\n")


def headless():
    """Breaches of that rule."""
    return [found for found in comments() if HEADLESS.match(found[2])]


def words():
    """Breaches of that rule."""
    lines = [*comments(), *(line for line in page_lines() if line[0] != "CHANGELOG.md")]
    return [found for found in lines if WORDS.search(found[2])]


def width():
    """Breaches of that rule."""
    return [line for line in page_lines() if len(line[2]) > WIDTH]


def main():
    """Exits with 1 where there are breaches."""
    found = [breach for rule in sys.argv[1:]
             for breach in {"headless": headless, "words": words, "width": width}[rule]()]
    for name, number, text in found:
        print(f"{name}:{number}: {text[:120]}")
    sys.exit(1 if found else 0)


main()
