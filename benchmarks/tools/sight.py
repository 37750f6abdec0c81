#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes the table of what it costs to be seen, from benchmarks/macro/sight.cpp: against the headers of a commit before
the counters, with those of this tree, with the leaves for traces and control compiled in, and with a trace, a flight
recorder and a control socket. All variants take turns. Prints Markdown: medians of ns per item, (minimum – maximum), and
the ratio of each to this tree without leaves, as the median of the ratios of each round.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = {"empty": 200_000, "fanout": 131_072, "queue_latency": 20_000}
BASE = "counters"


def compile_program(folder, name, include, *flags):
    program = folder / name
    command = ["g++", "-std=gnu++20", "-O2", "-DNDEBUG", f"-I{include}", f"-I{ROOT / 'benchmarks'}", *flags,
               str(ROOT / "benchmarks" / "macro" / "sight.cpp"), "-o", str(program), "-lhwloc", "-pthread", "-ldl"]
    subprocess.run(command, check=True)
    return program


def include_of(commit, folder):
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit, "include"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder / "include"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default="357bb08^", help="the commit without counters (%(default)s)")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a run (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = compile_program(folder, "plain", ROOT / "include")
        leaves = compile_program(folder, "leaves", ROOT / "include", "-DSIGHT_LEAVES")
        before = compile_program(folder, "before", include_of(options.before, folder))
        variants = {"before the counters": (before, "nothing"), BASE: (plain, "nothing"),
                    "leaves compiled in, off": (leaves, "nothing"), "control socket": (leaves, "control"),
                    "flight recorder": (leaves, "recorder"), "trace": (leaves, "trace")}
        results = {(w, v): [] for w in WORKLOADS for v in variants}
        for round_ in range(options.repetitions):
            order = list(variants.items())
            for workload, items in WORKLOADS.items():
                for variant, (program, with_) in order if round_ % 2 == 0 else reversed(order):
                    command = [program, "--workload", workload, "--items", str(items), "--seconds", str(options.seconds),
                               "--with", with_, "--file", str(folder / "trace"), "--folder", str(folder)]
                    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    results[workload, variant].append(json.loads(line))
            print(f"round {round_ + 1}", file=sys.stderr, flush=True)
    print("| | " + " | ".join(f"`{w}`, ns" for w in WORKLOADS) + " | descriptors added | threads added |")
    print("| --- |" + " ---: |" * (len(WORKLOADS) + 2))
    for variant in variants:
        cells = []
        for workload in WORKLOADS:
            ns = [r["ns"] for r in results[workload, variant]]
            ratio = statistics.median(a / b["ns"] for a, b in zip(ns, results[workload, BASE]))
            note = "" if variant == BASE else f"; {100 * (ratio - 1):+.0f} %"
            cells.append(f"{statistics.median(ns):,.0f} ({min(ns):,.0f} – {max(ns):,.0f}){note}")
        for what in ("descriptors", "threads"):
            cells.append(f"{statistics.median(r[what] for w in WORKLOADS for r in results[w, variant]):.0f}")
        print(f"| {variant} | " + " | ".join(cells) + " |")


main()
