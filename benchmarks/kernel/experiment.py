# SPDX-License-Identifier: BSL-1.0
"""What the experiments share: a measurement, and figures and tables from rows."""

import dataclasses
import shlex
import statistics

import report
from report import table  # noqa: F401: the experiments take it from here


@dataclasses.dataclass
class Measurement:
    """A program with its arguments; its name may be a path from the top of the repository. `prefix` is a command that
    runs it; `labels` go into its rows."""
    command: list
    repetitions: int = 1
    guest: bool = False  # in the virtual machine of scripts/test-vm, with 16 CPUs and two nodes
    prefix: list = dataclasses.field(default_factory=list)
    labels: dict = dataclasses.field(default_factory=dict)

    def __str__(self):
        return shlex.join(map(str, self.command)) + (", in the guest" if self.guest else "") + (
            f", {', '.join(self.labels)}" if self.labels else "")

    def identity(self):
        return str(self)


def figure(value):
    """A count as it is, any other number with three significant digits."""
    return f"{value:,}" if isinstance(value, int) else report.figure(value)


def select(rows, **wanted):
    """The rows with these values; by default those that were measured here."""
    wanted = {"place": "here", **wanted}
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def median(rows, name):
    """None if no row has it."""
    values = [row[name] for row in rows if name in row]
    return statistics.median(values) if values else None


def with_range(rows, name):
    """The median, and the least and the most of the runs."""
    values = [row[name] for row in rows if name in row]
    if not values:
        return "–"
    return f"{figure(statistics.median(values))} ({figure(min(values))} – {figure(max(values))})"


def extreme(rows, name, which):
    """The least or the most of all runs; `which` is min or max."""
    return which((row[name] for row in rows if name in row), default=None)


def histogram(rows):
    """The bars of all rows together."""
    return [sum(bars) for bars in zip(*(row["histogram"] for row in rows))]


def change(before, after):
    """"-77 %" """
    return f"{round(100 * (after / before - 1)):+d} %"
