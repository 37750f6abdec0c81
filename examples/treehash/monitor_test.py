#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""`cmwq monitor` on treehash: at the end its sums are what the program has counted.

  monitor_test.py TREEHASH TOOL            the test
  monitor_test.py TREEHASH TOOL --write    also writes into the guide what it shows of /usr/lib, from a cold page cache
"""

import json
import pathlib
import subprocess
import sys
import tempfile

TREEHASH, TOOL = sys.argv[1:3]
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "observability.md"
MARK = "<!-- written by examples/treehash/monitor_test.py --write{} -->\n"
INTERVAL = "0.5"


def require(condition, what):
    if not condition:
        sys.exit(what)


def watch(tree, figures, *options):
    """Returns what the monitor shows while treehash runs, one sample for each time, and the counts of the last one."""
    process = subprocess.Popen([TREEHASH, *options, "--watched", "--out", "/dev/null", "--json", figures, tree],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    monitor = (TOOL, "monitor", str(process.pid))
    shown = []
    while True:
        done = subprocess.run([*monitor, "--interval", INTERVAL, "--count", "1"], capture_output=True, text=True)
        if done.returncode == 0:
            shown.append(done.stdout)
        require(process.poll() is None, f"treehash has ended: {done.stderr}")
        if figures.exists() and figures.read_text().endswith("}\n"):
            break
    last = json.loads(subprocess.run([*monitor, "--json", "--count", "1"], check=True, capture_output=True, text=True).stdout)
    shown.append(subprocess.run([*monitor, "--count", "1"], check=True, capture_output=True, text=True).stdout)
    # It waits for the signal only after its last line.
    require(any("finished" in line for line in process.stderr), "treehash does not say that it has finished")
    process.terminate()
    process.wait()
    require(process.returncode == 0, f"treehash ends with {process.returncode}")
    return process.pid, shown, last["queues"]


def make_tree(folder):
    for i in range(300):
        (folder / f"{i}").write_bytes(bytes([i % 256]) * 1000 * i)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        figures, tree = folder / "figures", folder / "tree"
        if "--write" in sys.argv:
            pid, shown, queues = watch("/usr/lib", figures, "--cold")
        else:
            tree.mkdir()
            make_tree(tree)
            pid, shown, queues = watch(tree, figures)
        counted = json.loads(figures.read_text())
    (queue,) = queues
    items = counted["files"] + counted["failures"] + 1  # one walks the tree
    require((queue["name"], queue["started"], queue["completed"], queue["pending"]) == ("treehash", items, items, 0),
            f"the monitor says {queue}, the program {counted}")
    require(str(items) in shown[-1], shown[-1])
    if "--write" in sys.argv:
        text = (f"```text\n$ treehash --watched --cold /usr/lib > manifest &       # SIGTERM or SIGINT ends it\n$ cmwq monitor {pid} --interval {INTERVAL}\n" +
                "".join(shown[:1] + shown[len(shown) // 2:len(shown) // 2 + 1] + shown[-1:]).rstrip() + "\n```\n")
        guide = GUIDE.read_text(encoding="utf-8")
        begin, end = guide.index(MARK.format("")) + len(MARK.format("")), guide.index(MARK.format(", end"))
        GUIDE.write_text(guide[:begin] + "\n" + text + "\n" + guide[end:], encoding="utf-8")
    print(f"{items} items of treehash, as the monitor says")


main()
