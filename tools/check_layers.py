#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when a header includes a header of a layer that layers.txt does not allow, is in no layer, or is longer than
500 lines; when headers, with their bodies, include each other in a circle; when a body in an .ipp is CMWQ_HOT_INLINE; and
when the drawing of the engine in docs/dev/architecture.md does not match the headers. --draw prints it."""

import collections
import graphlib
import pathlib
import re
import sys

import planted

TOOLS = pathlib.Path(__file__).resolve().parent
MAX_LINES = 500
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^">]+)[">]')
ENGINE = "detail/engine/"
DRAWING = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)


def read_rules():
    rules = []
    for line in (TOOLS / "layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            layer, top, *paths = line.split()
            rules += [(path, int(layer), int(top)) for path in paths]
    return rules


def covers(path, rel):
    """Whether a path of layers.txt matches the header: a file, or a folder "a/b/"."""
    return rel == path or (path.endswith("/") and rel.startswith(path))


def place(rules, rel):
    """Returns (layer, highest layer that it may include) of a header, or None if no line of layers.txt matches it. The
    longest path takes precedence."""
    hits = [(len(p), layer, top) for p, layer, top in rules if covers(p, rel)]
    return max(hits)[1:] if hits else None


def headers(base):
    return sorted([*base.rglob("*.hpp"), *base.rglob("*.ipp")])


def draw(root):
    """Returns a graph of the folders of the engine, with the number of includes between the files of two folders."""
    base = root / "include" / "cmwq"
    arrows = collections.Counter()
    folders = set()
    for header in base.glob(f"{ENGINE}*/*.?pp"):
        own = header.parent.name
        folders.add(own)
        for line in header.read_text().splitlines():
            if (m := INCLUDE.match(line)) and m[2].startswith(f"cmwq/{ENGINE}") and m[2].count("/") == 4:
                if (other := m[2].split("/")[3]) != own:
                    arrows[own, other] += 1
    lines = [f"    {a} -->|{n}| {b}" for (a, b), n in sorted(arrows.items())]
    return "\n".join(["graph BT", *(f"    {f}[engine/{f}]" for f in sorted(folders)), *lines]) + "\n"


def circle(base):
    """Returns headers that include each other, as a list that begins and ends with the same name; None: there are none.
    A header and its body count as one."""
    graph = {}
    for header in headers(base):
        own = header.relative_to(base).with_suffix("").as_posix()
        found = graph.setdefault(own, set())
        for line in header.read_text().splitlines():
            if (m := INCLUDE.match(line)) and m[2].startswith("cmwq/"):
                found.add(re.sub(r"\.[hi]pp$", "", m[2].removeprefix("cmwq/")))
        found.discard(own)
    graph.pop("engine", None) # the headers of header-only mode end with it, and it includes all bodies
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as e:
        return e.args[1]
    return None


def check(root):
    """Yields a sentence for every violation below root/include/cmwq, and one if the drawing is out of date."""
    rules, base = read_rules(), root / "include" / "cmwq"
    for header in headers(base):
        rel, lines = header.relative_to(base).as_posix(), header.read_text().splitlines()
        own = place(rules, rel)
        if own is None:
            yield f"{rel}: in no layer (tools/layers.txt)"
            continue
        if len(lines) > MAX_LINES:
            yield f"{rel}: {len(lines)} lines, more than {MAX_LINES}"
        for number, line in enumerate(lines, 1):
            if rel.endswith(".ipp") and line.startswith("CMWQ_HOT_INLINE"):
                yield f"{rel}:{number}: a body that callers must inline belongs in a header, which they see"
            if not (m := INCLUDE.match(line)):
                continue
            if m[1] == '"':
                yield f"{rel}:{number}: a header of cmwq is included as <cmwq/...>, not as \"{m[2]}\""
            elif m[2].startswith("cmwq/"):
                target = m[2].removeprefix("cmwq/")
                other = place(rules, target)
                if other is None:
                    yield f"{rel}:{number}: {target} is in no layer (tools/layers.txt)"
                elif other[0] > own[1]:
                    yield f"{rel}:{number}: may include up to layer {own[1]}, not {target} (layer {other[0]})"
                elif target.endswith(".ipp") and rel != "engine.hpp":
                    yield f"{rel}:{number}: {target} is a body, which only engine.hpp includes"
    if (engine := base / "engine.hpp").exists():
        included = {m[2].removeprefix("cmwq/") for line in engine.read_text().splitlines() if (m := INCLUDE.match(line))}
        for body in sorted(b.relative_to(base).as_posix() for b in base.rglob("*.ipp")):
            if body not in included:
                yield f"engine.hpp: does not include {body}"
    if (found := circle(base)) is not None:
        yield f"{' includes '.join(reversed(found))}: a circle"
    text = root / "docs" / "dev" / "architecture.md"
    if text.exists() and (m := DRAWING.search(text.read_text())) and m[1] != draw(root):
        yield "docs/dev/architecture.md: the drawing is not what `tools/check_layers.py --draw` prints"


SELF_TEST = [
    ({"include/cmwq/detail/base/atomic.hpp": "#include <cmwq/detail/base/config.hpp>\n#include <atomic>\n",
      "include/cmwq/workqueue.hpp": "#include <cmwq/work.hpp>\n"}, []),
    ({"include/cmwq/workqueue.hpp": "\n#include <cmwq/detail/engine/ledger/worker.hpp>\n"},
     ["workqueue.hpp:2: may include up to layer 5, not detail/engine/ledger/worker.hpp (layer 8)"]),
    ({"include/cmwq/detail/ds/inbox.hpp": "#include <cmwq/work.hpp>\n"},
     ["detail/ds/inbox.hpp:1: may include up to layer 3, not work.hpp (layer 5)"]),
    ({"include/cmwq/policy.hpp": "#include <cmwq/options.hpp>\n"},
     ["policy.hpp:1: may include up to layer 2, not options.hpp (layer 5)"]),
    ({"include/cmwq/detail/engine/ledger/worker.hpp": "#include <cmwq/detail/engine/ops/flush.hpp>\n"},
     ["detail/engine/ledger/worker.hpp:1: may include up to layer 8, not detail/engine/ops/flush.hpp (layer 18)"]),
    ({"include/cmwq/detail/engine/ledger/worker.ipp": "#include <cmwq/detail/engine/ops/flush.hpp>\n"},
     ["detail/engine/ledger/worker.ipp:1: may include up to layer 8, not detail/engine/ops/flush.hpp (layer 18)"]),
    ({"include/cmwq/detail/engine/ledger/worker.ipp": "#  include  <cmwq/runtime.hpp>\n"},
     ["detail/engine/ledger/worker.ipp:1: may include up to layer 8, not runtime.hpp (layer 20)"]),
    ({"include/cmwq/engine.hpp": "#include <cmwq/detail/engine/ops/grab.ipp>\n",
      "include/cmwq/detail/engine/ops/grab.ipp": "", "include/cmwq/detail/engine/ops/wait.ipp": ""},
     ["engine.hpp: does not include detail/engine/ops/wait.ipp"]),
    ({"include/cmwq/detail/engine/api/item.ipp": "#include <cmwq/detail/engine/ops/grab.ipp>\n"},
     ["detail/engine/api/item.ipp:1: detail/engine/ops/grab.ipp is a body, which only engine.hpp includes"]),
    ({"include/cmwq/detail/engine/ledger/a.hpp": "#include <cmwq/detail/engine/item/i.hpp>\n",
      "include/cmwq/detail/engine/ledger/b.hpp": "#include <cmwq/detail/engine/ledger/a.hpp>\n",
      "include/cmwq/detail/engine/ledger/a.ipp": "#include <cmwq/detail/engine/ledger/a.hpp>\n"
                                                 "#include <cmwq/detail/engine/ledger/b.hpp>\n",
      "include/cmwq/engine.hpp": "#include <cmwq/detail/engine/ledger/a.ipp>\n"},
     ["detail/engine/ledger/a includes detail/engine/ledger/b includes detail/engine/ledger/a: a circle"]),
    ({"include/cmwq/detail/engine/ops/grab.hpp": "CMWQ_HOT_INLINE int f() {}\n",
      "include/cmwq/detail/engine/ops/grab.ipp": "CMWQ_HOT_INLINE int g() {}\n"},
     ["detail/engine/ops/grab.ipp:1: a body that callers must inline belongs in a header, which they see"]),
    ({"include/cmwq/cmwq.hpp": "#include <cmwq/testing/probe.hpp>\n"},
     ["cmwq.hpp:1: may include up to layer 20, not testing/probe.hpp (layer 21)"]),
    ({"include/cmwq/novel.hpp": ""}, ["novel.hpp: in no layer (tools/layers.txt)"]),
    ({"include/cmwq/work.hpp": "#include <cmwq/novel.hpp>\n"},
     ["work.hpp:1: novel.hpp is in no layer (tools/layers.txt)"]),
    ({"include/cmwq/work.hpp": '#include "fwd.hpp"\n'},
     ['work.hpp:1: a header of cmwq is included as <cmwq/...>, not as "fwd.hpp"']),
    ({"include/cmwq/work.hpp": "\n" * 501}, ["work.hpp: 501 lines, more than 500"]),
    ({"include/cmwq/detail/engine/ledger/worker.hpp": "#include <cmwq/detail/engine/item/deferred.hpp>\n",
      "include/cmwq/detail/engine/item/deferred.hpp": "",
      "docs/dev/architecture.md": "```mermaid\ngraph BT\n    item[engine/item]\n    ledger[engine/ledger]\n"
                              "    ledger -->|1| item\n```\n"}, []),
    ({"include/cmwq/detail/engine/ledger/worker.hpp": "", "docs/dev/architecture.md": "```mermaid\ngraph BT\n```\n"},
     ["docs/dev/architecture.md: the drawing is not what `tools/check_layers.py --draw` prints"]),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--draw"]:
        sys.stdout.write(draw(TOOLS.parent))
        sys.exit(0)
    sys.exit(planted.main(check, SELF_TEST))
