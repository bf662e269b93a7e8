# SPDX-License-Identifier: MIT
"""Finds the places of a C source that can be mutated, in clang's syntax tree."""
import collections
import re

from clang.cindex import CursorKind, Index

# Replaces the bytes from start to end by new. nth counts the mutations of a line that read alike.
Mutation = collections.namedtuple("Mutation", "line start end new kind nth", defaults=[1])

OPERATORS = {
    "comparison": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<",
                   "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "%=": "/=", "|=": "&=",
                   "&=": "|=", "<<=": ">>=", ">>=": "<<="},
    "logic": {"&&": "||", "||": "&&", "&": "|", "|": "&", "^": "&"},
}
BINARY = (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)
BRANCHES = (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.CONDITIONAL_OPERATOR)
STATEMENTS = (CursorKind.COMPOUND_STMT, CursorKind.IF_STMT, CursorKind.WHILE_STMT)
COMMUTATIVE = ("calloc", "vs_add", "vs_add_capped", "vs_mul", "vs_min", "vs_max")
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
EFFECTS = (CursorKind.CALL_EXPR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.UNARY_OPERATOR,
           CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)


class Source:
    def __init__(self, path, arguments):
        self.path = str(path)
        self.text = path.read_bytes()
        self.found = []
        unit = Index.create().parse(self.path, args=arguments)
        for cursor in unit.cursor.get_children():
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and self.owns(cursor):
                self.walk(cursor)

    def owns(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == self.path

    def walk(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind in BINARY:
            self.operator(cursor, children)
        elif cursor.kind == CursorKind.UNARY_OPERATOR:
            self.unary(cursor)
        elif cursor.kind == CursorKind.INTEGER_LITERAL:
            self.constant(cursor)
        elif cursor.kind == CursorKind.CALL_EXPR and cursor.spelling not in COMMUTATIVE:
            self.swap(list(cursor.get_arguments()))
        elif cursor.kind in BRANCHES and children:
            self.negate(children[0])
        if cursor.kind in STATEMENTS:
            for child in children if cursor.kind == CursorKind.COMPOUND_STMT else children[1:]:
                self.drop(child)
        for child in children:
            self.walk(child)

    def add(self, kind, start, end, new):
        self.found.append(Mutation(self.text.count(b"\n", 0, start) + 1, start, end, new, kind))

    def span(self, cursor):
        """Returns the place and text of a cursor; no text if it is from a macro or another file."""
        extent = cursor.extent
        start, end = extent.start.offset, extent.end.offset
        same = extent.start.file and extent.start.file.name == self.path and start < end
        return (start, end, self.text[start:end]) if same else (0, 0, b"")

    def operator(self, cursor, children):
        left, right = self.span(children[0]), self.span(children[1])
        if not left[2] or not right[2] or right[0] <= left[1]:
            return
        between = COMMENT.sub(lambda found: b" " * len(found[0]), self.text[left[1]:right[0]])
        match = re.fullmatch(rb"[\s)]*([^\s()\w]+)[\s(]*", between)
        for kind, changes in OPERATORS.items() if match else ():
            new = changes.get(match[1].decode())
            if new:
                self.add(kind, left[1] + match.start(1), left[1] + match.end(1), new)

    def unary(self, cursor):
        start, end, text = self.span(cursor)
        for old, new in ((b"++", "--"), (b"--", "++")):
            if text.startswith(old):
                self.add("arithmetic", start, start + 2, new)
            elif text.endswith(old):
                self.add("arithmetic", end - 2, end, new)
        if text[:1] in (b"!", b"-", b"~") and not text.startswith(b"--"):
            self.add("logic" if text[:1] == b"!" else "arithmetic", start, start + 1, "")

    def constant(self, cursor):
        start, end, text = self.span(cursor)
        match = re.fullmatch(rb"(0x[0-9a-f]+|\d+)([ul]*)", text, re.I)
        if match:
            value = int(match[1], 16 if match[1][:2].lower() == b"0x" else 10)
            self.add("constant", start, end, f"{value + 1}{match[2].decode()}")
            if value == 1:
                self.add("constant", start, end, f"0{match[2].decode()}")

    def swap(self, arguments):
        for one, two in zip(arguments, arguments[1:]):
            first, second = self.span(one), self.span(two)
            if (first[2] and second[2] and first[2] != second[2] and first[1] < second[0]
                    and one.type.get_canonical().spelling == two.type.get_canonical().spelling):
                new = second[2] + self.text[first[1]:second[0]] + first[2]
                self.add("swapped arguments", first[0], second[1], new.decode())

    def negate(self, condition):
        start, end, text = self.span(condition)
        if text and condition.kind not in (*BINARY, CursorKind.UNARY_OPERATOR):
            self.add("logic", start, end, f"!({text.decode()})")

    def drop(self, statement):
        start, end, text = self.span(statement)
        assigns = statement.kind == CursorKind.BINARY_OPERATOR  # "," or "="
        if text and (assigns or statement.kind in EFFECTS) and self.text[end:end + 1] == b";":
            self.add("dropped statement", start, end, "(void)0")


def mutations(path, arguments):
    """Returns all mutations of a source, in the order of their places."""
    text, alike, found = path.read_bytes(), collections.Counter(), []
    for mutation in sorted(set(Source(path, arguments).found)):
        reads = mutation.line, describe(text, mutation)
        alike[reads] += 1
        found.append(mutation._replace(nth=alike[reads]))
    return found


def apply(text, mutation):
    return text[:mutation.start] + mutation.new.encode() + text[mutation.end:]


def describe(text, mutation):
    old = b" ".join(text[mutation.start:mutation.end].split()).decode()
    new = " ".join(mutation.new.split())
    nth = f" #{mutation.nth}" if mutation.nth > 1 else ""
    return f"{mutation.kind}: {old or 'nothing'} -> {new or 'nothing'}{nth}"
