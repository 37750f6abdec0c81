# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, figure, median, select, table, with_range

TITLE = "Limits that are in effect (2023)"
LIMITS = (8, 16, 768)
POLICIES = ("unbound", "elastic", "bound")
DOCUMENT = {8: 2495, 16: 1736, 768: 1276}  # MiB/s


def measurements(size):
    seconds, repetitions = (5, 5) if size == "full" else (0.5, 1)
    out = [Measurement(["limits", "--policy", policy, "--limit", limit, "--seconds", seconds], repetitions)
           for policy in POLICIES for limit in LIMITS]
    if size == "full":
        out += [Measurement(["limits", "--policy", policy, "--limit", limit, "--seconds", seconds], guest=True)
                for policy in ("unbound", "elastic") for limit in (8, 16)]
    return out


def section(rows):
    lines = []
    for policy in POLICIES:
        for limit in LIMITS:
            some = select(rows, policy=policy, limit=limit)
            lines.append([policy, str(limit), with_range(some, "mib_per_second"), *(figure(median(some, name)) for name in (
                "threads", "most_active", "most_waiting_for_the_mutex", "switches_per_item"))])
    few, many = (median(select(rows, policy="unbound", limit=n), "mib_per_second") for n in (8, 768))
    most = max(r["most_waiting_for_the_mutex"] for r in select(rows, policy="unbound", limit=768))
    exceeded = [row for row in rows if row["policy"] != "bound" and row["most_active"] > row["limit"]]
    guest = table(["16 CPUs, two nodes (guest)", "limit", "active items at most", "threads at most"],
                  [[r["policy"], str(r["limit"]), figure(r["most_active"]), figure(r["threads"])]
                   for r in rows if r["place"] == "guest"])
    return [
        "32 writers keep 32 items outstanding each. An item computes a checksum of 64 KiB (40 µs), updates a structure "
        "under a mutex (10 µs) and waits for a device (500 µs). In Linux 6.6 the limit of an unbound workqueue was one for "
        "each CPU, so that 96 CPUs made 768 of 8.", "",
        *table(["policy", "limit", "MiB/s", "threads at most", "active items at most", "waiting for the mutex at most",
                "context switches per item"], lines),
        *table(["the document: 96 CPUs, 6 SSDs", "MiB/s"],
               [[f"limit {limit}", figure(speed)] for limit, speed in DOCUMENT.items()]),
        "![throughput](experiments/limits.svg)", "",
        f"The document says that 768 items instead of 8 cost {change(2495, 1276)} of the throughput, with 700 threads, 100 of "
        f"them waiting for one lock. Here the limit of an unbound queue is one of the whole machine, and it was exceeded in "
        f"{len(exceeded)} of the runs; a bound queue has its limit on each CPU. Between 8 and 768 the throughput changes by "
        f"{change(few, many)}, because with 8 items that wait 500 µs for their device two CPUs are often idle; with 16 they are "
        f"busy. At 768 up to {figure(most)} items waited for the mutex at one time, more than in the document. Here that "
        "costs threads and no throughput: the items that hold and take the mutex are on two CPUs, and not on 96. "
        "An elastic queue makes fewer threads, because a worker that computes counts for its CPU.", "", *guest]


def plots(rows):
    groups = [charts.Group(f"{policy}: MiB/s",
                           [charts.Bar(f"limit {limit}", speed, f"{figure(speed)}, {median(some, 'threads'):.0f} threads",
                                       True)
                            for limit in LIMITS for some in [select(rows, policy=policy, limit=limit)]
                            for speed in [median(some, "mib_per_second")]]) for policy in POLICIES]
    groups.append(charts.Group("the document: MiB/s", [charts.Bar(f"limit {limit}", speed, figure(speed), False)
                                                       for limit, speed in DOCUMENT.items()]))
    return {"limits": charts.draw("Throughput of writers under a limit of active items", groups)}
