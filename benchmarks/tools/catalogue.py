# SPDX-License-Identifier: BSL-1.0
"""The workloads of the suite and the metrics of their programs."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Metric:
    heading: str
    more_is_better: bool = False


# The first metric of a case is its main one: ratios and plots show it.
METRICS = {
    "ns_per_item": Metric("ns per item"),
    "submit_ns": Metric("of these, ns to submit"),
    "cpu_ns_per_item": Metric("CPU ns per item"),
    "ms": Metric("ms"),
    "cpu_ms": Metric("CPU ms"),
    "start_p50_us": Metric("µs to the start, median"),
    "start_p99_us": Metric("p99, µs"),
    "answer_p50_us": Metric("µs to the answer, median"),
    "cpu_us": Metric("CPU µs per round"),
    "items_per_second": Metric("items/s", more_is_better=True),
    "call_p50_ns": Metric("ns of the call, median"),
    "call_p90_ns": Metric("p90, ns"),
    "call_p95_ns": Metric("p95, ns"),
    "call_ns": Metric("ns per call"),
    "make_us": Metric("µs to make one"),
    "ns_per_token": Metric("ns per token"),
    "late_p50_us": Metric("µs late, median"),
    "late_p99_us": Metric("p99, µs"),
    "late_max_us": Metric("maximum, µs"),
    "cpu_utilisation": Metric("CPU %", more_is_better=True),
    "peak_threads": Metric("threads at most"),
}

WORKLOADS = {
    "empty": "Items that only count, from the first call to the last run; submitted by a thread outside the pool, or "
             "by an item.",
    "fanout": "Items that halve their share of the leaves, and make an item for each other half. Only a thread outside "
              "waits.",
    "fib": "Recursive Fibonacci numbers: each call makes an item for one half and waits for it.",
    "nqueens": "All solutions of the queens problem: an item for each position in the first rows.",
    "parallel_for": "A loop with uneven iterations, as items of 64 iterations or with the loop of the library.",
    "latency": "One item at a time: from the submission to its start, and to the answer in the thread that waits.",
    "blockmix": "Items of 50 µs CPU, 1 ms sleep and 50 µs CPU, or without the sleep; 200 are outstanding, submitted by "
                "a thread outside.",
    "starve": "Items, each of which waits for an item queued behind it.",
    "queue_latency": "Producers, each bound to a CPU: each queues one item, waits for it, and queues the next.",
    "ordered": "Strands: each runs its items one at a time, in order.",
    "pipeline": "Tokens that pass four stages; each stage handles one token at a time, in order. 64 are under way.",
    "timer_storm": "Timers that are armed, modified and cancelled before they are due; and how late timers expire.",
    "flush": "Waiting for items: until one has run, until all have run, and when there are none.",
    "cancel": "Cancelling items: pending ones among many, all of a queue or a group, and idle ones.",
    "bh": "Bottom halves: an item that runs in the thread that queues it.",
    "queues": "Making and destroying a queue.",
    "operations": "Single operations on a bound queue, for the thread that calls them.",
}

# Contenders that show the cost of the measurement, or of the work without a pool.
BASELINES = {"one thread", "direct call", "under a mutex"}
