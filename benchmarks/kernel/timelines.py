# SPDX-License-Identifier: BSL-1.0
import html
import pathlib

import charts
from experiment import Measurement, figure, median, select, table

TITLE = "The example timelines of the documentation (2010)"
SOURCE = "Documentation/core-api/workqueue.rst, \"Example Execution Scenarios\""
FINDINGS_OF = "2026-11-28"
PROGRAM = "build/dev/tests/readers/cmwq_timelines"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "experiments"  # of the traces
# What the document says, in milliseconds.
DOCUMENT = (
    ("the original workqueue: a limit of 1",
     {"w0 starts": 0, "w0 sleeps": 5, "w0 wakes": 15, "w0 finishes": 20, "w1 starts": 20, "w1 sleeps": 25,
      "w1 finishes": 35, "w2 starts": 35, "w2 sleeps": 40, "w2 finishes": 50}),
    ("max_active ≥ 3",
     {"w0 starts": 0, "w0 sleeps": 5, "w1 starts": 5, "w1 sleeps": 10, "w2 starts": 10, "w2 sleeps": 15, "w0 wakes": 15,
      "w0 finishes": 20, "w1 finishes": 20, "w2 finishes": 25}),
    ("max_active = 2",
     {"w0 starts": 0, "w0 sleeps": 5, "w1 starts": 5, "w1 sleeps": 10, "w0 wakes": 15, "w0 finishes": 20,
      "w1 finishes": 20, "w2 starts": 20, "w2 sleeps": 25, "w2 finishes": 35}),
    ("w1 and w2 on another queue, with WQ_CPU_INTENSIVE",
     {"w0 starts": 0, "w0 sleeps": 5, "w1 starts": 5, "w2 starts": 5, "w1 sleeps": 10, "w2 sleeps": 15, "w0 wakes": 15,
      "w0 finishes": 20, "w1 finishes": 20, "w2 finishes": 25}))
ITEMS = {"w0": "#2f6fdf", "w1": "#8250df", "w2": "#b7791f"}
LEFT, SCALE, LANE, END = 150, 12, 13, 52  # pixels, pixels per ms, pixels, ms


def measurements(size):
    FOLDER.mkdir(parents=True, exist_ok=True)
    return [Measurement([PROGRAM, FOLDER], 11 if size == "full" else 1)]


def times(row):
    """Of each event. Where w1 and w2 share the CPU, that which sleeps first is w1."""
    at = dict(zip(row["what"], row["at"]))
    if at["w2 sleeps"] >= at["w1 sleeps"]:
        return at
    exchange = {"w1": "w2", "w2": "w1"}
    return {exchange.get(e[:2], e[:2]) + e[2:]: t for e, t in at.items()}


def medians(rows, number, announced):
    """Of each event, in milliseconds."""
    some = [times(r) for r in select(rows, scenario=number, announced=announced)]
    return {event: median(some, event) for event in DOCUMENT[number][1]}


def section(rows):
    lines = [
        "w0 computes for 5 ms, sleeps for 10 ms and computes for 5 ms; w1 and w2 compute for 5 ms and sleep for 10 ms. All "
        "three are queued to one CPU at once. Medians in ms, of the times that the items note; they sleep in a "
        "`blocking_region`, or without a word, so that the sentinel of the CPU has to find out. The workers exist before. A "
        "run in which an event came at another place than in the document is repeated, here "
        f"{sum(r['attempts'] - 1 for r in select(rows))} times for {len(select(rows))} runs.", ""]
    for number, (name, document) in enumerate(DOCUMENT):
        announced, found = (medians(rows, number, a) for a in (True, False))
        lines += table([name, "the document", "announced", "found by the sentinel"],
                       [[event, str(at), figure(announced[event]), figure(found[event])]
                        for event, at in document.items()])
    return lines + [
        "![timelines](experiments/timelines.svg)", "",
        "The second timeline, traced: `cmwq trace --html` makes this page. w1 is selected: a black arrow comes from the call "
        "that has queued it, orange ones show where a spare worker takes over. `./scripts/check-all readers` plays the "
        "timelines, reads the traces with Perfetto's own messages, and looks at the page with Chromium.", "",
        "![a page of a trace](../guide/trace_page.png)"]


def findings(rows):
    late = max((medians(rows, n, a)[event] - at, event, DOCUMENT[n][0]) for n in range(len(DOCUMENT))
               for a in (True, False) for event, at in DOCUMENT[n][1].items())
    naps = [max(t["w0 wakes"] - t["w0 sleeps"] for t in (medians(rows, n, a) for n in range(len(DOCUMENT))))
            for a in (True, False)]
    take_over = [medians(rows, 1, a) for a in (True, False)]
    gaps = [figure(1000 * (t["w1 starts"] - t["w0 sleeps"])) for t in take_over]
    return [
        f"The events come in the document's order, and at most {figure(late[0])} ms after their times (*{late[1]}*, {late[2]}). "
        f"With a limit of 3, w1 starts {gaps[0]} µs after w0 sleeps if that is announced, and {gaps[1]} µs after it if the "
        "sentinel has to find it. In the last timeline w1 and w2 share the CPU in slices of the system, while the document "
        "gives each of them a CPU: so w1 sleeps only when w2 is nearly done, too. The 10 ms for which w0 "
        f"sleeps become up to {figure(naps[0])} ms if that is announced, and {figure(naps[1])} ms if the sentinel finds it: "
        "probably because an item that announces its block wakes the spare worker before it sleeps, and may lose the CPU in "
        "between.", "",
        "**For a program**: the rules of the kernel's documentation about `max_active` and `WQ_CPU_INTENSIVE` hold here as "
        "they stand there, also for items that do not announce that they block."]


def spans(at):
    """(item, begin, end, whether it runs) of a timeline."""
    for item in ITEMS:
        wakes = at.get(item + " wakes", at[item + " finishes"])
        yield item, at[item + " starts"], at[item + " sleeps"], True
        yield item, at[item + " sleeps"], wakes, False
        yield item, wakes, at[item + " finishes"], True


def plots(rows):
    out, top = [], 0
    for number, (name, document) in enumerate(DOCUMENT):
        out.append(f'<text x="10" y="{top + 20}">{html.escape(name)}</text>')
        top += 30
        for label, at in (("document", document), ("announced", medians(rows, number, True)),
                          ("found", medians(rows, number, False))):
            out.append(f'<text x="{LEFT - 10}" y="{top + 2 * LANE}" class="note" text-anchor="end">{label}</text>')
            for item, begin, end, runs in spans(at):
                if end > begin:
                    y = top + LANE * list(ITEMS).index(item)
                    out.append(f'<rect x="{LEFT + SCALE * begin:.1f}" y="{y}" width="{SCALE * (end - begin):.1f}" '
                               f'height="{LANE - 3}" fill="{ITEMS[item]}" fill-opacity="{1 if runs else 0.25}"/>')
            top += 3 * LANE + 6
        out += [f'<text x="{LEFT + SCALE * ms}" y="{top + 12}" class="note" text-anchor="middle">{ms}</text>'
                for ms in range(0, END, 10)]
        top += 26
    out.append("".join(f'<rect x="{LEFT + 110 * i}" y="{top + 6}" width="14" height="{LANE - 3}" fill="{color}"/>'
                       f'<text x="{LEFT + 20 + 110 * i}" y="{top + 16}" class="note">{item} runs</text>'
                       for i, (item, color) in enumerate(ITEMS.items())) +
               f'<text x="{LEFT + 330}" y="{top + 16}" class="note">pale: it sleeps; ms</text>')
    return {"timelines": "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + SCALE * END}" height="{top + 30}" role="img">',
        "<title>The timelines of the document, and here</title>", f"<style>{charts.STYLE}</style>", *out, "</svg>"]) + "\n"}
