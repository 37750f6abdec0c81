# SPDX-License-Identifier: BSL-1.0
"""The present time of a process, as far as it can be known, and times as text."""

import time

import gdb


def is_live():
    """Whether the process runs on this machine under gdb. A core file has no clock; that of a remote machine is
    another one."""
    connection = gdb.selected_inferior().connection
    return connection is not None and connection.type == "native"


def steady_now():
    """The steady clock in nanoseconds; None if it is unknown."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if is_live() else None


def span(nanoseconds):
    """A duration, as text: "2 h 3 min", "1.500 s", "12 ms"."""
    seconds = nanoseconds / 1e9
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    if seconds >= 100:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.3f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def since(began):
    """How long ago a moment of the steady clock was, as text; empty if it is unknown."""
    now = steady_now()
    return f", for {span(max(now - began, 0))}" if now is not None and began != 0 else ""


class RuntimeClock:
    """The clock of one runtime. `latest`: a time that it has surely reached."""

    def __init__(self, is_systems, latest):
        self._is_systems = is_systems
        self._latest = latest

    def left(self, deadline):
        """The time until a deadline, as text."""
        if not self._is_systems:
            return f"due at {deadline} ns of the program's clock"
        now = steady_now()
        if now is not None:
            return f"in {span(deadline - now)}" if deadline >= now else f"due since {span(now - deadline)}"
        # No core file holds the time. A thread that went idle has left a time that was not later.
        if self._latest and deadline >= self._latest:
            return f"in {span(deadline - self._latest)} at most"
        return f"due at {deadline} ns of CLOCK_MONOTONIC"
