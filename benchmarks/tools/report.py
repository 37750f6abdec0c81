# SPDX-License-Identifier: BSL-1.0
"""Writes the results of a run as Markdown and as plots."""

import catalogue
import charts
import results

CUT = 10  # bars of contenders that cost more than this many times the reference are cut


def figure(value):
    """Returns a number with three significant digits, or all digits before the point."""
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "< 0.01"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(headings, lines):
    out = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    return [*out, *("| " + " | ".join(line) + " |" for line in lines), ""]


def facts(run):
    m = run["machine"]
    virtual = ", virtual machine" if m["virtual"] else ""
    libraries = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return [f"- {name}: {value}" for name, value in (
        ("machine", f"{m['cpu']}, {m['cpus']} CPUs, threads per core: {m['threads_per_core']}, {m['memory_gib']} GiB"
                    f"{virtual}; digest {m['machine']}"),
        ("system", f"{m['system']}, Linux {m['kernel']}; governor: {m['governor']}; CPU quota: {m['cpu_quota']}"),
        ("compiler", f"{run['compiler']}, {run['flags']}"), ("libraries", libraries), ("commit", run["commit"]),
        ("date", run["date"]), ("run", f"{run['size']}, {run['repetitions']} repetitions in turn"),
        ("load before the run", run["load_before"]))] + [""]


def case_table(case):
    names = list(dict.fromkeys(name for record in case for name in record["metrics"]))
    main = names[0]
    lines = []
    for record in case:
        metrics = record["metrics"]
        range_of_main = f"{figure(metrics[main]['min'])} – {figure(metrics[main]['max'])}"
        lines.append([record["contender"], figure(metrics[main]["median"]), range_of_main,
                      figure(record["relative_cost"]),
                      *(figure(metrics.get(name, {}).get("median")) for name in names[1:])])
    return table(["", catalogue.METRICS[main].heading, "min – max", "relative cost",
                  *(catalogue.METRICS[name].heading for name in names[1:])], lines)


def hand_sized_table(records):
    lines = []
    for case, elastic, best in results.against_hand_sized(records):
        rate, best_rate = (r["metrics"]["items_per_second"]["median"] for r in (elastic, best))
        threads, best_threads = (r["metrics"]["peak_threads"]["median"] for r in (elastic, best))
        lines.append([case, figure(rate), figure(best_rate), best["contender"], f"{100 * rate / best_rate:.1f}",
                      figure(threads), figure(threads / best_threads)])
    if not lines:
        return []
    return ["cmwq elastic and the best pool of a fixed size:", "",
            *table(["", "elastic, items/s", "best pool, items/s", "which", "%", "threads of elastic",
                    "times those of the best"], lines)]


def summary(records):
    """The best of cmwq beside the best of the others, for each case that has both."""
    lines = []
    for workload, name, case in results.cases(records):
        found = results.best_of_each(case)
        if found is None:
            continue
        ours, others, cost = found
        main, figures = results.main_metric(ours)
        lines.append([f"[{workload}](#{workload}), {name}", catalogue.METRICS[main].heading, figure(figures["median"]),
                      ours["contender"], figure(others["metrics"][main]["median"]), others["contender"], figure(cost)])
    if not lines:
        return []
    return ["## Summary", "",
            "Medians of the best contender of cmwq and the best of the others; below 1, cmwq costs less.", "",
            *table(["", "", "cmwq", "which", "others", "which", "cost, cmwq/others"], lines)]


def compares(cases):
    """Whether a workload has several contenders, so that ratios and plots say something."""
    return any(len(case) > 1 for _, case in cases)


def single_table(cases):
    """The table of a workload with one contender: a line for each case."""
    lines = []
    for name, (record,) in cases:
        main, figures = results.main_metric(record)
        lines.append([name, figure(figures["median"]), f"{figure(figures['min'])} – {figure(figures['max'])}"])
    return table(["", catalogue.METRICS[main].heading, "min – max"], lines)


def workloads(run):
    """Yields (workload, [(case, its records)])."""
    found = {}
    for workload, name, case in results.cases(run["results"]):
        found.setdefault(workload, []).append((name, case))
    return found.items()


def markdown(run):
    """Returns the page: a table for each case."""
    out = ["# Results of the comparison suite", "",
           "Written by `./scripts/bench`. [benchmarks.md](../benchmarks.md#comparison-suite) describes the "
           "workloads and how to read the tables.", "", *facts(run), *summary(run["results"])]
    for workload, cases in workloads(run):
        out += [f"## {workload}", "", catalogue.WORKLOADS[workload], ""]
        if not compares(cases):
            out += single_table(cases)
            continue
        out += [f"![{workload}]({workload}.svg)", ""]
        if workload == "blockmix":
            out += hand_sized_table(run["results"])
        for name, case in cases:
            out += [f"**{name}**", "", *case_table(case)]
    return "\n".join(out)


def group_of(name, case):
    """Returns the bars of a case, best first, or None if no contender came to an end."""
    main, _ = results.main_metric(case[0])
    metric = catalogue.METRICS[main]
    bars = [charts.Bar(r["contender"], median, figure(median), results.is_ours(r["contender"]))
            for r in case if (median := r["metrics"][main]["median"]) is not None]
    if not bars:
        return None
    bars.sort(key=lambda bar: bar.value, reverse=metric.more_is_better)
    end = max(bar.value for bar in bars)
    base = results.reference(case)
    if not metric.more_is_better and base and base["metrics"][main]["median"]:
        end = min(end, CUT * base["metrics"][main]["median"])
    better = "more is better" if metric.more_is_better else "less is better"
    return charts.Group(f"{name}: {metric.heading}; {better}", bars, end)


def plots(run):
    """Returns {workload: SVG document}: the main metric of each contender."""
    documents = {}
    for workload, cases in workloads(run):
        groups = [group for name, case in cases if (group := group_of(name, case))]
        if groups and compares(cases):
            documents[workload] = charts.draw(f"{workload}, {run['date']}", groups)
    return documents
