# SPDX-License-Identifier: MIT
"""Runs a Spack recipe beside a stand-in of Spack:  recipe.py RECIPE

Fails if it uses a directive or an argument that Spack does not have. Prints its dependencies and,
for each set of its variants, the options that it gives to meson.
"""
import itertools
import sys
import types

ARGUMENTS = {  # of the directives of Spack that this script knows
    "license": {"when", "checked_by"},
    "version": {"branch", "tag", "sha256", "url", "preferred", "deprecated"},
    "variant": {"default", "description", "values", "multi", "when"},
    "depends_on": {"type", "when", "patches"},
    "requires": {"policy", "when", "msg"},
    "conflicts": {"when", "msg"},
}
TYPES = {"build", "link", "run", "test"}

calls = []


def directive(name):
    def call(*texts, **arguments):
        unknown = set(arguments) - ARGUMENTS[name]
        kinds = arguments.get("type", ())
        if unknown or set([kinds] if isinstance(kinds, str) else kinds) - TYPES:
            sys.exit(f"{name}{texts}: wrong arguments: {arguments}")
        calls.append((name, texts, arguments))
    return call


def run(path):
    stand_in = types.ModuleType("spack.package")
    stand_in.MesonPackage = object
    for name in ARGUMENTS:
        setattr(stand_in, name, directive(name))
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": stand_in})
    names = {"__name__": "recipe"}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), names)
    (recipe,) = (value for value in names.values() if getattr(value, "__module__", None) == "recipe")
    return recipe


def main():
    recipe = run(sys.argv[1])
    variants = [texts[0] for name, texts, _ in calls if name == "variant"]
    for name, texts, arguments in calls:
        if name == "depends_on":
            print("depends", texts[0])
        if name != "variant" and arguments.get("when", "+").lstrip("+") not in variants + [""]:
            sys.exit(f"{name}{texts}: no such variant: {arguments['when']}")
    for chosen in itertools.product(("+", "~"), repeat=len(variants)):
        for mpi, tests in itertools.product(("^mpich", "^openmpi"), (False, True)):
            package = recipe()
            package.spec = {sign + variant for sign, variant in zip(chosen, variants)} | {mpi}
            package.run_tests = tests
            print("options", *package.meson_args())


main()
