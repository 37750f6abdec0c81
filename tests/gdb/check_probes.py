#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the static probes of tests/gdb/probes.cpp: the file lists them, and gdb counts each of them as often as the
program says that it must. Ends with 77, which ctest counts as skipped, if there is no gdb, or if it may not trace."""

import pathlib
import re
import sys
import tempfile

import check

PROBES = {"queue_work", "activate_work", "execute_start", "execute_end", "cancel_work", "block", "unblock", "mayday",
          "worker_create", "worker_wake", "worker_end", "report"}


def main():
    program = sys.argv[1]
    try:
        listed = check.gdb(program, commands=["info probes stap cmwq"])
    except FileNotFoundError:
        check.skip("there is no gdb")
    names = set(re.findall(r"^stap +cmwq +(\w+)", listed, re.M))
    check.require(names == PROBES, f"it lists {sorted(names)}", listed)
    commands = []
    for number, name in enumerate(sorted(PROBES), 1):
        commands += [f"break -probe-stap cmwq:{name}", f"ignore {number} 1000000"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "counters")
        output = check.gdb(program, commands=[*commands, f"run {file}", "info breakpoints"])
        written = file.read_text() if file.exists() else ""
    if "ptrace: Operation not permitted" in output or "Could not trace" in output:
        check.skip("gdb may not trace a process here")
    check.require("exited normally" in output, "the program did not end well", output)
    wanted = {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", written, re.M)}
    found = dict.fromkeys(sorted(PROBES), 0)
    for number, hits in re.findall(r"^(\d+) +breakpoint .*?\n(?:\s+breakpoint already hit (\d+) times?)?", output, re.M):
        found[sorted(PROBES)[int(number) - 1]] = int(hits or 0)
    print("\n".join(f"{name}: {n} in gdb, {wanted.get(name, 'any')} in the program" for name, n in found.items()))
    wrong = [name for name, n in wanted.items() if found[name] != n]
    check.require(not wrong, f"gdb counts others: {', '.join(wrong)}", output)
    check.require(len(wanted) == 9 and found["activate_work"] != 0, "numbers are missing", output)


if __name__ == "__main__":
    main()
