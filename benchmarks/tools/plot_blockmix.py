#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws the bar chart of README.md from the output of `blockmix --json FILE`: items/s of each contender, median of its
runs.

    build/bench/benchmarks/macro/blockmix --external --json docs/dev/figures/blockmix.json
    benchmarks/tools/plot_blockmix.py docs/dev/figures/blockmix.json docs/dev/figures/blockmix.svg
"""

import argparse
import json
import pathlib
import statistics

import charts

LABELS = {"cmwq": "cmwq bound", "cmwq-annotated": "cmwq bound, announced", "elastic": "cmwq elastic"}


def label(name):
    return LABELS.get(name) or f"Boost.Asio, {name.removeprefix('asio-')} threads"


def draw(data):
    """Returns the SVG document as a string."""
    bars = []
    for c in data["contenders"]:
        name = label(c["name"])
        rate, threads = (statistics.median(c[key]) for key in ("items_per_second", "peak_threads"))
        bars.append(charts.Bar(name, rate, f"{rate:,.0f}, {threads:.0f} threads at most", name.startswith("cmwq")))
    bars.sort(key=lambda bar: bar.value, reverse=True)
    title = (f'{data["burn_us"]:g} µs CPU + {data["sleep_us"]:g} µs sleep + {data["burn_us"]:g} µs CPU, '
             f'{data["outstanding"]} items outstanding: items/s')
    return charts.draw(title, [charts.Group(title, bars)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path)
    args = parser.parse_args()
    args.svg.write_text(draw(json.loads(args.json.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
