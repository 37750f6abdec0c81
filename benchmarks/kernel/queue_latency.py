# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, figure, median, select, table, with_range

TITLE = "queue_latency: one item after the other (2026)"
SOURCE = "B. Leitao, \"workqueue: introduce the cache_shard affinity scope\", March 2026, with lib/test_workqueue.c"
FINDINGS_OF = "2026-11-26"
SCOPES = ("cpu", "smt", "cache_shard", "cache", "numa", "system")
POLICIES = ("unbound", "elastic")
SIMULATION = "build/dev/tests/counting/simulated_scale"  # of the tree of the tests
# Million items/s and µs of the call (p50): Grace, 72 cores that share one cache, by the number of shards.
DOCUMENT = (("1 (cache)", 0.73, 43.6), ("2", 1.52, 19.6), ("4", 2.35, 11.0), ("8", 3.23, 6.9))


def measurements(size):
    rounds, repetitions = (50_000, 5) if size == "full" else (2000, 1)
    out = [Measurement(["queue_latency", "--policy", policy, "--scope", scope, "--producers", producers, "--rounds", rounds],
                       repetitions) for policy in POLICIES for producers in (1, 2) for scope in SCOPES]
    out += [Measurement(["queue_latency", "--policy", "bound", "--producers", producers, "--rounds", rounds], repetitions)
            for producers in (1, 2)]
    cpus, items = (72, 48) if size == "full" else (16, 8)
    out += [Measurement([SIMULATION, "--policy", policy, "--workload", "shared", "--cpus", cpus, "--items", items,
                         "--scope", scope, "--json", "/dev/stdout"], labels={"counted": scope})
            for policy in POLICIES for scope in ("cpu", "cache_shard", "cache")]
    if size == "full":
        out += [Measurement(["queue_latency", "--policy", policy, "--scope", scope, "--rounds", 200, "--shard-size", 2],
                            guest=True) for policy in POLICIES for scope in SCOPES]
    return out


def groups_of(rows, policy, producers):
    """(names, rows) of the scopes that divide this machine into equally many pods: they are the same here."""
    some = select(rows, policy=policy, producers=producers)
    for pods in sorted({r["pods"] for r in some if "pods" in r}, reverse=True):
        same = [r for r in some if r["pods"] == pods]
        yield ", ".join(scope for scope in SCOPES if any(r["scope"] == scope for r in same)), same


def section(rows):
    def line(policy, scope, producers, some):
        return [policy, scope, str(producers), with_range(some, "items_per_second"),
                *(figure(median(some, f"call_{p}_ns")) for p in ("p50", "p90", "p95"))]
    lines = [line("bound", "", producers, some) for producers in (1, 2)
             for some in [select(rows, policy="bound", producers=producers)] if some]
    lines += [line(policy, scopes, producers, some) for policy in POLICIES for producers in (1, 2)
              for scopes, some in groups_of(rows, policy, producers)]
    counted = [[r["policy"], r["counted"], *(figure(r[name]) for name in ("locked", "transfers", "lock_waits", "wakes")),
                figure(r["elapsed_ns"] / r["items"])] for r in rows if "counted" in r]
    cpus = max(r["cpus"] for r in rows if "counted" in r)
    guest = [[r["policy"], r["scope"], figure(r["items_per_second"]), figure(r["call_p50_ns"]), figure(r["threads"])]
             for r in rows if r["place"] == "guest"]
    return [
        "Producers, each bound to a CPU, queue one item and wait for it, again and again. Measured is the call that queues. "
        "Scopes that make the same pods of this machine are in one row, with the runs of all of them.", "",
        *table(["policy", "scope", "producers", "items/s", "call, ns: p50", "p90", "p95"], lines),
        f"On few CPUs no lock is shared by many. So the [simulated machine](scale.md) counts, with {cpus} CPUs that share one "
        "cache and shards of eight, while all producers use one queue:", "",
        *table(["policy", "scope", "locked operations per item", "cache lines transferred", "waits for a lock", "wake-ups",
                "virtual ns per item, of all CPUs together"], counted),
        *table(["the document: shards of 72 cores", "million items/s", "call, p50, µs"],
               [[name, figure(rate), figure(call)] for name, rate, call in DOCUMENT]),
        "![items](experiments/queue_latency.svg)", "",
        *(["In the guest, with shards of two cores:", "",
           *table(["policy", "scope", "items/s", "call, ns: p50", "threads"], guest)] if guest else [])]


def findings(rows):
    time = {(r["policy"], r["counted"]): r["elapsed_ns"] / r["items"] for r in rows if "counted" in r}
    waits = {(r["policy"], r["counted"]): r["lock_waits"] for r in rows if "counted" in r}
    return [
        "The document says that one lock for 72 cores limits all of them to 0.73 million items/s, and that eight shards give "
        f"4.4 times as many. Here, on the simulated machine, an item of an unbound queue waits "
        f"{figure(waits['unbound', 'cache'])} times for a lock with the scope `cache`, and "
        f"{figure(waits['unbound', 'cache_shard'])} times with `cache_shard`, the default; an item of an elastic queue "
        f"{figure(waits['elastic', 'cache'])} and {figure(waits['elastic', 'cache_shard'])} times. So the time of an item falls "
        f"by a factor of {figure(time['unbound', 'cache'] / time['unbound', 'cache_shard'])} and "
        f"{figure(time['elastic', 'cache'] / time['elastic', 'cache_shard'])}.", "",
        "This experiment has changed the engine. In its first runs the queue counted its active items by compare-exchange, "
        "which fails if another CPU has changed the count meanwhile: 32 attempts for each item with the scope `cpu`. An item "
        "then took 6,884 (unbound) and 6,073 ns (elastic) with `cpu`, and 1,366 and 1,208 ns with `cache_shard`. Now the "
        "queue adds one, and takes it back if that was one too many.", "",
        f"A pod of one CPU (`cpu`) is no better than a shard there: {figure(time['unbound', 'cpu'])} and "
        f"{figure(time['elastic', 'cpu'])} ns. Its CPU still runs the producer when the worker is woken, so the worker wakes "
        "up elsewhere, and goes back, which takes two system calls. On the two real CPUs, going back pays: a CPU that sleeps "
        "takes longer to wake up.", "",
        "**For a program**: the default scope is right for many producers. A producer that waits for each of its items is "
        "fastest with a bound queue, whose item runs on its own CPU; with the scopes of several CPUs it wakes a thread on "
        "another CPU, which may sleep."]


def plots(rows):
    groups = []
    for policy in POLICIES:
        bars = [charts.Bar(scopes, median(some, "items_per_second"), figure(median(some, "items_per_second")), True)
                for scopes, some in groups_of(rows, policy, 2)]
        groups.append(charts.Group(f"{policy}, 2 producers: items/s; more is better", bars))
    return {"queue_latency": charts.draw("Items per second of two producers", groups)}
