#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the messages of failures in the sources with the manual.

usage: messages.py TOP          fails, with a line for each message that is missing or stale
       messages.py --list TOP   prints the messages of the sources

Messages are string literals that reach stderr, or the log at level warning or error. The manual has
them in the literal blocks of mpiio-troubleshooting(7) and in the table of mpiio-fused(8), LOG. A
message is there if a line has all text between its conversions, in this order. A line is stale if
it has other words than such texts, placeholders and errors of the system. A placeholder is an
upper-case word, or in the table an underlined one.
"""
import errno
import os
import pathlib
import re
import sys

PAGE, TABLE = "man/mpiio-troubleshooting.7.scd", "man/mpiio-fused.8.scd"
SCRIPT = "scripts/mpiio-mount"
SOURCES = ["fusefs", "src/cluster", "src/core", "src/engine", "src/mounts", "src/pointers",
           "src/slurm", "src/umount"]

# Sources without a message of a failure, and why. Errors of specs (viewspec, src/from) are not
# listed one by one: they name line and column, and viewspec(5) has what is expected there.
OTHERS = {
    "fusefs/kernel/grants.c": "why a program under mpiio-run gets no grant: no failure",
    "fusefs/requests/stats.c": "stats.json",
    "fusefs/requests/xattr.c": "attributes",
    "src/core/base/grant.c": "mpiio-run",
}

# Texts that are in no message of a failure, with the reason.
EXCEPTIONS = {
    "no mount yet": "stands for the mount point in a line of the log",
    "exec fusermount3: No such file": "compared with",
    "mount failed: Operation not permitted": "compared with",
    "/etc/mtab: No such file": "compared with",
    ": a path with blanks or colons cannot be preloaded": "mpiio-run and mpiio-view capture",
    "mpiio-engine ": "the answer to --version",
    "mpiio-fused ": "the answer to --version",
    " (job ": "between the mount point and the job, in lines of the log",
    "\"state\": \"degraded\",": "compared with",
    " Uid: ": "compared with",
    "ompi_mpi_byte": "a symbol",
    "mpiio-mount: ": "compared with",
    "mount MPI file views on the nodes while the tasks run": "help of srun's option",
}

# Calls that print a message or forward it, and texts that one of these prints by "%s".
CALLS = re.compile(r"\b(mpiio_complain|fs_fail|mpiio_roster_log|fs_log_line|unmount_say"
                   r"|refuse_option|refuse|usage|vs_members_fail|fail_member|fail_start|say_other|slurm_error)"
                   r"\s*\(|fprintf\(stderr|dprintf\(STDERR_FILENO")
TEXTS = re.compile(r"\breturn\b|\b(what|why|reason|wrong|advice|message|text)\s*=[^=]"
                   r"|\bs?n?printf\(|\bsay\(|\? *\"|\" *: *\"|\[\] *= *\"|was removed:")
NO_FAILURE = re.compile(r"MPIIO_LOG_(INFO|DEBUG)")
SCRIPT_CALLS = re.compile(r"\b(complain|fail|usage_error|printf)\b|\b(reason|first|files)="
                          r"|\btrap \"|s//")

LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\]|\\.)*")*')
CONVERSION = re.compile(r"%[-+ #0-9.*]*(?:hh|ll|[hlzj])?[a-zA-Z]")
SUBSTITUTION = re.compile(r"\$\{[^}]*\}|\$\((?:[^()\"]|\"[^\"]*\")*\)|\$\w+|" + CONVERSION.pattern)
STRING = re.compile(r"\"((?:" + SUBSTITUTION.pattern + r"|[^\"\\]|\\.)*)\"|'([^']*)'")
WORD = re.compile(r"[A-Za-z][A-Za-z]+")

SYSTEM = sorted((os.strerror(number) for number in errno.errorcode), key=len, reverse=True)


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "" if found[1] in "ntr" else found[1], text)


def pieces_of(text, conversion):
    """Returns the texts between the conversions of a format."""
    return [unescaped(piece).replace("\0", "%")
            for piece in conversion.split(text.replace("%%", "\0"))]


def c_statements(path):
    """Returns the statements: texts that end with ; or a brace, outside of strings and comments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^ *#.*?$|'\"'|(" + LITERAL.pattern + ")",
                  lambda found: found[1] or " ", path.read_text(), flags=re.S | re.M)
    return re.findall(r"(?:" + LITERAL.pattern + r"|[^;{}\"])+", text)


def c_messages(path):
    for statement in c_statements(path):
        is_call = CALLS.search(statement) is not None
        if NO_FAILURE.search(statement) or not (is_call or TEXTS.search(statement)):
            continue
        for found in LITERALS.finditer(statement):
            text = re.sub(r"\"\s*(PRI\w+)?\s*\"", lambda gap: "d" if gap[1] else "", found[0][1:-1])
            text = re.sub(r"^mpiio-(umount|fused): |\\n$", "", text)
            if is_call or (" " in text.strip() and "\\n" not in text):
                yield pieces_of(text, CONVERSION)


def script_messages(path):
    for line in re.sub(r"\\\n\s*", "", path.read_text()).splitlines():
        if not SCRIPT_CALLS.search(line):
            continue
        line = line.replace("$name: ", "").replace("$name", "mpiio-mount")
        line = re.sub(r"^.*\btrap \"echo|>&.*", "", line)
        line = re.sub(r"^.*s//([^/]+)/p.*", r'"\1"', line)
        line = re.sub(r"\\[1-9]", "%s", line)
        for found in STRING.finditer(line):
            text = found[1] or found[2] or ""
            if " " in text.strip() and not text.startswith(("/", "s/", " |")):
                yield pieces_of(text, SUBSTITUTION)


def all_messages(top):
    """Returns the messages of the sources: each has the source's name, and its texts."""
    for folder in SOURCES:
        for path in sorted((top / folder).rglob("*.c")):
            name = str(path.relative_to(top))
            if name not in OTHERS:
                for pieces in c_messages(path):
                    yield name, pieces
    for pieces in script_messages(top / SCRIPT):
        yield SCRIPT, pieces


def messages(top, unused):
    """Returns the manual's messages. Leaves those exceptions in unused that are no text of a
    source."""
    for name, pieces in all_messages(top):
        excepted = EXCEPTIONS.keys() & set(pieces)
        unused -= excepted
        if any(map(WORD.search, pieces)) and not excepted:
            yield name, pieces


def plain(cell):
    """Returns a cell of a table of scdoc, with values in upper case."""
    cell = re.sub(r"(?<!\\)_(.*?)(?<!\\)_", lambda found: found[1].upper(), cell)
    return cell.replace("\\", "").replace("*", "")


def manual(top):
    """Returns the lines that quote messages, and those of the table that explain them."""
    page = (top / PAGE).read_text()
    quoted = [re.sub(r"^mpiio-[a-z]+: ", "", line)
              for block in re.findall(r"^```\n(.*?)^```$", page, flags=re.S | re.M)
              for line in block.splitlines()]
    table = re.findall(r"^\|  (error|warning)\n:  (.*)\n:  (.*)$", (top / TABLE).read_text(), re.M)
    return quoted + [plain(row[1]) for row in table], [plain(row[2]) for row in table]


def stale_words(line, texts):
    """Returns the words of the line that are in no message. There are none unless it is stale."""
    for text in texts:
        line = line.replace(text, " \0 ")
    for text in SYSTEM:
        line = line.replace(text, " ")
    return [word for word in WORD.findall(line) if not word.isupper()]


def main():
    top = pathlib.Path(sys.argv[-1])
    unused = set(EXCEPTIONS)
    found = list(messages(top, unused))
    if sys.argv[1] == "--list":
        for name, pieces in found:
            print(f"{name}: {'%'.join(pieces)}")
        return 0
    quoted, explained = manual(top)
    bad = [f"an exception that no source needs: {text}" for text in sorted(unused)]
    for name, pieces in found:
        wanted = re.compile(".*".join(re.escape(piece.strip()) for piece in pieces))
        if not any(wanted.search(line) for line in quoted + explained):
            bad.append(f"{name}: not in {PAGE}: {'%'.join(pieces)}")
    texts = sorted({piece.strip() for _, pieces in found for piece in pieces
                    if WORD.search(piece)}, key=len, reverse=True)
    for line in quoted:
        words = stale_words(line, texts)
        if words:
            bad.append(f"the manual: no message has \"{' '.join(words)}\": {line}")
    if len(found) < 150 or len(quoted) < 150:
        bad.append(f"{len(found)} messages, and {len(quoted)} in the manual: too few")
    print(*bad, sep="\n", end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
