# SPDX-License-Identifier: BSL-1.0
import statistics

import charts
from experiment import Measurement, figure, select, table

TITLE = "Node affinity (2013)"
SOURCE = ("T. Heo, \"[PATCHSET wq/for-3.10] workqueue: NUMA affinity for unbound workqueues\", March 2013")
FINDINGS_OF = "2026-11-26"
SCOPES = ("default", "numa", "system")
POLICIES = ("unbound", "elastic")
MACHINES = ("pack:2 numa:1 l3:2 core:4 pu:2", "pack:4 numa:1 l3:1 core:8 pu:1", "pack:1 numa:2 l3:4 core:4 pu:2")


def measurements(size):
    out = [Measurement(["numa", "--policy", policy, "--scope", scope, "--machine", machine])
           for machine in MACHINES for policy in POLICIES for scope in SCOPES]
    if size == "full":
        out += [Measurement(["numa", "--policy", policy, "--scope", scope, "--submitters", submitters], 3, guest=True)
                for policy in POLICIES for scope in SCOPES for submitters in (1, 2)]
    return out


def section(rows):
    pools = [[r["machine"], r["policy"], r["scope"], figure(r["pools"]), figure(r["pools_of_several_nodes"])]
             for r in rows if "pools" in r]
    guest = []
    for policy in POLICIES:
        for scope in SCOPES:
            for submitters in (1, 2):
                some = select(rows, place="guest", policy=policy, scope=scope, submitters=submitters)
                if some:
                    guest.append([policy, scope, str(submitters), *(
                        " / ".join(figure(r[name]) for r in some) for name in (
                            "on_node_percent", "memory_percent", "stack_percent"))])
    return [
        "Submitters on the nodes in turn start a fan-out like that of a build: each source is an item that reads what the "
        "submitter wrote, fills memory of its own, and makes four more items that read it. The document compiled a kernel "
        "on two nodes: 1,397.3 s (deviation 1.6) before, 1,395.3 s (1.7) after the workqueues had become affine to nodes.", "",
        *(["In the guest, three runs each: % of the items on the node of their submitter, of the first pages of their memory "
           "there, of the stacks of their workers there:", "",
           *table(["policy", "scope", "submitters", "items", "memory", "stacks"], guest),
           "![items](experiments/numa.svg)", ""] if guest else []),
        "On synthetic topologies an item for each CPU: the pools, and how many of them serve CPUs of several nodes:", "",
        *table(["machine", "policy", "scope", "pools", "of several nodes"], pools)]


def findings(rows):
    share = {(policy, scope): statistics.mean(r["on_node_percent"] for r in some) for policy in POLICIES
             for scope in SCOPES for some in [select(rows, place="guest", policy=policy, scope=scope)] if some}
    if not share:
        return []
    return [
        "The document says that the difference is 0.14 %, hardly more than the deviation. Here only places count. With the "
        f"scope `numa` {share['unbound', 'numa']:.0f} % of the items of an unbound queue and {share['elastic', 'numa']:.0f} % "
        f"of those of an elastic one run on the node of their submitter (means of six runs), with `system` "
        f"{share['unbound', 'system']:.0f} % and {share['elastic', 'system']:.0f} %, which is luck, and with the default scope "
        f"{share['unbound', 'default']:.0f} % and {share['elastic', 'default']:.0f} %: its pods have four CPUs and not eight, "
        "and a worker may leave a pod that is full. Memory follows the item that touches it first. The stacks of workers do "
        "not: they are where their threads were made. They are not placed on the node of the pool, because no machine was "
        "at hand on which that could be seen to pay.", "",
        "**For a program**: use the scope `numa` if items work on memory of their node for long."]


def plots(rows):
    groups = []
    for policy in POLICIES:
        bars = [charts.Bar(scope, sum(values) / len(values), figure(sum(values) / len(values)), True) for scope in SCOPES
                for values in [[r["on_node_percent"] for r in select(rows, place="guest", policy=policy, scope=scope)]]
                if values]
        if bars:
            groups.append(charts.Group(f"{policy}: % of the items on the node of their submitter", bars, 100))
    return {"numa": charts.draw("Node locality of a build-like fan-out", groups)} if groups else {}
