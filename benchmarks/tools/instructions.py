#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Counts the instructions of each path of the library with callgrind.

The number of a path is the difference between a long and a short run, divided by the difference of their lengths. So
the start of the program does not count. It covers the library, the standard library and the functions of the items, in
all threads, but not the kernel. valgrind runs one thread at a time, so no lock is contended.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

SHORT, LONG = 2000, 12000


def instructions(program, path, count):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, path, str(count)],
            capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or collected is None:
        sys.exit(f"error: {program} {path} {count} ended with {run.returncode}:\n{run.stderr}")
    return int(collected.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="+",
                        help="the program 'paths'; several ones, e.g. of two versions, become columns")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of each path; the median counts (%(default)s)")
    parser.add_argument("--only", metavar="REGEX", default="", help="only paths whose names match")
    options = parser.parse_args()
    lists = [subprocess.run([p, "--list"], capture_output=True, text=True, check=True).stdout.split()
             for p in options.program]
    print("| path | " + " | ".join(os.path.relpath(p) for p in options.program) + " |")
    print("| --- |" + " ---: |" * len(options.program))
    for path in dict.fromkeys(name for names in lists for name in names):
        if not re.search(options.only, path):
            continue
        cells = []
        for program, names in zip(options.program, lists):
            if path not in names:
                cells.append("-")
                continue
            samples = [(instructions(program, path, LONG) - instructions(program, path, SHORT)) / (LONG - SHORT)
                       for _ in range(options.repetitions)]
            cells.append(f"{statistics.median(samples):.0f}")
        print(f"| `{path}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
