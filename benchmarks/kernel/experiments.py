#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the experiments and writes docs/dev/experiments.md. ./scripts/experiments builds the programs and calls it.

An experiment is a module in this folder, with its program beside it:

    TITLE                 heading of its section
    SOURCE                where the document is
    measurements(size)    list of Measurement; size is "quick" or "full"
    section(rows)         lines of Markdown: what is measured, and the tables
    findings(rows)        lines of Markdown: what the document says, what came out here and why, what it means for users
    FINDINGS_OF           the date of the runs for which findings() was written
    plots(rows)           {name: SVG document}; section() refers to them as experiments/NAME.svg

A row is what a program has printed, a JSON object, with "place" added: "here" or "guest".
"""

import argparse
import fcntl
import hashlib
import importlib
import json
import os
import pathlib
import shlex
import signal
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
NAMES = ("timelines", "perf_wq", "numa", "stacking", "fifo", "affinity", "limits", "queue_latency", "neighbours")

INTRODUCTION = """# The experiments of the kernel's documents, in user space

The design of the kernel's workqueues was argued with measurements. This page repeats those that mean something in a
process, with cmwq in the place of the kernel's pools: what the document says, what came out here, why, and what that
means for a program.

    ./scripts/experiments                  # all of them, more than an hour; goes on where it was cut; writes this page
    ./scripts/experiments fifo limits      # these
    ./scripts/experiments --quick          # some minutes; writes to build/experiments/quick/

On Debian and Ubuntu the script installs what it needs, LAME, OpenSSL, qemu and a kernel for the guest included.

Each experiment is a program, as a rule `build/bench/benchmarks/kernel/NAME`; `--help` describes its parameters, and it
prints JSON.
The results of all runs are in `docs/dev/experiments/NAME.json`. Runs are interleaved: all variants in turn, then all of them
again, every second time backwards. A figure is the median of the runs unless the table says otherwise; *(a – b)* are the
least and the most of the runs. Where these ranges overlap, the runs do not show which variant is better. The original
figures are of other machines, in the kernel: compare ratios and shapes, not values. In the plots, blue bars are of cmwq, and
each group of bars has its own scale.

*The guest* is a virtual machine with 16 CPUs, four caches and two NUMA nodes (`./scripts/test-vm`). Two CPUs emulate all
of them, so places count there, and times mean nothing.
"""


def path_of(program, build):
    """Where the program of a measurement is."""
    return ROOT / program if "/" in program else build / "benchmarks" / "kernel" / program


def run_one(measurement, build):
    """Returns the rows that the program prints."""
    command = [str(path_of(measurement.command[0], build)), *map(str, measurement.command[1:])]
    if measurement.guest:
        output = checked_output([ROOT / "scripts" / "test-vm", "-v", "--", *command], timeout=GUEST_TIMEOUT)
    else:
        output = checked_output([*measurement.prefix, *command])
    rows = [json.loads(line.rstrip(",")) for line in output.splitlines() if line.startswith("{")]
    if not rows:
        raise ProgramFailed(f"{shlex.join(command)}: the program has reported nothing")
    return [{**row, "place": "guest" if measurement.guest else "here", **measurement.labels} for row in rows]


def key_of(facts, measurements, build):
    """Runs belong together if all of this is the same. The engine is compiled into the programs."""
    digest = hashlib.sha256()
    for program in sorted({str(path_of(m.command[0], build)) for m in measurements}):
        digest.update(pathlib.Path(program).read_bytes())
    return {"programs": digest.hexdigest(), "machine": facts["machine"], "compiler": facts["run"]["compiler"],
            "flags": facts["run"]["flags"], "measurements": [m.identity() for m in measurements]}


def run_all(name, experiment, args):
    """Runs what the journal does not have yet. Returns the facts about the first run, and all rows."""
    measurements = experiment.measurements(args.size)
    facts = {"machine": machine.describe(), "run": {**machine.describe_run(ROOT, args.build), **args.circumstances}}
    log = journal.open_journal(args.state / f"{name}.jsonl", key_of(facts, measurements, args.build), facts, args.again)
    if log.entries:
        print(f"{name}: goes on with {len(log.entries)} runs of {log.facts['run']['date']}; --again forgets them",
              flush=True)
    begin = time.monotonic()
    for repetition in range(max(m.repetitions for m in measurements)):
        # Every second time backwards, so that no variant always comes after the same one.
        for m in measurements if repetition % 2 == 0 else reversed(measurements):
            if repetition < m.repetitions and not log.has(m.identity(), repetition):
                print(f"{name}: run {repetition + 1}: {m}", flush=True)
                rows = run_one(m, args.build)
                log.add(m.identity(), repetition, [{**row, "repetition": repetition} for row in rows])
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return log.facts, log.rows()


def facts_line(data):
    m, run = data["machine"], data["run"]
    virtual = ", virtual machine" if m["virtual"] else ""
    commit, comma, changes = run["commit"].partition(",")
    return (f"{m['cpu']}, {m['cpus']} CPUs{virtual}, Linux {m['kernel']}; {run['compiler']}, {run['flags']}; commit "
            f"{commit[:12]}{comma}{changes}, {run['date']}; load before: {run['load_before']}.")


def findings(experiment, data):
    """They were written by somebody who has read the results: other runs may say something else."""
    if data["run"]["size"] == "quick":
        return ["Quick runs are too short for conclusions, and leave out the guest."]
    if not data["run"]["date"].startswith(experiment.FINDINGS_OF):
        return [f"Nobody has interpreted these runs yet: the text in `benchmarks/kernel` is about those of "
                f"{experiment.FINDINGS_OF}."]
    return experiment.findings(data["rows"])


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
        lines += [f"## {experiment.TITLE}", "", f"Source: {experiment.SOURCE}. Program: `{name}`. {facts_line(data)}", "",
                  *experiment.section(data["rows"]), "", *findings(experiment, data), ""]
        for plot, document in experiment.plots(data["rows"]).items():
            (out / f"{plot}.svg").write_text(document, encoding="utf-8")
    page.write_text("\n".join(map(wrapped, lines)).rstrip() + "\n", encoding="utf-8")


def arguments():
    parser = argparse.ArgumentParser(prog="./scripts/experiments", description=__doc__,
                                     usage="./scripts/experiments [--quick] [--again] [NAME...]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
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
    args.names = list(dict.fromkeys(args.names)) or NAMES  # each of them once
    args.state = ROOT / "build" / "experiments" / args.size
    return args


def measure(args):
    out = args.state / "experiments" if args.size == "quick" else ROOT / "docs" / "dev" / "experiments"
    page = out.parent / "experiments.md"
    # The load before the first experiment: the others find that of the one before.
    args.circumstances = {"size": args.size, "load_before": round(os.getloadavg()[0], 2)}
    if args.circumstances["load_before"] > os.cpu_count() / 4:
        print(f"warning: the machine is not idle (load {args.circumstances['load_before']}); that disturbs the figures",
              file=sys.stderr)
    for folder in (args.state, out):
        folder.mkdir(parents=True, exist_ok=True)
    with (args.state.parent / "lock").open("w") as running_alone:
        try:
            fcntl.flock(running_alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProgramFailed("./scripts/experiments runs already in this tree; two at once would disturb each other"
                                ) from None
        for name in args.names:
            facts, rows = run_all(name, importlib.import_module(name), args)
            (out / f"{name}.json").write_text(json.dumps({**facts, "rows": rows}, indent=1, ensure_ascii=False) + "\n",
                                              encoding="utf-8")
            write_page(out, page)
    print(f"results: {page.relative_to(ROOT)}")


def main():
    args = arguments()
    if args.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print("\n".join(NAMES))
    if args.list or args.check:
        return 0
    try:
        measure(args)
    except (ProgramFailed, journal.Damaged, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cut; the same command goes on", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main())
