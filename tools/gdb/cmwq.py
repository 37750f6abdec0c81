# SPDX-License-Identifier: BSL-1.0
"""Adds the command `cmwq`, and pretty-printers, to gdb. Load it with `source PATH/cmwq.py`;
docs/guide/observability.md says how gdb loads it by itself. Loading it again replaces the code that gdb has."""

import pathlib
import sys

_folder = str(pathlib.Path(__file__).resolve().parent)
if _folder not in sys.path:
    sys.path.insert(0, _folder)
for _name in [n for n in sys.modules if n == "cmwq_gdb" or n.startswith("cmwq_gdb.")]:
    del sys.modules[_name]

import cmwq_gdb  # noqa: E402: the folder must be on the path first

cmwq_gdb.register()
