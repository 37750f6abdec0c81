# SPDX-License-Identifier: BSL-1.0
"""Items: those that wait to run, and where they wait."""

from cmwq_gdb import memory, names

_DELAYED, _SELF_OWNED = 2, 4  # bits of work_base::state_
_DEPTH_SHIFT, _DEPTH_MASK = 8, 0xFFFF


class Item:
    """One item, by its work_base."""

    def __init__(self, value):
        self.value = value
        self.address = memory.address_of(value)

    def function(self):
        """What the item runs."""
        return names.of_function(self.value["run_"], self.value)

    def line(self):
        """Where in the program that is, as "file.cpp:12"; None if it is unknown."""
        return names.line_of(self.value["run_"], self.value)

    def queue_address(self):
        """The address of the queue_core on which it was queued last; 0: none."""
        pwq = self.value["pwq_"]
        return int(pwq.dereference()["queue"]) if int(pwq) != 0 else 0

    def queue_name(self):
        """The name of that queue."""
        pwq = self.value["pwq_"]
        return memory.text(pwq.dereference()["queue"].dereference()["name"]) if int(pwq) != 0 else None

    @property
    def state(self):
        return int(memory.load(self.value["state_"]))

    @property
    def is_pending(self):
        return bool(self.state & 1)

    @property
    def is_delayed(self):
        return bool(self.state & _DELAYED)

    @property
    def owns_itself(self):
        return bool(self.state & _SELF_OWNED)

    @property
    def disable_depth(self):
        return self.state >> _DEPTH_SHIFT & _DEPTH_MASK


class Waiting:
    """An item that waits to run. `place`: "pending", "inactive" or "delayed"; `detail`: more about that, or empty."""

    def __init__(self, item, place, queue, pool, detail=""):
        self.item = item
        self.place = place
        self.queue = queue  # its name
        self.pool = pool  # its number; None for a delayed item
        self.detail = detail
