# SPDX-License-Identifier: BSL-1.0
"""Medians, spreads and ratios of the samples of a run."""

import statistics

import catalogue


def summarise(rows):
    """Returns a record for each contender of each case, with all of its samples.

    A row is {"workload", "case", "contender", "metrics": {name: value}}, one for each repetition. A value of None says
    that the contender did not come to an end.
    """
    records = {}
    for row in rows:
        key = row["workload"], row["case"], row["contender"]
        record = records.setdefault(key, {**dict(zip(("workload", "case", "contender"), key)), "metrics": {}})
        for name, value in row["metrics"].items():
            if name not in catalogue.METRICS:
                raise ValueError(f"{key}: there is no metric {name!r}")
            record["metrics"].setdefault(name, {"samples": []})["samples"].append(value)
    for record in records.values():
        for metric in record["metrics"].values():
            metric.update(spread(metric["samples"]))
    for _, _, case in cases(list(records.values())):
        add_relative_costs(case)
    return list(records.values())


def spread(samples):
    if None in samples:
        return {"median": None, "min": None, "max": None}
    return {"median": statistics.median(samples), "min": min(samples), "max": max(samples)}


def main_metric(record):
    """Returns the name of the main metric of a record, and its figures."""
    return next(iter(record["metrics"].items()))


def cases(records):
    """Yields (workload, case, records of that case), in the order of the first record of each."""
    found = {}
    for record in records:
        found.setdefault((record["workload"], record["case"]), []).append(record)
    for (workload, case), members in found.items():
        yield workload, case, members


def is_ours(contender):
    return contender.startswith("cmwq")


def reference(case):
    """Returns the record with which the others of its case are compared: elastic, or the first one of cmwq."""
    ours = [record for record in case if is_ours(record["contender"])]
    elastic = [record for record in ours if record["contender"] == "cmwq elastic"]
    return (elastic or ours or [None])[0]


def add_relative_costs(case):
    """Sets "relative_cost": 2 says that the contender takes twice as long as the reference, or does half as much."""
    base = reference(case)
    for record in case:
        name, figures = main_metric(record)
        ours, theirs = base and base["metrics"].get(name, {}).get("median"), figures["median"]
        if not ours or not theirs:
            record["relative_cost"] = None
        else:
            record["relative_cost"] = ours / theirs if catalogue.METRICS[name].more_is_better else theirs / ours


def best_of_each(case):
    """Returns the best record of cmwq, the best one of other libraries, and the cost of the first divided by that of
    the second; None if one of the two is missing."""
    name, _ = main_metric(case[0])
    metric = catalogue.METRICS[name]
    pick = max if metric.more_is_better else min

    def median(record):
        return record["metrics"][name]["median"]

    def best(records):
        return pick((r for r in records if median(r)), key=median, default=None)

    ours = best(r for r in case if is_ours(r["contender"]))
    others = best(r for r in case if not is_ours(r["contender"]) and r["contender"] not in catalogue.BASELINES)
    if ours is None or others is None:
        return None
    cost = median(ours) / median(others)
    return ours, others, 1 / cost if metric.more_is_better else cost


def against_hand_sized(records):
    """Yields (case, elastic, best pool of a fixed size) for the cases of blockmix that have both."""
    for workload, case, members in cases(records):
        if workload != "blockmix":
            continue
        elastic = [r for r in members if r["contender"] == "cmwq elastic"]
        fixed = [r for r in members if not is_ours(r["contender"])]
        if elastic and fixed:
            yield case, elastic[0], max(fixed, key=lambda r: r["metrics"]["items_per_second"]["median"])
