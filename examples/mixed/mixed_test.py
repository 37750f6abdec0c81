#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the journal of mixed with results computed in Python, on a generated tree; checks table and exit codes."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MIXED = None
ROW = re.compile(r"(\w+) +(\w+) +(\d+) +(\d+) +(\d+) +(\S+) +(.+)")


def make_tree(root):
    (root / "deep" / "er").mkdir(parents=True)
    for i in range(200):
        (root / "deep" / f"{i}.txt").write_text(f"line {i}\nand more\tof it\n" * (i % 40))
    for size in (0, 1, 65535, 65536, 65537, 200_000):
        (root / "deep" / "er" / f"size-{size}").write_bytes(bytes(i * 7 % 251 for i in range(size)))
    (root / "no newline").write_text("one two")
    # mixed reads none of these.
    os.mkfifo(root / "fifo")
    os.symlink("no newline", root / "link")


def run(*arguments):
    return subprocess.run([MIXED, *map(str, arguments)], capture_output=True, timeout=50, check=False, text=True)


def expected(path):
    content = path.read_bytes()
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 & (2**64 - 1)
    return f"{value:016x}", content.count(b"\n"), len(re.findall(rb"[^ \t\n\v\f\r]+", content)), len(content)


class Mixed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "tree"
        self.journal = pathlib.Path(folder.name) / "journal"
        make_tree(self.root)
        self.files = [p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink()]

    def test_journal_and_table(self):
        ran = run(self.root, self.journal)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        lines = [line.split(" ", 6) for line in self.journal.read_text().splitlines()]
        self.assertEqual([int(line[0]) for line in lines], list(range(1, len(self.files) + 1)))
        found = {line[6]: (int(line[1]), line[2], *map(int, line[3:6])) for line in lines}
        self.assertEqual(found, {str(p): (0, *expected(p)) for p in self.files})

        rows = {m[1]: m for line in ran.stdout.splitlines()[1:6] if (m := ROW.fullmatch(line))}
        policies = {"walk": "bound", "read": "elastic", "examine": "unbound", "count": "bh", "journal": "ordered"}
        self.assertEqual({name: m[2] for name, m in rows.items()}, policies)
        self.assertEqual(rows["walk"][3], "1")
        for name in ("read", "examine", "count", "journal"):
            self.assertEqual(int(rows[name][3]), len(self.files), name)
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(rows["journal"][4], "1", "an ordered queue runs one item at a time")
        nodes = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1
        self.assertLessEqual(int(rows["examine"][4]), cpus * nodes, "max_active; each node gets min_active at least")
        self.assertLessEqual(int(rows["count"][4]), cpus, "one bottom half for each CPU")
        self.assertLessEqual(int(rows["read"][4]), 32 * nodes)
        # The name of a thread contains the CPU or the number of its pool.
        self.assertRegex(rows["walk"][7], r"^cmwq/\d+:\d+$")
        for name in ("read", "examine", "journal"):
            self.assertRegex(rows[name][7], r"^(cmwq/u\d+:\d+ ?)+…?$", name)
        total = [sum(column) for column in zip(*(expected(p)[1:] for p in self.files))]
        self.assertEqual(ran.stdout.splitlines()[-1],
                         f"{len(self.files)} files, {total[0]} lines, {total[2]} bytes, 0 failures")

    def test_exit_codes(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run(self.root / "not there", self.journal).returncode, 1)
        self.assertEqual(run(self.root, self.root / "not there" / "journal").returncode, 1)

    def test_empty_tree(self):
        empty = self.root / "empty"
        empty.mkdir()
        ran = run(empty, self.journal)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(self.journal.read_text(), "")
        self.assertIn("0 files, 0 lines, 0 bytes, 0 failures", ran.stdout)


if __name__ == "__main__":
    MIXED = sys.argv.pop(1)
    unittest.main()
