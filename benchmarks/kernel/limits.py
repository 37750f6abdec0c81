# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, figure, median, select, table, with_range

TITLE = "Limits that are in effect (2023)"
SOURCE = ("N. Aota's report on Linux 6.6, quoted by T. Heo in "
          "[commit 5797b1c18919](https://git.kernel.org/linus/5797b1c18919) and in the patches before it")
FINDINGS_OF = "2026-11-26"
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
                "cpu_percent", "threads", "most_active", "most_waiting_for_the_mutex", "switches_per_item"))])
    guest = [[r["policy"], str(r["limit"]), figure(r["most_active"]), figure(r["threads"])]
             for r in rows if r["place"] == "guest"]
    return [
        "32 writers keep 32 items outstanding each. An item computes a checksum of 64 KiB (40 µs), updates a structure "
        "under a mutex (10 µs) and waits for a device (500 µs). In Linux 6.6 the limit of an unbound workqueue was one for "
        "each CPU, so that 96 CPUs made 768 of 8.", "",
        *table(["policy", "limit", "MiB/s", "CPU %, 100 for each CPU", "threads at most", "active items at most",
                "waiting for the mutex at most", "context switches per item"], lines),
        *table(["the document: 96 CPUs, 6 SSDs", "MiB/s"],
               [[f"limit {limit}", figure(speed)] for limit, speed in DOCUMENT.items()]),
        "![throughput](experiments/limits.svg)", "",
        *(table(["the guest", "limit", "active items at most", "threads at most"], guest) if guest else [])]


def findings(rows):
    speed = {(p, n): median(select(rows, policy=p, limit=n), "mib_per_second") for p in POLICIES for n in LIMITS}
    busy = {n: median(select(rows, policy="unbound", limit=n), "cpu_percent") for n in LIMITS}
    most = max(r["most_waiting_for_the_mutex"] for r in select(rows, policy="unbound", limit=768))
    exceeded = [row for row in rows if row["policy"] != "bound" and row["most_active"] > row["limit"]]
    return [
        f"The document says that 768 items instead of 8 cost {-100 * (1276 / 2495 - 1):.0f} % of the throughput, with 700 "
        f"threads, 100 of them waiting for one lock. Here the limit of an unbound queue is one of the whole machine: "
        f"{len(exceeded) or 'none'} of all runs exceeded it. A bound queue has its limit on each CPU. Between 8 and 768 the "
        f"throughput changes by {change(speed['unbound', 8], speed['unbound', 768])}, because 8 items that wait 500 µs for "
        f"their device keep the two CPUs busy for {busy[8] / 2:.0f} % of the time only, 16 for {busy[16] / 2:.0f} %, 768 for "
        f"{busy[768] / 2:.0f} %. At 768 up to {figure(most)} items waited for the mutex at one time, more than in the "
        "document. Here that costs threads and no throughput: the items that hold and take the mutex are on two CPUs, and "
        "not on 96. An elastic queue makes fewer threads, because it starts another item only when a running one has "
        "blocked.", "",
        "**For a program**: items that wait need a limit several times the number of CPUs; items that compute need none. A bound "
        f"queue, whose limit is one of each CPU, does with 16 what it does with 768 ({figure(speed['bound', 16])} and "
        f"{figure(speed['bound', 768])} MiB/s), more than the other policies."]


def plots(rows):
    groups = [charts.Group(f"{policy}: MiB/s",
                           [charts.Bar(f"limit {limit}", speed, f"{figure(speed)}, {median(some, 'threads'):.0f} threads",
                                       True)
                            for limit in LIMITS for some in [select(rows, policy=policy, limit=limit)]
                            for speed in [median(some, "mib_per_second")]]) for policy in POLICIES]
    groups.append(charts.Group("the document: MiB/s", [charts.Bar(f"limit {limit}", speed, figure(speed), False)
                                                       for limit, speed in DOCUMENT.items()]))
    return {"limits": charts.draw("Throughput of writers under a limit of active items", groups)}
