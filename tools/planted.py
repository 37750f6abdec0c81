# SPDX-License-Identifier: BSL-1.0
"""The common part of the checks in this folder: runs a check over the project, or over planted violations."""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(check, self_test, write=None):
    """check(root) yields a sentence for every violation; self_test is a list of ({path: text}, [sentence]); write(root)
    generates what the check compares, for those that generate something."""
    if sys.argv[1:] == ["--self-test"]:
        return run_self_test(check, self_test)
    if write and sys.argv[1:] == ["--write"]:
        write(ROOT)
        return 0
    if len(sys.argv) > 1:
        print(f"usage: {sys.argv[0]} [--self-test{' | --write' if write else ''}]", file=sys.stderr)
        return 2
    found = list(check(ROOT))
    print("\n".join(found) if found else "nothing found")
    return 1 if found else 0


def run_self_test(check, self_test):
    failed = 0
    for files, expected in self_test:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = list(check(pathlib.Path(folder)))
        if found != expected:
            failed += 1
            print(f"planted {files!r}:\n  expected {expected}\n  found    {found}")
    print(f"{len(self_test) - failed} of {len(self_test)} planted cases as expected")
    return 1 if failed or not self_test else 0
