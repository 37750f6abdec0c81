#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when an atomic operation is stronger than relaxed and docs/dev/memory_ordering.md gives no reason, or a wrong
one.

The code: include/cmwq. Every use of acquire, release, acq_rel, seq_cst, or of a long name of these, belongs to an
operation: the call of any function with that argument. (The lines that define the short names are no uses.)
Each operation has an id in brackets, such as [IDLE-1], in a comment

  - on a line of the operation itself, from its name to its closing parenthesis, or
  - in the block of comment lines directly above the line on which the operation or its statement begins, or
  - in the block of comment lines directly above the function that contains the operation, if the function has at most
    MAX_LINES lines.

An empty line, or a line of code, ends a block. An id after the word "pairs" names the other site, and does not count.
The document must contain every id of every comment.

Two rules ensure that no operation hides its order: a function with an argument `memory_order o` has the name of an
atomic operation, and std::atomic, which has default orders, is used only in the header that defines the `class atomic`
of the library.

The document has two tables. The register has the columns edge, first site, second site, order, owner:

  - The edge is one id for both sites, or two ids. One id must be at two or more operations; each of two ids must be at
    one or more. If the second site begins with "the same", one operation is enough.
  - A site names functions and files, in backquotes: `f()`, `type::f()` or a word, `engine/worker.ipp`. A file is
    relative to include/cmwq/detail and exists. A name belongs to the next file after it in its site; if there is none,
    to the last file before it. The file must define the function, or contain the word in its code.
  - The entry names each file with an operation that has an id of the edge.
  - The order names each order of the operations that have ids of the edge and of no other entry.
  - The owner names files of tests/model, which exist, or is "none: reason".

The allow-list has the columns word and reason. Each word, in brackets, must be at one or more operations.
"""

import bisect
import pathlib
import re
import sys

import planted

DOCUMENT = "docs/dev/memory_ordering.md"
MAX_LINES = 12
ORDER = re.compile(r"(?<![\w.>])(?:memory_order_|__ATOMIC_)?"
                   r"(acquire|release|acq_rel|seq_cst|consume|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST|CONSUME)\b(?!\s*\()")
DEFINITION = re.compile(r"\bconstexpr\s+memory_order\s+(\w+)\s*=\s*std::memory_order_\1\s*;")
DEFAULTED = re.compile(r"\bstd::atomic(?:_ref)?\s*<|\b__sync_\w+")
PAIRED = re.compile(r"\bpairs \[[A-Z]+-\d+\]")
PARAMETER = re.compile(r"(\w+)\s*\([^()]*\bmemory_order\s+\w+\s*[,)]")
ATOMIC = re.compile(r"load|store|exchange|compare_exchange_(?:weak|strong)|fetch_\w+|test_and_set|clear|test")
ID = re.compile(r"\[([A-Z]+(?:-\d+)?)\]")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?!\s*define)[^\n]*',
                   re.S | re.M)
TEMPLATE = re.compile(r"template\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>")
NAME = re.compile(r"(~?\w+)\s*\(")
ACCESS = re.compile(r"\b(?:public|private|protected)\s*$")
SCOPE = re.compile(r"(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class bracket:
    """An open bracket. `head`: begin of the statement that contains it; `start`: begin of the last statement inside."""

    def __init__(self, kind, at, head):
        self.kind, self.at, self.head, self.start = kind, at, head, at + 1


class source:
    """A header: its comments and its code, line by line, its operations, and the functions that it defines."""

    def __init__(self, text):
        code, comments, end = [], [], 0
        for m in TOKEN.finditer(text):
            between = text[end:m.start()]
            code += [between, blank(m[0])]
            comments += [blank(between), m[0] if m[0].startswith(("//", "/*")) else blank(m[0])]
            end = m.end()
        self.code = "".join([*code, text[end:]])
        self.lines, self.comments = self.code.splitlines(), "".join([*comments, blank(text[end:])]).splitlines()
        self.newlines = [m.start() for m in re.finditer("\n", self.code)]
        self.functions, self.ends = set(), {}
        self.operations = {}  # by the place of the parenthesis: (open brackets, begin of the statement, orders)
        self.parse()

    def parse(self):
        code = self.code
        uses = {m.start(): m for m in ORDER.finditer(DEFINITION.sub(lambda m: blank(m[0]), code))}
        open_ones = [bracket("{", -1, 0)]
        for i in sorted({*uses, *(m.start() for m in re.finditer(r"[()\[\]{};:]", code))}):
            c = code[i]
            if c in "([{":
                open_ones.append(bracket(c, i, open_ones[-1].start))
                if self.is_body(open_ones) and (name := NAME.search(TEMPLATE.sub("", code[open_ones[-1].head:i]))):
                    self.functions.add(name[1])
            elif c in ")]}" and len(open_ones) > 1:
                self.ends[open_ones.pop().at] = i
            if (c in ";}" or (c == ":" and ACCESS.search(code, max(0, i - 20), i))) and open_ones[-1].kind == "{":
                open_ones[-1].start = i + 1
            if i in uses:
                at = open_ones[-1].at if open_ones[-1].kind == "(" else i
                statement = next(b.start for b in reversed(open_ones) if b.kind == "{")
                _, _, orders = self.operations.setdefault(at, (list(open_ones), statement, set()))
                orders.add(uses[i][1].lower())

    def is_scope(self, b):
        """Whether a bracket opens a namespace, a class or the like."""
        return b.at < 0 or bool(SCOPE.match(TEMPLATE.sub("", self.code[b.head:b.at]).lstrip()))

    def is_body(self, open_ones):
        """Whether the last bracket opens the body of a function, not a block or another body inside a body."""
        *outer, last = open_ones
        return (last.kind == "{" and outer[-1:] != [] and all(b.kind == "{" and self.is_scope(b) for b in outer)
                and not self.is_scope(last))

    def line_of(self, at):
        """Counted from 0."""
        return bisect.bisect_left(self.newlines, at)

    def line_of_word(self, at):
        """The line of the first word at or after a place."""
        return self.line_of(re.compile(r"\s*").match(self.code, at).end())

    def name_of(self, at):
        m = re.search(r"(\w*)\s*$", self.code[max(0, at - 80):at])
        return m[1] or "an order", at - len(m[0])

    def block_above(self, line):
        first = line
        while first > 0 and not self.lines[first - 1].strip() and self.comments[first - 1].strip():
            first -= 1
        return self.comments[first:line]

    def ids(self, at):
        """The ids of an operation."""
        open_ones, statement, _ = self.operations[at]
        first, last = self.line_of(self.name_of(at)[1]), self.line_of(self.ends.get(at, at))
        text = [*self.comments[first:last + 1], *self.block_above(first)]
        text += self.block_above(self.line_of_word(statement))
        body = next((b for n, b in enumerate(open_ones) if self.is_body(open_ones[:n + 1])), None)
        if body is not None:
            head = self.line_of_word(body.head)
            if self.line_of(self.ends.get(body.at, len(self.code))) - head < MAX_LINES:
                text += self.block_above(head)
        return set(ID.findall(PAIRED.sub("", " ".join(text))))


def read_tables(root):
    """Returns (register: [(line, ids, [first site, second site], order, owner)], allow-list: {word: line})."""
    register, allowed, kind = [], {}, ""
    file = root / DOCUMENT
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else [], 1):
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            kind = ""
        elif not kind:
            kind = cells[0]
        elif kind == "edge" and not cells[0].startswith("---"):
            cells += [""] * (5 - len(cells))
            register.append((number, re.findall(r"[A-Z]+-\d+", cells[0]), cells[1:3], cells[3], cells[4]))
        elif kind == "word" and ID.fullmatch(cells[0]):
            allowed[cells[0][1:-1]] = number
    return register, allowed


def check_site(root, sources, site):
    """Yields a message for each mistake in a site of an entry."""
    quoted = re.findall(r"`([^`]+)`", site)
    files = [i for i, q in enumerate(quoted) if re.search(r"\.[hi]pp$", q)]
    for i in files:
        if path_of(quoted[i]) not in sources:
            yield f"there is no file {quoted[i]}"
    names = [i for i in range(len(quoted)) if i not in files]
    if not files or not any(quoted[i].endswith("()") for i in names):
        yield f"a site names no function and file: {site!r}"
        return
    for i in names:
        file = quoted[next((f for f in files if f > i), files[-1])]
        s, word = sources.get(path_of(file)), quoted[i].removesuffix("()").split("::")[-1]
        if s is None:
            continue
        if quoted[i].endswith("()") and word not in s.functions:
            yield f"{file} defines no {word}()"
        elif not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", s.code):
            yield f"{file} has no {word}"


def path_of(named):
    """The path below include/cmwq of a file that is named relative to detail/."""
    return named[3:] if named.startswith("../") else "detail/" + named


def check(root):
    """Yields a sentence for every violation below root."""
    base = root / "include" / "cmwq"
    sources = {f.relative_to(base).as_posix(): source(f.read_text())
               for f in sorted([*base.rglob("*.hpp"), *base.rglob("*.ipp")])}
    register, allowed = read_tables(root)
    entries = {}
    for entry in register:
        for i in entry[1]:
            entries.setdefault(i, []).append(entry)
    nr_at = dict.fromkeys([*entries, *allowed], 0)
    for rel, s in sources.items():
        for number, comment in enumerate(s.comments, 1):
            for i in ID.findall(comment):
                if i not in nr_at:
                    yield f"{rel}:{number}: [{i}] is not in {DOCUMENT}"
        for m in PARAMETER.finditer(s.code):
            if not ATOMIC.fullmatch(m[1]):
                yield f"{rel}:{s.line_of(m.start()) + 1}: {m[1]}() takes an order, and is not named as an operation"
        for m in [] if re.search(r"\bclass atomic\b", s.code) else DEFAULTED.finditer(s.code):
            yield f"{rel}:{s.line_of(m.start()) + 1}: {m[0].rstrip('< ')} has default orders"
        for at, (_, _, orders) in sorted(s.operations.items()):
            where = f"{rel}:{s.line_of(at) + 1}: {s.name_of(at)[0]}"
            ids = s.ids(at) & nr_at.keys()
            if not ids:
                yield f"{where} is {' and '.join(sorted(orders))}, and no comment beside it has an id"
            for i in ids:
                nr_at[i] += 1
            of = [e for i in ids for e in entries.get(i, [])]
            if ids and ids <= entries.keys():
                for o in sorted(orders):
                    if not any(re.search(rf"\b{o}\b", e[3]) for e in of):
                        yield f"{where} is {o}, which no entry of {', '.join(sorted(ids))} says"
            for i in sorted(ids & entries.keys()):
                if not any(rel in map(path_of, re.findall(r"`([^`]+)`", " ".join(e[2]))) for e in entries[i]):
                    yield f"{where} carries [{i}], whose entry does not name this file"
    for line, ids, sites, order, owner in register:
        where = f"{DOCUMENT}:{line}: "
        same = sites[1].startswith("the same")
        for i in ids:
            least = 1 if len(ids) > 1 or same else 2
            if nr_at[i] < least:
                yield f"{where}[{i}] stands at {nr_at[i]} operations, not at {least}"
        for site in sites[:1] if same else sites:
            yield from (where + wrong for wrong in check_site(root, sources, site))
        owners = re.findall(r"`([\w.]+\.test\.cpp)`", owner)
        yield from (f"{where}there is no tests/model/{o}" for o in owners if not (root / "tests/model" / o).exists())
        if not owners and not re.match(r"none: \w", owner):
            yield f"{where}the owner is neither a search nor \"none: reason\""
    for word, line in allowed.items():
        if nr_at[word] == 0:
            yield f"{DOCUMENT}:{line}: [{word}] stands at no operation"


def planted_tree(code, register="", allowed="", file="ds/one.hpp"):
    """A tree with one header and one search. A row of the register may leave out its last cells."""
    rows = "".join(f"| {row} |\n" for row in register.splitlines())
    words = "".join(f"| [{word}] | it is harmless |\n" for word in allowed.split())
    return {f"include/cmwq/detail/{file}": code, "tests/model/one.test.cpp": "",
            DOCUMENT: f"| edge | first site | second site | order | owner |\n| --- | --- | --- | --- | --- |\n{rows}\n"
                      f"| word | reason |\n| --- | --- |\n{words}"}


PAIR = """void put() {
    done_.store(true, release); // [A-1] pairs [A-2]
}
// [A-2]
bool get() { return done_.load(acquire); }
"""
OF_PAIR = "A-1 → A-2 | `put()` in `ds/one.hpp` | `get()` in `ds/one.hpp` | release / acquire | `one.test.cpp`"
FAR = "".join(f"    step({i});\n" for i in range(40))
HERE = "detail/ds/one.hpp"

SELF_TEST = [
    (planted_tree(PAIR, OF_PAIR), []),
    (planted_tree("using memory_order = std::memory_order;\n"
                  "inline constexpr memory_order acquire = std::memory_order_acquire;\n"
                  "class atomic {\n"
                  "    T load(memory_order o) const { return v_.load(o); }\n"
                  "    std::atomic<T> v_;\n"
                  "};\n"
                  "int f() { return a.load(relaxed) + p.release() + q->release(); } // no acquire here\n"), []),
    # The place of an id.
    (planted_tree("void f() {\n    stop_.store(true, release);\n}\n"),
     [f"{HERE}:2: store is release, and no comment beside it has an id"]),
    (planted_tree("// [STOP]\nvoid f() {\n    a();\n    stop_.store(true, release);\n}\n", allowed="STOP"), []),
    (planted_tree(f"// [STOP]\nvoid f() {{\n{FAR}    stop_.store(true, release);\n}}\n", allowed="STOP"),
     [f"{HERE}:43: store is release, and no comment beside it has an id",
      f"{DOCUMENT}:6: [STOP] stands at no operation"]),
    (planted_tree("void f() {\n    // [STOP]\n    a();\n    stop_.store(true, release);\n}\n", allowed="STOP"),
     [f"{HERE}:4: store is release, and no comment beside it has an id",
      f"{DOCUMENT}:6: [STOP] stands at no operation"]),
    (planted_tree("void f() {\n    // [STOP]\n\n    stop_.store(true, release);\n}\n", allowed="STOP"),
     [f"{HERE}:4: store is release, and no comment beside it has an id",
      f"{DOCUMENT}:6: [STOP] stands at no operation"]),
    (planted_tree("class c {\npublic:\n    // [STOP] The reason\n    // has two lines.\n    bool f() {\n"
                  "        return any([&] { return stop_.load(\n            acquire); });\n    }\n};\n",
                  allowed="STOP"), []),
    (planted_tree("void f() {\n    do {\n        // [STOP]\n    } while (x_.exchange(seen == 1 ? relaxed : acq_rel));\n"
                  "    // [STOP]\n    const int a = 1,\n        b = x_.load(acquire);\n}\n", allowed="STOP"), []),
    (planted_tree(PAIR.replace("[A-2]\nbool", "pairs [A-2]\nbool"), OF_PAIR),
     [f"{HERE}:5: load is acquire, and no comment beside it has an id",
      f"{DOCUMENT}:3: [A-2] stands at 0 operations, not at 1"]),
    (planted_tree("void f() {\n    b_.store(1, release);\n    // [STOP]\n    a_.load(acquire);\n}\n", allowed="STOP"),
     [f"{HERE}:2: store is release, and no comment beside it has an id"]),
    # Other names of an order, and hidden orders.
    (planted_tree("bool f() {\n    return __atomic_load_n(&v_, __ATOMIC_ACQUIRE);\n}\n"
                  "int g() { return v_.load(std::memory_order_seq_cst) + v_.load(memory_order::acquire); }\n"),
     [f"{HERE}:2: __atomic_load_n is acquire, and no comment beside it has an id",
      f"{HERE}:4: load is seq_cst, and no comment beside it has an id",
      f"{HERE}:4: load is acquire, and no comment beside it has an id"]),
    (planted_tree("constexpr memory_order strong = seq_cst;\nvoid f() { fence(acquire); }\n"),
     [f"{HERE}:1: an order is seq_cst, and no comment beside it has an id",
      f"{HERE}:2: fence is acquire, and no comment beside it has an id"]),
    (planted_tree("void publish(int v, memory_order o) { v_.store(v, o); }\nstd::atomic<int> v_;\n"),
     [f"{HERE}:1: publish() takes an order, and is not named as an operation",
      f"{HERE}:2: std::atomic has default orders"]),
    # The register.
    (planted_tree("int a; // [B-1]\n"), [f"{HERE}:1: [B-1] is not in {DOCUMENT}"]),
    (planted_tree(PAIR, OF_PAIR.replace("A-1 → A-2", "A-1 → A-2, A-3")),
     [f"{DOCUMENT}:3: [A-3] stands at 0 operations, not at 1"]),
    (planted_tree("int f() { return n_.fetch_sub(1, acq_rel); } // [A-1]\n",
                  "A-1 | `f()` in `ds/one.hpp` | `f()` in `ds/one.hpp` | acq_rel | none: a counter"),
     [f"{DOCUMENT}:3: [A-1] stands at 1 operations, not at 2"]),
    (planted_tree("int f() { return n_.fetch_sub(1, acq_rel); } // [A-1]\n",
                  "A-1 | `f()` in `ds/one.hpp` | the same operation | acq_rel | none: a counter"), []),
    (planted_tree(PAIR, OF_PAIR.replace("/ acquire", "/ relaxed")),
     [f"{HERE}:5: load is acquire, which no entry of A-2 says"]),
    (planted_tree(PAIR, OF_PAIR.replace("`get()` in", "`got()` or `c::put()` in")),
     [f"{DOCUMENT}:3: ds/one.hpp defines no got()"]),
    (planted_tree(PAIR.replace("bool get()", "bool got() { return get(); }\n// [A-2]\nbool got()"), OF_PAIR),
     [f"{DOCUMENT}:3: ds/one.hpp defines no get()"]),
    (planted_tree(PAIR, OF_PAIR.replace("`get()` in", "`flag_`, `done_`, `get()` in")),
     [f"{DOCUMENT}:3: ds/one.hpp has no flag_"]),
    (planted_tree(PAIR, OF_PAIR.replace("`get()` in `ds", "`get()` in `os")),
     [f"{DOCUMENT}:3: there is no file os/one.hpp"]),
    (planted_tree(PAIR, OF_PAIR.replace("`get()` in", "a reader in")),
     [f"{DOCUMENT}:3: a site names no function and file: 'a reader in `ds/one.hpp`'"]),
    ({"include/cmwq/two.hpp": "// [A-2]\nbool f() { return x.load(acquire); }\n", **planted_tree(PAIR, OF_PAIR)},
     ["two.hpp:2: load carries [A-2], whose entry does not name this file"]),
    ({"include/cmwq/two.hpp": "// [A-2]\nbool f() { return x.load(acquire); }\n",
      **planted_tree(PAIR, OF_PAIR.replace("`get()` in", "`f()` in `../two.hpp`, `get()` in"))}, []),
    (planted_tree(PAIR, OF_PAIR.replace("one.test", "two.test")),
     [f"{DOCUMENT}:3: there is no tests/model/two.test.cpp"]),
    (planted_tree(PAIR, OF_PAIR.replace("`one.test.cpp`", "a search")),
     [f'{DOCUMENT}:3: the owner is neither a search nor "none: reason"']),
    # The allow-list.
    (planted_tree(PAIR, OF_PAIR, "STOP"), [f"{DOCUMENT}:7: [STOP] stands at no operation"]),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST))
