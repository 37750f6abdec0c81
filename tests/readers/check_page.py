#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Chromium shows the page of a trace, of the kernel's timelines with max_active >= 3: the lanes, the items with their
times, and arrows where a spare worker took over.

  check_page.py TOOL PROGRAM            the test
  check_page.py TOOL PROGRAM PICTURE    also writes what it shows, for the documentation
"""

import html
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import timelines

TOOL, PROGRAM = sys.argv[1:3]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TAKES_OVER = (0xd4, 0x68, 0x0a)  # the color of the arrows


def browse(page, *arguments):
    """What Chromium prints. It must not report an error of the page."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                               f"--user-data-dir={profile}", "--hide-scrollbars", *arguments, page],
                              capture_output=True, text=True, timeout=300)
    require("CONSOLE" not in done.stderr, done.stderr)
    return done.stdout


def require(condition, what):
    if not condition:
        sys.exit(what)


def details(page, run):
    """What the page says about a run."""
    dom = browse(f"{page}#run={run}", "--dump-dom")
    return {name: html.unescape(value) for name, value in re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", dom)}


def pixels(png):
    """The colors of a picture, row by row."""
    require(png[:8] == b"\x89PNG\r\n\x1a\n", "the picture is no PNG")
    chunks, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + png[at + 8:at + 8 + size]
        at += size + 12
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    n = {2: 3, 6: 4}[color]
    require(depth == 8, f"the picture has {depth} bits per color")
    data, before, rows = zlib.decompress(chunks[b"IDAT"]), bytes(width * n), []
    for y in range(height):
        kind, row = data[y * (width * n + 1)], bytearray(data[y * (width * n + 1) + 1:(y + 1) * (width * n + 1)])
        for i in range(width * n):
            left, up, corner = row[i - n] if i >= n else 0, before[i], before[i - n] if i >= n else 0
            guess = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, guess)[kind]) & 255
        before = bytes(row)
        rows.append([tuple(before[i:i + 3]) for i in range(0, width * n, n)])
    return rows


def without_end(page, run):
    """A page whose trace was written before that run has ended, as of a flight recorder."""
    text = page.read_text()
    before = re.search(r'id="data">([^<]*)<', text)[1]
    data = json.loads(before)
    data["runs"][run][7] = data["runs"][run][8] = -1  # end, CPU time
    changed = page.with_name("without_end.html")
    changed.write_text(text.replace(before, json.dumps(data).replace("<", "\\u003c")))
    return changed.as_uri()


def milliseconds(text):
    number, unit = re.match(r"([\d.]+) (\S+)", text).groups()
    return float(number) * {"s": 1e3, "ms": 1, "µs": 1e-3, "ns": 1e-6}[unit]


def is_as_documented(runs):
    """Whether the trace shows the documented order, too: of a program that is interrupted between two events it may not."""
    begins = [runs[w]["begin"] for w in ("w0", "w1", "w2")]
    return begins == sorted(begins) and all(r["takes over"] for r in (runs["w1"], runs["w2"]))


def make_page(folder):
    """Returns the page of a trace that shows the documented order, and its runs by their items."""
    page = folder / "timeline.html"
    for _ in range(timelines.ATTEMPTS):
        timeline = next(t for t in timelines.play(PROGRAM, folder) if t["scenario"] == 1 and t["announced"])
        subprocess.run([TOOL, "trace", timeline["trace"], "--html", "-o", page], check=True, capture_output=True)
        data = json.loads(re.search(r'id="data">([^<]*)<', page.read_text())[1])
        runs = {data["texts"][r[2]].removeprefix("timeline::"): {"index": i, "begin": r[6], "takes over": r[11] >= 0}
                for i, r in enumerate(data["runs"])}
        if is_as_documented(runs):
            return page.as_uri(), runs, data
    sys.exit("no attempt has shown the documented order")


def main():
    if BROWSER is None:
        print("skipped: there is no chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        page, runs, data = make_page(pathlib.Path(name))
        dom = browse(page, "--dump-dom")
        labels = re.findall(r"<div[^>]*>([^<]*)</div>", re.search(r'<div id="labels".*?</main>', dom)[0])
        for wanted in ("CPUs", "CPU 0", "Threads", "Queues", "q0: pending", "q0: running"):
            require(wanted in labels, f"there is no lane {wanted!r}, but {labels}")
        require(len([l for l in labels if re.match(r"cmwq/0:\d", l)]) == 3, f"there are not three workers: {labels}")
        require(f"<title>{data['program']}, process {data['pid']}</title>" in dom, "the title is wrong")
        for item, before in (("w0", None), ("w1", "w0"), ("w2", "w1")):
            said = details(page, runs[item]["index"])
            require(said["function"] == "timeline::" + item and said["queue"] == "q0", said)
            require(milliseconds(said["blocked for"]) >= 10, said)
            require(milliseconds(said["CPU time"]) >= (10 if item == "w0" else 5), said)
            require(milliseconds(said["takes"]) >= milliseconds(said["blocked for"]) + 5, said)
            require("queued by cmwq/0:" in said["waited"], said)
            if before:
                require(re.fullmatch(rf"timeline::{before} on cmwq/0:\d", said["takes over from"]), said)
        cut = without_end(pathlib.Path(name, "timeline.html"), runs["w0"]["index"])
        said = details(cut, runs["w0"]["index"])
        require(said["takes"].endswith("so far: not ended when the trace was written"), said)
        require(said["CPU time"] == "unknown", said)
        require(said["drawn as"] == "not ended, blocked, not ended", said)
        picture = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else pathlib.Path(name, "page.png"))
        run = runs["w1"]
        shown = f"{page}#run={run['index']}&ns={max(runs['w0']['begin'] - 1_000_000, 0)}-{data['end']}"
        browse(shown, f"--screenshot={picture.absolute()}", "--window-size=1000,450")
        rows = pixels(picture.read_bytes())
        colors = [c for row in rows[100:] for c in row]  # without the heading, which explains the colors
        require((len(rows), len(rows[0])) == (450, 1000), "the picture has another size")
        require(colors.count(TAKES_OVER) > 20, "the picture has no arrow where a spare worker takes over")
        require(len(set(colors)) > 50, "the picture is empty")
    print("the page is as it must be")


main()
