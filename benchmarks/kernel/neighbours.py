# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, figure, median, select, table, with_range

TITLE = "A flood and its neighbours"
POLICIES = ("bound", "elastic", "unbound", "ordered")
MEANS = ("none", "limit", "own pool")


def measurements(size):
    seconds, repetitions = (4, 5) if size == "full" else (0.5, 1)
    return [Measurement(["neighbours", "--policy", policy, "--means", means, "--seconds", seconds], repetitions)
            for policy in POLICIES for means in MEANS if (policy, means) != ("ordered", "limit")]


def section(rows):
    lines = [[policy, means, *(with_range(some, name) for name in ("p50_us", "p99_us")), figure(median(some, "max_us")),
              figure(median(some, "flood_items_per_second"))]
             for policy in POLICIES for means in MEANS for some in [select(rows, policy=policy, means=means)] if some]
    delay = {(policy, means): median(select(rows, policy=policy, means=means), "p50_us")
             for policy in POLICIES for means in MEANS}
    rate = median(select(rows, policy="bound", means="none"), "flood_items_per_second")
    return [
        "One queue always has 10,000 items of 10 µs outstanding. Each millisecond an item of another queue with the same "
        "attributes is queued on the same CPU. The kernel promises nothing but the order of queueing: an item waits for what "
        "is in the pool before it, and that is at most `max_active` items of each other queue.", "",
        *table(["policy", "means against it", "start delay in µs, median", "p99", "maximum", "items/s of the flood"], lines),
        "![delays](experiments/neighbours.svg)", "",
        "`limit`: the flooding queue has a `max_active` of 16. `own pool`: the neighbour has high priority, or other "
        "attributes (nice -1), and so a pool of its own.", "",
        f"Here the neighbour's item waits {figure(delay['bound', 'none'])} µs on a bound queue, which is the order of "
        f"queueing: up to 256 active items are before it, {figure(1e6 / rate)} µs each with all costs, and never the 10,000 of "
        "the backlog. That is bad for a neighbour in a hurry, and a user has two means: a limit of 16 for the flooding queue makes it "
        f"{figure(delay['bound', 'limit'])} µs, a pool of its own {figure(delay['bound', 'own pool'])} µs. An ordered queue "
        "floods nobody, because one of its items is active at a time."]


def plots(rows):
    groups = [charts.Group(f"{policy}: µs from queueing to the start, median",
                           [charts.Bar(means, value, figure(value), True) for means in MEANS
                            for value in [median(select(rows, policy=policy, means=means), "p50_us")] if value])
              for policy in POLICIES]
    return {"neighbours": charts.draw("Start delay beside a queue that floods the pool", groups)}
