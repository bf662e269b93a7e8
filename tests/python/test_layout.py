# SPDX-License-Identifier: MIT
"""The structures and functions of C that the module declares again."""
import ctypes
import os
import re
import subprocess

from mpiio import _library


def test_the_structures_are_those_of_the_headers():
    kinds = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): kind
             for name, kind in vars(_library).items()
             if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}
    assert len(kinds) > 6
    lines, want = [], []
    for name, kind in kinds.items():
        members = [field[0] for field in kind._fields_]
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        want.append(f"{name} {ctypes.sizeof(kind)}")
        for member in members:
            where = f"offsetof(struct {name}, {member}), sizeof(((struct {name} *)0)->{member})"
            lines.append(f'printf("{name}.{member} %zu %zu\\n", {where});')
            field = getattr(kind, member)
            want.append(f"{name}.{member} {field.offset} {field.size}")
    with open("layout.c", "w", encoding="utf-8") as file:
        file.write("#include <mpiio/load.h>\n#include <mpiio/global.h>\n#include <stddef.h>\n"
                   "#include <stdio.h>\nint main(void) {" + "\n".join(lines) + "return 0; }\n")
    subprocess.run(["gcc", f"-I{os.environ['MPIIO_INCLUDE']}", "-o", "layout", "layout.c"],
                   check=True)
    assert subprocess.run("./layout", capture_output=True, text=True,
                          check=True).stdout.split("\n")[:-1] == want


def test_the_functions_have_as_many_arguments_as_in_the_headers():
    with open("all.c", "w", encoding="utf-8") as file:
        file.writelines(f"#include <mpiio/{name}.h>\n"
                        for name in ("load", "slice", "npy", "global"))
    subprocess.run(["gcc", f"-I{os.environ['MPIIO_INCLUDE']}", "-fsyntax-only", "-aux-info",
                    "all.txt", "all.c"], check=True)
    with open("all.txt", encoding="utf-8") as file:
        found = dict(re.findall(r"\b(\w+) \((.*)\);$", file.read(), re.M))
    for name, (_, *arguments) in _library.FUNCTIONS.items():
        assert len(found[name].split(", ")) == len(arguments), name
