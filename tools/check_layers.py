#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when a header reaches above what layers.txt allows it, is on no floor, or is longer than 500 lines."""

import pathlib
import re
import sys

import planted

TOOLS = pathlib.Path(__file__).resolve().parent
MAX_LINES = 500
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_rules():
    rules = []
    for line in (TOOLS / "layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            floor, top, *paths = line.split()
            rules += [(path, int(floor), int(top)) for path in paths]
    return rules


def place(rules, rel):
    """(floor, highest floor it may include) of a header, or None when no line of layers.txt names it."""
    hits = [(len(p), f, t) for p, f, t in rules if rel == p or (p.endswith("/") and rel.startswith(p))]
    return max(hits)[1:] if hits else None


def check(root):
    """Yields a sentence for every violation below root/include/cmwq."""
    rules, base = read_rules(), root / "include" / "cmwq"
    for header in sorted([*base.rglob("*.hpp"), *base.rglob("*.ipp")]):
        rel, lines = header.relative_to(base).as_posix(), header.read_text().splitlines()
        own = place(rules, rel)
        if own is None:
            yield f"{rel}: on no floor (tools/layers.txt)"
            continue
        if len(lines) > MAX_LINES:
            yield f"{rel}: {len(lines)} lines, more than {MAX_LINES}"
        for number, line in enumerate(lines, 1):
            if not (m := INCLUDE.match(line)):
                continue
            if m[1] == '"':
                yield f"{rel}:{number}: a header of cmwq is included as <cmwq/...>, not as \"{m[2]}\""
            elif m[2].startswith("cmwq/"):
                target = m[2].removeprefix("cmwq/")
                other = place(rules, target)
                if other is None:
                    yield f"{rel}:{number}: {target} is on no floor (tools/layers.txt)"
                elif other[0] > own[1]:
                    yield f"{rel}:{number}: may include up to floor {own[1]}, not {target} (floor {other[0]})"


SELF_TEST = [
    ({"include/cmwq/detail/base/atomic.hpp": "#include <cmwq/detail/base/config.hpp>\n#include <atomic>\n",
      "include/cmwq/workqueue.hpp": "#include <cmwq/work.hpp>\n"}, []),
    ({"include/cmwq/workqueue.hpp": "\n#include <cmwq/detail/engine/pool/worker.hpp>\n"},
     ["workqueue.hpp:2: may include up to floor 5, not detail/engine/worker.hpp (floor 6)"]),
    ({"include/cmwq/detail/ds/inbox.hpp": "#include <cmwq/work.hpp>\n"},
     ["detail/ds/inbox.hpp:1: may include up to floor 3, not work.hpp (floor 5)"]),
    ({"include/cmwq/policy.hpp": "#include <cmwq/options.hpp>\n"},
     ["policy.hpp:1: may include up to floor 2, not options.hpp (floor 5)"]),
    ({"include/cmwq/detail/engine/pool/worker.ipp": "#  include  <cmwq/runtime.hpp>\n"},
     ["detail/engine/worker.ipp:1: may include up to floor 6, not runtime.hpp (floor 7)"]),
    ({"include/cmwq/cmwq.hpp": "#include <cmwq/testing/probe.hpp>\n"},
     ["cmwq.hpp:1: may include up to floor 7, not testing/probe.hpp (floor 8)"]),
    ({"include/cmwq/novel.hpp": ""}, ["novel.hpp: on no floor (tools/layers.txt)"]),
    ({"include/cmwq/work.hpp": "#include <cmwq/novel.hpp>\n"},
     ["work.hpp:1: novel.hpp is on no floor (tools/layers.txt)"]),
    ({"include/cmwq/work.hpp": '#include "fwd.hpp"\n'},
     ['work.hpp:1: a header of cmwq is included as <cmwq/...>, not as "fwd.hpp"']),
    ({"include/cmwq/work.hpp": "\n" * 501}, ["work.hpp: 501 lines, more than 500"]),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST))
