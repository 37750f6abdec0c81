# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, figure, histogram, median, select, table, with_range

TITLE = "Priorities beside a load: WQ_SCHED_FIFO (2023)"
PRIORITIES = ("normal", "high", "fifo")
# As root, without the permission to set priorities. Others have it only if the system gives it to them.
WITHOUT_PERMISSION = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]


def measurements(size):
    seconds, repetitions = (10, 5) if size == "full" else (2, 1)
    out = []
    for shape in ("start", "read"):
        for priority in PRIORITIES:
            out.append(Measurement(["fifo", "--priority", priority, "--shape", shape, "--seconds", seconds],
                                   repetitions))
    out += [Measurement(["fifo", "--priority", p, "--seconds", seconds], 1, prefix=WITHOUT_PERMISSION,
                        labels={"without permission": 1}) for p in PRIORITIES]
    return out


def chosen(rows, shape, priority, permitted=True):
    return select(rows, shape=shape, priority=priority, **{"without permission": None if permitted else 1})


def start_table(rows, permitted):
    lines = []
    for priority in PRIORITIES:
        some = chosen(rows, "start", priority, permitted)
        lines.append([priority, *(figure(median(some, name)) for name in (
            "mean_us", "p50_us", "min_us", "max_us", "deviation_us")), str(sum(r["samples"] for r in some))])
    return table(["priority", "mean", "median", "minimum", "maximum", "deviation", "samples"], lines)


def section(rows):
    normal, high, fifo = (chosen(rows, "start", p) for p in PRIORITIES)
    mean = [median(some, "mean_us") for some in (normal, high, fifo)]
    reads = {p: chosen(rows, "read", p) for p in PRIORITIES}
    clat = {p: median(some, "mean_us") for p, some in reads.items()}
    speed = {p: median(some, "mib_per_second") for p, some in reads.items()}
    wait = {p: median(some, "reader_mean_us") for p, some in reads.items()}
    refused = sum(row["refused"] for row in rows if row.get("without permission"))
    return [
        "Four processes for each CPU compute, each of which wants 90 % of a CPU. A thread of SCHED_FIFO, which stands for "
        "the interrupt, queues an item on each CPU in turn, 3 ms after the one before has started. The document's figures "
        "are of the start of applications on a telephone, without and with the flag.", "",
        "µs from queueing to the start:", "",
        *start_table(rows, True),
        *table(["the document", "mean", "median", "minimum", "maximum", "deviation"],
               [["workqueue", "15,253", "14,001", "3,117", "30,170", "7,166"],
                ["WQ_SCHED_FIFO", "3,514", "3,450", "3,097", "4,896", "319"]]),
        "![delays](experiments/fifo.svg)", "",
        f"The document says that the class lowers the mean by 77 % and the deviation by 96 %. Here it changes the mean by "
        f"{change(mean[0], mean[2])} and the deviation by "
        f"{change(median(normal, 'deviation_us'), median(fifo, 'deviation_us'))}, because a worker of SCHED_FIFO takes the "
        f"CPU at once, while one of the normal class waits for its turn among the processes. High priority (nice -20) "
        f"changes the mean by {change(mean[0], mean[1])}: it is of the same class, so it only gets its turn earlier. The "
        "document's minimum hardly changes, because in it the work of the items themselves is included.", "",
        "A reader submits, waits and verifies: a device answers after 10 µs, an item verifies the block of 4 KiB (5 µs of "
        "CPU time) and wakes the reader. The document's reader (fio on dm-verity) had 8 such processes beside it.", "",
        *table(["priority", "MiB/s", "mean completion, µs", "median", "maximum", "mean, the item starts after, µs",
                "and the reader goes on after, µs"],
               [[p, with_range(some, "mib_per_second"), with_range(some, "mean_us"),
                 *(figure(median(some, name)) for name in ("p50_us", "max_us", "item_mean_us", "reader_mean_us"))]
                for p, some in reads.items()]),
        *table(["the document", "MiB/s", "mean completion, µs", "maximum"],
               [["workqueue", "122", "29.56", "23,882"], ["WQ_SCHED_FIFO", "180", "19.96", "23,137"]]),
        f"The document says 48 % more bandwidth and a mean completion 32 % shorter. Here the bandwidth changes by "
        f"{change(speed['normal'], speed['fifo'])} and the mean by {change(clat['normal'], clat['fifo'])}, because the item no "
        "longer waits for its turn; the reader, which is of the normal class in both cases, still does. With high priority "
        f"(nice -20) the bandwidth changes by {change(speed['normal'], speed['high'])}, although the item starts sooner, "
        f"because the reader goes on only {figure(wait['high'])} µs after the end of the item, and not {figure(wait['normal'])}: "
        "the scheduler lets the other processes run first. A queue of high priority helps a thread only if that thread has "
        "the priority too.", "",
        f"**Without the permission** (no CAP_SYS_NICE, no RLIMIT_RTPRIO) the workers stay in the normal class, the event "
        f"`priority_refused` says so once ({refused} of the two runs that ask for more reported it), and the thread that "
        "queues the items is of the normal class too:", "",
        *start_table(rows, False)]


def plots(rows):
    groups = []
    for priority in PRIORITIES:
        bars = histogram(chosen(rows, "start", priority))
        total = sum(bars)
        groups.append(charts.Group(
            f"priority {priority}: share of the items by start delay",
            [charts.Bar(f"{2**i:,} µs …", 100 * n / total, f"{100 * n / total:.1f} %", True)
             for i, n in enumerate(bars[:18])], 100))
    return {"fifo": charts.draw("Start delay of an item beside processes that compute", groups)}
