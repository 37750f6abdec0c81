#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Looks into examples/observe, whose disk does not answer, in each way that the guide shows: over HTTP, with the tool
cmwq, with gdb, and with gdb in a core file. All of them must name the same items, their function and system call. Then
changes a queue under load.

  observe_test.py OBSERVE TOOL            the test; also that the guide shows what the tool prints
  observe_test.py OBSERVE TOOL --write    writes what they print into the guide
"""

import contextlib
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

OBSERVE, TOOL = sys.argv[1:3]
ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "observability.md"
MARK = "<!-- written by examples/observe/observe_test.py --write: {} -->\n"
FUNCTION = "observe::read_record"
SECONDS = 60  # for a state that has to come


def require(condition, what):
    if not condition:
        sys.exit(what)


@contextlib.contextmanager
def observe():
    """A running process, and where it serves."""
    process = subprocess.Popen([OBSERVE, "--port", "0", "--stuck"], stdout=subprocess.PIPE, text=True)
    try:
        yield process, re.search(r"http://[\d.:]+", process.stdout.readline())[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=SECONDS)
        process.stdout.close()
    require(process.returncode == 0, f"it ends with {process.returncode}")


def get(url):
    """Status, type and text of a page."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Connection": "close"})) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read().decode()


def wait_for(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        require(time.monotonic() < deadline, f"{what} does not come")
        time.sleep(0.05)


def check_http(url):
    wait_for(lambda: get(url + "/health")[0] == 503, "the report that the disk hangs")
    require('queue "disk" is at its limit' in get(url + "/health")[2], "/health does not say what hangs")
    status, kind, metrics = get(url + "/metrics")
    require((status, kind) == (200, "application/openmetrics-text") and metrics.endswith("# EOF\n"), "/metrics is wrong")
    require(re.search(r'^cmwq_active\{.*queue="disk".*\} 2$', metrics, re.M), "/metrics has not two items of the disk")
    require(get(url + "/dump")[2].count(FUNCTION) == 3, "/dump does not name the items")
    running = [r for p in json.loads(get(url + "/dump?format=json")[2])["pools"] for r in p["runs"]]
    require([r["function"] for r in running if r["queue"] == "disk"] == [FUNCTION] * 2, "the JSON dump is wrong")
    require(get(url + "/nothing")[0] == 404, "a page that does not exist")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def gdb_workers(*target):
    """What `cmwq workers` prints about the disk, below its heading."""
    commands = [f"source {ROOT}/tools/gdb/cmwq.py", "cmwq workers"]
    text = run("gdb", "-q", "-nx", "-batch", *target, *(a for c in commands for a in ("-ex", c)))
    lines = text[text.index("  POOL"):].splitlines()
    return "\n".join([lines[0], *(x for i, x in enumerate(lines) if "read_record" in x or "read_record" in lines[i - 1])])


def sections(dump, *names):
    """The sections of a dump with these headings."""
    found = [re.search(rf"^{name}\n=+\n.*?(?=\n\n|\Z)", dump, re.M | re.S)[0] for name in names]
    return "\n\n".join(found)


def without_pulse(text):
    """Its items come and go."""
    return "\n".join(x for x in text.splitlines() if "pulse" not in x)


def items_of(text):
    return set(re.findall(r"0x[0-9a-f]{6,}", text))


def look(process, url, folder):
    """What each way prints, by its command."""
    check_http(url)
    pid = str(process.pid)
    shown = {f"cmwq top {pid} --count 1": without_pulse(run(TOOL, "top", pid, "--count", "1")),
             f"cmwq dump {pid}        # the end of it": without_pulse(
                 sections(run(TOOL, "dump", pid), "Busy workers", "Pending items"))}
    if shutil.which("gdb") is None:
        print("there is no gdb")
        return shown
    core = str(folder / "core")
    live = gdb_workers("-p", pid)
    shown[f"gdb -batch -p {pid} -ex 'cmwq workers'        # a part of it"] = live
    run("gdb", "-q", "-nx", "-batch", "-p", pid, "-ex", f"generate-core-file {core}")
    shown["gdb -batch observe core -ex 'cmwq workers'        # a part of it"] = gdb_workers(OBSERVE, core)
    return shown


def check(shown):
    items = [items_of(text) for text in shown.values()]
    require(len(items[0]) == 2 and all(i == items[0] for i in items), f"they name different items: {items}")
    for command, text in shown.items():
        for fact in ("read_record", "record 17", "disk"):
            require(fact in text, f"{command}: no {fact}: {text}")
        require(re.search(r"waits in read \(system call|in \S*read\b", text), f"{command}: no system call: {text}")


def in_guide(shown):
    return "\n".join(f"```text\n$ {command}\n{text.rstrip()}\n```\n" for command, text in shown.items())


def same(text):
    """What every run prints alike of the items, without numbers and widths."""
    lines = [re.sub(r"0x[0-9a-f]+|\d+", "N", x) for x in text.splitlines() if "read_record" in x and "libc" not in x]
    return {" ".join(x.split()) for x in lines if "waits in" in x or "inactive" in x}


# --- a queue that is changed under load -------------------------------------------------------------------------------

CHANGES = ("max_active=1", "affinity_scope=numa", "cpumask=0")


def tool(*arguments, expect=0):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=300)
    require(done.returncode == expect, f"cmwq {' '.join(arguments)}: {done.returncode}, {done.stdout}{done.stderr}")
    return done.stdout if expect == 0 else done.stderr


def of_pulse(dump):
    """The pool of each CPU, and the limits, of the queue "pulse"."""
    text = sections(dump, r"Workqueue CPU -> pool", r"Unbound WQ -> active")
    return "\n".join(x for x in text.splitlines() if x.startswith(("=", "Work", "Unbound", "[", "pulse")) or not x)


def nr_started(pid):
    return next(q["started"] for q in json.loads(tool("dump", pid, "--json"))["queues"] if q["name"] == "pulse")


def pool_and_limit(shown):
    """From what of_pulse() shows: the pools, and the present and greatest number of active items."""
    pools, limits = (x.split() for x in shown.splitlines() if x.startswith("pulse"))
    return set(pools[2:]), limits[2]


def change(pid):
    """Changes the queue. Returns what the commands print."""
    shown = {f"cmwq dump {pid}        # a part of it": (before := of_pulse(tool("dump", pid)))}
    shown[f"cmwq set {pid} pulse {' '.join(CHANGES)}"] = tool("set", pid, "pulse", *CHANGES)
    shown[f"cmwq dump {pid}        # the same part"] = (after := of_pulse(tool("dump", pid)))
    require(pool_and_limit(before)[1] == "4" and pool_and_limit(after)[1] == "1", f"the limit is wrong: {shown}")
    require(not pool_and_limit(before)[0] & pool_and_limit(after)[0], f"it has its pool still: {shown}")
    now = nr_started(pid)
    wait_for(lambda: nr_started(pid) > now + 100, "the hundredth item after the change")
    attributes = tool("get", pid, "pulse")
    for wrong in ("max_active=0", "affinity_scope=moon", "cpumask=9999", "nice=99", "color=red"):
        said = tool("set", pid, "pulse", wrong, expect=4)
        shown[f"cmwq set {pid} pulse {wrong}"] = said
    require(tool("get", pid, "pulse") == attributes, "what was refused has changed something")
    require(all(f"{c}\n" in attributes for c in CHANGES), f"it has not what was set: {attributes}")
    return dict(list(shown.items())[:4])


def write(guide, mark, text):
    """The guide with another text between the two marks."""
    begin, end = (MARK.format(m) for m in (mark, mark + ", end"))
    before, after = guide[:guide.index(begin) + len(begin)], guide[guide.index(end):]
    return before + "\n" + text + "\n" + after


def main():
    with tempfile.TemporaryDirectory() as name, observe() as (process, url):
        shown = look(process, url, pathlib.Path(name))
        check(shown)
        changes = change(str(process.pid))
    guide = GUIDE.read_text(encoding="utf-8")
    if "--write" in sys.argv:
        GUIDE.write_text(write(write(guide, "stuck", in_guide(shown)), "changed", in_guide(changes)), encoding="utf-8")
    else:
        printed, told = same("\n".join(shown.values())), same(guide)
        require(printed == told, f"the guide shows {told}, but they print {printed}; --write renews it")
    print(f"{len(shown)} ways to look into the process say the same; the queue was changed")


main()
