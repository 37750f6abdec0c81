# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, figure, median, select, table, with_range

TITLE = "Affinity scopes (2023)"
# The name in the document, and the options. With shards of one core, each core has a cache of its own.
SCOPES = {"system": ["--scope", "system"], "cache": ["--scope", "cache_shard", "--shard-size", 1],
          "cache strict": ["--scope", "cache_shard", "--shard-size", 1, "--strict"],
          "cpu": ["--scope", "cpu"], "numa": ["--scope", "numa"]}
SCENARIOS = ((4, 64), (1, 64), (1, 2))  # issuers, requests outstanding of each
# MiB/s and CPU % in the document
DOCUMENT = {"24 of 24 CPUs": ("1,159.40, 99.31 %", "1,166.40, 99.34 %", "1,166.00, 99.35 %"),
            "8": ("1,155.40, 97.41 %", "1,154.40, 96.15 %", "1,112.00, 93.26 %"),
            "4": ("993.60, 75.49 %", "973.40, 74.90 %", "828.20, 66.84 %")}


def measurements(size):
    seconds, repetitions = (4, 5) if size == "full" else (0.5, 1)
    out = [Measurement(["affinity", *options, "--issuers", issuers, "--outstanding", outstanding, "--seconds", seconds],
                       repetitions, labels={"named": name})
           for issuers, outstanding in SCENARIOS for name, options in SCOPES.items()]
    if size == "full":
        out += [Measurement(["affinity", "--scope", scope, *strict, "--issuers", issuers, "--requests", 500], guest=True,
                            labels={"named": scope + (" strict" if strict else "")})
                for issuers in (16, 4) for scope, strict in (("system", []), ("cache", []), ("cache", ["--strict"]),
                                                             ("cpu", []), ("numa", []))]
    return out


def name_of(issuers, outstanding):
    return f"{issuers} {'issuer' if issuers == 1 else 'issuers'} × {outstanding}"


def chosen(rows, issuers, outstanding, named):
    return select(rows, issuers=issuers, outstanding=outstanding, named=named)


def section(rows):
    lines = [[name_of(*scenario), name, with_range(some, "mib_per_second"),
              *(figure(median(some, metric)) for metric in ("cpu_percent", "in_pod_percent", "repatriated", "threads"))]
             for scenario in SCENARIOS for name in SCOPES for some in [chosen(rows, *scenario, name)]]
    speed = {(scenario, name): median(chosen(rows, *scenario, name), "mib_per_second")
             for scenario in SCENARIOS for name in SCOPES}
    most, few = SCENARIOS[0], SCENARIOS[1]
    guest = [[str(r["issuers"]), r["named"], figure(r["in_pod_percent"]), figure(r["repatriated"])]
             for r in rows if r["place"] == "guest"]
    return [
        "Issuers keep requests of 32 KiB outstanding. An item of an unbound queue computes the SHA-512 of the block, and the "
        "issuer verifies it. The document has an encrypting block device, fio, and 24 CPUs with four caches. Here are two "
        "CPUs with one cache, so `cache` stands for shards of one core each: pods of one CPU. `numa` and `system` are the "
        "same on this machine.", "",
        *table(["", "scope", "MiB/s", "CPU %", "% in the pod of the issuer", "repatriated", "threads"], lines),
        *table(["document: issuers × 64", "system", "cache", "cache strict"],
               [[issuers, *values] for issuers, values in DOCUMENT.items()]),
        "![bandwidth](experiments/affinity.svg)", "",
        "The document says: at saturation the scopes do not differ; with few issuers a strict scope loses (16.7 % with 4), "
        "and a scope that is not strict loses 2 %. Here, at saturation, `cache` changes the bandwidth of `system` by "
        f"{change(speed[most, 'system'], speed[most, 'cache'])} and `cache strict` by "
        f"{change(speed[most, 'system'], speed[most, 'cache strict'])}; with few issuers by "
        f"{change(speed[few, 'system'], speed[few, 'cache'])} and {change(speed[few, 'system'], speed[few, 'cache strict'])} "
        f"({name_of(*few)}), because a strict worker shares the CPU of the issuer while the other CPU is idle. "
        "With one issuer and two requests a strict scope does not lose: there the issuer waits for its answer anyway. These "
        "figures are of an engine whose workers never returned to a pod of one CPU. They return again if a single item is "
        "pending, because its issuer probably waits for it; with that, `cache` loses about a tenth against `system` (1 issuer "
        "× 64). The experiment has to be repeated.", "",
        *(["In the guest with 16 CPUs and four caches, whose times mean nothing, because two CPUs emulate all of them. A pod of four CPUs keeps most items, a pod of one CPU only those that the scheduler starts there:", "",
           *table(["issuers", "scope", "% in the pod of the issuer", "repatriated"], guest)] if guest else [])]


def plots(rows):
    groups = [charts.Group(f"{name_of(*scenario)}: MiB/s",
                           [charts.Bar(name, speed, figure(speed), True) for name in SCOPES
                            for speed in [median(chosen(rows, *scenario, name), "mib_per_second")]])
              for scenario in SCENARIOS]
    return {"affinity": charts.draw("Bandwidth of issuers, for each affinity scope", groups)}
