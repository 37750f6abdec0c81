#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when a public header defines a class or an enumeration that <cmwq/fwd.hpp> does not declare."""

import re
import sys

import planted

NAME = re.compile(r"^(?:class|struct|enum class)\s+(?:\[\[\w+\]\]\s*)?(\w+)[^;{]*\{", re.MULTILINE)
DETAIL = re.compile(r"namespace detail(?:::\w+)* \{")


def without_detail(text):
    """Returns the text without comments and without namespace detail."""
    text, kept = re.sub(r"//.*", "", text), ""
    while m := DETAIL.search(text):
        kept += text[:m.start()]
        end, depth = m.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[end:]
    return kept + text


def check(root):
    """Yields a sentence for every name that is missing."""
    base = root / "include" / "cmwq"
    declared = (base / "fwd.hpp").read_text() if (base / "fwd.hpp").exists() else ""
    for header in sorted(base.glob("*.hpp")):
        for m in NAME.finditer(without_detail(header.read_text())):
            if header.name != "fwd.hpp" and not re.search(rf"^(?:class|struct|enum class) {m[1]}\b", declared, re.MULTILINE):
                yield f"{header.relative_to(base)}: {m[1]} is not declared in fwd.hpp"


FWD = "class queue;\nenum class kind : unsigned char;\ntemplate <class F>\nclass item;\n"
SELF_TEST = [
    ({"include/cmwq/fwd.hpp": FWD, "include/cmwq/a.hpp": "class queue : base {\n};\nenum class kind : unsigned char {\n};\n"
      "template <class F>\nclass item {\n};\nclass elsewhere;\nnamespace detail {\nclass hidden {};\n}\n"}, []),
    ({"include/cmwq/fwd.hpp": FWD, "include/cmwq/a.hpp": "struct novel final {\n};\n"},
     ["a.hpp: novel is not declared in fwd.hpp"]),
    ({"include/cmwq/fwd.hpp": "// class queue;\n", "include/cmwq/a.hpp": "class queue {\n};\n"},
     ["a.hpp: queue is not declared in fwd.hpp"]),
    ({"include/cmwq/fwd.hpp": FWD, "include/cmwq/testing/a.hpp": "class clock {\n};\n",
      "include/cmwq/detail/a.hpp": "class inner {\n};\n"}, []),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST))
