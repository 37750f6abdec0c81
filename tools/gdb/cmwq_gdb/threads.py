# SPDX-License-Identifier: BSL-1.0
"""The threads that gdb knows, by the ids that the library has of them, and where each of them is stopped."""

import os
import re

import gdb

from cmwq_gdb import names

# The calls of the library in which a thread waits that are no waits of the graph of waits, or that are made outside of
# items.
_CALLS = {
    "wait_for_group": "task_group::wait()", "end_group": "~task_group()",
    "flush_work": "work::flush()", "cancel_work_sync": "work::cancel_sync()",
    "disable_work_sync": "work::disable_sync()", "end_of_work": "~work()",
    "flush_queue": "workqueue::flush()", "drain_queue": "workqueue::drain()",
    "shut_queue_down": "workqueue::shutdown()", "destroy_queue": "~workqueue()",
}
_FUNCTION = re.compile(r"^cmwq::\w+::detail::(\w+)\(?")
_DEEPEST = 100  # frames


class Threads:
    """The threads of the inferior at the time of construction."""

    def __init__(self):
        self._all = list(gdb.selected_inferior().threads())
        self._by_tid = {t.ptid[1]: t for t in self._all}
        self._by_handle = {}
        for thread in self._all:
            try:
                self._by_handle[int.from_bytes(thread.handle(), "little")] = thread
            except (gdb.error, RuntimeError, NotImplementedError):
                pass  # without libthread_db gdb knows no handles

    def all(self):
        """All threads, by their gdb numbers."""
        return sorted(self._all, key=lambda t: t.num)

    def find(self, tid, handle):
        """The thread with that pthread_t or, if gdb knows no handles, with that id of the system; None: there is none.
        The handle first: in a container the system's ids are not those that the process sees."""
        return self._by_handle.get(handle) or self._by_tid.get(tid)


def _with_frames(thread, f):
    """Calls f(newest frame) for a stopped thread, and selects the former thread again. None if it fails."""
    if thread is None or not thread.is_valid() or thread.is_running():
        return None
    before, frame = gdb.selected_thread(), None
    try:
        frame = gdb.selected_frame() if before is not None else None
        thread.switch()
        return f(gdb.newest_frame())
    except gdb.error:
        return None
    finally:
        if before is not None and before.is_valid():
            before.switch()
            if frame is not None and frame.is_valid():
                frame.select()


_SYSTEM_FILE = re.compile(r"^(?:lib(?:c|pthread|stdc\+\+|c\+\+|m|gcc_s)\b|ld-|linux-vdso|system-supplied)")


def _is_of_program(frame, sal):
    """Whether the frame is a line of the program: not of the library, nor of the C and C++ libraries."""
    if sal.symtab is None or _full_name(frame).startswith(("cmwq::", "std::")):
        return False
    file = sal.symtab.objfile
    return not _SYSTEM_FILE.match(os.path.basename((file.owner or file).filename))


def place(thread):
    """Where a thread is stopped: the newest function, and the newest line of the program; None if it is unknown."""
    def search(newest):
        if (name := newest.name()) is None:
            return None
        frame, depth = newest, 0
        while frame is not None and depth < _DEEPEST:
            sal = frame.find_sal()
            if _is_of_program(frame, sal):
                return f"{names.short(name)}, {os.path.basename(sal.symtab.filename)}:{sal.line}"
            frame, depth = frame.older(), depth + 1
        return names.short(name)

    return _with_frames(thread, search)


def call_of(thread):
    """The call of the library in which a thread is: (its text, the address of its object or None); None if it is in no
    such call. The newest one, as an item may wait inside another one."""
    def search(newest):
        frame, depth = newest, 0
        while frame is not None and depth < _DEEPEST:
            m = _FUNCTION.match(_full_name(frame))
            if m and m[1] in _CALLS:
                return _CALLS[m[1]], _argument(frame)
            frame, depth = frame.older(), depth + 1
        return None

    return _with_frames(thread, search)


def _full_name(frame):
    function = frame.function()
    return function.print_name if function is not None else frame.name() or ""


def _argument(frame):
    """The address of the first argument, the object of the call; None if the compiler has not kept it."""
    for symbol in frame.block():
        if symbol.is_argument:
            value = frame.read_var(symbol)
            if value.is_optimized_out:
                return None
            return int(value.referenced_value().address if value.type.code == gdb.TYPE_CODE_REF else value)
    return None
