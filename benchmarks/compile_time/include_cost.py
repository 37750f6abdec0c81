#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures the cost of one #include: preprocessed lines and compile seconds, compared with other libraries.

With --check it fails when a header has more lines than budget.txt allows."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
OTHERS = ("boost/asio/thread_pool.hpp", "tbb/task_arena.h")
EMPTY = "(nothing)"


def budgets():
    found = {}
    for line in (HERE / "budget.txt").read_text().splitlines():
        line = line.split("#")[0].split()
        if line:
            found[line[0]] = int(line[1])
    return found


def run(command):
    # Without a compiler cache: with one, the times would be those of the cache.
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "CCACHE_DISABLE": "1"})


def lines(compiler, source):
    result = run([*compiler, "-E", "-P", str(source)])
    if result.returncode != 0:
        return None
    return sum(1 for line in result.stdout.splitlines() if line.strip())


def seconds(compiler, source, runs):
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        result = run([*compiler, "-c", str(source), "-o", os.devnull])
        times.append(time.perf_counter() - begin)
        if result.returncode != 0:
            sys.exit(f"error: {source.read_text().strip()} does not compile:\n{result.stderr}")
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--flags", default="-std=c++20 -O2", help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="runs; the median is shown (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="fail when a budget is exceeded")
    arguments = parser.parse_args()
    compiler = [arguments.compiler, *arguments.flags.split(), f"-I{INCLUDE}"]
    budget = budgets()

    exceeded = []
    print(f"{arguments.compiler} {arguments.flags}, median of {arguments.runs}\n")
    print(f"{'#include':32}{'lines':>9}{'seconds':>9}{'budget':>9}")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "one_include.cpp"
        for header in (EMPTY, *budget, *OTHERS):
            source.write_text("" if header == EMPTY else f"#include <{header}>\n")
            count = lines(compiler, source)
            if count is None:
                if header in budget:
                    sys.exit(f"error: cannot preprocess #include <{header}>")
                print(f"{header:32}{'not installed':>18}")
                continue
            limit = budget.get(header)
            note = ""
            if limit is not None and count > limit:
                exceeded.append(header)
                note = "  EXCEEDED"
            took = seconds(compiler, source, arguments.runs)
            print(f"{header:32}{count:9}{took:9.3f}{limit if limit is not None else '-':>9}{note}", flush=True)
    if exceeded:
        print(f"\nover the budget of {(HERE / 'budget.txt').name}: {', '.join(exceeded)}")
    return 1 if exceeded and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
