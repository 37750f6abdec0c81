#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when docs/dev/guarantees.md names no test for a promise, or other tests than those that say they prove it.

Each row of its tables begins with the id of a promise, such as life-3. A test says what it proves in a comment on the
line above the test case, or anywhere else in the file if the whole file is the test:

    // proves: life-3, kernel-12

The last cell of each row is generated: `tools/check_guarantees.py --write` replaces it. A row without such a test has
"none: reason" there.
"""

import pathlib
import re
import sys

import planted

DOCUMENT = "docs/dev/guarantees.md"
ID = r"[a-z]+-\d+"
ROW = re.compile(rf"(\| ({ID}) \|.*\|)[^|]*\|")
PROVES = re.compile(rf"^// proves: ({ID}(?:, {ID})*)\n", re.M)
CASE = re.compile(r'(?:TEMPLATE_(?:LIST_)?|POLICY_)?TEST_CASE\(\s*("[^"\n]+")')


def tests(root):
    """Returns ({id: [test]}, [(place, id)] of all comments)."""
    found, places = {}, []
    for file in sorted((root / "tests").rglob("*.cpp")):
        text, name = file.read_text(), file.relative_to(root).as_posix()
        for m in PROVES.finditer(text):
            case = CASE.match(text, m.end())
            for i in m[1].split(", "):
                found.setdefault(i, []).append(case[1] if case else name)
                places.append((f"{name}:{text.count(chr(10), 0, m.start()) + 1}", i))
    return found, places


def with_tests(line, found):
    """The row of a promise with its tests in the last cell; a row that has none stays as it is."""
    m = ROW.fullmatch(line)
    return f"{m[1]} {', '.join(found[m[2]])} |" if m and m[2] in found else line


def write(root):
    found, _ = tests(root)
    lines = (root / DOCUMENT).read_text().splitlines()
    (root / DOCUMENT).write_text("".join(with_tests(line, found) + "\n" for line in lines))


def check(root):
    """Yields a sentence for every violation below root."""
    found, places = tests(root)
    ids = {}
    for number, line in enumerate((root / DOCUMENT).read_text().splitlines(), 1):
        if not (m := ROW.fullmatch(line)):
            continue
        if ids.setdefault(m[2], number) != number:
            yield f"{DOCUMENT}:{number}: {m[2]} is the id of line {ids[m[2]]}, too"
        if m[2] not in found and not re.search(r"\| none: \w[^|]* \|$", line):
            yield f"{DOCUMENT}:{number}: no test proves {m[2]}"
        elif with_tests(line, found) != line:
            yield f"{DOCUMENT}:{number}: the tests of {m[2]} are not those that `tools/check_guarantees.py --write` writes"
    yield from (f"{place}: {DOCUMENT} has no {i}" for place, i in places if i not in ids)


ONE = {"tests/unit/one.test.cpp": '// A comment.\n// proves: life-1\nPOLICY_TEST_CASE(\n    "it is there", "") {}\n'
                                  '// proves: life-1, life-2\nTEST_CASE("it is exact") {}\n',
       "tests/ends/two.cpp": "// exits: 0\n// proves: life-2\nint main() {}\n"}
TABLE = ("| id | promise | mechanism | test |\n| --- | --- | --- | --- |\n"
         '| life-1 | a | b | "it is there", "it is exact" |\n| life-2 | a | | tests/ends/two.cpp, "it is exact" |\n')

SELF_TEST = [
    ({**ONE, DOCUMENT: TABLE}, []),
    ({**ONE, DOCUMENT: TABLE.replace("it is exact", "it is old", 1)},
     [f"{DOCUMENT}:3: the tests of life-1 are not those that `tools/check_guarantees.py --write` writes"]),
    ({**ONE, DOCUMENT: TABLE + "| life-3 | a | b | |\n"}, [f"{DOCUMENT}:5: no test proves life-3"]),
    ({**ONE, DOCUMENT: TABLE + "| life-3 | a | b | none: only measured |\n"}, []),
    ({**ONE, DOCUMENT: TABLE.replace('| b | "it is there", "it is exact" |', "| b | |")},
     [f"{DOCUMENT}:3: the tests of life-1 are not those that `tools/check_guarantees.py --write` writes"]),
    ({**ONE, DOCUMENT: TABLE + '| life-1 | a | b | "it is there", "it is exact" |\n'},
     [f"{DOCUMENT}:5: life-1 is the id of line 3, too"]),
    ({**ONE, DOCUMENT: "".join(TABLE.splitlines(True)[:3])},
     ["tests/ends/two.cpp:2: docs/dev/guarantees.md has no life-2",
      "tests/unit/one.test.cpp:5: docs/dev/guarantees.md has no life-2"]),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST, write))
