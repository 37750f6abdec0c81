#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the static probes of tests/gdb/probes.cpp: the file lists them, and gdb counts each of them as often as the
program says that it must. Ends with 77, which ctest counts as skipped, if there is no gdb, or if it may not trace."""

import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
PROBES = {"queue_work", "activate_work", "execute_start", "execute_end", "cancel_work", "block", "unblock", "mayday",
          "worker_create", "worker_wake", "worker_end", "report"}


def gdb(program, *commands):
    words = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    try:
        done = subprocess.run([*words, program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    except FileNotFoundError:
        print("skipped: there is no gdb")
        sys.exit(SKIPPED)
    return done.stdout


def main():
    program = sys.argv[1]
    listed = gdb(program, "info probes stap cmwq")
    names = set(re.findall(r"^stap +cmwq +(\w+)", listed, re.M))
    if names != PROBES:
        sys.exit(f"{listed}\nFAILED: it lists {sorted(names)}")
    commands = []
    for number, name in enumerate(sorted(PROBES), 1):
        commands += [f"break -probe-stap cmwq:{name}", f"ignore {number} 1000000"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "counters")
        output = gdb(program, *commands, f"run {file}", "info breakpoints", "echo the end\\n")
        written = file.read_text() if file.exists() else ""
    if "ptrace: Operation not permitted" in output or "Could not trace" in output:
        print("skipped: gdb may not trace a process here")
        sys.exit(SKIPPED)
    if "exited normally" not in output:
        sys.exit(f"{output}\nFAILED: the program did not end well")
    wanted = {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", written, re.M)}
    found = dict.fromkeys(sorted(PROBES), 0)
    for number, hits in re.findall(r"^(\d+) +breakpoint .*?\n(?:\s+breakpoint already hit (\d+) times?)?", output, re.M):
        found[sorted(PROBES)[int(number) - 1]] = int(hits or 0)
    print("\n".join(f"{name}: {n} in gdb, {wanted.get(name, 'any')} in the program" for name, n in found.items()))
    wrong = [name for name, n in wanted.items() if found[name] != n]
    if wrong or len(wanted) < 9 or found["activate_work"] == 0:
        sys.exit(f"{output}\nFAILED: {', '.join(wrong) or 'too few'}")


if __name__ == "__main__":
    main()
