#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fails when a header or a name, such as std::atomic, is used outside the directories that may use it."""

import pathlib
import re
import sys

import planted

SYSTEM_HEADERS = (
    r"(?:sys|linux|asm|arpa|netinet)/[^>]+|(?:unistd|fcntl|sched|pthread|semaphore|signal|poll|dirent|dlfcn|spawn|time"
    r"|setjmp|ucontext)\.h|csignal|ctime|csetjmp"
)


def included(headers):
    return re.compile(rf"^\s*#\s*include\s*<(?:{headers})>")


OS = "include/cmwq/detail/os/"
SYNC = ("include/cmwq/detail/base/", "include/cmwq/detail/sync/", OS)

# (directories to search, pattern, message, paths that may use it)
RULES = [
    (("include/",), included("thread|atomic|mutex|shared_mutex|condition_variable|semaphore|latch|barrier|stop_token"),
     "synchronisation belongs to detail/sync", SYNC),
    (("include/",),
     re.compile(r"\bstd::(?:atomic\w*|memory_order\w*|(?:\w+_)?mutex|condition_variable\w*|j?thread|this_thread|call_once"
                r"|once_flag|counting_semaphore|binary_semaphore|latch|barrier|lock_guard|unique_lock|scoped_lock)\b"),
     "synchronisation belongs to detail/sync", SYNC),
    (("include/",), re.compile(r"\b(?:steady_clock|system_clock|high_resolution_clock)::now\b"),
     "clocks are read in detail/os", (OS,)),
    (("include/",), included(SYSTEM_HEADERS), "system calls belong to detail/os", (OS,)),
    (("include/",), included(r"hwloc[^>]*"), "hwloc belongs to detail/topo/hwloc_source.hpp",
     ("include/cmwq/detail/topo/hwloc_source.hpp",)),
    (("include/",), included(r"boost/lockfree[^>]*"), "Boost.Lockfree belongs to detail/trace",
     ("include/cmwq/detail/trace/trace_ring.hpp",)),
    (("include/",), included(r"nlohmann/[^>]*"), "JSON belongs to detail/control",
     ("include/cmwq/detail/control/control_commands.hpp",)),
    (("tests/",), re.compile(r"\b(?:sleep_(?:for|until)|usleep)\b"),
     "a test waits for a condition (support/eventually.hpp) or steps a manual clock; it does not sleep", ()),
]
SUFFIXES = {".hpp", ".ipp", ".cpp"}


def without_comments(lines):
    """Returns the lines without // comments: a comment may mention a name that code must not use."""
    return [re.sub(r"//.*", "", line) for line in lines]


def check(root):
    """Yields a sentence for every violation below root."""
    for file in sorted(p for top in ("include", "tests") for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
        rel = file.relative_to(root).as_posix()
        rules = [r for r in RULES if rel.startswith(r[0]) and not rel.startswith(r[3] or ("\0",))]
        if not rules:
            continue
        for number, line in enumerate(without_comments(file.read_text().splitlines()), 1):
            for _, pattern, sentence, _ in rules:
                if m := pattern.search(line):
                    yield f"{rel}:{number}: {m[0].strip()}: {sentence}"


SELF_TEST = [
    ({"include/cmwq/detail/base/atomic.hpp": "#include <atomic>\nstd::atomic<int> a;\n",
      "include/cmwq/detail/os/thread.hpp": "#include <pthread.h>\n",
      "include/cmwq/work.hpp": "// like std::atomic, but\n#include <cstdint>\n",
      "tests/unit/a.test.cpp": "#include <thread>\nstd::atomic<int> a; // no sleep_for here\n"}, []),
    ({"include/cmwq/work.hpp": "#include <atomic>\n"},
     ["include/cmwq/work.hpp:1: #include <atomic>: synchronisation belongs to detail/sync"]),
    ({"include/cmwq/detail/engine/ledger/worker.ipp": "\nstd::mutex m;\n"},
     ["include/cmwq/detail/engine/ledger/worker.ipp:2: std::mutex: synchronisation belongs to detail/sync"]),
    ({"include/cmwq/runtime.hpp": "  std::this_thread::yield();\n"},
     ["include/cmwq/runtime.hpp:1: std::this_thread: synchronisation belongs to detail/sync"]),
    ({"include/cmwq/runtime.hpp": "auto t = std::chrono::steady_clock::now();\n"},
     ["include/cmwq/runtime.hpp:1: steady_clock::now: clocks are read in detail/os"]),
    ({"include/cmwq/detail/engine/monitor.hpp": "#include <sys/syscall.h>\n# include <unistd.h>\n"},
     ["include/cmwq/detail/engine/monitor.hpp:1: #include <sys/syscall.h>: system calls belong to detail/os",
      "include/cmwq/detail/engine/monitor.hpp:2: # include <unistd.h>: system calls belong to detail/os"]),
    ({"include/cmwq/detail/sync/clock.hpp": "#include <ctime>\n"},
     ["include/cmwq/detail/sync/clock.hpp:1: #include <ctime>: system calls belong to detail/os"]),
    ({"include/cmwq/topology.hpp": "#include <hwloc.h>\n"},
     ["include/cmwq/topology.hpp:1: #include <hwloc.h>: hwloc belongs to detail/topo/hwloc_source.hpp"]),
    ({"include/cmwq/detail/ds/inbox.hpp": "#include <boost/lockfree/queue.hpp>\n"},
     ["include/cmwq/detail/ds/inbox.hpp:1: #include <boost/lockfree/queue.hpp>: Boost.Lockfree belongs to detail/trace"]),
    ({"tests/stress/a.test.cpp": "std::this_thread::sleep_for(1ms);\n"},
     ["tests/stress/a.test.cpp:1: sleep_for: a test waits for a condition (support/eventually.hpp) or steps a manual "
      "clock; it does not sleep"]),
]

if __name__ == "__main__":
    sys.exit(planted.main(check, SELF_TEST))
