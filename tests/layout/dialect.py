#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the places in the given files that are not written in this project's dialect of C.

  sizeof(x), not sizeof x
  p == NULL, not !p, where p is a name that its file declares as a pointer and as nothing else
  error, where an errno is kept in an int, but in viewspec and mpiio-view; status is a process's

Declarations show what a name is. Fields (a->b) are not judged.
"""
import re
import sys

NUMBERS = r"(?:bool|char|short|int|long|unsigned|float|double|size_t|ssize_t|u?int\d+_t)"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LITERAL = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
POINTER = re.compile(r"\w[\w ]*\*+(?:const )?(\w+)\s*(?=[,;=)])")
NUMBER = re.compile(r"\b%s (\w+)(?=[,;=) ])" % NUMBERS)
SEVERAL = re.compile(r"\b%s (\w[^;{}]*);" % NUMBERS)
PARENTHESES = re.compile(r"\([^()]*\)")
NEGATION = re.compile(r"(?<![!\w])!(\w+)\b(?!\s*(?:->|\.|\[|\(|=))")
# A variable that holds an errno: by a declaration whose name has no other use, or by its use.
RESULTS = re.compile(r"^(?:fusefs|src/(?:capture|cluster|core|engine|net|pointers|pool|run|umount))/")
RESULT = re.compile(r"\bint (?:\w+(?: = [^;,()]+)?, )*(?:failed|rc|ret|err)\b"
                    r"|(?<![\w)] )-(?:result|status)\b"
                    r"|(?<![.>\w])(?:result|status) [!=]?= -E[A-Z0-9]+\b")
SIZEOF = re.compile(r"\bsizeof\s+(?!\()\S+|\bsizeof\s+\(")


def code_of(text):
    """Returns the text with comments and literals replaced by blanks, so that positions stay."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return LITERAL.sub(lambda found: '"' + " " * (len(found.group()) - 2) + '"', text)


def numbers(code):
    """Returns the names that are declared as numbers, and those declared as booleans."""
    names = set(NUMBER.findall(code))
    for declared in SEVERAL.findall(code):
        while PARENTHESES.search(declared):
            declared = PARENTHESES.sub("", declared)
        for part in declared.split(","):
            names.update(re.findall(r"^\s*(\w+)", part))
    return names


def places(path, code):
    """Returns the places where code is written in another dialect, and the text there."""
    pointers = set(POINTER.findall(code)) - numbers(code)
    for found in SIZEOF.finditer(code):
        yield found.start(), found.group()
    for found in NEGATION.finditer(code):
        if found.group(1) in pointers:
            yield found.start(), found.group()
    if RESULTS.match(path):
        for found in RESULT.finditer(code):
            yield found.start(), found.group()


def main(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            code = code_of(file.read())
        for at, what in sorted(places(path, code)):
            print(f"{path}:{code.count(chr(10), 0, at) + 1}: {what}")


main(sys.argv[1:])
