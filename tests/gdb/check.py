#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks what tools/gdb shows of tests/gdb/program.cpp: in the running process, in a core file, while a thread holds
the lock of a pool, and with damaged lists. Ends with 77, which ctest counts as skipped, if there is no gdb with Python,
or if it may not attach to processes."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gdb" / "cmwq.py"
SKIPPED = 77
SECONDS = 90  # for a state that has to come

# What program.cpp has made, by queue: the running functions, and those that wait with their states.
RUNNING = {
    ("blocks_in_bound()", '"stuck"'), ("blocks_in_ordered()", '"rows"'), ("blocks_in_unbound()", '"wide"'),
    ("owner::blocks_as_member", '"wide"'), ("blocking_task", '"supple"'), ("first lambda of main", '"supple"'),
    ("second lambda of main", '"wide"'),
}
LAMBDAS = {"main::{lambda()#1}": "first lambda of main", "main::{lambda()#2}": "second lambda of main",  # g++
           "main::$_0": "first lambda of main", "main::$_1": "second lambda of main"}  # clang
WAITING = [
    ("blocks_in_unbound()", '"wide"', "pending"), ("comes_later()", '"wide"', "delayed"),
    ("waits_for_its_turn()", '"rows"', "inactive"), ("waits_for_its_turn()", '"stuck"', "inactive"),
    ("waits_for_its_turn()", '"stuck"', "inactive"),
]
# Of each queue: its policy, max_active, the numbers of items in flight and delayed, its flags.
QUEUES = {'"stuck"': ("bound", "1", "3", "0", "-"), '"wide"': ("unbound", "256", "4", "1", "-"),
          '"supple"': ("elastic", "256", "2", "0", "-"), '"rows"': ("ordered", "1", "2", "0", "-"),
          '"actor"': ("ordered", "1", "0", "0", "managed")}


def gdb(*arguments, commands):
    """Runs gdb, and returns what it prints."""
    words = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", f"source {SCRIPT}"]
    for command in commands:
        words += ["-ex", command]
    words += arguments  # last: after --args, all words belong to the program
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS, check=False)
    return done.stdout


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def require(condition, what, output):
    """Ends the test with the output of gdb, unless the condition holds."""
    if not condition:
        print(f"{output}\nFAILED: {what}")
        sys.exit(1)


def rows(output, first_column):
    """The rows of the tables whose first column has that name, as dictionaries. A cell has no two blanks in a row, and
    an empty one is "-"."""
    found, heads = [], None
    for line in output.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] == first_column:
            heads = cells
        elif heads is not None and len(cells) == len(heads):
            found.append(dict(zip(heads, (LAMBDAS.get(c, c) for c in cells))))
        elif not line.startswith("    "):
            heads = None
    return found


def line_of(text):
    """The number of the first line of the program that begins with the text."""
    lines = (SCRIPT.parents[2] / "tests" / "gdb" / "program.cpp").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.startswith(text))


def check_items(output):
    waiting = sorted((r["FUNCTION"], r["QUEUE"], r["STATE"]) for r in rows(output, "ITEM"))
    require(waiting == WAITING, f"the items that wait are {waiting}", output)
    lines = {r["LINE"] for r in rows(output, "ITEM") if r["FUNCTION"] == "waits_for_its_turn()"}
    require(lines == {f"program.cpp:{line_of('void waits_for_its_turn')}"}, f"its lines are {lines}", output)
    behind = [r["DETAIL"] for r in rows(output, "ITEM") if r["STATE"] == "pending"]
    require("behind its own run" in behind[0], "an item does not wait behind its run", output)


def check_workers(output):
    busy = [r for r in rows(output, "POOL") if r.get("ITEM", "-") != "-"]
    running = {(r["FUNCTION"], r["QUEUE"]) for r in busy}
    require(running == RUNNING and len(busy) == len(RUNNING), f"the running items are {running}", output)
    require(all(r["TID"] != "-" and r["GDB"] != "-" for r in busy), "a worker has no thread", output)
    require('described as "row 7 of 9"' in output, "the description is missing", output)
    holder = next(r for r in busy if r["FUNCTION"] == "blocks_in_bound()")
    flusher = next(r for r in busy if r["QUEUE"] == '"supple"' and "lambda" in r["FUNCTION"])
    awaited = f"waits in flush() for item {holder['ITEM']} (blocks_in_bound())"
    require(awaited in flusher["STATE"], f"no item {awaited}", output)
    joiner = next(r for r in busy if r["QUEUE"] == '"wide"' and "lambda" in r["FUNCTION"])
    require('waits in task_group::wait() for a task group on queue "supple"' in joiner["STATE"], "no item waits for its group", output)
    require("program.cpp:" in holder["STATE"], "the line of an item is missing", output)


def check_queues(output):
    shown = {r["QUEUE"]: (r["POLICY"], r["MAX_ACTIVE"], r["IN FLIGHT"], r["DELAYED"], r["FLAGS"])
             for r in rows(output, "QUEUE") if r["QUEUE"] in QUEUES}
    require(shown == QUEUES, f"the queues are {shown}", output)
    require("1 active (1 running, 0 pending), 2 inactive" in output, "the counts of the pool are missing", output)


def check_pools(output):
    pools = {r["KIND"]: r for r in rows(output, "POOL") if "KIND" in r}
    require(set(pools) == {"bound", "unbound", "elastic"}, f"the pools are {sorted(pools)}", output)
    require(pools["bound"]["INACTIVE"] == "2" and pools["bound"]["IDLE/WORKERS"] == "1/2",
            f"the bound pool is {pools['bound']}", output)


def check_dump(output):
    require("warning: queue" not in output and "warning: pool" not in output, "a list is damaged", output)
    check_queues(output)
    check_pools(output)
    check_workers(output)
    check_items(output)


class Program:
    """The program in the state to be looked at."""

    def __init__(self, path):
        self._process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.attach = ("-p", str(self._process.pid))
        line = self._process.stdout.readline()
        require(line == "ready\n", "the program is not ready", line)

    def end(self):
        self._process.stdin.close()
        require(self._process.wait(SECONDS) == 0, "the debugger has changed the program", "-")

    def settle(self):
        """Returns the dump as soon as no item is about to wait for others, and all items are on a list."""
        deadline = time.monotonic() + SECONDS
        while True:
            output = gdb(*self.attach, commands=["cmwq dump"])
            if "Operation not permitted" in output:
                self._process.kill()
                skip("gdb may not attach to processes here")
            done = "waits in flush()" in output and "waits in task_group::wait()" in output
            done = done and "between items" not in output and "in the inbox" not in output
            if done or time.monotonic() > deadline:
                return output


def check_printers(program):
    names = ("stuck", "rt", "group", "some", "later", "second", "member")
    # A command of gdb is one line.
    to_main = "python exec(\"f = gdb.newest_frame()\\nwhile f.name() != 'main': f = f.older()\\nf.select()\")"
    output = gdb(*program.attach, commands=[to_main] + [f"print {n}" for n in names])
    for text in ('cmwq bound queue "stuck", max_active 1, 3 in flight', ", 5 queues",
                 'cmwq task group on "supple", tasks that have not ended: 1, a thread waits',
                 "= 0-3,8", "cmwq delayed item of comes_later(), pending",
                 'cmwq item of waits_for_its_turn(), on "stuck", pending', "cmwq item of owner::blocks_as_member"):
        require(text in output, f"no printer has printed '{text}'", output)


def check_core(path, program, folder):
    core = os.path.join(folder, "core")
    gdb(*program.attach, commands=[f"generate-core-file {core}"])
    output = gdb(path, core, commands=["cmwq dump"])
    check_dump(output)
    require("at most" in output or "CLOCK_MONOTONIC" in output, "the time of a core file is unknown", output)


def check_damage(path, program, folder):
    """Writes a link that leads back to the first element, and one that leads nowhere, to core files."""
    items = [r["ITEM"] for r in rows(gdb(*program.attach, commands=["cmwq items"]), "ITEM")
             if r["QUEUE"] == '"stuck"']
    link = f"*(unsigned long*){items[1]}"  # `next` is the first member of an item
    for target, message in ((items[0], "leads back"), ("0x10", "cannot be read"), ("0", "its link is null")):
        core = os.path.join(folder, "damaged")
        gdb(*program.attach, commands=[f"set var $old = {link}", f"set var {link} = {target}",
                                       f"generate-core-file {core}", f"set var {link} = $old"])
        output = gdb(path, core, commands=["cmwq items", "cmwq queues"])
        require("warning: queue \"stuck\": inactive items in pool" in output and message in output,
                f"no warning '{message}'", output)
        shown = [r["ITEM"] for r in rows(output, "ITEM")]
        require(items[0] in shown and len(shown) >= 4, "the other items are not shown", output)
        check_queues(output)


def check_locked(path):
    """Stops a thread inside the critical section of a pool."""
    output = gdb("--args", path, "locked", commands=["break reads_the_clock_under_a_lock", "run", "cmwq dump"])
    require("hit Breakpoint 1" in output or "Breakpoint 1," in output, "the thread was not stopped", output)
    locks = [r["LOCK"] for r in rows(output, "POOL") if r.get("KIND") == "unbound"]
    require(locks == ["held"], "the lock of the pool is not held", output)
    functions = {(r["FUNCTION"], r["QUEUE"]) for r in rows(output, "POOL") if r.get("ITEM", "-") != "-"}
    require(RUNNING <= functions, f"the running items are {functions}", output)
    # No thread may have accepted the items yet.
    waiting = sorted((r["FUNCTION"], r["QUEUE"]) for r in rows(output, "ITEM"))
    require(waiting == sorted(w[:2] for w in WAITING), f"the items that wait are {waiting}", output)


def check_messages(program):
    output = gdb(commands=["cmwq dump"])
    require("There is no process." in output, "no message without a process", output)
    output = gdb("--args", "sleep", "100", commands=["starti", "cmwq dump"])
    require("No cmwq in this process" in output, "no message for another program", output)
    with tempfile.TemporaryDirectory() as folder:
        bare = os.path.join(folder, "bare")
        subprocess.run(["strip", "-g", "-o", bare, program], check=True)
        output = gdb(bare, commands=["break main", "run", "cmwq dump"])
        require("no debug information for it" in output, "no message without debug information", output)
    # As of another version of the library.
    number = "'cmwq::v0_std::detail::directory::the_one_'.layout_"
    output = gdb(program, commands=["break main", "run", f"set var {number} = 7", "cmwq dump"])
    require("the layout 7, and these commands know the layout 1" in output, "no message for another layout", output)
    require("Traceback" not in output and "POOL" not in output, "another layout was read", output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    path = parser.parse_args().program
    try:
        if "python works" not in gdb(commands=["python print('python ' + 'works')"]):
            skip("this gdb has no Python")
    except FileNotFoundError:
        skip("there is no gdb; ./scripts/check-all installs it on Debian and Ubuntu")
    program = Program(path)
    output = program.settle()
    check_dump(output)
    check_printers(program)
    with tempfile.TemporaryDirectory() as folder:
        check_core(path, program, folder)
        check_damage(path, program, folder)
    check_dump(gdb(*program.attach, commands=["cmwq dump"]))
    program.end()
    check_locked(path)
    check_messages(path)


if __name__ == "__main__":
    main()
