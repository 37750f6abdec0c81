#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""coverage.py PROFILE PROGRAM...: prints the figures of each header of include/cmwq, and its lines and branches that
were never reached.

A line or branch counts once, however many times it is compiled: as a template, in several programs, and in the inline
namespaces of several backends. Conditions in assertions are left out, because a failed assertion is a bug. Code for
other machines is left out, too."""

import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASE = ROOT / "include" / "cmwq"
NO_CODE = re.compile(r"\s*($|//|#)")
SKIPPED = 2  # the kind of a region


def header(name):
    """Returns the path below include/cmwq; None for a file that is not counted."""
    path = pathlib.Path(name)
    if not path.is_relative_to(BASE):
        return None
    return path.relative_to(BASE).as_posix()


def lines_of(segments):
    """Returns {line: number of runs}. A segment ends where the next one begins; a gap is white space after a block."""
    starts = collections.defaultdict(list)
    for line, _, count, has_count, is_entry, is_gap in segments:
        starts[line].append((count, has_count, is_entry, is_gap))
    ran, before = {}, None  # the segment that reaches into the line
    for line in range(min(starts, default=1), max(starts, default=0) + 1):
        here = starts.get(line, [])
        after_gap = before is not None and before[3]  # the code after a gap is not part of the gap
        counts = [count for count, has_count, is_entry, is_gap in here if has_count and not is_gap
                  and (is_entry or after_gap)]
        skipped = here and here[0][2] and not here[0][1]
        reaches = before is not None and before[1] and not (after_gap and counts)
        if not skipped and (reaches or counts):
            ran[line] = max(counts + [before[0]] if reaches else counts)
        before = here[-1] if here else before
    return ran


def count_at(segments, line, column):
    """Returns the number of runs of the place; None outside of functions."""
    best = None
    for seg in segments:
        if (seg[0], seg[1]) > (line, column):
            break
        best = seg
    return best[2] if best is not None and best[3] else None


def export(profile, program):
    """Returns the data of llvm-cov for one program. For several programs at once, llvm-cov would take a function from
    the first program that has it, which for some functions (bit 60 of their hash is set) never calls the function."""
    told = subprocess.run(["llvm-cov-19", "export", program, "-instr-profile", profile], capture_output=True)
    if b"no coverage data found" in told.stderr:
        return None  # the program has no code of the library
    told.check_returncode()
    return json.loads(told.stdout)["data"][0]


def read(exports):
    """Returns ({header: {line: count}}, {header: {(line, column, line, column): [times true, times false]}})."""
    lines = collections.defaultdict(collections.Counter)
    skipped = collections.defaultdict(set)  # lines that the preprocessor skipped in some program
    branches = collections.defaultdict(dict)
    ran = collections.Counter()  # number of runs of the place of a branch
    for data in filter(None, exports):
        segments = {rel: f["segments"] for f in data["files"] if (rel := header(f["filename"]))}
        for rel, found in segments.items():
            lines[rel].update(lines_of(found))
        for function in data["functions"]:
            names = [header(name) for name in function["filenames"]]
            for first, _, last, _, _, file, _, kind in function["regions"]:
                if kind == SKIPPED and names[file]:
                    skipped[names[file]].update(range(first, last + 1))
            for *place, true, false, file, _, _ in function["branches"]:
                if rel := names[file]:
                    both = branches[rel].setdefault(tuple(place), [0, 0])
                    both[0] += true
                    both[1] += false
                    ran[rel, tuple(place)] += count_at(segments[rel], *place[:2]) or 0
    for rel, found in lines.items():
        text = (BASE / rel).read_text().splitlines()
        # In a program that does not use a function, the function has no skipped regions.
        lines[rel] = {line: count for line, count in found.items()
                      if not NO_CODE.match(text[line - 1]) and (count or line not in skipped[rel])}
    for rel, found in branches.items():
        text = (BASE / rel).read_text().splitlines()
        # A condition that ran, but was neither true nor false, is a constant for the compiler.
        branches[rel] = {place: both for place, both in found.items()
                         if (any(both) or not ran[rel, place]) and "CMWQ_ASSERT(" not in text[place[0] - 1]}
    return lines, branches


def figures(counts):
    total, reached = len(counts), sum(1 for count in counts if count)
    return f"{reached:6} of {total:5} {100 * reached / total:6.1f}" if total else f"{'':15} {'-':>6}"


def ranges(numbers):
    """Returns ranges of successive numbers: [[3, 5], [8, 8]] for 3, 4, 5, 8."""
    found = []
    for n in numbers:
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return found


def main(profile, *programs):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        lines, branches = read(pool.map(lambda program: export(profile, program), programs))
    ways = {rel: [count for both in branches[rel].values() for count in both] for rel in lines}
    print(f"{'include/cmwq/':42} {'lines':>15} {'%':>6} {'branches':>15} {'%':>6}")
    for rel in sorted(lines):
        print(f"{rel:42} {figures(lines[rel].values())} {figures(ways[rel])}")
    print(f"{'all':42} {figures([n for f in lines.values() for n in f.values()])} "
          f"{figures([n for f in ways.values() for n in f])}")

    print("\nLines that have not run:")
    for rel, found in sorted(lines.items()):
        text = (BASE / rel).read_text().splitlines()
        for first, last in ranges(sorted(line for line, count in found.items() if not count)):
            print(f"  include/cmwq/{rel}:{first}" + (f"-{last}" if last != first else ""))
            for line in text[first - 1:last]:
                print(f"      {line}")

    print("\nConditions that were never true or never false, in lines that have run:")
    for rel, found in sorted(branches.items()):
        text = (BASE / rel).read_text().splitlines()
        for (line, column, last, end), (true, false) in sorted(found.items()):
            if (true or false) and not (true and false):
                condition = text[line - 1][column - 1:end - 1] if line == last else text[line - 1][column - 1:] + " ..."
                print(f"  include/cmwq/{rel}:{line}: never {'false' if true else 'true'}: {condition}")


if __name__ == "__main__":
    main(*sys.argv[1:])
