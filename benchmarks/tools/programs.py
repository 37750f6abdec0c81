# SPDX-License-Identifier: BSL-1.0
"""The programs suite, blockmix and starve: how to run each contender once, and how to read the output."""

import json
import statistics

from measurement import Measurement, checked_output, row

# --- suite ------------------------------------------------------------------------------------------------------------

def suite_rows(output, _file=None):
    rows = []
    for line in output.splitlines():
        metrics = json.loads(line)
        rows.append(row(metrics.pop("workload"), metrics.pop("case"), metrics.pop("contender"), metrics))
    return rows


def suite(folder, size):
    """Returns the measurements of all workloads of the program, and the versions of the other libraries."""
    program = folder / "suite" / "suite"
    listed = json.loads(checked_output([program, "--list"]))
    measurements = []
    for workload, contenders in listed["workloads"].items():
        for contender in contenders:
            command = [program, workload, "--contender", contender, "--size", size]
            measurements.append(Measurement(workload, contender, lambda _file, c=command: c, suite_rows))
    return measurements, listed["versions"]


# --- blockmix ---------------------------------------------------------------------------------------------------------

BLOCKMIX = {"elastic": "cmwq elastic", "cmwq": "cmwq bound", "cmwq-annotated": "cmwq bound, announced",
            **{f"asio-{n}": f"Boost.Asio, {n} threads" for n in (2, 8, 24, 64)}}
BLOCKMIX_SIZES = {"quick": ((0, 50, 99), 0.3, 0.2), "full": ((0, 10, 50, 90, 99), 1, 0.3)}  # %, s measured, s before


def blockmix(folder, size):
    shares, seconds, warmup = BLOCKMIX_SIZES[size]
    measurements = []
    for share in shares:
        for name, contender in BLOCKMIX.items():
            options = ["--external", "--reps", 1, "--seconds", seconds, "--warmup", warmup, "--blocked", share,
                       "--only", name]

            def rows(_output, file, share=share, contender=contender):
                c = json.loads(file.read_text())["contenders"][0]
                metrics = {key: statistics.median(c[key]) for key in
                           ("items_per_second", "cpu_utilisation", "peak_threads")}
                return [row("blockmix", f"{share} % of the items sleep", contender, metrics)]

            measurements.append(Measurement(
                "blockmix", contender,
                lambda file, o=options: [folder / "macro" / "blockmix", *o, "--json", file], rows))
    return measurements


# --- starve -----------------------------------------------------------------------------------------------------------

STARVE = {"elastic": "cmwq elastic", "bound": "cmwq bound", "unbound": "cmwq unbound", "asio": "Boost.Asio, 2 threads"}
STARVE_SIZES = {"quick": ["--repetitions", 5, "--stuck", 300, "--still-seconds", 0.1, "--asio-seconds", 0.3],
                "full": ["--repetitions", 20, "--stuck", 1000, "--still-seconds", 0.3, "--asio-seconds", 2]}


def starve(folder, size):
    measurements = []
    for pool, contender in STARVE.items():
        def rows(_output, file, contender=contender):
            return [row("starve", f"{r['items']} items", contender,
                        {"ms": statistics.median(r["ms"]) if r["ms"] else None, "peak_threads": r["peak_threads"]})
                    for r in json.loads(file.read_text())["rows"]]

        options = ["--policy", pool, *STARVE_SIZES[size]]
        measurements.append(Measurement(
            "starve", contender, lambda file, o=options: [folder / "macro" / "starve", *o, "--json", file], rows))
    return measurements
