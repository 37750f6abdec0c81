# SPDX-License-Identifier: BSL-1.0
"""Runs the program of this folder, and collects what does not fit."""

import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple


class Queue(NamedTuple):
    policy: str
    items: int
    blocks: int


def run():
    """Returns the queues by their names, the text of the metrics, and the bytes of the trace."""
    with tempfile.TemporaryDirectory() as folder:
        metrics, trace = pathlib.Path(folder, "metrics"), pathlib.Path(folder, "trace")
        printed = subprocess.run([sys.argv[1], metrics, trace], check=True, capture_output=True, text=True).stdout
        queues = {}
        for line in printed.splitlines():
            name, policy, items, blocks = line.split()
            queues[name] = Queue(policy, int(items), int(blocks))
        return queues, metrics.read_text(), trace.read_bytes()


class Findings:
    """What is not as it must be."""

    def __init__(self):
        self.wrong = []

    def equal(self, what, found, wanted):
        if found != wanted:
            self.wrong.append(f"{what}: {found!r}, must be {wanted!r}")

    def end(self, nr_seen):
        """Prints the findings, and ends the program."""
        print("\n".join(self.wrong) or f"{nr_seen} as they must be")
        sys.exit(1 if self.wrong else 0)
