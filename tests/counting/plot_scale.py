#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws docs/dev/figures/scale.svg from the output of `simulated_scale --json FILE`: for each workload, the line
transfers and the locked operations per item of each policy, by the number of CPUs.

    build/dev/tests/counting/simulated_scale --json docs/dev/figures/scale.json
    tests/counting/plot_scale.py docs/dev/figures/scale.json docs/dev/figures/scale.svg
"""

import argparse
import html
import json
import math
import pathlib

COLORS = {"bound": "#2f6fdf", "elastic": "#d1495b", "unbound": "#e09f3e", "ordered": "#6a994e", "bh": "#8d6fb8"}
METRICS = [("transfers", "line transfers per item"), ("locked", "locked operations per item")]
TICKS = [0, 1, 3, 10, 30, 100, 300, 1000, 3000]
COLUMNS, WIDTH, HEIGHT, GAP_X, GAP_Y, LEFT, TOP = 3, 230, 150, 50, 52, 46, 66  # pixels
STYLE = """text { font: 12px sans-serif; fill: #1f2328 } .note { font-size: 11px; fill: #59636e }
.head { font-size: 14px; font-weight: bold } .grid { stroke: #9aa4b2; stroke-width: 0.4 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } }"""


def text(x, y, words, attributes=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{html.escape(words)}</text>'


def height_of(value, most):
    """The height of a value in a panel. The scale is logarithmic, and begins at 0."""
    return HEIGHT * math.log10(1 + value) / math.log10(1 + most)


def panel(x0, y0, title, series, cpus, most):
    """Returns the elements of one panel: a line for each policy."""
    out = [text(x0, y0 - 8, title)]
    for tick in (t for t in TICKS if t <= most):
        y = y0 + HEIGHT - height_of(tick, most)
        out.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + WIDTH}" y2="{y:.1f}" class="grid"/>')
        out.append(text(x0 - 6, y + 4, str(tick), 'class="note" text-anchor="end"'))

    def x_of(n):
        return x0 + WIDTH * math.log2(n / cpus[0]) / max(1, math.log2(cpus[-1] / cpus[0]))

    for n in cpus:
        out.append(text(x_of(n), y0 + HEIGHT + 15, str(n), 'class="note" text-anchor="middle"'))
    for policy, points in series.items():
        path = " ".join(f"{x_of(n):.1f},{y0 + HEIGHT - height_of(v, most):.1f}" for n, v in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[policy]}" stroke-width="2"/>')
    return out


def draw(data):
    """Returns the SVG document as a string."""
    workloads = list(dict.fromkeys(d["workload"] for d in data))
    policies = list(dict.fromkeys(d["policy"] for d in data))
    cpus = sorted({d["cpus"] for d in data})
    rows = math.ceil(len(workloads) / COLUMNS)
    block = TOP + rows * (HEIGHT + GAP_Y)
    width = LEFT + COLUMNS * (WIDTH + GAP_X)
    title = "cmwq on simulated machines, by the number of CPUs"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{block * len(METRICS)}" role="img">',
           f"<title>{html.escape(title)}</title>", f"<style>{STYLE}</style>"]
    for number, (metric, words) in enumerate(METRICS):
        top = number * block
        most = max(1, *(d[metric] for d in data)) * 1.1
        out.append(text(LEFT, top + 22, words + ", by the number of CPUs", 'class="head"'))
        for i, policy in enumerate(policies):
            out.append(f'<rect x="{LEFT + 400 + 90 * i}" y="{top + 13}" width="12" height="4" '
                       f'fill="{COLORS[policy]}"/>')
            out.append(text(LEFT + 417 + 90 * i, top + 20, policy))
        for i, workload in enumerate(workloads):
            series = {p: [(n, d[metric]) for n in cpus for d in data
                          if (d["policy"], d["workload"], d["cpus"]) == (p, workload, n)] for p in policies}
            out += panel(LEFT + (i % COLUMNS) * (WIDTH + GAP_X), top + TOP + i // COLUMNS * (HEIGHT + GAP_Y), workload,
                         series, cpus, most)
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path)
    args = parser.parse_args()
    args.svg.write_text(draw(json.loads(args.json.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
