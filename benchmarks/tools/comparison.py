# SPDX-License-Identifier: BSL-1.0
"""Compares two runs of the suite on the same machine."""

import catalogue
import machine
import report
import results


class NotComparable(Exception):
    """The two runs must not be compared."""


def compare(old, new):
    """Returns a table of all cases that both runs have: medians, and new/old. Marks changes beyond the spread."""
    different = machine.differences(old["machine"], new["machine"])
    if different:
        raise NotComparable("the results are from different machines:\n  " + "\n  ".join(different))
    if old["size"] != new["size"]:
        raise NotComparable(f"one run is {old['size']}, the other is {new['size']}")

    before = {(r["workload"], r["case"], r["contender"]): r for r in old["results"]}
    lines = []
    for record in new["results"]:
        earlier = before.get((record["workload"], record["case"], record["contender"]))
        name, now = results.main_metric(record)
        then = earlier and earlier["metrics"].get(name)
        if not then or then["median"] is None or now["median"] is None:
            continue
        ratio = f"{now['median'] / then['median']:.2f}" if then["median"] else "–"
        lines.append([f"{record['workload']}, {record['case']}", record["contender"], catalogue.METRICS[name].heading,
                      report.figure(then["median"]), report.figure(now["median"]), ratio, verdict(name, then, now)])
    head = [f"old: {old['commit']}, {old['compiler']}, Linux {old['machine']['kernel']}, {old['date']}",
            f"new: {new['commit']}, {new['compiler']}, Linux {new['machine']['kernel']}, {new['date']}", ""]
    return "\n".join([*head, *report.table(["", "", "", "old", "new", "new/old", ""], lines)])


def verdict(name, then, now):
    """Returns "better" or "worse" if the ranges of the samples do not overlap."""
    if then["min"] <= now["max"] and now["min"] <= then["max"]:
        return ""
    return "better" if (now["median"] > then["median"]) == catalogue.METRICS[name].more_is_better else "worse"
