# SPDX-License-Identifier: BSL-1.0
"""The command `cmwq`, its subcommands, and the parameter `cmwq limit`."""

import gdb

from cmwq_gdb import copies, reports
from cmwq_gdb.process import Process


class _Limit(gdb.Parameter):
    """The most elements that the commands of cmwq read of one list. The lists of a core file may be damaged, and those
of a program may be long."""

    set_doc = "Set the most elements that the commands of cmwq read of one list."
    show_doc = "Show the most elements that the commands of cmwq read of one list."

    def __init__(self):
        super().__init__("cmwq limit", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 1000

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"The commands of cmwq read at most {value} elements of one list."


class _Prefix(gdb.Command):
    """Show the workqueues of a process or of a core file.

cmwq queues   queues, their limits, and how many items they have in each pool
cmwq pools    pools of threads
cmwq workers  threads of the pools, and the items that they run or wait for
cmwq items    items that wait to run: pending, inactive (held back by a limit), delayed
cmwq dump     all of it, and the other threads that wait inside the library

The commands only read memory: they answer wherever the threads are stopped, and change nothing."""

    def __init__(self):
        super().__init__("cmwq", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)


class _Report(gdb.Command):
    """One subcommand: prints parts of the state of each runtime."""

    def __init__(self, name, doc, parts, limit):
        self.__doc__ = doc
        self._parts = parts
        self._limit = limit
        super().__init__(f"cmwq {name}", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        if argument.strip():
            raise gdb.GdbError("The commands of cmwq have no arguments.")
        try:
            process = Process(max(int(self._limit.value), 1))
        except copies.NotFound as e:
            raise gdb.GdbError(str(e)) from None
        if not process.runtimes and not process.walks.problems:
            print("No runtime: the program has made no queue yet, or has destroyed its runtimes.")
        for runtime in process.runtimes:
            owner = ", of the parent process: nothing runs in it" if runtime.is_of_parent else ""
            print(f"Runtime {runtime.address:#x}, CPUs {runtime.cpus}{owner}")
            for title, report in self._parts:
                if len(self._parts) > 1:
                    print(f"\n {title}")
                print(report(process, runtime))
            print()
        if len(self._parts) > 1 and (callers := reports.callers(process)):
            print(f"Other threads inside the library\n{callers}\n")
        for problem in process.walks.problems:
            print(f"warning: {problem}")


_PARTS = {
    "queues": ("Show the queues: limits, flags, and items in each pool.", "Queues", reports.queues),
    "pools": ("Show the pools: CPUs, priority, threads, and items.", "Pools", reports.pools),
    "workers": ("Show the workers: threads, and the items that they run.", "Workers", reports.workers),
    "items": ("Show the items that wait to run.", "Items that wait to run", reports.items),
}


def register():
    _Prefix()
    for prefix in ("set", "show"):
        _make_prefix(prefix)
    limit = _Limit()
    for name, (doc, title, report) in _PARTS.items():
        _Report(name, doc, [(title, report)], limit)
    _Report("dump", "Show queues, pools, workers, and items that wait.", [p[1:] for p in _PARTS.values()], limit)


def _make_prefix(of):
    """Makes the prefix "set cmwq" or "show cmwq"."""
    class prefix(gdb.Command):  # pylint: disable=invalid-name
        __doc__ = f"{of.capitalize()} parameters of the command cmwq."

        def __init__(self):
            super().__init__(f"{of} cmwq", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)

    prefix()
