# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, figure, median, select, table, with_range

TITLE = "queue_latency: one item after the other (2026)"
SCOPES = ("cpu", "smt", "cache_shard", "cache", "numa", "system")
POLICIES = ("unbound", "elastic")
SIMULATION = "build/dev/tests/counting/simulated_scale"  # of the tree of the tests
# Million items/s and µs of the call (p50): Grace, 72 cores that share one cache, by the number of shards.
DOCUMENT = (("1 (cache)", 0.73, 43.6), ("2", 1.52, 19.6), ("4", 2.35, 11.0), ("8", 3.23, 6.9))


def measurements(size):
    rounds, repetitions = (50_000, 5) if size == "full" else (2000, 1)
    out = [Measurement(["queue_latency", "--policy", policy, "--scope", scope, "--producers", producers, "--rounds", rounds],
                       repetitions) for policy in POLICIES for producers in (1, 2) for scope in SCOPES]
    cpus, items = (72, 48) if size == "full" else (16, 8)
    out += [Measurement([SIMULATION, "--policy", policy, "--workload", "shared", "--cpus", cpus, "--items", items,
                         "--scope", scope, "--json", "/dev/stdout"], labels={"counted": scope})
            for policy in POLICIES for scope in ("cpu", "cache_shard", "cache")]
    if size == "full":
        out += [Measurement(["queue_latency", "--policy", policy, "--scope", scope, "--rounds", 200, "--shard-size", 2],
                            guest=True) for policy in POLICIES for scope in SCOPES]
    return out


def section(rows):
    lines = [[policy, scope, str(producers), with_range(some, "items_per_second"),
              *(figure(median(some, f"call_{p}_ns")) for p in ("p50", "p90", "p95"))]
             for policy in POLICIES for producers in (1, 2) for scope in SCOPES
             for some in [select(rows, policy=policy, scope=scope, producers=producers)]]
    counted = [[r["policy"], r["counted"], *(figure(r[name]) for name in ("locked", "transfers", "lock_waits", "wakes")),
                figure(r["elapsed_ns"] / r["items"])] for r in rows if "counted" in r]
    cpus = max(r["cpus"] for r in rows if "counted" in r)
    guest = [[r["policy"], r["scope"], figure(r["items_per_second"]), figure(r["call_p50_ns"]), figure(r["threads"])]
             for r in rows if r["place"] == "guest"]
    time = {(r["policy"], r["counted"]): r["elapsed_ns"] / r["items"] for r in rows if "counted" in r}
    waits = {(r["policy"], r["counted"]): r["lock_waits"] for r in rows if "counted" in r}
    return [
        "Producers, each bound to a CPU, queue one item and wait for it, again and again. Measured is the call that queues.",
        "",
        *table(["policy", "scope", "producers", "items/s", "call, ns: p50", "p90", "p95"], lines),
        f"On two CPUs no lock is shared by many. So the simulated machine counts, with {cpus} CPUs that share one cache and "
        "shards of eight, while all producers use one queue:", "",
        *table(["policy", "scope", "locked operations per item", "cache lines transferred", "waits for a lock", "wake-ups",
                "virtual ns per item"], counted),
        *table(["document: shards of 72 cores", "million items/s", "call, p50, µs"],
               [[name, figure(rate), figure(call)] for name, rate, call in DOCUMENT]),
        "![items](experiments/queue_latency.svg)", "",
        "The document says that one lock for 72 cores limits all of them to 0.73 million items/s, and that eight shards give "
        f"4.4 times as many. Here, on the simulated machine, an item of an unbound queue waits "
        f"{figure(waits['unbound', 'cache'])} times for a lock with the scope `cache`, and "
        f"{figure(waits['unbound', 'cache_shard'])} times with `cache_shard`, the default. "
        f"For elastic queues it is {figure(waits['elastic', 'cache'])} and {figure(waits['elastic', 'cache_shard'])}. So the "
        f"time of an item falls by a factor of {figure(time['unbound', 'cache'] / time['unbound', 'cache_shard'])} and "
        f"{figure(time['elastic', 'cache'] / time['elastic', 'cache_shard'])}, less than in the document, because cmwq wakes "
        "no thread under the lock of a pool: the lock is held for less. Here one producer pays some 12 µs for each item that "
        "wakes a worker on the other CPU, which sleeps; `cpu` and `smt` mostly find it on the CPU of the producer.", "",
        *(["In the guest with 16 CPUs, four caches and shards of two cores, whose times mean nothing in themselves, because "
           "two CPUs emulate all of them:", "",
           *table(["policy", "scope", "items/s", "call, ns: p50", "threads"], guest)] if guest else [])]


def plots(rows):
    groups = [charts.Group(f"{policy}, 2 producers: items/s; more is better",
                           [charts.Bar(scope, value, figure(value), True) for scope in SCOPES for value in
                            [median(select(rows, policy=policy, scope=scope, producers=2), "items_per_second")]])
              for policy in POLICIES]
    return {"queue_latency": charts.draw("Items per second of two producers", groups)}
