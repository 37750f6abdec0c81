# SPDX-License-Identifier: BSL-1.0
"""The programs in micro/ that belong to the suite. They use Google Benchmark, and measure all contenders in one run."""

import json

from measurement import Measurement, ProgramFailed, row

# {program: {benchmark: (case, contender)}}
BH = "one item at a time"
MADE, USED = "made and destroyed", "made, used by one item and destroyed"
NAMES = {
    "bh": {
        "direct_call": (BH, "direct call"),
        "under_a_mutex": (BH, "under a mutex"),
        "bottom_half_normal": (BH, "cmwq bh"),
        "bottom_half_high": (BH, "cmwq bh, high priority"),
        "bottom_half_batch": (BH, "cmwq bh, 16 behind a guard"),
        "asio_dispatch_from_outside": (BH, "strand, from outside"),
        "asio_dispatch_from_inside": (BH, "strand, from inside"),
        "asio_dispatch_and_run": (BH, "strand, with its own run()"),
        "bottom_half_on_its_thread": ("on the thread of another CPU, with the answer", "cmwq bh"),
    },
    "queues": {
        **{f"make_and_destroy<cmwq::{p}>": (MADE, f"cmwq {p}") for p in ("elastic", "bound", "unbound", "ordered")},
        "make_and_destroy_alone": (MADE, "cmwq, own attributes"),
        "asio_pool_of_two": (MADE, "Boost.Asio, 2 threads"),
        **{f"make_use_and_destroy<cmwq::{p}>": (USED, f"cmwq {p}") for p in ("elastic", "bound", "unbound", "ordered")},
        "asio_pool_of_two_used": (USED, "Boost.Asio, 2 threads"),
    },
    "operations": {},  # each is a case of its own
}
SECONDS = {"quick": 0.02, "full": 0.2}  # of each benchmark
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def rows(program, output):
    found = []
    for one in json.loads(output)["benchmarks"]:
        if one.get("error_occurred"):
            raise ProgramFailed(f"{program}, {one['name']}: {one['error_message']}")
        name, _, clock = one["name"].partition("/")
        if NAMES[program] and name not in NAMES[program]:
            raise ProgramFailed(f"{program}: micro_programs.py has no name for {name}")
        case, contender = NAMES[program].get(name) or (name.replace("_", " "), "cmwq bound")
        # A benchmark without "real_time" never waits, so the time in which it was preempted does not count.
        time = one["real_time" if clock == "real_time" else "cpu_time"]
        found.append(row(program, case, contender, {"call_ns": time * NANOSECONDS[one["time_unit"]]}))
    return found


def micro(folder, size):
    """Returns the measurements of these programs."""
    measurements = []
    for program in NAMES:
        command = [folder / "micro" / program, f"--benchmark_min_time={SECONDS[size]}", "--benchmark_format=json"]
        measurements.append(Measurement(program, "all", lambda _file, c=command: c,
                                        lambda output, _file, p=program: rows(p, output)))
    return measurements
