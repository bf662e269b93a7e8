#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the lists of names that mpiio-routines(7) must cover, from the texts that define them.

    names.py mpi CHAPTER >mpi        MPI 3.1, chapter 13, as text
    names.py mpio OVERVIEW >mpio     Overview of the MPI-IO parallel I/O interface, 1995
    names.py donio REPORT >donio     ORNL/TM-12743, DONIO, 1994

Texts may have marks (Markdown's \\_) and mistakes of character recognition. Names count in upper
and lower case. The patterns omit names of other chapters (datatypes, routines). Prints one name a
line, sorted, in C's case.
"""
import re
import sys

# Constants and types of chapter 13; what is written in capitals there and is no routine.
CONSTANT = r"MPI_(?:MODE|SEEK|ERR)_[A-Z_]+|MPI_(?:FILE_NULL|DISPLACEMENT_CURRENT|MAX_DATAREP_STRING|CONVERSION_FN_NULL)"
TYPE = r"MPI_(?:File|Datarep_[a-z_]+|Offset)\b"
# Keys of hints and data representations, and what else has no prefix.
HINT = r"^- ([a-z]+(?:_[a-z]+)*) \((?:string|integer|boolean|comma)"
OTHERS = {"MPI_ERR_IN_STATUS", "MPI_ERR_TYPE", "MPI_File_syncs"}  # of chapter 3; a plural


def mpi(text):
    names = set(re.findall(CONSTANT, text)) | set(re.findall(TYPE, text))
    for name in re.findall(r"\bMPI_FILE_[A-Z_]+\b", text, re.I):
        if name.upper() != "MPI_FILE_NULL":
            names.add("MPI_File_" + name[len("MPI_FILE_"):].lower())
    names.add("MPI_Register_datarep")
    names |= set(re.findall(HINT, text, re.M))
    names |= {"native", "internal", "external32"}
    return {name for name in names if not name.endswith("_") and "xxx" not in name} - OTHERS


def mpio(text):
    names = set()
    for name in re.findall(r"\bMPIO_\w+", text):
        constant = name.isupper()
        name = name if constant else "MPIO_" + name[5].upper() + name[6:].lower()
        if "xxx" not in name.lower():
            names.add(name)
    return names


def donio(text):
    return set(re.findall(r"\bdo_[a-z]+\b", text))


def main():
    kind, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\_", "_")
    print("\n".join(sorted({"mpi": mpi, "mpio": mpio, "donio": donio}[kind](text))))


main()
