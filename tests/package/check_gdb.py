#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that gdb loads the installed command cmwq from the file in its start-up folder: check_gdb.py PREFIX FOLDER.
Checks a copy of the tree, too, because an installed tree may be moved. Ends with 77 if there is no gdb with Python."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def gdb(*commands):
    words = ["gdb", "-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50,
                          check=False).stdout


def main():
    prefix, folder = sys.argv[1:]
    if pathlib.Path(folder).is_absolute():
        print(f"skipped: the start-up folder of gdb, {folder}, is outside of the prefix")
        return 77
    if shutil.which("gdb") is None or "python works" not in gdb("python print('python ' + 'works')"):
        print("skipped: there is no gdb with Python; ./scripts/check-all installs it on Debian and Ubuntu")
        return 77
    with tempfile.TemporaryDirectory() as other:
        moved = pathlib.Path(other) / "moved"
        shutil.copytree(prefix, moved)
        for tree in (pathlib.Path(prefix), moved):
            output = gdb(f"source {tree / folder / 'cmwq.py'}", "cmwq queues", "info pretty-printer global cmwq",
                         "python import cmwq_gdb; print(cmwq_gdb.__file__)")
            for text in ("There is no process.", "\n  cmwq", f"{tree}/share/cmwq/gdb/cmwq_gdb/__init__.py"):
                if text not in output:
                    print(f"{output}\nFAILED: no '{text}' with {tree}")
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
