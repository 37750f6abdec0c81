# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, figure, median, select, table, with_range

TITLE = "A client and the workers that wake it (2020)"
SOURCE = ("M. Gorman, [commit 52262ee567ad](https://git.kernel.org/linus/52262ee567ad), \"sched/fair: Allow a per-CPU kthread "
          "waking a task to stack on the same CPU\"")
FINDINGS_OF = "2026-11-26"
WAITS = ("flush", "future", "semaphore")
LOADS = {0: "quiet", 2: "busy"}
CLIENTS = (1, 2, 4)
ITEMS = ("unbound", "bound")


def measurements(size):
    repetitions = 5 if size == "full" else 1
    trips = {0: 20_000 if size == "full" else 1000, 2: 1000 if size == "full" else 100}
    out = [Measurement(["stacking", "--wait", wait, "--clients", clients, "--hogs-per-cpu", load, "--trips", trips[load]],
                       repetitions) for load in LOADS for wait in WAITS for clients in CLIENTS]
    out += [Measurement(["stacking", "--items", items, "--clients", clients, "--trips", trips[0]], repetitions)
            for items in ITEMS for clients in (1, 2)]
    if size == "full":
        out += [Measurement(["stacking", "--wait", wait, "--clients", clients, "--trips", 2000], guest=True)
                for wait in WAITS for clients in (1, 8)]
    return out


def section(rows):
    lines = [[LOADS[load], str(clients), wait, with_range(some, "p50_us"), figure(median(some, "mean_us")),
              figure(median(some, "p99_us")), with_range(some, "migrations_per_trip")]
             for load in LOADS for clients in CLIENTS for wait in WAITS
             for some in [select(rows, items="both", wait=wait, clients=clients, hogs_per_cpu=load)]]
    alone = [[items, str(clients), with_range(some, "p50_us"), figure(median(some, "p99_us"))]
             for items in ITEMS for clients in (1, 2) for some in [select(rows, items=items, clients=clients)] if some]
    guest = [[str(r["clients"]), r["wait"], figure(r.get("migrations_per_trip")), figure(r["changes_per_trip"])]
             for r in rows if r["place"] == "guest"]
    return [
        "A client queues an unbound item and waits, then a bound one and waits: a trip. It waits with `flush()`, "
        "`async().get()`, or a semaphore of its own. Busy: two processes for each CPU compute. The scheduler counts the "
        "migrations.", "",
        *table(["", "clients", "waits with", "µs, median", "mean", "p99", "migrations of a client per trip"], lines),
        *(table(["items, each flushed", "clients", "µs, median", "p99"], alone) if alone else []),
        *(table(["the guest: clients", "waits with", "migrations per trip", "trips that end on another CPU, per trip"], guest)
          if guest else []),
        "![trips](experiments/stacking.svg)"]


def findings(rows):
    quiet, busy = ([r["migrations_per_trip"] for r in select(rows, items="both", hogs_per_cpu=load)
                    if "migrations_per_trip" in r] for load in LOADS)
    one, two = (median(select(rows, items="both", wait="semaphore", clients=n, hogs_per_cpu=0), "mean_us") for n in (1, 2))
    return [
        "The document says that the scheduler moved the client at each such trip: the bound worker that woke it still ran on "
        "its CPU, which therefore did not count as idle. Its remedy is in the scheduler: waker and client may share the CPU, "
        "since such a worker is about to sleep. With one client a load file of dbench took 9 % less on 8 CPUs, and 49 % less "
        "on 48.", "",
        f"Here a client migrates {figure(max(quiet, default=0))} times per trip in the worst run while nothing else runs, and "
        f"{figure(max(busy, default=0))} times beside a load. On two idle CPUs one client pays for another thing: the unbound "
        "worker is woken on the other CPU, which sleeps. So bound items alone cost one client next to nothing, and unbound "
        f"ones the whole time of the trip; with two clients no CPU sleeps, and the mean falls from {figure(one)} to "
        f"{figure(two)} µs (semaphore). Where the document saw migrations, 8 to 48 CPUs were there to choose from.", "",
        "**For a program**: a thread that hands over one short item and waits for it should use a bound queue."]


def plots(rows):
    groups = [charts.Group(f"{LOADS[load]}, {clients} {'client' if clients == 1 else 'clients'}: µs of a trip, median",
                           [charts.Bar(wait, value, figure(value), True) for wait in WAITS
                            for value in [median(select(rows, items="both", wait=wait, clients=clients,
                                                        hogs_per_cpu=load), "p50_us")]])
              for load in LOADS for clients in CLIENTS]
    return {"stacking": charts.draw("Round trips between clients and workers", groups)}
