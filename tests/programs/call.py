# SPDX-License-Identifier: MIT
"""Calls the function of the module $topic that the command line names. Its arguments are in
sys.argv[1:]."""
import importlib
import os
import sys

module = os.path.basename(os.environ["topic"]).removesuffix(".py")
getattr(importlib.import_module(module), sys.argv.pop(1))()
