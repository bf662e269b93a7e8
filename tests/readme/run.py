#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the commands of a text and prints how their output differs from what the text says:

    run.py README.md          the console blocks of a Markdown text, in one shell
    run.py PAGE.scd [NEED]    the recipes of a manual page, each in a shell and a folder of its own

A line that begins with "$ " is a command, and lines behind it that begin with "> " continue it. The
other lines are the output, in which blanks may stand for tabs and "..." for any characters. The
text calls the working folder /home/me. Exits with 1 if a command prints anything else or fails.

A Markdown text has commands in blocks that begin with ```console. In a manual page, each section of
the second level (##) that has commands is a recipe; its blocks are literal ones (```). Its folder
has an empty folder mnt, and these comments of the page prepare it:

    ; $ COMMAND     a command that is run first and not shown
    ; file NAME     the next block is the file NAME
    ; needs NEED    the recipe is run only if NEED is given; it also runs only such recipes then

A recipe may have nine lines of commands, and must leave nothing mounted.
"""
import difflib
import os
import re
import subprocess
import sys

END = "end of output"
MOST = 9
COMMAND = r"^\$ (.*(?:\n> .*)*)$"
SECTION = r"^## ([^\n]*)\n(.*?)(?=^##? |\Z)"
BLOCK = r"(?:^; file ([^\n]*)\n+)?^```\n(.*?)^```$"


class Recipe:
    """Commands that are run in one shell, and the text that has them and their output."""

    def __init__(self, name, expected, before=(), files=(), needs=None):
        self.name, self.expected, self.before = name, expected, list(before)
        self.files, self.needs = dict(files), needs

    def commands(self):
        return re.findall(COMMAND, self.expected, re.M)


def of_markdown(name, text):
    return [Recipe(name, "".join(re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S)))]


def of_manual(text):
    recipes = []
    for name, body in re.findall(SECTION, text, re.M | re.S):
        files, shown = {}, ""
        for file, block in re.findall(BLOCK, body, re.M | re.S):
            block = re.sub(r"\\(.)", r"\1", block)  # as scdoc does
            if file:
                files[file] = block
            else:
                shown += block
        if shown:
            needs = re.search(r"^; needs (.*)$", body, re.M)
            recipes.append(Recipe(name, shown, re.findall(r"^; \$ (.*)$", body, re.M), files,
                                  needs and needs[1]))
    return recipes


def run(recipe, folder):
    """Returns a transcript: each command and what it printed. Ends the shell at a failure."""
    for name, text in recipe.files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    script = "".join(line + "\n" for line in recipe.before)
    commands = recipe.commands()
    for command in commands:
        script += f"echo '{END}'\n" + command.replace("\n> ", "\n") + "\n"
    # A stdin without an end: MPICH's mpiexec passes an end on, and SIGPIPE may end it then.
    stdin, held = os.pipe()
    shell = subprocess.run(["bash", "-ec", script], stdin=stdin, text=True, cwd=folder,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.close(stdin)
    os.close(held)
    prepared, *outputs = shell.stdout.replace(folder, "/home/me").split(END + "\n")
    if len(outputs) == 0:
        print(prepared)
    transcript = "".join(f"$ {line}\n{output}" for line, output in zip(commands, outputs))
    return transcript, shell.returncode


def as_expected(expected, printed):
    """Returns the printed lines. Replaces those that an expected line with "..." stands for."""
    lines = printed.expandtabs().splitlines()
    for number, line in enumerate(expected[:len(lines)]):
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        if re.fullmatch(pattern, lines[number]):
            lines[number] = line
    return lines


def passes(recipe, folder):
    """Runs a recipe. Prints how its output differs, and returns true if it does not."""
    printed, status = run(recipe, folder)
    expected = recipe.expected.expandtabs().splitlines()
    difference = list(difflib.unified_diff(expected, as_expected(expected, printed), recipe.name,
                                           "printed", lineterm=""))
    if status:
        difference.append(f"{recipe.name}: the shell ended with status {status}")
    print("".join(line + "\n" for line in difference), end="")
    return not difference and bool(recipe.commands())


def passes_alone(recipe, number):
    """Does the same in a folder of the recipe's own, with the rules for recipes."""
    folder = os.path.join(os.getcwd(), f"recipe{number}")
    os.makedirs(os.path.join(folder, "mnt"))
    good = passes(recipe, folder)
    lines = sum(command.count("\n") + 1 for command in recipe.commands())
    if lines > MOST:
        print(f"{recipe.name}: {lines} lines of commands, more than {MOST}")
    mounted = [name for name in os.listdir(folder) if os.path.ismount(os.path.join(folder, name))]
    for name in mounted:
        print(f"{recipe.name}: {name} is still mounted")
    return good and lines <= MOST and not mounted


def main():
    path, need = sys.argv[1], (sys.argv[2:] or [None])[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not path.endswith(".scd"):
        return 0 if passes(of_markdown(os.path.basename(path), text)[0], os.getcwd()) else 1
    recipes = [recipe for recipe in of_manual(text) if recipe.needs == need]
    results = [passes_alone(recipe, number) for number, recipe in enumerate(recipes, 1)]
    print(f"recipes: {len(results)}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
