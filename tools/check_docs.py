#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles every ```cpp block of README.md and docs/*.md.

A block with `int main` is a whole program: it is compiled, linked and run, and has to return 0. Any other block is
compiled in place of the line `// SNIPPET` of a prelude, tests/docs/<name>.hpp, with its #include lines at the top of the
file. The prelude is `statements` (the block stands in a function) unless the line before the block says otherwise:

    <!-- prelude: declarations -->

Code that is not meant to compile stands in a block of another kind, ```text for instance.

In the tables of docs/guarantees.md, whatever stands in double quotes in the last column is the name of a test case, and
tests/....cpp a file: both have to exist.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The engine is compiled once, so that each block compiles fast.
FLAGS = ["-std=c++20", "-DCMWQ_COMPILED", "-Wall", "-Wextra", "-Werror=return-type", "-Werror=unused-result", "-pthread"]
RUN_SECONDS = 60


def blocks(text):
    """Yields (line number of the first code line, prelude name, code) for every ```cpp block."""
    prelude, code, start, fence = None, None, 0, re.compile(r"\s*```(\w*)\s*$")
    for number, line in enumerate(text.splitlines(), 1):
        opened = fence.match(line)
        if code is not None:
            if opened:
                if start:
                    yield start, prelude or "statements", "\n".join(code) + "\n"
                code = prelude = None
            else:
                code.append(line)
        elif opened:
            code, start = [], number + 1 if opened[1] == "cpp" else 0
        elif line.strip():
            m = re.fullmatch(r"\s*<!--\s*prelude:\s*([\w-]+)\s*-->\s*", line)
            prelude = m[1] if m else None


def assemble(code, name, line, prelude):
    """The translation unit for a block; the compiler's messages point into the document."""
    if re.search(r"\bint main\s*\(", code):
        return f'#line {line} "{name}"\n{code}', True
    file = ROOT / "tests" / "docs" / f"{prelude}.hpp"
    if not file.exists():
        raise ValueError(f"there is no prelude tests/docs/{prelude}.hpp")
    before, mark, after = file.read_text().partition("// SNIPPET\n")
    if not mark:
        raise ValueError(f"tests/docs/{prelude}.hpp has no line // SNIPPET")
    lines = code.splitlines()
    includes = [l for l in lines if l.startswith("#include")]
    rest = ["" if l.startswith("#include") else l for l in lines]
    return "\n".join([*includes, before, f'#line {line} "{name}"', *rest, after]), False


def try_block(compiler, include, engine, name, line, prelude, code):
    """None, or what is wrong with the block."""
    where = f"{name}:{line}"
    try:
        unit, is_program = assemble(code, name, line, prelude)
    except ValueError as error:
        return f"{where}: {error}"
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "block.cpp"), pathlib.Path(folder, "block")
        source.write_text(unit)
        job = ["-o", program] if is_program else ["-fsyntax-only"]
        libraries = [*engine, "-lhwloc"] if is_program else []
        made = subprocess.run([compiler, *FLAGS, f"-I{include}", *job, source, *libraries], capture_output=True, text=True)
        if made.returncode:
            return f"{where}: does not compile:\n{made.stderr}"
        if is_program:
            try:
                ran = subprocess.run([program], capture_output=True, text=True, timeout=RUN_SECONDS, cwd=folder)
            except subprocess.TimeoutExpired:
                return f"{where}: still running after {RUN_SECONDS} s"
            if ran.returncode:
                return f"{where}: ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    return None


def missing_tests(root):
    """What docs/guarantees.md names and tests/ does not have."""
    document = root / "docs" / "guarantees.md"
    if not document.exists():
        return []
    tests = "".join(f.read_text() for f in sorted((root / "tests").rglob("*.cpp")))
    wrong = []
    for number, line in enumerate(document.read_text().splitlines(), 1):
        last = line.rstrip(" |").rpartition("|")[2] if line.startswith("|") else ""
        unknown = [n for n in re.findall(r'"([^"]+)"', last) if f'"{n}"' not in tests]
        unknown += [f for f in re.findall(r"tests/[\w./]+\.cpp", last) if not (root / f).exists()]
        wrong += [f"docs/guarantees.md:{number}: there is no test {n!r}" for n in unknown]
    return wrong


def check(compiler, root, include, engine):
    """(number of blocks, list of what is wrong); `engine`: the object files that programs link"""
    found = []
    for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        if document.exists():
            name = document.relative_to(root).as_posix()
            found += [(name, *block) for block in blocks(document.read_text())]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        wrong = pool.map(lambda b: try_block(compiler, include, engine, *b), found)
        return len(found), [w for w in wrong if w] + missing_tests(root)


def self_test(compiler):
    """Planted documents over a library of one function."""
    fence = "```"
    cases = [
        (f"{fence}cpp\nint main() {{}}\n{fence}\n", 1, []),
        (f"{fence}cpp\nf();\n{fence}\ntext\n{fence}text\nnot c++\n{fence}\n", 1, []),
        (f"<!-- prelude: declarations -->\n{fence}cpp\n#include <tuple>\nstruct s {{ std::tuple<> t; }};\n{fence}\n", 1, []),
        (f"{fence}cpp\nint main() {{ return 3; }}\n{fence}\n", 1, ["README.md:2: ended with 3"]),
        (f"\n{fence}cpp\nno_such_thing();\n{fence}\n", 1, ["README.md:3: does not compile"]),
        (f"{fence}cpp\nint main() {{}}\n{fence}\n{fence}cpp\nstill wrong\n{fence}\n", 2, ["README.md:5: does not compile"]),
        (f"<!-- prelude: nowhere -->\n\n{fence}cpp\nf();\n{fence}\n", 1, ["README.md:4: there is no prelude"]),
    ]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "tests").mkdir()
        (root / "tests" / "one.cpp").write_text('TEST_CASE("it is there") {}')
        (root / "docs" / "guarantees.md").write_text('| x | "it is there", "it is not", tests/one.cpp, tests/two.cpp |\n')
        if len(missing_tests(root)) != 2:
            failed += 1
            print(f"planted names of tests: found {missing_tests(root)}")
    for text, count, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder, "include")
            (include / "cmwq").mkdir(parents=True)
            (include / "cmwq" / "cmwq.hpp").write_text("inline void f() {}\n")
            pathlib.Path(folder, "README.md").write_text(text)
            number, wrong = check(compiler, pathlib.Path(folder), include, [])
        if number != count or len(wrong) != len(expected) or not all(w.startswith(e) for w, e in zip(wrong, expected)):
            failed += 1
            print(f"planted {text!r}:\n  expected {count} blocks, {expected}\n  found    {number} blocks, {wrong}")
    print(f"{len(cases) + 1 - failed} of {len(cases) + 1} planted documents as expected")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--self-test", action="store_true", help="check this check with planted mistakes")
    args = parser.parse_args()
    if args.self_test:
        return self_test(args.compiler)
    include = ROOT / "include"
    with tempfile.TemporaryDirectory() as folder:
        engine = pathlib.Path(folder, "engine.o")
        subprocess.run([args.compiler, *FLAGS, f"-I{include}", "-c", ROOT / "src" / "engine.cpp", "-o", engine], check=True)
        number, wrong = check(args.compiler, ROOT, include, [engine])
    print("\n".join(wrong))
    print(f"{number} blocks, {len(wrong)} wrong")
    return 1 if wrong or not number else 0


if __name__ == "__main__":
    sys.exit(main())
