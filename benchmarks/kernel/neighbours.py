# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, extreme, figure, median, select, table, with_range

TITLE = "A flood and its neighbours"
SOURCE = "none; this experiment is cmwq's own"
FINDINGS_OF = "2026-11-26"
POLICIES = ("bound", "elastic", "unbound", "ordered")
MEANS = ("none", "limit", "own-pool")


def measurements(size):
    seconds, repetitions = (4, 5) if size == "full" else (0.5, 1)
    return [Measurement(["neighbours", "--policy", policy, "--means", means, "--seconds", seconds], repetitions)
            for policy in POLICIES for means in MEANS if (policy, means) != ("ordered", "limit")]


def section(rows):
    lines = [[policy, means + (", refused" if any(r["refused"] for r in some) else ""),
              *(with_range(some, name) for name in ("p50_us", "p99_us")), figure(extreme(some, "max_us", max)),
              figure(median(some, "flood_items_per_second"))]
             for policy in POLICIES for means in MEANS for some in [select(rows, policy=policy, means=means)] if some]
    return [
        "One queue always has 10,000 items of 10 µs outstanding. Another queue with the same attributes queues an item on "
        "the same CPU, 1 ms after the one before has started. The kernel promises nothing but the order of queueing: an item "
        "waits for what is in the pool before it, and that is at most `max_active` items of each other queue.", "",
        *table(["policy", "means against it", "start delay in µs, median", "p99", "maximum of all", "items/s of the flood"],
               lines),
        "![delays](experiments/neighbours.svg)", "",
        "`limit`: the flooding queue has a `max_active` of 16. `own-pool`: the neighbour has high priority, or other "
        "attributes (nice -1), and so a pool of its own."]


def findings(rows):
    def delay(policy, means, name="p50_us"):
        return figure(median(select(rows, policy=policy, means=means), name))
    rate = median(select(rows, policy="bound", means="none"), "flood_items_per_second")
    return [
        f"Here the neighbour's item waits {delay('bound', 'none')} µs on a bound queue. That is the order of queueing: up to "
        f"256 active items are before it, and an eighth of that may join them ([guarantees](guarantees.md)), "
        f"{figure(1e6 / rate)} µs each with all costs; never the 10,000 of the backlog.", "",
        f"**For a program**: a limit of 16 for the flooding queue helps its neighbours with every policy: the median is "
        f"{delay('bound', 'limit')} µs (bound), {delay('elastic', 'limit')} µs (elastic) and {delay('unbound', 'limit')} µs "
        f"(unbound). With a pool of its own the neighbour waits {delay('bound', 'own-pool')}, {delay('elastic', 'own-pool')} "
        f"and {delay('unbound', 'own-pool')} µs; but on an unbound queue the threads of both pools compete for the CPUs, and "
        f"its p99 stays in the milliseconds ({delay('unbound', 'own-pool', 'p99_us')} µs). An ordered queue floods nobody, "
        "because one of its items is active at a time."]


def plots(rows):
    groups = [charts.Group(f"{policy}: µs from queueing to the start, median",
                           [charts.Bar(means, value, figure(value), True) for means in MEANS
                            for value in [median(select(rows, policy=policy, means=means), "p50_us")] if value])
              for policy in POLICIES]
    return {"neighbours": charts.draw("Start delay beside a queue that floods the pool", groups)}
