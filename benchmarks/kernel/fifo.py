# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, extreme, figure, histogram, median, select, table, with_range

TITLE = "Priorities beside a load: WQ_SCHED_FIFO (2023)"
SOURCE = ("S. Dhavale and N. Huckleberry, \"[PATCH] workqueue: Add WQ_SCHED_FIFO\", January 2023; the start of applications: "
          "[lore.kernel.org](https://lore.kernel.org/linux-erofs/20230106073502.4017276-1-dhavale@google.com/)")
FINDINGS_OF = "2026-11-26"
PRIORITIES = {"normal": "bound, normal", "high": "bound, high (nice -20)", "unbound-high": "unbound, nice -20",
              "fifo": "bound, SCHED_FIFO"}
# As root, without the permission to set priorities. Others have it only if the system gives it to them.
WITHOUT_PERMISSION = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
READERS = (("normal", 0), ("high", 0), ("high", -20), ("fifo", 0))


def measurements(size):
    seconds, repetitions = (10, 5) if size == "full" else (2, 1)
    out = [Measurement(["fifo", "--priority", priority, "--seconds", seconds], repetitions) for priority in PRIORITIES]
    out += [Measurement(["fifo", "--shape", "read", "--priority", priority, "--reader-nice", nice, "--seconds", seconds],
                        repetitions) for priority, nice in READERS]
    out += [Measurement(["fifo", "--priority", p, "--seconds", seconds], 1, prefix=WITHOUT_PERMISSION,
                        labels={"without permission": 1}) for p in PRIORITIES if p != "unbound-high"]
    return out


def starts(rows, priority, permitted=True):
    return select(rows, shape="start", priority=priority, **{"without permission": None if permitted else 1})


def reads(rows, priority, nice):
    return select(rows, shape="read", priority=priority, reader_nice=nice)


def start_table(rows, permitted):
    lines = []
    for priority, name in PRIORITIES.items():
        some = starts(rows, priority, permitted)
        if some:
            refused = ", refused" if any(r["refused"] for r in some) else ""
            lines.append([name + refused, with_range(some, "mean_us"), figure(median(some, "p50_us")),
                          figure(extreme(some, "min_us", min)), figure(extreme(some, "max_us", max)),
                          figure(median(some, "deviation_us")), figure(sum(r["samples"] for r in some)),
                          some[0]["interrupt"]])
    return table(["queue", "mean, µs", "median", "minimum of all", "maximum of all", "deviation", "samples",
                  "class of the thread that queues"], lines)


def section(rows):
    return [
        "Four processes for each CPU compute, each of which wants 90 % of a CPU. A thread, of SCHED_FIFO if that is "
        "permitted, stands for the interrupt. It queues an item on each CPU in turn, 3 ms after the one before has "
        "started. µs from queueing to the start:", "",
        *start_table(rows, True),
        *table(["the document", "mean, µs", "median", "minimum", "maximum", "deviation"],
               [["WQ_UNBOUND, WQ_HIGHPRI", "15,253", "14,001", "3,117", "30,170", "7,166"],
                ["WQ_SCHED_FIFO", "3,514", "3,450", "3,097", "4,896", "319"]]),
        "The document's figures are sums: of the delays of all items during one start of an application on a telephone.", "",
        "![delays](experiments/fifo.svg)", "",
        "A reader submits, waits and verifies: a device answers after 10 µs, an item verifies the block of 4 KiB (5 µs of "
        "CPU time) and wakes the reader. The document's reader (fio on dm-verity) had 8 such processes beside it.", "",
        *table(["queue", "nice of the reader", "MiB/s", "completion: mean, µs", "median", "maximum of all",
                "the item starts after, mean", "and the reader goes on after, mean"],
               [[PRIORITIES[p], str(nice), with_range(some, "mib_per_second"), with_range(some, "mean_us"),
                 figure(median(some, "p50_us")), figure(extreme(some, "max_us", max)),
                 figure(median(some, "item_mean_us")), figure(median(some, "reader_mean_us"))]
                for p, nice in READERS for some in [reads(rows, p, nice)]]),
        *table(["the document", "MiB/s", "completion: mean, µs", "maximum"],
               [["workqueue", "122", "29.56", "23,882"], ["WQ_SCHED_FIFO", "180", "19.96", "23,137"]]),
        "Without the permission (no CAP_SYS_NICE, no RLIMIT_RTPRIO), one run each:", "",
        *start_table(rows, False)]


def findings(rows):
    mean = {p: median(starts(rows, p), "mean_us") for p in PRIORITIES}
    spread = {p: median(starts(rows, p), "deviation_us") for p in PRIORITIES}
    latest = {p: figure(extreme(starts(rows, p), "max_us", max)) for p in PRIORITIES}
    speed = {r: median(reads(rows, *r), "mib_per_second") for r in READERS}
    wait = {r: median(reads(rows, *r), "reader_mean_us") for r in READERS}
    return [
        "The document says that the class lowers the mean by 77 % and the deviation by 96 %, against an unbound queue of high "
        f"priority. Here, against the same, it changes them by {change(mean['unbound-high'], mean['fifo'])} and "
        f"{change(spread['unbound-high'], spread['fifo'])}, and the maximum falls from {latest['unbound-high']} µs to "
        f"{latest['fifo']} µs, because a worker of SCHED_FIFO takes its CPU at once, whatever runs there: no item is late. The "
        "mean does not fall, probably because an item of a bound queue has to start on the CPU that was named, which must be "
        "interrupted first; an unbound one may start on any CPU. Against a normal bound queue the class changes mean and "
        f"deviation by {change(mean['normal'], mean['fifo'])} and {change(spread['normal'], spread['fifo'])}.", "",
        f"For the reader the document says 48 % more bandwidth. Here the class changes it by "
        f"{change(speed['normal', 0], speed['fifo', 0])}. With nice -20 it changes by "
        f"{change(speed['normal', 0], speed['high', 0])}, although the item starts sooner, because the reader goes on only "
        f"{figure(wait['high', 0])} µs after the end of the item, and not {figure(wait['normal', 0])}. If the reader has nice "
        f"-20, too, the bandwidth changes by {change(speed['normal', 0], speed['high', -20])}, which is within the range of the "
        "runs.", "",
        "**For a program**: beside other processes that compute, `priority::fifo` starts items within microseconds, where it "
        "is permitted. Give the thread that waits for items of high priority the same nice value, or it gives away what they "
        "gain. Without the permission the workers stay in the normal class, and the event `priority_refused` says so once."]


def plots(rows):
    groups = []
    for priority, name in PRIORITIES.items():
        bars = histogram(starts(rows, priority))
        total = sum(bars)
        groups.append(charts.Group(
            f"{name}: share of the items by start delay",
            [charts.Bar(f"{2**i:,} µs …", 100 * n / total, f"{100 * n / total:.1f} %", True)
             for i, n in enumerate(bars[:18])], 100))
    return {"fifo": charts.draw("Start delay of an item beside processes that compute", groups)}
