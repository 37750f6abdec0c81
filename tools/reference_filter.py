#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Doxygen's input filter: prints a header or a document in a form from which Doxygen makes the right names and links.

Headers: the comment at the beginning becomes the documentation of the file; without one, Doxygen reports no free
function of the file. The inline namespace is removed, because users never name it. The blocks `namespace detail` are
hidden, except the options of the policies, which users read.

Documents: a heading gets the anchor that GitHub gives it, with the name of the document before it, because Doxygen has
one name space for all documents. The links to such anchors are changed in the same way. A link to a file that is no
document becomes plain text.

The number of lines does not change, so that Doxygen's messages have the right line numbers.
"""

import collections
import pathlib
import re
import sys

SHOWN = "options_for"  # the only entity of a namespace `detail` that has a place in the reference


def header(text):
    head, pragma, rest = text.partition("\n#pragma once\n")
    if pragma:
        head = re.sub("^//", "///", head.replace("// SPDX-License-Identifier: BSL-1.0", "// @file"), flags=re.M)
    text = (head + pragma + rest).replace("inline namespace CMWQ_NS { ", "").replace(" inline namespace CMWQ_NS {", "")
    text = re.sub(r"^\}(\}+ // namespace cmwq::)CMWQ_NS", r"\1", text, flags=re.M)

    def hide(block):
        return block[0] if SHOWN in block[0] else f"/** @cond */ {block[0]} /** @endcond */"

    return re.sub(r"^namespace detail \{.*?^\} // namespace detail$", hide, text, flags=re.M | re.S)


def anchor(title):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def document(text, path):
    def to_heading(match):
        name = pathlib.PurePath(match[1]).stem if match[1] else path.stem
        return f"](@ref {name.lower()}-{match[2]})"

    def to_file(match):
        is_file = (path.parent / match[2]).is_file() and not match[2].endswith(".md")
        return match[1] if is_file else match[0]

    lines, in_code, seen = text.split("\n"), False, collections.Counter()
    for i, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            continue
        elif heading := re.fullmatch(r"##+ (.*)", line):
            name = anchor(heading[1])
            seen[name] += 1
            again = f"-{seen[name] - 1}" if seen[name] > 1 else ""
            lines[i] = f"{line.rstrip()} {{#{path.stem.lower()}-{name}{again}}}"
        else:
            # Doxygen requires the text of a link to a heading on one line: move its beginning to the line of its end.
            if re.match(r"[^\[\]]*\]\([\w./-]*#", line) and (begin := re.search(r" ?(\[[^\]]*)$", lines[i - 1])):
                lines[i - 1], line = lines[i - 1][:begin.start()], f"{begin[1]} {line}"
            line = re.sub(r"\]\(([\w./-]*)#([\w-]+)\)", to_heading, line)
            lines[i] = re.sub(r"\[([^\]]+)\]\(([\w./-]+)\)", to_file, line)
    return "\n".join(lines)


def main():
    path = pathlib.Path(sys.argv[1])
    text = path.read_text(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(document(text, path) if path.suffix == ".md" else header(text))


if __name__ == "__main__":
    main()
