#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the static probes of tests/gdb/probes.cpp: the file lists them, and a tool counts each of them as often as the
program says that it must. Ends with 77, which ctest counts as skipped, if there is no such tool, or if it may not trace.

  check_probes.py gdb|bpftrace PROGRAM
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check

PROBES = ("activate_work", "block", "cancel_work", "execute_end", "execute_start", "mayday", "queue_work", "report",
          "unblock", "worker_create", "worker_end", "worker_wake")


def count_with_gdb(program, file):
    """Returns the listed probes, how often each was passed, and what was printed. The program writes `file`."""
    listed = check.gdb(program, commands=["info probes stap cmwq"])
    commands = []
    for number, name in enumerate(PROBES, 1):
        commands += [f"break -probe-stap cmwq:{name}", f"ignore {number} 1000000"]
    output = check.gdb(program, commands=[*commands, f"run {file}", "info breakpoints"])
    if "ptrace: Operation not permitted" in output or "Could not trace" in output:
        check.skip("gdb may not trace a process here")
    check.require("exited normally" in output, "the program did not end well", output)
    hits = re.findall(r"^(\d+) +breakpoint .*?\n(?:\s+breakpoint already hit (\d+) times?)?", output, re.M)
    found = {PROBES[int(number) - 1]: int(n or 0) for number, n in hits}
    return set(re.findall(r"^stap +cmwq +(\w+)", listed, re.M)), found, output


def count_with_bpftrace(program, file):
    """As above."""
    program = pathlib.Path(program).resolve()
    listed = subprocess.run(["bpftrace", "-l", f"usdt:{program}:cmwq:*"], capture_output=True, text=True).stdout
    script = " ".join(f'usdt:{program}:cmwq:{name} {{ @["{name}"] = count(); }}' for name in PROBES)
    done = subprocess.run(["bpftrace", "-e", script, "-c", f"{program} {file}"], capture_output=True, text=True, timeout=300)
    output = done.stdout + done.stderr
    if not file.exists():
        check.skip(f"bpftrace may not trace a process here: {output}")
    found = {name: int(n) for name, n in re.findall(r"^@\[(\w+)\]: (\d+)$", output, re.M)}
    return set(re.findall(r":cmwq:(\w+)$", listed, re.M)), found, output


def main():
    tool, program = sys.argv[1:3]
    if shutil.which(tool) is None:
        check.skip(f"there is no {tool}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "counters")
        listed, found, output = {"gdb": count_with_gdb, "bpftrace": count_with_bpftrace}[tool](program, file)
        wanted = {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", file.read_text(), re.M)}
    check.require(listed == set(PROBES), f"it lists {sorted(listed)}", output)
    found = {name: found.get(name, 0) for name in PROBES}
    print("\n".join(f"{name}: {n} in {tool}, {wanted.get(name, 'any')} in the program" for name, n in found.items()))
    wrong = [name for name, n in wanted.items() if found[name] != n]
    check.require(not wrong, f"{tool} counts others: {', '.join(wrong)}", output)
    check.require(len(wanted) == 9 and found["activate_work"] != 0, "numbers are missing", output)


if __name__ == "__main__":
    main()
