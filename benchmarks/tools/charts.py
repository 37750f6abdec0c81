# SPDX-License-Identifier: BSL-1.0
"""Draws bar charts as SVG documents."""

import dataclasses
import html

ROW, BAR, LEFT, WIDTH, RIGHT, HEADING = 30, 18, 200, 420, 190, 46  # pixels
OURS, OTHERS = "#2f6fdf", "#9aa4b2"
STYLE = """text { font: 14px sans-serif; fill: #1f2328 } .note { font-size: 12px; fill: #59636e }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } }"""


@dataclasses.dataclass
class Bar:
    label: str
    value: float
    note: str  # to the right of the bar
    ours: bool


@dataclasses.dataclass
class Group:
    heading: str
    bars: list
    end: float | None = None  # the value at the end of the scale; longer bars are cut there


def _text(x, y, words, attributes=""):
    return f'<text x="{x}" y="{y}" {attributes}>{html.escape(words)}</text>'


def draw(title, groups):
    """Returns an SVG document. Each group has its own scale."""
    out, top = [], 0
    for group in groups:
        out.append(_text(10, top + 24, group.heading, 'class="note"'))
        end = group.end or max(bar.value for bar in group.bars)
        for number, bar in enumerate(group.bars):
            y = top + HEADING + ROW * number
            width = max(1, min(WIDTH, round(WIDTH * bar.value / end)))
            out.append(_text(LEFT - 10, y + 14, bar.label, 'text-anchor="end"'))
            out.append(f'<rect x="{LEFT}" y="{y}" width="{width}" height="{BAR}" rx="3" '
                       f'fill="{OURS if bar.ours else OTHERS}"/>')
            cut = "… " if bar.value > end else ""
            out.append(_text(LEFT + width + 8, y + 14, cut + bar.note))
        top += HEADING + ROW * len(group.bars)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{top + 10}" role="img">',
        f"<title>{html.escape(title)}</title>", f"<style>{STYLE}</style>", *out, "</svg>"]) + "\n"
