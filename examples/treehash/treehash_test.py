#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares treehash with sha256sum, on a generated tree with odd names; checks its exit codes, with each pool."""

import json
import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TREEHASH = None
POOLS = (["--pool", "cmwq"], ["--pool", "asio"], ["--pool", "asio", "--threads", "7"], ["--pool", "serial"])

ODD_NAMES = (
    b"plain", b"with space", b" leading", b"trailing ", b"back\\slash", b"new\nline", b"carriage\rreturn",
    b"\\\n\r all of them", b"*star", b"-dash", b"--help", b"'quote\"", b"not utf-8 \xff\xfe", "ü-ñ-漢".encode(), b"~", b"a" * 255,
)
# Sizes near the block size of the hash and near the size of the read buffer.
SIZES = (0, 1, 55, 56, 63, 64, 65, 4096, 65535, 65536, 65537, 200_000)
NOBODY = 65534


def make_tree(root):
    os.makedirs(root / "deep" / "er" / "empty directory")
    os.makedirs(os.fsencode(root) + b"/odd\\dir\n")
    for i, name in enumerate(ODD_NAMES):
        for directory in (os.fsencode(root), os.fsencode(root) + b"/odd\\dir\n"):
            with open(directory + b"/" + name, "wb") as f:
                f.write(name * (i * 100))
    for size in SIZES:
        (root / "deep" / "er" / f"size-{size:06}").write_bytes(bytes(i * 7 % 251 for i in range(size)))
    many = root / "many"
    many.mkdir()
    for i in range(500):
        (many / f"{i}").write_text(f"file {i}\n" * (i % 50))
    # treehash hashes none of these.
    os.mkfifo(root / "fifo")
    os.symlink("plain", root / "link to a file")
    os.symlink("deep", root / "link to a directory")
    os.symlink("nowhere", root / "dangling link")
    os.symlink("..", root / "deep" / "loop")


def run(*arguments, **more):
    return subprocess.run([TREEHASH, *arguments], capture_output=True, timeout=60, check=False, **more)


def reference(root):
    """The output of sha256sum for every regular file, sorted by the bytes of the name."""
    names = sorted(
        os.path.join(directory, name)
        for directory, _, files in os.walk(os.fsencode(root))
        for name in files
        if stat.S_ISREG(os.lstat(os.path.join(directory, name)).st_mode)
    )
    return subprocess.run(["sha256sum", "--", *names], capture_output=True, check=True).stdout


class treehash_test(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="treehash."))
        self.addCleanup(shutil.rmtree, self.base)
        self.root = self.base / "tree"
        make_tree(self.root)

    def each_pool(self):
        for pool in POOLS:
            with self.subTest(pool=" ".join(pool)):
                yield pool

    def test_manifest_is_what_sha256sum_prints(self):
        expected = reference(self.root)
        for pool in self.each_pool():
            result = run(*pool, str(self.root))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, expected)

    def test_sha256sum_accepts_the_manifest(self):
        for pool in self.each_pool():
            out = self.base / "manifest"
            result = run(*pool, "--cold", "--out", str(out), str(self.root))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, b"")
            self.assertIn(b"from the page cache", result.stderr)
            check = subprocess.run(["sha256sum", "-c", "--quiet", str(out)], capture_output=True, check=False)
            self.assertEqual((check.returncode, check.stdout, check.stderr), (0, b"", b""))

    def test_several_paths_files_and_a_followed_root(self):
        link = self.base / "root link"
        link.symlink_to(self.root / "many")
        expected = b"".join(sorted(reference(self.root / "many").splitlines(True), key=lambda l: l[66:]))
        expected = expected.replace(os.fsencode(self.root / "many"), os.fsencode(link))
        single = reference(self.root / "deep")
        for pool in self.each_pool():
            result = run(*pool, str(link) + "/", str(self.root / "deep") + "//")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, expected + single)
            result = run(*pool, "plain", cwd=self.root)
            self.assertEqual(result.stdout, subprocess.run(["sha256sum", "plain"], cwd=self.root, capture_output=True,
                                                           check=True).stdout)

    def test_an_empty_tree(self):
        empty = self.base / "empty"
        empty.mkdir()
        for pool in self.each_pool():
            result = run(*pool, str(empty))
            self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_what_cannot_be_read_is_reported_and_the_rest_is_done(self):
        expected = reference(self.root)
        # /proc/self/mem is a regular file by its mode and can be opened, but a read fails, even for root.
        paths = [str(self.root), "/proc/self/mem", str(self.base / "missing"), str(self.root / "fifo")]
        for pool in self.each_pool():
            result = run(*pool, *paths)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, expected)
            for reason in (b"/proc/self/mem: Input/output error", b"missing: No such file or directory",
                           b"fifo: Invalid argument"):
                self.assertIn(reason, result.stderr)
            self.assertIn(b", 3 failed", result.stderr)

    def test_permission_denied(self):
        (self.root / "secret").write_text("secret")
        (self.root / "secret").chmod(0)
        (self.root / "closed").mkdir()
        (self.root / "closed" / "inside").write_text("inside")
        (self.root / "closed").chmod(0)
        self.addCleanup((self.root / "closed").chmod, 0o700)
        as_somebody = {}
        program = TREEHASH
        if os.geteuid() == 0:  # root is denied nothing: run as another user
            self.base.chmod(0o755)
            program = shutil.copy(TREEHASH, self.base)  # other users may have no access to the build folder
            as_somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        (self.root / "closed").chmod(0o700)
        expected = b"".join(l for l in reference(self.root).splitlines(True) if b"/secret" not in l and b"/closed/" not in l)
        (self.root / "closed").chmod(0)
        for pool in self.each_pool():
            result = subprocess.run([program, *pool, str(self.root)], capture_output=True, timeout=60, check=False,
                                    **as_somebody)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(b"secret: Permission denied", result.stderr)
            self.assertIn(b"closed: Permission denied", result.stderr)
            self.assertEqual(result.stdout, expected)

    def test_bad_usage(self):
        for arguments in ([], ["--pool", "taskflow", "."], ["--frobnicate", "."], ["--threads", "2", "."],
                          ["--pool", "asio", "--threads", "0", "."], ["--pool", "asio", "--threads", "x", "."],
                          ["--pool", "serial", "--max-active", "2", "."], ["--max-active", "0", "."]):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertNotEqual(result.stderr, b"")
                self.assertEqual(result.stdout, b"")
        self.assertEqual(run("--help").returncode, 0)

    def test_output_that_cannot_be_written(self):
        result = run("--pool", "serial", "--out", str(self.base / "missing" / "manifest"), str(self.root))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No such file or directory", result.stderr)
        result = run("--pool", "serial", "--out", "/dev/full", str(self.root))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left on device", result.stderr)

    def test_figures(self):
        lines = reference(self.root).count(b"\n")
        size = sum(p.stat().st_size for p in self.root.rglob("*") if p.is_file() and not p.is_symlink()
                   and not any(parent.is_symlink() for parent in p.parents))
        for pool in self.each_pool():
            out = self.base / "figures.json"
            result = run(*pool, "--json", str(out), str(self.root))
            figures = json.loads(out.read_text())
            self.assertEqual(figures["pool"], pool[1])
            self.assertEqual((figures["files"], figures["failures"], figures["bytes"]), (lines, 0, size))
            self.assertGreater(figures["wall_seconds"], 0)
            self.assertGreater(figures["cpu_utilisation"], 0)
            self.assertGreaterEqual(figures["peak_threads"], 7 if "7" in pool else 1)
            for name in (b"files", b"bytes", b"MB/s", b"CPU utilisation", b"peak threads",
                         b"guard", b"sentinel", b"monitor"):
                self.assertRegex(result.stderr, re.escape(name))
            self.assertNotIn(b"\x1b", result.stderr)  # without a terminal there is no bar

    def test_a_bar_on_a_terminal(self):
        # Large enough that the bar is drawn at least once. The bar must not change the manifest.
        with open(self.root / "large", "wb") as f:
            f.truncate(200_000_000)
        for pool in self.each_pool():
            mine, terminal = pty.openpty()
            reader = os.fdopen(mine, "rb", buffering=0)
            with subprocess.Popen([TREEHASH, *pool, str(self.root)], stdout=subprocess.PIPE, stderr=terminal) as process:
                os.close(terminal)
                manifest = process.stdout.read()
            shown = b""
            with reader:
                try:
                    while chunk := reader.read(4096):
                        shown += chunk
                except OSError:  # on Linux this means that the other end is closed
                    pass
            self.assertEqual(process.returncode, 0)
            self.assertEqual(manifest, reference(self.root))
            self.assertRegex(shown, rb"\r\[[#.]{30}\] \d+ of \d+ files, [\d.]+ MB, [\d.]+ MB/s")
            self.assertIn(b"MB/s\r\n", shown)


if __name__ == "__main__":
    TREEHASH = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
