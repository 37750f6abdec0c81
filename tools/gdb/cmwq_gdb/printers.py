# SPDX-License-Identifier: BSL-1.0
"""Pretty-printers of the public types: items, queues, CPU sets, task groups, runtimes."""

import re

import gdb

from cmwq_gdb import lists, memory
from cmwq_gdb.items import Item
from cmwq_gdb.queues import Queue


def _base(value, name):
    """The base class object of that name, in the namespace of the value's own type."""
    namespace = re.match(r"cmwq::\w+", memory.plain(value.type).name)[0]
    type_ = gdb.lookup_type(f"{namespace}::{name}")
    offset = memory.offset_of_base(value.type, type_)
    return memory.at(memory.address_of(value) + offset, type_)


class _ItemPrinter:
    """work, delayed_work, work_member, and their base classes."""

    def __init__(self, value):
        self._value = value

    def to_string(self):
        item = Item(_base(self._value, "work_base"))
        words = ["delayed item" if item.is_delayed else "item", f"of {item.function()}"]
        if name := item.queue_name():
            words.append(f'on "{name}"')
        words.append("pending" if item.is_pending else "not pending")
        if item.disable_depth:
            words.append(f"disabled {item.disable_depth} times")
        return f"cmwq {words[0]} {', '.join(words[1:])}"


class _QueuePrinter:
    """workqueue and system_workqueue."""

    def __init__(self, value):
        self._value = value

    def to_string(self):
        return _describe(self._value["core_"].dereference())


def _describe(core):
    queue = Queue(core)
    flags = "".join(f", {flag}" for flag in queue.flags())
    in_flight = sum(p.in_flight for p in queue.parts(lists.Walks(1000)))
    return f'cmwq {queue.policy()} queue "{queue.name}", max_active {queue.limits()[0]}, {in_flight} in flight{flags}'


class _CpusetPrinter:
    """cpuset: 0-3,8"""

    def __init__(self, value):
        self._value = value

    def to_string(self):
        return memory.cpu_list(self._value) or "empty"


class _GroupPrinter:
    """task_group"""

    def __init__(self, value):
        self._core = value["core_"]

    def to_string(self):
        core = self._core
        # The two counts are of different threads; their sum is exact when none of them is in the middle of a change.
        left = int(core["nr_counted"]) + int(memory.load(core["nr_own"]))
        name = memory.text(core["queue"].referenced_value()["name"])
        text = f'cmwq task group on "{name}", tasks that have not ended: {left}'
        if int(core["sleepers"]) != 0:
            text += ", a thread waits"
        return text + (", cancelled" if memory.load(core["cancelled"]) else "")


class _RuntimePrinter:
    """runtime"""

    def __init__(self, value):
        self._core = memory.owned(value["core_"])

    def to_string(self):
        if int(self._core) == 0:
            return "cmwq runtime, destroyed"
        core = self._core.dereference()
        return (f"cmwq runtime {int(self._core):#x}, CPUs {memory.cpu_list(core['cpus_']['cpus_'])}, "
                f"{int(core['queues_']['list_']['size_'])} queues")


_PRINTERS = [
    (re.compile(r"^cmwq::v\w+::(?:work_base|work<.*|delayed_work_base|delayed_work<.*|work_member<.*)$"), _ItemPrinter),
    (re.compile(r"^cmwq::v\w+::(?:workqueue_base|workqueue<.*|system_workqueue)$"), _QueuePrinter),
    (re.compile(r"^cmwq::v\w+::cpuset$"), _CpusetPrinter),
    (re.compile(r"^cmwq::v\w+::task_group$"), _GroupPrinter),
    (re.compile(r"^cmwq::v\w+::runtime$"), _RuntimePrinter),
]


class _Safe:
    """Prints the reason if an object cannot be read: it may be in a register, or be damaged."""

    def __init__(self, printer, value):
        self._printer = printer
        self._value = value

    def to_string(self):
        try:
            return self._printer(self._value).to_string()
        except gdb.error as e:
            return f"<cannot be read: {e}>"


class _Lookup:
    """What gdb asks for a printer."""

    name = "cmwq"
    enabled = True

    def __call__(self, value):
        name = memory.plain(value.type).name
        if name is None or not name.startswith("cmwq::") or value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            return None
        return next((_Safe(printer, value) for pattern, printer in _PRINTERS if pattern.match(name)), None)


def register():
    """Replaces the printers of an earlier call."""
    gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "name", None) != _Lookup.name]
    gdb.pretty_printers.insert(0, _Lookup())
