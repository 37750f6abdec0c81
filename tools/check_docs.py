#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles every ```cpp block of README.md and docs/.

A block with `int main` is a complete program: it is compiled, linked and run, and must return 0. If a block
```text output follows, that is what the program prints. Any other block replaces the line `// SNIPPET` of a prelude,
tests/docs/<name>.hpp, with its #include lines at the top of the file, and is compiled. The prelude is `statements` (the
block is in a function) unless the line before the block names another:

    <!-- prelude: declarations -->

Code that need not compile is in a block of another kind, for instance ```text.

In the text of README.md, CHANGELOG.md and docs/, each `function()`, `scope::name`, `.member`, `cmwq/header.hpp` and
thread name `cmwq/...` has to exist in include/. FOREIGN lists the functions of others.
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
RUN_SECONDS = 120
# Functions of libc, of CMake, of Boost.Asio, of Qt, of the kernel and of the tests.
FOREIGN = set("""
    _exit exec exit posix_spawn quick_exit add_subdirectory find_package dispatch expires_after
    fail_threads singleShot
    INIT_WORK alloc_workqueue async_schedule cancel_delayed_work create_freezable_workqueue create_singlethread_workqueue
    create_workqueue current_is_workqueue_rescuer current_work enable_and_queue_work mod_delayed_work queue_delayed_work
    schedule_on_each_cpu set_worker_desc work_on_cpu
    """.split())
# Names with these beginnings belong to other libraries or to the tests.
FOREIGN_SCOPES = ("std::", "boost::", "asio::", "tf::", "tbb::", "QThreadPool::",
                  "QTimer::", "QtConcurrent::", "vm::", "fault::", "model::")


def blocks(text):
    """Returns (line number of the first code line, prelude name, code, output or None) for every ```cpp block."""
    prelude, block, found, fence = None, None, [], re.compile(r"\s*(?:```|~~~)\s*(\w*)\s*(\w*)")
    for number, line in enumerate(text.splitlines(), 1):
        opened = fence.match(line)
        if block is not None:
            if not opened:
                block.append(line)
                continue
            code = "\n".join(block) + "\n"
            if kind[0] == "cpp":
                found.append((start, prelude or "statements", code, None))
            elif kind == ("text", "output") and found:
                found[-1] = (*found[-1][:3], code)
            block = prelude = None
        elif opened:
            block, start, kind = [], number + 1, opened.groups()
        elif line.strip():
            m = re.fullmatch(r"\s*<!--\s*prelude:\s*([\w-]+)\s*-->\s*", line)
            prelude = m[1] if m else None
    if block is not None:
        found.append((start, "statements", "#error the last block is not closed\n", None))
    return found


def is_program(code):
    return re.search(r"\bint main\s*\(", code) is not None


def split_includes(text):
    """Returns (the lines that include, all lines, with those empty)."""
    lines = text.splitlines()
    return ([l for l in lines if l.startswith("#include")], ["" if l.startswith("#include") else l for l in lines])


def assemble(code, name, line, prelude):
    """Returns (translation unit of a block, whether it is a program). Compiler messages refer to the document."""
    if is_program(code):
        return f'#line {line} "{name}"\n{code}', True
    file = ROOT / "tests" / "docs" / f"{prelude}.hpp"
    if not file.exists():
        raise ValueError(f"there is no prelude tests/docs/{prelude}.hpp")
    before, mark, after = file.read_text().partition("// SNIPPET\n")
    if not mark:
        raise ValueError(f"tests/docs/{prelude}.hpp has no line // SNIPPET")
    includes, rest = split_includes(code)
    return "\n".join([*includes, before, f'#line {line} "{name}"', *rest, after]), False


def precompile(compiler, include, folder):
    """Precompiles the headers that the preludes include, and returns the compiler options that use the result."""
    header = pathlib.Path(folder, "preludes.hpp")
    lines = [l for p in sorted((ROOT / "tests" / "docs").glob("*.hpp")) for l in p.read_text().splitlines()]
    header.write_text("".join(f"{l}\n" for l in dict.fromkeys(lines) if l.startswith("#include")))
    made = [compiler, *FLAGS, f"-I{include}", "-x", "c++-header", header, "-o", f"{header}.gch"]
    subprocess.run(made, check=True)
    return ["-include", header]


def compile_together(compiler, include, library, found):
    """Whether blocks that include the same headers compile as one unit, each in a namespace of its own."""
    includes, bodies = [], []
    for number, (name, line, prelude, code, _) in enumerate(found):
        try:
            unit, _ = assemble(code, name, line, prelude)
        except ValueError:
            return False
        first, rest = split_includes(unit)
        includes += first
        bodies += [f"namespace block_{number} {{", *rest, "}"]
    job = [compiler, *FLAGS, f"-I{include}", "-fsyntax-only", *library, "-x", "c++", "-"]
    return not subprocess.run(job, input="\n".join([*includes, *bodies, ""]), capture_output=True, text=True).returncode


def suspects(compiler, include, library, found):
    """Returns the blocks that have to be tried alone: programs, and what has a mistake or is beside one."""
    alone, groups = [], {}
    for block in found:
        _, _, prelude, code, output = block
        if output is not None or is_program(code):
            alone.append(block)
        else:
            groups.setdefault((prelude, *sorted(split_includes(code)[0])), []).append(block)
    for group in groups.values():
        if not compile_together(compiler, include, library, group):
            alone += group
    return sorted(alone, key=found.index)


def try_block(compiler, include, library, engine, name, line, prelude, code, output):
    """Returns None, or a message about the mistake in the block."""
    where = f"{name}:{line}"
    try:
        unit, is_program = assemble(code, name, line, prelude)
    except ValueError as error:
        return f"{where}: {error}"
    if output is not None and not is_program:
        return f"{where}: has an output, and is no program"
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "block.cpp"), pathlib.Path(folder, "block")
        source.write_text(unit)
        job = ["-o", program] if is_program else ["-fsyntax-only", *library]
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
            if output is not None and ran.stdout != output:
                return f"{where}: printed\n{ran.stdout}"
    return None


def documents(root):
    """Returns the documents that exist, with their names."""
    files = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]
    return [(f, f.relative_to(root).as_posix()) for f in files if f.exists()]


def unknown_names(span, words, headers, threads):
    """Returns the names in a code span that the library does not have."""
    header = re.fullmatch(r"(?:#include )?<?(cmwq/[\w/]+\.hpp)>?", span)
    if header:
        return [] if header[1] in headers else [header[1]]
    wrong = [f"{n}()" for n in re.findall(r"(\w+)\(", span) if n not in words and n not in FOREIGN]
    for name in re.findall(r"(?<![\w:])(?:\w+::)+\w+", span):
        if not name.startswith(FOREIGN_SCOPES) and any(part not in words for part in name.split("::")):
            wrong.append(name)
    if re.fullmatch(r"\.\w+(?: = .*)?", span) and re.match(r"\.(\w+)", span)[1] not in words:
        wrong.append(span)
    thread = re.fullmatch(r"cmwq/[\w:]+", span)
    if thread and not any(t.fullmatch(span) for t in threads):
        wrong.append(span)
    return wrong


def missing_names(root, include):
    """Returns a message for each name in the text of documents that the library does not have."""
    files = [f for f in include.rglob("*") if f.suffix in (".hpp", ".ipp")]
    text = "".join(f.read_text() for f in files)
    words, headers = set(re.findall(r"\w+", text)), {f.relative_to(include).as_posix() for f in files}
    # "cmwq/%u:%u%s" in the code matches cmwq/3:0H or cmwq/CPU:N in a document.
    threads = [re.compile(re.sub(r"%[us]", r"\\w*", literal)) for literal in re.findall(r'"(cmwq/[\w:%]+)"', text)]
    wrong = []
    for document, name in documents(root):
        prose = re.sub(r"^\s*```.*?^\s*```", lambda m: "\n" * m[0].count("\n"), document.read_text(), flags=re.S | re.M)
        for span in re.finditer(r"`([^`\n]+)`", prose):
            line = prose.count("\n", 0, span.start()) + 1
            unknown = unknown_names(span[1], words, headers, threads)
            wrong += [f"{name}:{line}: the library has no {n!r}" for n in unknown]
    return wrong


def check(compiler, root, include, library, engine):
    """Returns (number of blocks, list of mistakes).

    `library`: the compiler options of precompile(). `engine`: the object files that programs link.
    """
    found = []
    for document, name in documents(root):
        found += [(name, *block) for block in blocks(document.read_text())]
    threads = concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1))
    with threads as pool:
        alone = suspects(compiler, include, library, found)
        wrong = list(pool.map(lambda b: try_block(compiler, include, library, engine, *b), alone))
    return len(found), [w for w in wrong if w] + missing_names(root, include)


LIBRARY = """#pragma once
inline void f() {}
inline const char* thread_name = "cmwq/%u:%u";
struct options { int size; int md; };
"""
HELLO = '#include <cstdio>\nint main() { std::puts("hello"); }\n'


def self_test(compiler):
    """Checks planted documents against a library with one function."""
    fence = "```"
    cases = [
        (f"{fence}cpp\nint main() {{}}\n{fence}\n", 1, []),
        (f"{fence}cpp\nf();\n{fence}\ntext\n{fence}text\nnot c++\n{fence}\n", 1, []),
        (f"<!-- prelude: declarations -->\n{fence}cpp\n#include <tuple>\nstruct s {{ std::tuple<> t; }};\n{fence}\n", 1, []),
        (f"{fence}cpp\nint main() {{ return 3; }}\n{fence}\n", 1, ["README.md:2: ended with 3"]),
        (f"\n{fence}cpp\nno_such_thing();\n{fence}\n", 1, ["README.md:3: does not compile"]),
        (f"{fence}cpp\nint main() {{}}\n{fence}\n{fence}cpp\nstill wrong\n{fence}\n", 2, ["README.md:5: does not compile"]),
        (f"<!-- prelude: nowhere -->\n\n{fence}cpp\nf();\n{fence}\n", 1, ["README.md:4: there is no prelude"]),
        (f"{fence}text title\nnot c++\n{fence}\n~~~cpp title\nstill wrong\n~~~\n", 1, ["README.md:5: does not compile"]),
        (f"{fence}cpp\n{HELLO}{fence}\n{fence}text output\nhello\n{fence}\n", 1, []),
        (f"{fence}cpp\n{HELLO}{fence}\n\n{fence}text output\nbye\n{fence}\n", 1, ["README.md:2: printed\nhello"]),
        (f"{fence}cpp\nf();\n{fence}\n{fence}text output\nbye\n{fence}\n", 1, ["README.md:2: has an output, and is no"]),
        (f"{fence}text\nnot closed\n", 1, ["README.md:2: does not compile"]),
        ("`f()`, `a::f()`\n`g(1)`", 0, ["README.md:1: the library has no 'a::f'", "README.md:2: the library has no 'g()'"]),
        ("`.size = 3`, `.count`, `.md` and 1.5", 0, ["README.md:1: the library has no '.count'"]),
        ("`cmwq/cmwq.hpp` `<cmwq/none.hpp>`", 0, ["README.md:1: the library has no 'cmwq/none.hpp'"]),
        ("`cmwq/CPU:N`, `cmwq/other`", 0, ["README.md:1: the library has no 'cmwq/other'"]),
    ]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder, "include")
        (include / "cmwq").mkdir(parents=True)
        (include / "cmwq" / "cmwq.hpp").write_text(LIBRARY)
        library = precompile(compiler, include, folder)
        for text, count, expected in cases:
            pathlib.Path(folder, "README.md").write_text(text)
            number, wrong = check(compiler, pathlib.Path(folder), include, library, [])
            as_expected = all(w.startswith(e) for w, e in zip(wrong, expected))
            if number != count or len(wrong) != len(expected) or not as_expected:
                failed += 1
                print(f"planted {text!r}:\n  expected {count} blocks, {expected}\n  found    {number} blocks, {wrong}")
    print(f"{len(cases) - failed} of {len(cases)} planted documents as expected")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--engine", help="an object file of the engine; without it, one is compiled")
    parser.add_argument("--self-test", action="store_true", help="check this check with planted mistakes")
    args = parser.parse_args()
    if args.self_test:
        return self_test(args.compiler)
    include = ROOT / "include"
    with tempfile.TemporaryDirectory() as folder:
        engine = args.engine or pathlib.Path(folder, "engine.o")
        if not args.engine:
            made = [args.compiler, *FLAGS, f"-I{include}", "-c", ROOT / "src" / "engine.cpp", "-o", engine]
            subprocess.run(made, check=True)
        library = precompile(args.compiler, include, folder)
        number, wrong = check(args.compiler, ROOT, include, library, [engine])
    print("\n".join(wrong))
    print(f"{number} blocks, {len(wrong)} wrong")
    return 1 if wrong or not number else 0


if __name__ == "__main__":
    sys.exit(main())
