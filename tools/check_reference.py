#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks with planted headers and documents that Doxygen, with the settings of the target `docs`, finds mistakes.

    check_reference.py --self-test DOXYGEN DOXYFILE
"""

import pathlib
import re
import subprocess
import sys

import planted

HEADER = """\
// SPDX-License-Identifier: BSL-1.0
//
// A header.
#pragma once
"""

DOCUMENTED = HEADER + """\
namespace cmwq { inline namespace CMWQ_NS {
/// A class.
class a {
public:
    /// Runs.
    void run() CMWQ_EXCLUDES(lock_);

private:
    int secret_;
};

namespace detail {

struct inner { int x; };
void f();

} // namespace detail

/// Calls f().
void g();
}} // namespace cmwq::CMWQ_NS
"""

# One entity of each kind; MISSING marks the entities that Doxygen must report.
UNDOCUMENTED = HEADER + """\
#define CMWQ_MACRO 1 // MISSING
namespace cmwq { inline namespace CMWQ_NS {
void f(); // MISSING
using alias = int; // MISSING
enum class e { x }; // MISSING
inline constexpr int constant = 1; // MISSING
struct s { // MISSING
    int field; // MISSING
};
/// A class.
class c {
public:
    void member(); // MISSING
    friend bool operator==(c, c) { return true; } // MISSING
};
}} // namespace cmwq::CMWQ_NS
namespace cmwq { inline namespace CMWQ_NS { namespace inner {
void f(); // MISSING
}}} // namespace cmwq::CMWQ_NS::inner
"""

GOOD_LINKS = """\
# One

## The `end`, and more

See [above](#the-end-and-more), [two](two.md), [there](two.md#part), [over
two lines](two.md#part), [no page](../a.hpp), [twice](#twice-1).

## Twice

## Twice
"""

DEAD_LINKS = """\
# One

[a](#missing)

[b](two.md#missing)
"""

OTHER = """\
# Two

## Part

```cpp
f([](int x) {});
```
"""


def lines_with(mark, text, path):
    return sorted(f"{path}:{n}" for n, line in enumerate(text.splitlines(), 1) if mark in line)


SELF_TEST = [
    ({"a.hpp": DOCUMENTED, "docs/one.md": GOOD_LINKS, "docs/two.md": OTHER}, []),
    ({"a.hpp": UNDOCUMENTED}, lines_with("MISSING", UNDOCUMENTED, "a.hpp")),
    ({"docs/one.md": DEAD_LINKS, "docs/two.md": OTHER}, ["docs/one.md:3", "docs/one.md:5"]),
]


def check_with(doxygen, doxyfile):
    settings = pathlib.Path(doxyfile).read_text(encoding="utf-8")

    def check(root):
        """Yields file:line of every message of Doxygen about a file below root."""
        own = f'\nINPUT = "{root}"\nRECURSIVE = YES\nOUTPUT_DIRECTORY = "{root}"\nUSE_MDFILE_AS_MAINPAGE =\n'
        run = subprocess.run([doxygen, "-"], input=settings + own, capture_output=True, text=True)
        found = set(re.findall(rf"^{re.escape(str(root))}/(\S+?:\d+): (?:error|warning)", run.stderr, flags=re.M))
        yield from sorted(found)
        if (run.returncode != 0) != bool(found):
            yield f"doxygen ended with {run.returncode}:\n{run.stderr}"

    return check


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--self-test":
        sys.exit(f"usage: {sys.argv[0]} --self-test DOXYGEN DOXYFILE")
    sys.exit(planted.run_self_test(check_with(sys.argv[2], sys.argv[3]), SELF_TEST))
