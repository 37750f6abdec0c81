#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the experiments and writes docs/experiments.md. ./scripts/experiments builds the programs and calls it.

An experiment is a module in this folder, with its program beside it:

    TITLE                 heading of its section
    measurements(size)    list of Measurement; size is "quick" or "full"
    section(rows)         lines of Markdown: what the document says, the tables, what came out and why
    plots(rows)           {name: SVG document}; section() refers to them as experiments/NAME.svg

A row is what a program has printed, a JSON object, with "place" added: "here" or "guest".
"""

import argparse
import fcntl
import importlib
import json
import pathlib
import sys
import textwrap
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import journal
import machine
from measurement import ProgramFailed, checked_output

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUEST_TIMEOUT = 1500  # seconds
# In the order of the page: as old as the documents, the newest last.
NAMES = ("perf_wq", "numa", "stacking", "fifo", "affinity", "limits", "queue_latency", "neighbours")

INTRODUCTION = """# The experiments of the kernel's documents, in user space

The design of the kernel's workqueues was argued with measurements. This page repeats those that mean something in a
process, with cmwq in the place of the kernel's pools: what the document says, what came out here, and why.

    ./scripts/experiments                  # all of them; goes on where it was cut; writes this page
    ./scripts/experiments fifo limits      # these
    ./scripts/experiments --quick          # a few minutes; writes to build/experiments/quick/

Each experiment is a program in `benchmarks/kernel/`; `--help` describes its parameters, and it prints JSON. The samples
of all runs are in `docs/experiments/NAME.json`. Runs are interleaved: all variants in turn, then all of them again, every
second time backwards. A figure is the median of the runs unless the table says otherwise. The original figures are of
other machines, in the kernel: compare ratios and shapes, not values.
"""


def run_one(measurement, folder):
    """Returns the rows that the program prints."""
    program = measurement.command[0]
    command = [str(ROOT / program if "/" in program else folder / program), *map(str, measurement.command[1:])]
    if measurement.guest:
        output = checked_output([ROOT / "scripts" / "test-vm", "-v", "--", *command], timeout=GUEST_TIMEOUT)
    else:
        output = checked_output([*measurement.prefix, *command])
    rows = [json.loads(line.rstrip(",")) for line in output.splitlines() if line.startswith("{")]
    if not rows:
        raise ProgramFailed(f"{' '.join(command)}: the program has reported nothing")
    return [{**row, "place": "guest" if measurement.guest else "here", **measurement.labels} for row in rows]


def run_all(name, experiment, args, facts):
    """Runs what the journal does not have yet. Returns all rows."""
    measurements = experiment.measurements(args.size)
    log = journal.open_journal(args.state / f"{name}.jsonl", facts["commit"], args.size,
                               [m.identity() for m in measurements], args.again)
    begin = time.monotonic()
    for repetition in range(max(m.repetitions for m in measurements)):
        # Every second time backwards, so that no variant always comes after the same one.
        for m in measurements if repetition % 2 == 0 else reversed(measurements):
            if repetition < m.repetitions and not log.has(m.identity(), repetition):
                print(f"{name}: run {repetition + 1}: {m}", flush=True)
                rows = run_one(m, args.build / "benchmarks" / "kernel")
                log.add(m.identity(), repetition, [{**row, "repetition": repetition} for row in rows])
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return log.rows()


def facts_line(data):
    m, run = data["machine"], data["run"]
    virtual = ", virtual machine" if m["virtual"] else ""
    return (f"{m['cpu']}, {m['cpus']} CPUs{virtual}, Linux {m['kernel']}; {run['compiler']}, {run['flags']}; commit "
            f"{run['commit'][:12]}, {run['date']}; load before: {run['load_before']}.")


def wrapped(line):
    """Breaks a paragraph of one line; tables, plots and text of several lines stay."""
    if line.startswith(("|", "!")) or "\n" in line:
        return line
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def write_page(out, page):
    """Writes the page from the results in `out`."""
    lines = [INTRODUCTION]
    for name in NAMES:
        file = out / f"{name}.json"
        if not file.exists():
            continue
        data = json.loads(file.read_text(encoding="utf-8"))
        experiment = importlib.import_module(name)
        lines += [f"## {experiment.TITLE}", "", f"`benchmarks/kernel/{name}`. {facts_line(data)}", "",
                  *experiment.section(data["rows"]), ""]
        for plot, document in experiment.plots(data["rows"]).items():
            (out / f"{plot}.svg").write_text(document, encoding="utf-8")
    page.write_text("\n".join(map(wrapped, lines)).rstrip() + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments; all by default: " + ", ".join(NAMES))
    parser.add_argument("--size", choices=["quick", "full"], default="full")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--again", action="store_true", help="forget the runs so far")
    parser.add_argument("--list", action="store_true", help="print the names, and do nothing else")
    parser.add_argument("--check", action="store_true", help="check the arguments, and do nothing else")
    args = parser.parse_args()
    unknown = set(args.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no experiment {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if args.list:
        print("\n".join(NAMES))
    if args.list or args.check:
        return 0
    args.state = ROOT / "build" / "experiments" / args.size
    out = args.state / "experiments" if args.size == "quick" else ROOT / "docs" / "experiments"
    page = out.parent / "experiments.md"
    for folder in (args.state, out):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        running_alone = (args.state.parent / "lock").open("w")
        fcntl.flock(running_alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("error: ./scripts/experiments runs already in this tree; two at once would disturb each other",
              file=sys.stderr)
        return 1
    try:
        for name in args.names or NAMES:
            facts = machine.describe_run(ROOT, args.build)
            rows = run_all(name, importlib.import_module(name), args, facts)
            data = {"machine": machine.describe(), "run": facts, "rows": rows}
            (out / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            write_page(out, page)
    except (ProgramFailed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"results: {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
