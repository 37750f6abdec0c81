#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when tests/contract/dead_runtime.test.cpp does not call a public member that needs a runtime.

The test runs in a forked child, where the runtime is dead. It names each member that it calls as "class::member".
"""

import re
import sys

import planted

TEST = "tests/contract/dead_runtime.test.cpp"
# Each with the header that defines it. The others have no members that could wait for, or use, a runtime.
CLASSES = {"runtime": "runtime.hpp", "freeze_guard": "runtime.hpp", "workqueue_base": "workqueue.hpp",
           "workqueue": "workqueue.hpp", "work_base": "work.hpp", "task_group": "task_group.hpp",
           "bh_disable_guard": "bh.hpp"}
MEMBER = re.compile(r"^    (?!using|friend|static_assert)[\w\[\]:&<>,* ~]*?(~?\w+)\([^;{]*[;{]", re.MULTILINE)


def members(text, name):
    """Returns the names of the public members of the class."""
    text = re.sub(r"//.*|^ {8}.*", "", text, flags=re.MULTILINE)  # no comments, and no bodies
    begin = re.search(rf"^class {name}\b[^;]*?\{{$", text, re.MULTILINE)
    if begin is None:
        return set()
    body = text[begin.end():text.index("\n};", begin.end()) + 1]
    public = re.findall(r"^public:$(.*?)(?=^(?:private|protected):$|\Z)", body, re.MULTILINE | re.DOTALL)
    return {m[1] for part in public for m in MEMBER.finditer(part) if "= delete" not in m[0]} - {"requires"}


def check(root):
    """Yields a sentence for every member that is not called."""
    test = root / TEST
    called = set(re.findall(r'"(\w+::~?\w+)"', test.read_text())) if test.exists() else set()
    exist = set()
    for name, header in CLASSES.items():
        path = root / "include" / "cmwq" / header
        exist |= {f"{name}::{m}" for m in members(path.read_text(), name)} if path.exists() else set()
    yield from (f"{TEST}: {m} is not called" for m in sorted(exist - called))
    yield from (f"{TEST}: {m} does not exist" for m in sorted(called - exist))


RUNTIME = """class runtime {
public:
    explicit runtime(options o = {});
    ~runtime();
    runtime(const runtime&) = delete;
    /// Waits.
    template <class D>
    bool wait_for(const D& time) {
        return wait(to_ns(time));
    }
    [[nodiscard]] static runtime& global();

private:
    void secret();
};
"""
SELF_TEST = [
    ({"include/cmwq/runtime.hpp": RUNTIME,
      TEST: '"runtime::runtime" "runtime::~runtime" "runtime::wait_for" "runtime::global"'}, []),
    ({"include/cmwq/runtime.hpp": RUNTIME, TEST: '"runtime::runtime" "runtime::~runtime" "runtime::global" "runtime::gone"'},
     [f"{TEST}: runtime::wait_for is not called", f"{TEST}: runtime::gone does not exist"]),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST))
