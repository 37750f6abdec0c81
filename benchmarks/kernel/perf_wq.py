# SPDX-License-Identifier: BSL-1.0
import pathlib
import statistics

import charts
import sound
from experiment import Measurement, change, figure, median, select, table

TITLE = "perf-wq: a load of small items beside a foreground job (2010)"
SOURCE = "T. Heo, \"Overview of concurrency managed workqueue\", June 2010"
FINDINGS_OF = "2026-11-26"
FILE = pathlib.Path("build/experiments/sound.wav")
SECONDS_OF_SOUND = 210  # some ten seconds to encode
RUNS, OTHER_RUNS = 11, 4
OFTEN = (0, 2, 5)  # workloads that are run RUNS times
SHOWN = ((0, "S"), (2, "L"), (5, "L"))  # workload and burn, in the tables of prices and in the plot
DESIGNS = {"multi-threaded": "a thread for each queue on each CPU", "single-threaded": "a thread for each queue",
           "bound": "cmwq, bound", "unbound": "cmwq, unbound"}
# Where a design is run, if not everywhere.
ONLY = {"single-threaded": ((0, "S"), (2, "L")), "unbound": ((0, "S"),)}
CLASSES = ("short", "medium", "long")
# Seconds and deviation: workload -> burn -> (the design before, the kernel's cmwq)
DOCUMENT = {0: {"S": ("26.18 ± 0.24", "26.27 ± 0.29")}, 1: {"S": ("26.50 ± 0.45", "26.52 ± 0.23")},
            2: {"L": ("26.62 ± 0.35", "26.53 ± 0.23"), "S": ("26.14 ± 0.22", "26.12 ± 0.32")},
            3: {"L": ("26.30 ± 0.25", "26.29 ± 0.26"), "S": ("25.94 ± 0.25", "26.17 ± 0.30")},
            4: {"L": ("26.26 ± 0.23", "25.93 ± 0.24"), "S": ("25.90 ± 0.23", "25.91 ± 0.29")},
            5: {"L": ("25.81 ± 0.33", "25.88 ± 0.25"), "S": ("25.63 ± 0.27", "25.59 ± 0.26")}}


def measurements(size):
    full = size == "full"
    sound.make_once(FILE, SECONDS_OF_SOUND)
    job = ["--foreground", f"lame --quiet -q {0 if full else 7} {FILE.resolve()} /dev/null"]
    out = [Measurement(["perf_wq", "--design", "none", *job], RUNS if full else 1)]
    for workload, burns in DOCUMENT.items():
        if not full and workload:
            continue
        for burn in burns:
            runs = 1 if not full else RUNS if workload in OFTEN else OTHER_RUNS
            for design in DESIGNS:
                if (workload, burn) not in ONLY.get(design, ((workload, burn),)):
                    continue
                out.append(Measurement(["perf_wq", "--workload", workload, "--burn", burn, "--design", design, *job],
                                       runs))
    return out


def mean_and_deviation(values):
    if not values:
        return "–"
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def counted(rows):
    """Without the first run, as in the document, unless there is only one."""
    return [row for row in rows if row["repetition"] > 0] or rows


def seconds_of(rows, **wanted):
    return [row["foreground_seconds"] for row in counted(select(rows, **wanted))]


def shown(rows):
    """Workload, burn and design of these tables, with the rows."""
    for workload, burn in SHOWN:
        for design in DESIGNS:
            some = counted(select(rows, workload=workload, burn=burn, design=design))
            if some:
                yield workload, burn, design, some


def difference(rows, workload, burn):
    """Of cmwq's bound queues and a thread per queue and CPU, in the same repetition, in percent: the mean and its standard
    error, which is None for one run; None without runs."""
    by_design = [{row["repetition"]: row["foreground_seconds"] for row in counted(
        select(rows, workload=workload, burn=burn, design=design))} for design in ("multi-threaded", "bound")]
    pairs = [100 * (by_design[1][n] / before - 1) for n, before in by_design[0].items() if n in by_design[1]]
    if not pairs:
        return None
    return statistics.mean(pairs), statistics.stdev(pairs) / len(pairs)**0.5 if len(pairs) > 1 else None


def text_of(difference):
    if difference is None:
        return "–"
    mean, error = difference
    return f"{mean:+.1f}" + (f" ± {error:.1f}" if error is not None else "")


def section(rows):
    alone = seconds_of(rows, design="none")
    lines = []
    for workload, burns in DOCUMENT.items():
        for burn, (before, kernel) in burns.items():
            ours = [seconds_of(rows, workload=workload, burn=burn, design=design) for design in DESIGNS]
            if any(ours):
                lines.append([f"wl{workload}/{burn}", *(mean_and_deviation(values) for values in ours),
                              text_of(difference(rows, workload, burn)), before, kernel])
    price, delays = [], []
    for workload, burn, design, some in shown(rows):
        who = [f"wl{workload}/{burn}", DESIGNS[design]]
        price.append([*who, *(figure(median(some, metric)) for metric in (
            "threads", "resident_mib", "cpu_percent", "switches_per_second"))])
        delays.append([*who, *(
            " / ".join(figure((max if metric == "max" else statistics.median)(
                row[f"{c}_{metric}_us"] for row in some)) for metric in ("p50", "p99", "max"))
            if any(row[f"{c}_runs"] for row in some) else "–" for c in CLASSES)])
    return [
        "The load generator of the first announcement: items of three classes, which compute for 1 µs to 4 µs (S) or 50 µs "
        "(L), sleep for 1, 10 or 100 ms in the mean, and queue themselves again after 10, 50 or 250 ms. wl0 has 26 queues and "
        "76 items, wl5 none of the short ones. The foreground job is LAME, `lame -q 0`, which encodes "
        f"{SECONDS_OF_SOUND} s of a sound made for this; a copy runs on each CPU. The design before is a comparator written for this: threads for each queue, which work "
        "through their list in order. The first run is dropped; wl0, wl2 and wl5 have ten more, the others three.", "",
        f"Seconds of the foreground job, mean ± deviation; with the load of cmwq's bound queues against that of threads per "
        f"queue and CPU, in the same repetition: mean of the differences ± its standard error. Alone it takes "
        f"{mean_and_deviation(alone)} s; the document's took 25.59 ± 0.19 s.", "",
        *table(["workload/burn", *(DESIGNS.values()), "difference, %", "document: before", "document: cmwq"], lines),
        "![seconds](experiments/perf_wq.svg)", "",
        "What the designs cost, which the document did not measure. Threads: of the process at the end, without the main "
        "thread.", "",
        *table(["", "", "threads", "resident MiB", "CPU %", "context switches/s"], price),
        "µs from the time at which an item was due to its start, median / p99 / maximum of all runs:", "",
        *table(["", "", *CLASSES], delays)]


def findings(rows):
    alone, beside = (statistics.mean(seconds_of(rows, **wanted)) for wanted in (
        {"design": "none"}, {"workload": 0, "burn": "S", "design": "bound"}))
    all_of_them = {f"wl{workload}/{burn}": difference(rows, workload, burn) for workload, burns in DOCUMENT.items()
                   for burn in burns}
    clear = [f"{name} ({text_of(d)} %)" for name, d in all_of_them.items() if abs(d[0]) > 2 * d[1]]
    def price(design, metric):
        return figure(median(counted(select(rows, workload=5, burn="L", design=design)), metric))
    return [
        "The document says that no difference between the designs is significant. Here the difference is more than twice its "
        f"error in {len(clear)} of {len(all_of_them)} rows{': ' if clear else ''}{', '.join(clear)}, because "
        f"both designs use about as much CPU time. With wl5, where items are rare, cmwq uses {price('bound', 'cpu_percent')} "
        f"% of a CPU and switches {price('bound', 'switches_per_second')} times per second, threads for each queue "
        f"{price('multi-threaded', 'cpu_percent')} % and {price('multi-threaded', 'switches_per_second')} times: its "
        "sentinels and its monitor look for blocked workers. The load costs the job "
        f"{change(alone, beside)} (wl0/S), in the document 3 %.", "",
        "A thread of the design before starts an item as soon as it is woken, unless the item before in its queue sleeps: "
        "then the item waits for as long as that, so the delays of the medium items, which share a queue with long ones, reach "
        "the time of their sleep. An item of cmwq never waits for another one that sleeps. But while the foreground job keeps "
        "the CPU busy, the sentinel, which runs on idle CPUs, cannot see that a worker has blocked, and the monitor finds "
        "out, a little later. On an unbound queue nothing has to be found out.", "",
        "**For a program**: items that must start at once beside threads that compute belong on an unbound queue, or announce "
        "their sleep by a `blocking_region`."]


def plots(rows):
    groups = []
    for workload, burn in SHOWN:
        bars = [charts.Bar("alone", statistics.mean(seconds_of(rows, design="none")),
                           mean_and_deviation(seconds_of(rows, design="none")), False)]
        for design in DESIGNS:
            values = seconds_of(rows, workload=workload, burn=burn, design=design)
            if values:
                bars.append(charts.Bar(DESIGNS[design], statistics.mean(values), mean_and_deviation(values),
                                       DESIGNS[design].startswith("cmwq")))
        if len(bars) > 1:
            groups.append(charts.Group(f"wl{workload}/{burn}: seconds of the foreground job", bars))
    return {"perf_wq": charts.draw("A foreground job beside the load of perf-wq", groups)}
