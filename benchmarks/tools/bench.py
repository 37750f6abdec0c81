#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the comparison suite, or compares two of its results. ./scripts/bench builds the programs and calls it.

    bench.py run --size quick --repetitions 3 --build build/bench --out build/bench/results
    bench.py compare OLD.json NEW.json
"""

import argparse
import json
import pathlib
import sys
import time

import comparison
import machine
import measurement
import micro_programs
import programs
import report
import results

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def collect(measurements, repetitions, say):
    """Runs all measurements in turn, and again for each repetition. Returns the rows of all of them."""
    rows = []
    for repetition in range(repetitions):
        begin, workload = time.monotonic(), None
        # Every second time backwards, so that no contender always comes after the same one.
        for m in measurements if repetition % 2 == 0 else reversed(measurements):
            if m.workload != workload:
                workload = m.workload
                say(f"repetition {repetition + 1} of {repetitions}: {workload}")
            rows += m.run()
        say(f"repetition {repetition + 1} of {repetitions}: {time.monotonic() - begin:.0f} s")
    return rows


def measurements_of(build, size, only):
    folder = build / "benchmarks"
    suite, versions = programs.suite(folder, size)
    all_of_them = [*suite, *programs.blockmix(folder, size), *programs.starve(folder, size),
                   *micro_programs.micro(folder, size)]
    unknown = set(only) - {m.workload for m in all_of_them}
    if unknown:
        raise measurement.ProgramFailed(f"there is no workload {', '.join(sorted(unknown))}")
    return [m for m in all_of_them if not only or m.workload in only], versions


def write(run, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "results.md").write_text(report.markdown(run), encoding="utf-8")
    for workload, document in report.plots(run).items():
        (out / f"{workload}.svg").write_text(document, encoding="utf-8")


def run_command(args):
    run = {"machine": machine.describe(), **machine.describe_run(ROOT, args.build), "size": args.size,
           "repetitions": args.repetitions}
    if run["load_before"] > 0.5:
        print(f"warning: other processes are running (load {run['load_before']}); the figures will vary more",
              file=sys.stderr)
    measurements, run["versions"] = measurements_of(args.build, args.size, args.only)
    rows = collect(measurements, args.repetitions, lambda line: print(line, flush=True))
    run["results"] = results.summarise(rows)
    write(run, args.out)
    print(f"results: {args.out / 'results.md'}")


def compare_command(args):
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (args.old, args.new))
    print(comparison.compare(old, new))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run the suite")
    run.add_argument("--size", choices=["quick", "full"], default="full")
    run.add_argument("--repetitions", type=int, default=5)
    run.add_argument("--only", action="append", default=[], metavar="WORKLOAD", help="only this one; may be repeated")
    run.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench")
    run.add_argument("--out", type=pathlib.Path, required=True, help="the folder for the results")
    run.set_defaults(command=run_command)
    compare = commands.add_parser("compare", help="compare the results of two runs on one machine")
    compare.add_argument("old", type=pathlib.Path)
    compare.add_argument("new", type=pathlib.Path)
    compare.set_defaults(command=compare_command)
    args = parser.parse_args()
    if getattr(args, "repetitions", 1) < 1:
        parser.error("--repetitions must be 1 or more")
    try:
        args.command(args)
    except (measurement.ProgramFailed, comparison.NotComparable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
