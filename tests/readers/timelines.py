# SPDX-License-Identifier: BSL-1.0
"""Plays the kernel's timelines, which leaves a trace of each."""

import json
import os
import subprocess

ATTEMPTS = 10


def play(program, folder):
    """Returns what it prints: an object for each timeline, with the path of its trace."""
    printed = subprocess.run([program, folder], check=True, capture_output=True, text=True).stdout
    all_ = [json.loads(line) for line in printed.splitlines()]
    return [{**t, "trace": os.path.join(folder, t["trace"])} for t in all_]


def difference(documented, seen):
    """The first event that is not in the documented order; None if all are. An event that the trace cannot have may be
    missing: one whose end or begin no detector has seen."""
    rest = list(seen)
    for group in documented:
        left = [e for e in group if e in seen]
        for _ in list(left):
            if not rest or rest[0] not in left:
                return f"{rest[0] if rest else 'nothing'} comes where one of {left} must come"
            left.remove(rest.pop(0))
    return f"{rest[0]} comes after the last one" if rest else None


def in_order(timeline, seen):
    """Whether the events came in the documented order, see `difference`. Where w1 and w2 share the CPU, their names may
    be exchanged: the system decides which of them ends its burn first."""
    exchange = {"w1": "w2", "w2": "w1"}
    exchanged = [exchange.get(e[:2], e[:2]) + e[2:] for e in seen]
    ways = [seen, exchanged] if "cpu_intensive" in timeline["name"] else [seen]
    return any(difference(timeline["documented"], s) is None for s in ways)
