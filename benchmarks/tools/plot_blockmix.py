#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws the bar chart of README.md from the output of `blockmix --json FILE`: items/s of each contender, median of its
runs.

    build/bench/benchmarks/macro/blockmix --external --json docs/figures/blockmix.json
    benchmarks/tools/plot_blockmix.py docs/figures/blockmix.json docs/figures/blockmix.svg
"""

import argparse
import html
import json
import pathlib
import statistics

LABELS = {"cmwq": "cmwq bound", "cmwq-annotated": "cmwq bound, announced", "elastic": "cmwq elastic"}
ROW, BAR, LEFT, WIDTH, RIGHT, TOP = 30, 18, 200, 420, 190, 46  # pixels
OURS, OTHERS = "#2f6fdf", "#9aa4b2"
STYLE = """text { font: 14px sans-serif; fill: #1f2328 } .note { font-size: 12px; fill: #59636e }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } }"""


def text(x, y, words, attributes=""):
    return f'<text x="{x}" y="{y}" {attributes}>{html.escape(words)}</text>'


def label(name):
    return LABELS.get(name) or f"Boost.Asio, {name.removeprefix('asio-')} threads"


def draw(data):
    """Returns the SVG document as a string."""
    rows = [(label(c["name"]), statistics.median(c["items_per_second"]), statistics.median(c["peak_threads"]))
            for c in data["contenders"]]
    rows.sort(key=lambda row: row[1], reverse=True)
    most = rows[0][1]
    height = TOP + ROW * len(rows) + 10
    title = (f'{data["burn_us"]:g} µs CPU + {data["sleep_us"]:g} µs sleep + {data["burn_us"]:g} µs CPU, '
             f'{data["outstanding"]} items outstanding: items/s')
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" role="img">',
           f"<title>{html.escape(title)}</title>", f"<style>{STYLE}</style>", text(10, 24, title, 'class="note"')]
    for number, (name, rate, threads) in enumerate(rows):
        y = TOP + ROW * number
        color = OURS if name.startswith("cmwq") else OTHERS
        width = max(1, round(WIDTH * rate / most))
        out.append(text(LEFT - 10, y + 14, name, 'text-anchor="end"'))
        out.append(f'<rect x="{LEFT}" y="{y}" width="{width}" height="{BAR}" rx="3" fill="{color}"/>')
        out.append(text(LEFT + width + 8, y + 14, f"{rate:,.0f}, {threads:.0f} threads at most"))
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path)
    args = parser.parse_args()
    args.svg.write_text(draw(json.loads(args.json.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
