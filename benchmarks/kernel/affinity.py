# SPDX-License-Identifier: BSL-1.0
import charts
from experiment import Measurement, change, figure, median, select, table, with_range

TITLE = "Affinity scopes (2023)"
SOURCE = ("T. Heo, \"Improve unbound workqueue execution locality\", May 2023, and "
          "[workqueue.rst](https://docs.kernel.org/core-api/workqueue.html)")
FINDINGS_OF = "2026-11-26"
# The name in the document, and the options. With shards of one core, each core has a cache of its own.
SCOPES = {"system": ["--scope", "system"], "cache": ["--scope", "cache_shard", "--shard-size", 1],
          "cache strict": ["--scope", "cache_shard", "--shard-size", 1, "--strict"],
          "cpu": ["--scope", "cpu"], "numa": ["--scope", "numa"]}
SCENARIOS = ((4, 64), (1, 64), (1, 2))  # issuers, requests outstanding of each
# MiB/s and CPU % in the document
DOCUMENT = {"24": ("1,159", "99.31", "1,166", "99.34", "1,166", "99.35"),
            "8": ("1,155", "97.41", "1,154", "96.15", "1,112", "93.26"),
            "4": ("994", "75.49", "973", "74.90", "828", "66.84")}


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
              *(figure(median(some, metric)) for metric in (
                  "cpu_percent", "on_cpu_percent", "in_pod_percent", "repatriated", "threads"))]
             for scenario in SCENARIOS for name in SCOPES for some in [chosen(rows, *scenario, name)]]
    guest = [[str(r["issuers"]), r["named"], figure(r["in_pod_percent"]), figure(r["repatriated"])]
             for r in rows if r["place"] == "guest"]
    return [
        "Issuers keep requests of 32 KiB outstanding. An item of an unbound queue computes the SHA-512 of the block, and the "
        "issuer verifies it. The document has an encrypting block device, fio, and 24 CPUs with four caches. Here are two "
        "CPUs with one cache, so `cache` stands for shards of one core each: pods of one CPU. `numa` and `system` are the "
        "same on this machine.", "",
        *table(["", "scope", "MiB/s", "CPU %", "% on the CPU of the issuer", "% in its pod", "returns to the pod",
                "threads"], lines),
        *table(["the document: issuers × 64, on 24 CPUs", "system, MiB/s", "CPU %", "cache", "CPU %", "cache strict", "CPU %"],
               [[issuers, *values] for issuers, values in DOCUMENT.items()]),
        "![bandwidth](experiments/affinity.svg)", "",
        *(table(["the guest: issuers", "scope", "% in the pod of the issuer", "returns to the pod"], guest)
          if guest else [])]


def findings(rows):
    def of(name, metric, scenario=SCENARIOS[1]):
        return median(chosen(rows, *scenario, name), metric)
    speed = {(scenario, name): of(name, "mib_per_second", scenario) for scenario in SCENARIOS for name in SCOPES}

    def changes(scenario, name):
        return change(speed[scenario, "system"], speed[scenario, name])
    most, few, two = SCENARIOS
    return [
        "The document says: at saturation the scopes do not differ; with few issuers a strict scope loses (16.7 % with 4), and "
        f"a scope that is not strict loses 2 %. Here, at saturation, `cache` changes the bandwidth of `system` by "
        f"{changes(most, 'cache')} and `cache strict` by {changes(most, 'cache strict')}, within the range of the runs. With "
        f"few issuers ({name_of(*few)}) they change it by {changes(few, 'cache')} and {changes(few, 'cache strict')}, because "
        "their items use the CPU of the issuer while the other one is idle: together the CPUs are busy for "
        f"{figure(of('system', 'cpu_percent'))} % of the time with `system`, {figure(of('cache', 'cpu_percent'))} % with "
        f"`cache` and {figure(of('cache strict', 'cpu_percent'))} % with `cache strict`. A pod of the document has six CPUs, "
        "so it has more of them for its own items. With two requests at a time (1 issuer × 2) the narrow scopes gain: "
        f"{changes(two, 'cache')} and {changes(two, 'cache strict')}, probably because the block is in the cache of that CPU, "
        "and no other CPU has to wake up.", "",
        "A worker that is not strict and wakes up outside of a pod of one CPU stays there if several items are pending: then "
        "the issuer probably goes on, and needs its CPU.", "",
        "**For a program**: choose `strict` only if items must stay near their memory; a scope that is not strict keeps them "
        "there, too, while there is a CPU for them. If one thread makes the work for all CPUs, choose a wide scope."]


def plots(rows):
    groups = [charts.Group(f"{name_of(*scenario)}: MiB/s",
                           [charts.Bar(name, speed, figure(speed), True) for name in SCOPES
                            for speed in [median(chosen(rows, *scenario, name), "mib_per_second")]])
              for scenario in SCENARIOS]
    return {"affinity": charts.draw("Bandwidth of issuers, for each affinity scope", groups)}
